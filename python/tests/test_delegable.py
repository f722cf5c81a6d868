"""The list of operators that XNNPACK can take, against the partitioner's own."""

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("ETPROF_CATEGORIZE", REPOSITORY / "build/release/tests/tools/etprof_categorize"))


def says_delegable(names: list[str]) -> dict[str, bool]:
    if not PROGRAM.is_file():
        pytest.skip(f"{PROGRAM} is not there: build etprof_categorize")
    done = subprocess.run([PROGRAM], input="\n".join(names) + "\n", capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {row[0]: row[4] == "delegable" for row in rows}


def test_delegable_is_what_the_partitioner_takes():
    from executorch.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS

    taken = {config.target_name.split(".")[0] for config in ALL_PARTITIONER_CONFIGS}
    # Operators of torchao's library: they have no portable kernel that could run instead.
    taken -= {"choose_qparams_affine", "quantize_affine", "dequantize_affine"}
    portable = {"argmax", "sort", "topk", "embedding", "native_layer_norm", "select_copy", "where", "gather", "erf"}
    assert not taken & portable
    answers = says_delegable(sorted(taken | portable))
    assert {name for name, yes in answers.items() if yes} == taken
    # The form in which kernels are named.
    answers = says_delegable(["add.out", "aten::add.Tensor", "addition.out", "argmax.out"])
    assert list(answers.values()) == [True, True, False, False]
