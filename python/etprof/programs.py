"""The programs in the wheel: etprof and its runner."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def find(name: str, variable: str) -> Path | None:
    """Find a program: the one that the environment variable names, else the one in this package, else the checkout's build.

    `etprof export` sets ETPROF and ETPROF_RUNNER to its own programs. Returns None if the program does not exist.
    """
    return next((candidate for candidate in _candidates(name, variable) if candidate.is_file()), None)


def etprof() -> Path | None:
    """Return the etprof program, or None if it does not exist."""
    return find("etprof", "ETPROF")


def runner() -> Path | None:
    """Return the etprof-runner for this machine, or None if it does not exist."""
    return find("etprof-runner", "ETPROF_RUNNER")


def _candidates(name: str, variable: str) -> list[Path]:
    here = Path(__file__).resolve().parent
    chosen = os.environ.get(variable)
    return [Path(chosen)] if chosen else [here / "bin" / name, here.parents[1] / "build" / name]


def expected_path() -> Path:
    """Return the path of etprof, or the path where it would be."""
    return etprof() or _candidates("etprof", "ETPROF")[-1]


def program() -> Path:
    """Return the etprof program.

    Raises:
        FileNotFoundError: the program does not exist
    """
    found = etprof()
    if found is None:
        places = " or ".join(map(str, _candidates("etprof", "ETPROF")))
        raise FileNotFoundError(f"the etprof program is not at {places}: install the wheel, or run script/bootstrap")
    return found


def main() -> None:
    """Replace this process by the etprof program. This is the command that the wheel installs."""
    # `etprof export` needs a Python interpreter that has this package.
    os.environ.setdefault("ETPROF_PYTHON", sys.executable)
    path = str(program())
    os.execv(path, ["etprof", *sys.argv[1:]])  # noqa: S606  our own program
