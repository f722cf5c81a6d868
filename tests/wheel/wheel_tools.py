"""Helpers of the tests of the wheel."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build" / "release"


def call(*command: str | Path, **keywords) -> str:
    completed = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **keywords)
    assert completed.returncode == 0, f"{command}: {completed.stdout}\n{completed.stderr}"
    return completed.stdout
