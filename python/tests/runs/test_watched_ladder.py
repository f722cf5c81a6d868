"""The machine code in matrix products, as the runner observed it, matches the enabled instruction set."""

import csv
import io
import json
import os
import subprocess
from pathlib import Path

import pytest

from exports import Exported

REPOSITORY = Path(__file__).parents[3]
ETPROF = REPOSITORY / "build" / "etprof"
RUNNER = REPOSITORY / "build" / "etprof-runner"

SKX = "=avx512bw,+avx512dq,+avx512vl"
# A mask, a CPU feature that it needs, and the classes of XNNPACK's matrix products in fp32 and int8 at this level.
LEVELS = [
    ("none", None, "SSE2", "SSE2"),
    ("=sse4_1", "sse4_1", "SSE2", "SSE4.1"),
    ("=avx", "avx", "AVX", "AVX"),
    ("=fma3", "fma3", "FMA3", "AVX"),
    ("=avx2", "avx2", "FMA3", "AVX2"),
    (SKX, "avx512bw", "AVX-512", "AVX-512"),
    (f"{SKX},+avx512vnni", "avx512vnni", "AVX-512", "AVX-512 VNNI"),
]


@pytest.fixture(scope="module")
def features() -> set[str]:
    """The features of this machine's CPU."""
    if not ETPROF.is_file() or not RUNNER.is_file():
        message = "etprof is not built (script/bootstrap builds it)"
        if os.environ.get("CI", "") == "true":
            pytest.fail(message)
        pytest.skip(message)
    completed = subprocess.run([RUNNER, "--isa-info"], capture_output=True, text=True, check=True)
    found = set(json.loads(completed.stdout)["isa"]["detected"])
    if "sse4_1" not in found:
        pytest.skip("CPU feature: this is no x86-64 CPU")
    return found


@pytest.mark.parametrize("dtype", ["fp32", "int8"])
def test_the_class_of_every_matrix_product_is_that_of_its_level(
    exported: Exported, features: set[str], tmp_path: Path, dtype: str
) -> None:
    pte = exported(model="toy_cnn", **({"quantize": "static"} if dtype == "int8" else {}))
    levels = [level for level in LEVELS if level[1] is None or level[1] in features]
    config = {
        "model": str(pte),
        "output_root": str(tmp_path / "run"),
        "launches": 2,
        "rounds": 1,
        "runs": 2,
        "warmup": 1,
        "experiments": [{"name": f"level{i}", "isa": level[0]} for i, level in enumerate(levels)],
    }
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    completed = subprocess.run(
        [ETPROF, "run", tmp_path / "config.json", "--watch", "--no-peaks"], capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stderr
    kernels = subprocess.run(
        [ETPROF, "kernels", tmp_path / "run", "--json"], capture_output=True, text=True, check=True
    )
    watched = json.loads(kernels.stdout)["watched"]
    assert [experiment["label"] for experiment in watched] == [f"level{i}" for i in range(len(levels))]
    for experiment, level in zip(watched, levels, strict=True):
        products = [row for row in experiment["operators"] if "GEMM" in row["name"]]
        assert len(products) == 5
        expected = level[3] if dtype == "int8" else level[2]
        assert {row["code"] for row in products} == {expected}, (level, products)
    memory = subprocess.run(
        [ETPROF, "analyze", tmp_path / "run", "--csv=memory"], capture_output=True, text=True, check=True
    )
    rows = list(csv.DictReader(io.StringIO(memory.stdout)))
    planned = [row for row in rows if row["owner"] == "planned tensors"]
    packed = [row for row in rows if row["owner"] == "packed weights"]
    assert len(planned) == len(packed) == len(levels)
    assert all(int(row["at_least"]) == int(row["allocated"]) for row in planned)
    assert all(int(row["at_least"]) <= int(row["allocated"]) <= 1.3 * int(row["at_least"]) for row in packed)
