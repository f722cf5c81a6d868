"""`--watch` and `--values` on an emulated CPU with SME2: compares the watched calls with the kernels that etprof predicts, and
the values of SME2's kernels with those of NEON's kernels."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from bundle_bench import ETPROF, Bundle, call, run_masked
from test_kleidiai import DYNAMIC, exported, read_nodes

__all__ = ["exported"]  # a fixture

SME2, SME, NEON = "", "-sme2", "-sme"
COMPUTES = re.compile(r"kai_run_(i?matmul|matmul)_clamp")
MATRICES = ("Convolution", "Fully Connected", "Batch Matrix Multiply")


def measure(bundle: Bundle, qemu: list[str], pte: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Runs with `--watch`, and returns the experiments by mask."""
    masks = {"sme2": SME2, "sme": SME, "neon": NEON}
    summary = run_masked(bundle, qemu, pte, folder, masks, "--watch")
    assert not [warning for warning in summary["warnings"] if "watch" in warning]
    return {masks[experiment["name"]]: experiment for experiment in summary["experiments"]}


def predict_kernels(pte: Path, experiment: dict[str, Any]) -> dict[str, str]:
    """The kernels (KleidiAI's or XNNPACK's) that `etprof inspect` predicts, by operator key, for operators of one node."""
    nodes = read_nodes(pte)
    kernels_by_operator = {}
    for operator in experiment["operators"]:
        if not operator["name"].startswith(MATRICES):
            continue
        if operator["program"]["join"] != "nodes" or len(operator["program"]["nodes"]) != 1:
            continue
        node = nodes.get((int(operator["key"].split("/")[1]), operator["program"]["nodes"][0]))
        if node and node["with_sme2"]:
            kernels_by_operator[operator["key"]] = node["with_sme2"]["kernels"]
    return kernels_by_operator


def products(experiment: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in experiment["watched"] if row["name"].startswith(MATRICES)]


def expected_code(name: str, isa: str) -> tuple[bool, set[str]]:
    """For an operator's name: True if KleidiAI computes the operator, and the classes of code that it may have."""
    types = name[name.index("(") : name.index(")")]
    is_packed = any(word in types for word in ("PF32", "PF16", "PQS8"))
    if is_packed:
        return True, {"SME2"} if isa == SME2 else {"SME", "SME2"}
    neon = {"NEON", "NEON FP16", "NEON dot product", "NEON i8mm", "NEON BF16"}
    if "QB4W" in types:
        return True, neon
    if "QP8" in types:
        return True, {"SME2", "SME"} if isa != NEON else neon
    return False, neon


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int8"])
@pytest.mark.parametrize("name", ["small_toy_cnn", "small_transformer"])
def test_what_ran_is_what_the_rules_say(
    bundle: Bundle, qemu: list[str], export: Any, tmp_path: Path, name: str, dtype: str
) -> None:
    what_ran_is_what_the_rules_say(bundle, qemu, export(dtype, name), tmp_path / "run")


@pytest.mark.parametrize("scheme", DYNAMIC)
def test_of_what_is_quantized_dynamically(
    bundle: Bundle, qemu: list[str], exported: Any, tmp_path: Path, scheme: str
) -> None:
    """8 and 4 bits per channel run on SME2, and 4 bits in groups do not, although only the weights' type in their names differs."""
    what_ran_is_what_the_rules_say(bundle, qemu, exported(scheme), tmp_path / "run")


def what_ran_is_what_the_rules_say(bundle: Bundle, qemu: list[str], pte: Path, folder: Path) -> None:
    experiments = measure(bundle, qemu, pte, folder)
    assert len(experiments) == 3
    for isa, experiment in experiments.items():
        rows = products(experiment)
        assert rows
        for row in rows:
            kleidiai, classes = expected_code(row["name"], isa)
            assert row["kleidiai"] is kleidiai, row
            assert row["code"] in classes, row
            names = [function["name"] for function in row["functions"] if COMPUTES.match(function["name"])]
            assert bool(names) is kleidiai
            if row["code"] in ("SME", "SME2"):
                assert all(f"_{row['code'].lower()}_" in function for function in names), row
            assert row["threads"]["cause"] is None  # one thread
        assert not any(kernels["contradicts"] for kernels in experiment["matrix_kernels"])
    # The watched kernels with SME2 are those that `etprof inspect` predicts.
    rules = predict_kernels(pte, experiments[SME2])
    watched = {row["key"]: row for row in products(experiments[SME2])}
    assert len(rules) >= 2
    for key, kernels in rules.items():
        assert watched[key]["kleidiai"] is (kernels in ("sme", "kleidiai")), (kernels, watched[key])
        assert (watched[key]["code"] == "SME2") is (kernels == "sme"), (kernels, watched[key])


DECODERS = {
    "fp32": {"prefill": "sme2_mopa", "decoding": "sme2"},
    "dynamic_4_bits": {"prefill": "sme2_mopa", "decoding": "sme2_sdot"},
    "dynamic_groups": {"prefill": "neon", "decoding": "neon"},
}


