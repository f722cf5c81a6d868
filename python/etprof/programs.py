"""The programs that the wheel brings: etprof itself, and the runner beside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def find(name: str, variable: str) -> Path | None:
    """The program that the environment variable names, else the one in this package, else the one that this checkout built.

    `etprof export` sets ETPROF and ETPROF_RUNNER to the programs that it belongs to. None: it is not there.
    """
    return next((candidate for candidate in _candidates(name, variable) if candidate.is_file()), None)


def etprof() -> Path | None:
    """etprof itself."""
    return find("etprof", "ETPROF")


def runner() -> Path | None:
    """The etprof-runner of this machine."""
    return find("etprof-runner", "ETPROF_RUNNER")


def _candidates(name: str, variable: str) -> list[Path]:
    here = Path(__file__).resolve().parent
    chosen = os.environ.get(variable)
    return [Path(chosen)] if chosen else [here / "bin" / name, here.parents[1] / "build" / name]


def place() -> Path:
    """Where etprof itself is, or where it would be."""
    return etprof() or _candidates("etprof", "ETPROF")[-1]


def program() -> Path:
    """Return the etprof program, as `etprof()`.

    Raises:
        FileNotFoundError: none is there
    """
    found = etprof()
    if found is None:
        places = " or ".join(map(str, _candidates("etprof", "ETPROF")))
        raise FileNotFoundError(f"the etprof program is not at {places}: install the wheel, or run script/bootstrap")
    return found


def main() -> None:
    """Become the etprof program: the command that the wheel installs."""
    # `etprof export` needs a Python that has this package.
    os.environ.setdefault("ETPROF_PYTHON", sys.executable)
    path = str(program())
    os.execv(path, ["etprof", *sys.argv[1:]])  # noqa: S606  our own program
