"""The tasks of a distributed job that adds results directories and ETDumps; its engine schedules and retries them.

A task adds a few runs. If its machine dies, the engine restarts the task on another one. The second try skips runs that the
first try committed, and writes the others again under the same names (`store`). So no run is lost or duplicated.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from etprof.fleet import ingest, store
from etprof.fleet.problem import FleetError

Paths = Sequence[str | os.PathLike[str]]


def chunks(paths: Paths, runs_per_task: int) -> list[list[str]]:
    """Divide the paths into tasks. A path that is given twice is in only one task."""
    found = sorted({os.path.realpath(path) for path in paths})
    return [found[i : i + runs_per_task] for i in range(0, len(found), runs_per_task)]


def add(paths: list[str], uri: str, labels: ingest.Labels | None, events: int) -> dict:
    """Run one task. Its machine needs etprof and access to the paths and the fleet."""
    added = ingest.add(store.Fleet(uri), paths, labels, events)
    return vars(added) | {"refused": [[str(error), error.remedy] for error in added.refused]}


def total(tasks: Iterable[dict]) -> ingest.Added:
    """Add up the results of all tasks. A retried task counts runs that its first try added as known."""
    sums = ingest.Added()
    for result in tasks:
        for key in ("runs", "known", "launches", "operators"):
            setattr(sums, key, getattr(sums, key) + result[key])
        sums.refused += [FleetError(*problem_and_hint) for problem_and_hint in result["refused"]]
    return sums
