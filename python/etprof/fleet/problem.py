"""The error of the commands of `etprof fleet`."""

from __future__ import annotations


class FleetError(Exception):
    """The command failed; the error has the problem and the remedy."""

    def __init__(self, problem: str, remedy: str, exit_code: int = 3) -> None:
        super().__init__(problem)
        self.remedy = remedy
        self.exit_code = exit_code
