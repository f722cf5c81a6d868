"""Add results directories and ETDumps to a fleet as a Ray Data job.

import ray
from etprof.fleet import ingest_ray

ray.init()
ingest_ray.ingest(paths, "s3://bucket/fleet")
"""

from __future__ import annotations

import ray.data

from etprof.fleet import jobs, store
from etprof.fleet.ingest import Added, Labels


def ingest(
    paths: jobs.Paths, uri: str, labels: Labels | None = None, events: int = 0, runs_per_task: int = 64, add=jobs.add
) -> Added:
    """Add results directories and ETDumps, a few per task. Ray restarts a task if its worker dies.

    Args:
        paths: results directories and ETDumps that every worker sees
        uri: the fleet, which every worker sees; created if absent
        labels: device, class, and version of all runs; for ETDumps also model and day
        events: number of traced runs per experiment whose events are kept
        runs_per_task: number of runs that a task adds; their rows become one batch per day and model
        add: the function that a task runs

    Raises:
        ray.exceptions.RayError: a task failed; runs that other tasks added remain, and can be added again
    """
    store.Fleet(uri, create=True)
    tasks = [{"paths": chunk} for chunk in jobs.chunks(paths, runs_per_task)]
    if not tasks:
        return Added()
    dataset = ray.data.from_items(tasks, override_num_blocks=len(tasks))
    return jobs.total(dataset.map(lambda task: add(list(task["paths"]), uri, labels, events)).take_all())
