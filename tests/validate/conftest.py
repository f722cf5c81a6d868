"""A short real run, which the tests of this folder copy, damage, and validate with schemas."""

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

MODEL = program.DATA / "toy_cnn.pte"


@pytest.fixture(scope="session")
def measured(tmp_path_factory) -> Path:
    """A finished results directory of three small experiments, which no test modifies."""
    folder = tmp_path_factory.mktemp("run")
    config = {
        "model": str(MODEL),
        "output_root": str(folder / "out"),
        "runs": 4,
        "warmup": 1,
        "launches": 2,
        "rounds": 2,
        "experiments": [{"name": "one"}, {"name": "same"}, {"name": "threads", "threads": [1, 2]}],
    }
    (folder / "config.json").write_text(json.dumps(config))
    completed = program.run("run", folder / "config.json", "--watch")
    assert completed.returncode == 0, completed.stderr
    return folder / "out"


@pytest.fixture
def run(measured, tmp_path) -> Path:
    """A copy of the run, which a test may damage."""
    return Path(shutil.copytree(measured, tmp_path / "out"))
