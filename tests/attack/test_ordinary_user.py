"""Repeats the attacks on files as an ordinary user, who has fewer permissions than root."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the user can write to. Only pytest's own user can write to pytest's folders."""
    made = Path(tempfile.mkdtemp(prefix="etprof-attack-"))
    if os.geteuid() == 0:
        os.chown(made, NOBODY, NOBODY)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def test_attacks_as_an_ordinary_user(folder):
    environment = {key: value for key, value in os.environ.items() if key != "CI"} | {
        "HOME": str(folder),
        "TMPDIR": str(folder),
    }
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    tests = [HERE / "test_writing.py", HERE / "test_reading.py"]
    pytest_options = ["-q", "-ra", "-p", "no:cacheprovider", "--basetemp", folder / "pytest"]
    done = subprocess.run(
        [*become, sys.executable, "-m", "pytest", *pytest_options, *tests],
        capture_output=True,
        text=True,
        timeout=3000,
        env=environment,
        cwd=HERE.parents[1],
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout.splitlines()[-1], done.stdout[-2000:]
