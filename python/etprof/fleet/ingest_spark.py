"""Add results directories and ETDumps to a fleet as a Spark job.

from pyspark.sql import SparkSession
from etprof.fleet import ingest_spark

ingest_spark.ingest(SparkSession.builder.getOrCreate(), paths, "s3://bucket/fleet")
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from etprof.fleet import jobs, store
from etprof.fleet.ingest import Added, Labels


def ingest(
    session: SparkSession,
    paths: jobs.Paths,
    uri: str,
    labels: Labels | None = None,
    events: int = 0,
    runs_per_task: int = 64,
    add=jobs.add,
) -> Added:
    """Add results directories and ETDumps, a few per task. Spark restarts a task if its worker dies.

    The arguments are those of `ingest_ray.ingest`.

    Raises:
        py4j.protocol.Py4JJavaError: a task failed; runs that other tasks added remain, and can be added again
    """
    store.Fleet(uri, create=True)
    tasks = jobs.chunks(paths, runs_per_task)
    if not tasks:
        return Added()
    distributed = session.sparkContext.parallelize(tasks, len(tasks))
    return jobs.total(distributed.map(lambda chunk: add(chunk, uri, labels, events)).collect())
