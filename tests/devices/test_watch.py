"""`--watch` on an emulated CPU with SME2: what was seen called, against what etprof says of the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bundle_bench import ETPROF, Bundle, call

SME2, SME, NEON = "", "-sme2", "-sme"
MATRICES = ("Convolution", "Fully Connected", "Batch Matrix Multiply")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """SmallToyCnn and a small transformer layer, in each type."""
    folder = tmp_path_factory.mktemp("watched")
    here = Path(__file__).parent
    for model in (f"{here / 'small_toy_cnn.py'}:SmallToyCnn", f"{here / 'small_transformer.py'}:SmallTransformer"):
        done = call(ETPROF, "export", model, "--dtype", "fp32,fp16,int8,int8dyn", "--outdir", folder, "--no-check")
        assert done.returncode == 0, done.stderr
    return lambda name, dtype: folder / f"{name}_xnnpack_{dtype}.pte"


def measured(bundle: Bundle, qemu: list[str], pte: Path, folder: Path, isa: str) -> dict[str, Any]:
    """The one experiment of a watched run."""
    config = {
        "model": str(pte),
        "output_root": str(folder),
        "runner_path": str(bundle.folder / "etprof-runner"),
        "exec_wrapper": qemu,
        "launches": 2,
        "rounds": 1,
        "runs": 2,
        "warmup": 1,
        "experiments": [{"name": "one", "threads": 1, "isa": isa}],
    }
    path = folder / "config.json"
    folder.mkdir()
    path.write_text(json.dumps(config), encoding="utf-8")
    done = call(ETPROF, "run", path, "--watch", "--no-peaks")
    assert done.returncode == 0, done.stderr
    summary = json.loads((folder / "analysis_summary.json").read_text(encoding="utf-8"))
    assert not [warning for warning in summary["warnings"] if "watch" in warning]
    (experiment,) = summary["experiments"]
    return experiment


def products(experiment: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in experiment["watched"] if row["name"].startswith(MATRICES)]


def expected(name: str, isa: str) -> tuple[bool, set[str]]:
    """Of an operator's name: whether KleidiAI computes it, and the classes of code that it may have."""
    types = name[name.index("(") : name.index(")")]
    packed = any(word in types for word in ("PF32", "PF16", "PQS8"))
    if packed:
        return True, {"SME2"} if isa == SME2 else {"SME", "SME2"}
    neon = {"NEON", "NEON FP16", "NEON dot product", "NEON i8mm", "NEON BF16"}
    if "QP8" in types:
        return True, {"SME2", "SME"} if isa != NEON else neon
    return False, neon


@pytest.mark.parametrize("isa", [SME2, SME, NEON], ids=["sme2", "sme", "neon"])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int8", "int8dyn"])
@pytest.mark.parametrize("name", ["small_toy_cnn", "small_transformer"])
def test_what_ran_is_what_the_rules_say(
    bundle: Bundle, qemu: list[str], models: Any, tmp_path: Path, name: str, dtype: str, isa: str
) -> None:
    experiment = measured(bundle, qemu, models(name, dtype), tmp_path / "run", isa)
    rows = products(experiment)
    assert rows
    for row in rows:
        kleidiai, classes = expected(row["name"], isa)
        assert row["kleidiai"] is kleidiai, row
        assert row["code"] in classes, row
        names = [
            one["name"]
            for one in row["functions"]
            if one["name"].startswith("kai_run_") and "matmul_clamp" in one["name"]
        ]
        assert bool(names) is kleidiai
        if row["code"] in ("SME", "SME2"):
            assert all(f"_{row['code'].lower()}_" in one for one in names), row
    # What the program's rules predict with SME2 is what ran.
    if isa == SME2:
        for kernels in experiment["matrix_kernels"]:
            keys = set(kernels["operators"])
            ran = {row["kleidiai"] for row in rows if row["key"] in keys}
            assert ran <= {kernels["kernels"] in ("sme", "kleidiai")}
    assert all(row["threads"]["cause"] is None for row in rows)  # of one thread


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