@pytest.mark.parametrize(("scheme", "on_phone"), [("fp32", True), ("dynamic_4_bits", True), ("dynamic_groups", False)])
def test_prefill_and_decoding_of_a_language_model(
    bundle: Bundle, qemu: list[str], tmp_path: Path, scheme: str, on_phone: bool, request: pytest.FixtureRequest
) -> None:
    """`etprof generate` names the kernels of both, with SME2 and without, for a local bundle and for a bundle behind adb."""
    import matrix_models

    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from cached_attention import CachedAttention

    source, pte = CachedAttention(), tmp_path / "decoder.pte"
    matrix_models.write(scheme, source.get_eager_model(), source.get_example_inputs(), pte, source.get_dynamic_shapes())
    options = ["-p", "8", "-n", "1", "-d", "0", "--vs", "isa=-sme,-sme2", "--watch"]
    options += ["--launches", "2", "--runs", "1", "--warmup", "1", "--output-root", tmp_path / "run", "--json"]
    options += ["--runner", bundle.folder / "etprof-runner", "--exec-wrapper"]
    if on_phone:
        lab, phone = request.getfixturevalue("lab"), request.getfixturevalue("phone")
        options += ["qemu-aarch64 -cpu max", "--device", phone.spec]  # on the phone's PATH
        completed = lab.run([ETPROF, "generate", pte, *map(str, options)], timeout=1800)
    else:
        completed = call(ETPROF, "generate", pte, *map(str, options), " ".join(qemu))
    assert completed.returncode == 0, completed.stderr
    if on_phone:
        manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["platform"] == "android-aarch64-emulated"
    variants = {variant["isa"]: variant for variant in json.loads(completed.stdout)["variants"]}
    with_sme2, without_sme2 = variants.pop(None), *variants.values()
    for tokens, step in {8: "prefill", 1: "decoding"}.items():
        for variant in (with_sme2, without_sme2):
            kernels = [kernel for kernel in variant["kernels"] if kernel["tokens"] == tokens]
            assert sum(kernel["operators"] for kernel in kernels) == 5, kernels  # query, key, value, out, and head
            for kernel in kernels:
                name = kernel["kernel"] or ""
                if variant is with_sme2:
                    assert COMPUTES.match(name) and DECODERS[scheme][step] in name, kernels
                    assert (kernel["code"] == "SME2") is ("sme2" in DECODERS[scheme][step]), kernels
                else:
                    assert "sme" not in name and "SME" not in kernel["code"], kernels
                    assert bool(name) is (scheme != "fp32"), kernels
    assert "Kernels of matrix products" in call(ETPROF, "generate", tmp_path / "run").stdout


def test_the_library_calls_what_readelf_lists(bundle: Bundle) -> None:
    """All of KleidiAI's kernels and packing functions are called through slots, so that `--watch` sees all of them."""
    library = bundle.folder / "libexecutorch_backend_xnnpack.so"
    slots = call("readelf", "-rW", library).stdout
    symbols = call("readelf", "--dyn-syms", "-W", library).stdout
    called = {
        field
        for line in slots.splitlines()
        if "JUMP_SLO" in line
        for field in line.split()
        if field.startswith("kai_run_")
    }
    defined = {
        line.split()[-1]
        for line in symbols.splitlines()
        if " FUNC " in line and line.split()[-1].startswith("kai_run_")
    }
    assert called and called == defined


PAIRS = {"compare_pairs": [{"baseline": {"experiment": "neon"}, "candidate": {"experiment": "sme2"}}]}


def compare_values(bundle: Bundle, qemu: list[str], pte: Path, folder: Path) -> list[dict[str, str]]:
    masks = {"neon": "-sme,-sme2", "sme2": ""}
    summary = run_masked(bundle, qemu, pte, folder, masks, "--values", analysis=PAIRS)
    assert not [warning for warning in summary["warnings"] if "values" in warning]
    rows = list(csv.DictReader((folder / "values.csv").open(encoding="utf-8")))
    # With SME2, operators have other names, and additional packing operators shift the others.
    assert any(row["candidate_name"] and row["state"] != "not read" for row in rows)
    return rows


def test_int8_is_the_same_bit_for_bit(bundle: Bundle, qemu: list[str], export: Any, tmp_path: Path) -> None:
    rows = compare_values(bundle, qemu, export("int8"), tmp_path / "run")
    assert {row["state"] for row in rows if row["state"] != "not read"} == {"identical"}


def test_fp16_differs_from_the_first_convolution_on(
    bundle: Bundle, qemu: list[str], export: Any, tmp_path: Path
) -> None:
    """The difference is rounding to fp16: one variant has wider sums. The unit roundoff of fp16 is 66 dB."""
    rows = compare_values(bundle, qemu, export("fp16"), tmp_path / "run")
    different = [row for row in rows if row["state"] == "different"]
    assert different[0]["name"].startswith("Convolution (NHWC, F16)")
    assert different[0]["candidate_name"].startswith("Convolution (NHWC, PF16)")
    assert 40 < float(different[0]["sqnr_db"]) < 80
    before = rows[: rows.index(different[0])]
    assert {row["state"] for row in before} <= {"identical", "not read"}
