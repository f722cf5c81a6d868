"""What a job of many machines does with results directories and ETDumps; scheduling and retrying are its engine's.

A task adds a few runs. If its machine dies, the engine starts it again somewhere else: what the first try has committed is
known then, and what it has not is written again under the same names (`store`). So nothing is lost or doubled.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from etprof.fleet import ingest, store
from etprof.fleet.problem import FleetError

Paths = Sequence[str | os.PathLike[str]]


def chunks(paths: Paths, runs_per_task: int) -> list[list[str]]:
    """The runs of each task; a path that is named twice is in one of them."""
    found = sorted({os.path.realpath(path) for path in paths})
    return [found[i : i + runs_per_task] for i in range(0, len(found), runs_per_task)]


def add(paths: list[str], uri: str, labels: ingest.Labels | None, events: int) -> dict:
    """One task. Its machine needs etprof, and sees the paths and the fleet."""
    done = ingest.add(store.Fleet(uri), paths, labels, events)
    return vars(done) | {"refused": [[str(error), error.what_to_do] for error in done.refused]}


def total(tasks: Iterable[dict]) -> ingest.Added:
    """What all tasks did. Of a task that was tried again, the last try counts: runs of the first are known to it."""
    whole = ingest.Added()
    for task in tasks:
        for key in ("runs", "known", "launches", "operators"):
            setattr(whole, key, getattr(whole, key) + task[key])
        whole.refused += [FleetError(*words) for words in task["refused"]]
    return whole
