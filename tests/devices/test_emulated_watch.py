"""`--watch` and `--values` on an emulated CPU with SME2: what was seen called, against what etprof says of the program, and
what SME2's kernels compute, against what NEON's do."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from bundle_bench import ETPROF, Bundle, call, run_masked
from test_kleidiai import DYNAMIC, exported, nodes_of

__all__ = ["exported"]  # a fixture

SME2, SME, NEON = "", "-sme2", "-sme"
COMPUTES = re.compile(r"kai_run_(i?matmul|matmul)_clamp")
MATRICES = ("Convolution", "Fully Connected", "Batch Matrix Multiply")


def measured(bundle: Bundle, qemu: list[str], pte: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """The experiments of a watched run, by mask."""
    masks = {"sme2": SME2, "sme": SME, "neon": NEON}
    summary = run_masked(bundle, qemu, pte, folder, masks, "--watch")
    assert not [warning for warning in summary["warnings"] if "watch" in warning]
    return {masks[experiment["name"]]: experiment for experiment in summary["experiments"]}


def predicted(pte: Path, experiment: dict[str, Any]) -> dict[str, str]:
    """Of an operator, by its key: KleidiAI's kernels or XNNPACK's, as `etprof inspect` says of its one node."""
    nodes = nodes_of(pte)
    found = {}
    for operator in experiment["operators"]:
        if not operator["name"].startswith(MATRICES):
            continue
        if operator["program"]["join"] != "nodes" or len(operator["program"]["nodes"]) != 1:
            continue
        node = nodes.get((int(operator["key"].split("/")[1]), operator["program"]["nodes"][0]))
        if node and node["with_sme2"]:
            found[operator["key"]] = node["with_sme2"]["kernels"]
    return found


def products(experiment: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in experiment["watched"] if row["name"].startswith(MATRICES)]


def expected(name: str, isa: str) -> tuple[bool, set[str]]:
    """Of an operator's name: whether KleidiAI computes it, and the classes of code that it may have."""
    types = name[name.index("(") : name.index(")")]
    packed = any(word in types for word in ("PF32", "PF16", "PQS8"))
    if packed:
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
    """8 and 4 bits per channel run on SME2, 4 bits in groups do not, although their names differ by the weights alone."""
    what_ran_is_what_the_rules_say(bundle, qemu, exported(scheme), tmp_path / "run")


def what_ran_is_what_the_rules_say(bundle: Bundle, qemu: list[str], pte: Path, folder: Path) -> None:
    experiments = measured(bundle, qemu, pte, folder)
    assert len(experiments) == 3
    for isa, experiment in experiments.items():
        rows = products(experiment)
        assert rows
        for row in rows:
            kleidiai, classes = expected(row["name"], isa)
            assert row["kleidiai"] is kleidiai, row
            assert row["code"] in classes, row
            names = [one["name"] for one in row["functions"] if COMPUTES.match(one["name"])]
            assert bool(names) is kleidiai
            if row["code"] in ("SME", "SME2"):
                assert all(f"_{row['code'].lower()}_" in one for one in names), row
            assert row["threads"]["cause"] is None  # one thread
        assert not any(kernels["contradicts"] for kernels in experiment["matrix_kernels"])
    # What the program's rules predict with SME2 is what was seen.
    rules = predicted(pte, experiments[SME2])
    seen = {row["key"]: row for row in products(experiments[SME2])}
    assert len(rules) >= 2
    for key, kernels in rules.items():
        assert seen[key]["kleidiai"] is (kernels in ("sme", "kleidiai")), (kernels, seen[key])
        assert (seen[key]["code"] == "SME2") is (kernels == "sme"), (kernels, seen[key])


DECODERS = {
    "fp32": {"prefill": "sme2_mopa", "decoding": "sme2"},
    "dynamic_4_bits": {"prefill": "sme2_mopa", "decoding": "sme2_sdot"},
    "dynamic_groups": {"prefill": "neon", "decoding": "neon"},
}


