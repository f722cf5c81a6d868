"""Helpers of the tests of the wheel."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build" / "release"


def call(*command: str | Path, **keywords) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **keywords)
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout
