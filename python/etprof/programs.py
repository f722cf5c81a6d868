"""The programs that the wheel brings: etprof itself, and the runner beside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def program() -> Path:
    """Return the etprof program: $ETPROF, the one in this package, or the one that this checkout built.

    Raises:
        FileNotFoundError: none is there
    """
    here = Path(__file__).resolve().parent
    chosen = os.environ.get("ETPROF")
    candidates = [Path(chosen)] if chosen else [here / "bin" / "etprof", here.parents[1] / "build" / "etprof"]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(
        f"the etprof program is not at {' or '.join(map(str, candidates))}: install the wheel, or run script/bootstrap"
    )


def main() -> None:
    """Become the etprof program: the command that the wheel installs."""
    # `etprof export` needs a Python that has this package.
    os.environ.setdefault("ETPROF_PYTHON", sys.executable)
    path = str(program())
    os.execv(path, ["etprof", *sys.argv[1:]])  # noqa: S606  our own program
