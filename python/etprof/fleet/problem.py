"""The error of the commands of `etprof fleet`."""

from __future__ import annotations

from etprof.errors import CommandError


class FleetError(CommandError):
    """A command of `etprof fleet` failed."""
