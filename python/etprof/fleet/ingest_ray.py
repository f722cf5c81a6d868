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
        uri: the fleet, which every worker sees; made if absent
        labels: what to call device, class, and version of all of them; of ETDumps model and day, too
        events: keep the events of so many traced runs per experiment
        runs_per_task: how many a task adds: their rows are one batch per day and model
        add: what a task does

    Raises:
        ray.exceptions.RayError: a task failed; what others added stays, and may be added again
    """
    store.Fleet(uri, create=True)
    tasks = [{"paths": some} for some in jobs.chunks(paths, runs_per_task)]
    if not tasks:
        return Added()
    dataset = ray.data.from_items(tasks, override_num_blocks=len(tasks))
    return jobs.total(dataset.map(lambda task: add(list(task["paths"]), uri, labels, events)).take_all())
