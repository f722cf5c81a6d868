"""Ray and Spark add runs in several processes. One of them is killed halfway, and nothing is lost or doubled."""

import json
import os
import shutil
import signal
import sys

import pytest
from program import DATA, ROOT

from etprof.fleet import ingest, jobs, query, store

RUNS = 7


@pytest.fixture(scope="module")
def folders(measured, tmp_path_factory):
    """A measured run, copied with several times of measurement, and an ETDump."""
    parent = tmp_path_factory.mktemp("runs")
    manifest = json.loads((measured / "manifest.json").read_text())
    paths = [DATA / "toy_cnn.t1.etdump"]
    for i in range(RUNS - 1):
        folder = parent / f"run{i}"
        folder.mkdir()
        for part in measured.iterdir():
            if part.name != "manifest.json":
                (folder / part.name).symlink_to(part)
        (folder / "manifest.json").write_text(
            json.dumps(manifest | {"generated_at": f"2026-11-0{i % 2 + 1}T00:00:{i:02}Z"})
        )
        paths.append(folder)
    return paths


@pytest.fixture
def workers(monkeypatch):
    """Makes worker processes find etprof where this process does."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'python'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")


def killed_once(marker):
    """A task whose first process dies when the operators of its runs are written and the runs are not."""

    def task(*arguments):
        from etprof.fleet import jobs, store

        write = store.Fleet._write

        def dying(self, path, contents):
            if "/launches/" in path:
                try:
                    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    pass
                else:
                    os.kill(os.getpid(), signal.SIGKILL)
            write(self, path, contents)

        store.Fleet._write = dying
        try:
            return jobs.add(*arguments)
        finally:
            store.Fleet._write = write

    return task


def check(fleet: store.Fleet, folders, done: ingest.Added, marker, tmp_path) -> None:
    assert marker.exists(), "nothing was killed"
    assert (done.runs, done.known) == (RUNS, 0)
    assert sorted(row[0] for row in query.ask(fleet, "SELECT DISTINCT run FROM runs").rows) == sorted(
        ingest.open_run(folder).digest for folder in folders
    )
    assert query.ask(fleet, query.read_sql("conservation")).rows == []
    assert query.ask(fleet, query.read_sql("duplicates")).rows == []
    # The rows are those that a single process adds.
    alone = store.Fleet(str(tmp_path / "alone"), create=True)
    ingest.add(alone, folders)
    for table in ("runs", "launches", "operators"):
        assert (
            query.ask(fleet, f"FROM {table} ORDER BY ALL").rows == query.ask(alone, f"FROM {table} ORDER BY ALL").rows
        )
    # No attempt left another file, which other engines would read.
    stored = {name: sorted(fleet.path(name, batch) for batch in fleet._files_by_batch(name)) for name in fleet.files()}
    assert stored == {name: sorted(files) for name, files in fleet.files().items()}


def test_chunks_have_every_folder_once(tmp_path):
    folders = [tmp_path / f"{i}" for i in range(7)]
    chunks = jobs.chunks([*folders, folders[0], f"{folders[1]}/."], 3)
    assert [len(chunk) for chunk in chunks] == [3, 3, 1]
    assert sorted(path for chunk in chunks for path in chunk) == sorted(map(str, folders))
    assert jobs.chunks([], 3) == []


def test_a_task_that_is_tried_again_adds_the_rest(folders, tmp_path):
    uri = str(tmp_path / "fleet")
    store.Fleet(uri, create=True)
    jobs.add(list(map(str, folders[:4])), uri, None, 0)
    assert jobs.add(list(map(str, folders)), uri, None, 0)["known"] == 4
    assert query.ask(store.Fleet(uri), query.read_sql("duplicates")).rows == []


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java: run script/bootstrap --dev")
@pytest.mark.filterwarnings("ignore::FutureWarning:pyspark.*")
def test_spark(folders, tmp_path, workers):  # noqa: ARG001
    pyspark = pytest.importorskip("pyspark.sql", reason="run script/bootstrap --dev")
    from etprof.fleet import ingest_spark

    session = (
        pyspark.SparkSession.builder.master("local[2,4]")  # two tasks at once, each in its process, tried four times
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.shuffle.partitions", "1")
        # Without the second compiler, such a short process takes half the processor time.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.codegen.wholeStage", "false")
        .getOrCreate()
    )
    try:
        marker = tmp_path / "killed"
        fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
        done = ingest_spark.ingest(session, folders, fleet.uri, runs_per_task=2, add=killed_once(str(marker)))
        check(fleet, folders, done, marker, tmp_path)
        # Spark reads the folders as partitions, as other engines do.
        frame = session.read.parquet(f"{fleet.uri}/operators")
        by_spark = frame.selectExpr("count(*)", "sum(self_ns)", "count(DISTINCT day)", "min(model)").first()
        by_duckdb = query.ask(
            fleet, "FROM operators SELECT count(*), sum(self_ns)::BIGINT, count(DISTINCT day), min(model)"
        )
        assert tuple(by_spark) == by_duckdb.rows[0]
    finally:
        session.stop()


@pytest.mark.filterwarnings("ignore")
def test_ray(folders, tmp_path, workers):  # noqa: ARG001
    ray = pytest.importorskip("ray", reason="run script/bootstrap --dev")
    from etprof.fleet import ingest_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        marker = tmp_path / "killed"
        fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
        done = ingest_ray.ingest(folders, fleet.uri, runs_per_task=2, add=killed_once(str(marker)))
        check(fleet, folders, done, marker, tmp_path)
    finally:
        ray.shutdown()
