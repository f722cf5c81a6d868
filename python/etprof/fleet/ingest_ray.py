"""Adding results directories to a fleet as a Ray Data job.

import ray
from etprof.fleet import ingest_ray

ray.init()
ingest_ray.ingest(folders, "s3://bucket/fleet")
"""

from __future__ import annotations

import ray.data

from etprof.fleet import jobs, store
from etprof.fleet.ingest import Added, Labels


def ingest(
    folders: jobs.Paths, uri: str, labels: Labels | None = None, events: int = 0, runs_per_task: int = 64, add=jobs.add
) -> Added:
    """Add results directories, a few of them per task. Ray starts a task again whose worker has died.

    Args:
        folders: results directories that every worker sees
        uri: the fleet, which every worker sees; made if absent
        labels: what to call device, class, and version of all of them
        events: keep the events of so many traced runs per experiment
        runs_per_task: how many a task adds: their rows are one batch per day and model
        add: what a task does

    Raises:
        ray.exceptions.RayError: a task failed; what others added stays, and may be added again
    """
    store.Fleet(uri, create=True)
    tasks = [{"folders": some} for some in jobs.chunks(folders, runs_per_task)]
    if not tasks:
        return Added()
    dataset = ray.data.from_items(tasks, override_num_blocks=len(tasks))
    return jobs.total(dataset.map(lambda task: add(list(task["folders"]), uri, labels, events)).take_all())
