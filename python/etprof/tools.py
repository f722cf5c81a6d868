"""Where etprof's own programs are, for what the exporter asks them."""

from __future__ import annotations

import os
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2]


def find_program(name: str, variable: str) -> Path | None:
    """The program that the environment variable names, else the checkout's build/<name>; None where there is neither.

    `etprof export` sets both variables to the programs that it belongs to.
    """
    given = os.environ.get(variable)
    path = Path(given) if given else _CHECKOUT / "build" / name
    return path if path.is_file() else None


def etprof() -> Path | None:
    """The etprof program."""
    return find_program("etprof", "ETPROF")


def runner() -> Path | None:
    """The etprof-runner of this machine."""
    return find_program("etprof-runner", "ETPROF_RUNNER")
