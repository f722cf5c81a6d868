"""`import etprof` works in a built checkout, without a wheel."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_compiled_part_is_found_where_it_was_built(tmp_path: Path):
    if not list((ROOT / "build/release/python/native").glob("_native.*")):
        reason = "etprof_native is not built: run script/bootstrap"
        pytest.fail(reason) if os.environ.get("CI", "") == "true" else pytest.skip(reason)
    code = f"import etprof; print(len(etprof.read_etdump({str(ROOT / 'tests/data/toy_cnn.t1.etdump')!r}).to_pandas()))"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    completed = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert completed.returncode == 0, completed.stderr
    assert int(completed.stdout) > 0
