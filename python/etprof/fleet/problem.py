"""The one error that a command of a fleet ends with."""

from __future__ import annotations


class FleetError(Exception):
    """What could not be done, and what to do about it."""

    def __init__(self, problem: str, what_to_do: str, exit_code: int = 3) -> None:
        super().__init__(problem)
        self.what_to_do = what_to_do
        self.exit_code = exit_code