@pytest.mark.parametrize(("scheme", "on_phone"), [("fp32", True), ("dynamic_4_bits", True), ("dynamic_groups", False)])
def test_prefill_and_decoding_of_a_language_model(
    bundle: Bundle, qemu: list[str], tmp_path: Path, scheme: str, on_phone: bool, request: pytest.FixtureRequest
) -> None:
    """`etprof generate` names the kernels of both, with SME2 and without: of the bundle here, and behind adb."""
    import matrix_models

    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from cached_attention import CachedAttention

    source, pte = CachedAttention(), tmp_path / "decoder.pte"
    matrix_models.write(scheme, source.get_eager_model(), source.get_example_inputs(), pte, source.get_dynamic_shapes())
    words = ["-p", "8", "-n", "1", "-d", "0", "--vs", "isa=-sme,-sme2", "--watch"]
    words += ["--launches", "2", "--runs", "1", "--warmup", "1", "--output-root", tmp_path / "run", "--json"]
    words += ["--runner", bundle.folder / "etprof-runner", "--exec-wrapper"]
    if on_phone:
        lab, phone = request.getfixturevalue("lab"), request.getfixturevalue("phone")
        words += ["qemu-aarch64 -cpu max", "--device", phone.spec]  # on the phone's PATH
        done = lab.run([ETPROF, "generate", pte, *map(str, words)], timeout=1800)
    else:
        done = call(ETPROF, "generate", pte, *map(str, words), " ".join(qemu))
    assert done.returncode == 0, done.stderr
    if on_phone:
        manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["platform"] == "android-aarch64-emulated"
    variants = {variant["isa"]: variant for variant in json.loads(done.stdout)["variants"]}
    with_sme2, without = variants.pop(None), *variants.values()
    for tokens, step in {8: "prefill", 1: "decoding"}.items():
        for variant in (with_sme2, without):
            kernels = [one for one in variant["kernels"] if one["tokens"] == tokens]
            assert sum(one["operators"] for one in kernels) == 5, kernels  # query, key, value, out, and head
            for one in kernels:
                name = one["kernel"] or ""
                if variant is with_sme2:
                    assert COMPUTES.match(name) and DECODERS[scheme][step] in name, kernels
                    assert (one["code"] == "SME2") is ("sme2" in DECODERS[scheme][step]), kernels
                else:
                    assert "sme" not in name and "SME" not in one["code"], kernels
                    assert bool(name) is (scheme != "fp32"), kernels
    assert "Kernels of matrix products" in call(ETPROF, "generate", tmp_path / "run").stdout


def test_the_library_calls_what_readelf_lists(bundle: Bundle) -> None:
    """All of KleidiAI's kernels and packing are called through slots: none is out of sight."""
    library = bundle.folder / "libexecutorch_backend_xnnpack.so"
    slots = call("readelf", "-rW", library).stdout
    symbols = call("readelf", "--dyn-syms", "-W", library).stdout
    called = {
        word
        for line in slots.splitlines()
        if "JUMP_SLO" in line
        for word in line.split()
        if word.startswith("kai_run_")
    }
    defined = {
        line.split()[-1]
        for line in symbols.splitlines()
        if " FUNC " in line and line.split()[-1].startswith("kai_run_")
    }
    assert called and called == defined


PAIRS = {"compare_pairs": [{"baseline": {"experiment": "neon"}, "candidate": {"experiment": "sme2"}}]}


def compared(bundle: Bundle, qemu: list[str], pte: Path, folder: Path) -> list[dict[str, str]]:
    masks = {"neon": "-sme,-sme2", "sme2": ""}
    summary = run_masked(bundle, qemu, pte, folder, masks, "--values", analysis=PAIRS)
    assert not [warning for warning in summary["warnings"] if "values" in warning]
    rows = list(csv.DictReader((folder / "values.csv").open(encoding="utf-8")))
    # XNNPACK names what runs on SME2 otherwise, and packs for it, which shifts the operators.
    assert any(row["candidate_name"] and row["state"] != "not read" for row in rows)
    return rows


def test_int8_is_the_same_bit_for_bit(bundle: Bundle, qemu: list[str], export: Any, tmp_path: Path) -> None:
    rows = compared(bundle, qemu, export("int8"), tmp_path / "run")
    assert {row["state"] for row in rows if row["state"] != "not read"} == {"identical"}


def test_fp16_differs_from_the_first_convolution_on(
    bundle: Bundle, qemu: list[str], export: Any, tmp_path: Path
) -> None:
    """By roundings to fp16: sums are held wider in one of the two. Its unit roundoff is 66 dB."""
    rows = compared(bundle, qemu, export("fp16"), tmp_path / "run")
    different = [row for row in rows if row["state"] == "different"]
    assert different[0]["name"].startswith("Convolution (NHWC, F16)")
    assert different[0]["candidate_name"].startswith("Convolution (NHWC, PF16)")
    assert 40 < float(different[0]["sqnr_db"]) < 80
    before = rows[: rows.index(different[0])]
    assert {row["state"] for row in before} <= {"identical", "not read"}
