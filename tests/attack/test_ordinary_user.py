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
    temporary = Path(tempfile.mkdtemp(prefix="etprof-attack-"))
    if os.geteuid() == 0:
        os.chown(temporary, NOBODY, NOBODY)
    yield temporary
    shutil.rmtree(temporary, ignore_errors=True)


def test_attacks_as_an_ordinary_user(folder):
    environment = {key: value for key, value in os.environ.items() if key != "CI"} | {
        "HOME": str(folder),
        "TMPDIR": str(folder),
    }
    user_command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    tests = [HERE / "test_writing.py", HERE / "test_reading.py"]
    pytest_options = ["-q", "-ra", "-p", "no:cacheprovider", "--basetemp", folder / "pytest"]
    completed = subprocess.run(
        [*user_command, sys.executable, "-m", "pytest", *pytest_options, *tests],
        capture_output=True,
        text=True,
        timeout=3000,
        env=environment,
        cwd=HERE.parents[1],
    )
    assert completed.returncode == 0, completed.stdout[-4000:] + completed.stderr[-2000:]
    assert " passed" in completed.stdout and "skipped" not in completed.stdout.splitlines()[-1], completed.stdout[
        -2000:
    ]
