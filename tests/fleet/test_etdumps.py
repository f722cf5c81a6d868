"""Bare ETDumps in a fleet: each is one launch, whose unknown values are null."""

import json
import shutil

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import simulated
from program import DATA, one_error, run

import etprof
from etprof.fleet import ingest, query, store, verdict
from etprof.fleet.problem import FleetError

ETDUMP = DATA / "toy_cnn.t1.etdump"
OTHER = DATA / "sme2_emulated" / "toy_cnn.sme2_on.etdump"


@pytest.fixture
def fleet(tmp_path):
    return store.Fleet(str(tmp_path / "fleet"), create=True)


def test_an_etdump_is_one_launch(fleet):
    done = ingest.add(fleet, [ETDUMP], events=1)
    (profile,) = etprof.read_etdump(ETDUMP).profiles()
    steady = profile.run_phase == "steady"
    assert steady.any()
    assert (done.runs, done.known, done.launches, done.refused) == (1, 0, 1, [])
    known = {
        "experiment": "forward",
        "label": "forward",
        "device_class": "unknown",
        "version": "unknown",
        "launches": 1,
        "path": str(ETDUMP),
        "day": None,
        "model": "unknown",
    }
    (row,) = pl.DataFrame(query.ask(fleet, "FROM runs")).to_dicts()
    assert {key: value for key, value in row.items() if value is not None} | {"day": None} == known | {
        "run": row["run"]
    }
    (launch,) = pl.DataFrame(query.ask(fleet, "FROM launches")).to_dicts()
    # Traced runs are not latencies.
    assert (launch["runs"], launch["latency_ns"], launch["median_ns"], launch["buckets"]) == (0, 0, None, [])
    unknown = ("device", "configuration", "emulated", "disturbed", "load_ns", "first_run_ns", "peak_rss_bytes", "day")
    assert [launch[key] for key in unknown] == [None] * len(unknown)
    assert launch["traced_runs"] == np.count_nonzero(steady)
    assert launch["traced_ns"] == int(profile.run_total_ns[steady].sum())
    sums = dict(query.ask(fleet, "SELECT key, self_ns FROM operators").rows)
    assert sums == {
        operator["key"]: int(times[steady].sum())
        for operator, times in zip(profile.operators, profile.self_ns, strict=True)
    }
    assert query.ask(fleet, query.read_sql("conservation")).rows == []
    assert query.ask(fleet, "SELECT count(DISTINCT traced_run) FROM events").rows == [(1,)]
    # Adding the file again changes nothing.
    assert ingest.add(fleet, [ETDUMP, ETDUMP]).known == 1


def test_every_engine_knows_a_day_that_is_null(fleet, measured):
    ingest.add(fleet, [ETDUMP, measured])
    files = fleet.files()["launches"]
    rows = query.ask(fleet, "SELECT day IS NULL, typeof(day), count(*) FROM launches GROUP BY ALL ORDER BY 1").rows
    assert rows == [(False, "DATE", 4), (True, "DATE", 1)]
    frame = pl.read_parquet(files, hive_partitioning=True, hive_schema={"day": pl.Date, "model": pl.String})
    assert sorted(frame.group_by(pl.col("day").is_null()).len().rows()) == [(False, 4), (True, 1)]
    folders = ds.partitioning(pa.schema({"day": pa.date32(), "model": pa.string()}), flavor="hive")
    arrow = ds.dataset(files, partitioning=folders).to_table()
    assert arrow["day"].null_count == 1


def test_labels_say_what_an_etdump_does_not(fleet, measured):
    labels = ingest.Labels("phone 1", "phone", "1.5", "net", "2026-11-01")
    ingest.add(fleet, [ETDUMP, measured], labels)
    labels_of_launches = query.ask(
        fleet, "SELECT DISTINCT device, device_class, version, model, day::VARCHAR FROM launches"
    )
    (other,) = set(labels_of_launches.rows) - {("phone 1", "phone", "1.5", "net", "2026-11-01")}
    assert len(labels_of_launches.rows) == 2
    assert other[:3] == ("phone 1", "phone", "1.5"), "a results directory has labels, too"
    assert other[3:] != ("net", "2026-11-01"), "its model and day are its own"


def test_an_etdump_with_no_steady_run_says_so():
    class First:
        operators = (dict.fromkeys(("key", "name", "type", "kind", "category", "group"), "x"),)
        self_ns = np.array([[7, 9]])
        run_phase = ("first", "warmup")
        run_launch = np.array([0, 0])
        run_total_ns = np.array([7, 9])
        run_clipped_ns = np.array([0, 0])

    ((launch, operators),) = ingest.traced_rows(First(), [0], is_etdump=True)
    assert launch == {"traced_runs": 2, "traced_ns": 16, "disturbed": True}
    assert [row["self_ns"] for row in operators] == [16]
    ((launch, _),) = ingest.traced_rows(First(), [0])
    assert launch == {"traced_runs": 0, "traced_ns": 0, "disturbed": False}


def test_launches_without_latencies_change_no_verdict(fleet):
    cell = ("2026-11-01", "net")
    fleet.write(cell, simulated.batch("a", 6, {"1.4": 0.0, "1.5": 0.1}, seed=1, device_sd=0.001))
    question = verdict.Question("1.4", "1.5")
    before = verdict.judge(fleet, question)
    (one,) = before
    assert (one.verdict, one.devices) == ("slower", 6)
    for labels in (ingest.Labels("a/0", "a", "1.5", *cell[::-1]), ingest.Labels(None, "a", "1.4", *cell[::-1])):
        assert ingest.add(fleet, [ETDUMP if labels.device else OTHER], labels).runs == 1
    assert verdict.judge(fleet, question) == before
    assert pl.DataFrame(before).to_dicts() == [vars(one)]
    ingest.add(fleet, [DATA / "toy_cnn.avx.t1.etdump"], ingest.Labels("a/0", "a", "1.6"))
    with pytest.raises(FleetError, match=r"no measured launches of version `1\.6`"):
        verdict.judge(fleet, verdict.Question("1.4", "1.6"))


FIRST, SECOND = ingest.Labels(model="a", day="2026-11-01"), ingest.Labels(model="b", day="2026-11-02")


def models_and_days(fleet) -> list[tuple]:
    return query.ask(fleet, "SELECT model, day::VARCHAR FROM launches ORDER BY ALL").rows


def test_an_etdump_has_one_place(fleet):
    """An ETDump is refused under other labels until it is removed."""
    ingest.add(fleet, [ETDUMP], FIRST)
    ingest.add(fleet, [OTHER], SECOND)
    again = ingest.add(fleet, [ETDUMP], SECOND)
    assert (again.runs, again.known) == (0, 0)
    (error,) = again.refused
    assert "is in the fleet already, as model `a` of 2026-11-01" in str(error)
    assert "fleet remove" in error.remedy
    removed = run("fleet", "remove", ETDUMP, "--from", fleet.uri)
    assert removed.returncode == 0 and "1 run removed" in removed.stderr
    assert models_and_days(fleet) == [("b", "2026-11-02")]
    missing = run("fleet", "remove", ETDUMP, "--from", fleet.uri)
    assert missing.returncode == 3 and "is not in the fleet" in one_error(missing.stderr)
    assert ingest.add(fleet, [ETDUMP], SECOND).runs == 1
    assert models_and_days(fleet) == [("b", "2026-11-02")] * 2
    # A digest removes a run from a batch with other runs.
    fleet.compact()
    digest = dict(query.ask(fleet, "SELECT path, run FROM runs").rows)[str(OTHER)]
    assert fleet.remove({digest}) == {digest}
    assert models_and_days(fleet) == [("b", "2026-11-02")]
    assert query.ask(fleet, query.read_sql("conservation")).rows == []


def test_compacting_removes_what_older_versions_added_twice(fleet, tmp_path):
    for number, labels in enumerate((FIRST, SECOND, ingest.Labels())):
        other = store.Fleet(str(tmp_path / f"fleet{number}"), create=True)
        ingest.add(other, [ETDUMP, OTHER] if number == 2 else [ETDUMP], labels)
        for table in ("runs", "launches", "operators"):
            shutil.copytree(tmp_path / f"fleet{number}" / table, tmp_path / "fleet" / table, dirs_exist_ok=True)
    assert len(query.ask(fleet, query.read_sql("duplicates")).rows) == 1
    assert query.ask(fleet, query.read_sql("conservation")).rows == [], "each is whole where it is"
    fleet.compact()
    assert query.ask(fleet, query.read_sql("duplicates")).rows == []
    assert models_and_days(fleet) == [("a", "2026-11-01"), ("unknown", None)]
    before = fleet.files()
    assert fleet.compact().removed_files == 0
    assert fleet.files() == before


def test_a_manifest_that_is_written_in_another_way_is_the_same_run(fleet, measured, tmp_path):
    ingest.add(fleet, [measured])
    other = tmp_path / "other"
    shutil.copytree(measured, other)
    manifest = json.loads((other / "manifest.json").read_text())
    reordered = dict(sorted(manifest.items(), reverse=True))
    (other / "manifest.json").write_text(json.dumps(reordered, indent=7).replace(".0,", ".00,"))
    again = ingest.add(fleet, [other])
    assert (again.runs, again.known, again.refused) == (0, 1, [])
    # Another measurement is another run.
    manifest["generated_at"] = "2020-01-01T00:00:00Z"
    (other / "manifest.json").write_text(json.dumps(manifest))
    assert ingest.add(fleet, [other]).runs == 1
    # An older etprof stored the run under the digest of the manifest's bytes.
    opened = ingest.open_run(measured)
    older = {name: pa.table(table) for name, table in simulated.batch("a", 1, {"1": 0.0}, seed=1).items()}
    renamed = {
        name: table.set_column(table.schema.get_field_index("run"), "run", pa.array([opened.older_digest] * len(table)))
        for name, table in older.items()
    }
    old = store.Fleet(str(tmp_path / "old"), create=True)
    old.write(opened.partition, renamed)
    assert ingest.add(old, [measured]).known == 1


def test_compacting_takes_both(fleet, measured):
    ingest.add(fleet, [ETDUMP])
    ingest.add(fleet, [OTHER])
    ingest.add(fleet, [measured])
    rows = {name: query.ask(fleet, f"FROM {name} ORDER BY ALL").rows for name in ("runs", "launches", "operators")}
    assert fleet.compact() == store.Compacted(before=3, after=2, removed_files=6)
    assert rows == {name: query.ask(fleet, f"FROM {name} ORDER BY ALL").rows for name in rows}
    for name in query.names():
        query.ask(fleet, query.read_sql(name))


def test_what_is_no_etdump_is_refused(fleet, tmp_path):
    text, cut, empty = tmp_path / "a.txt", tmp_path / "cut.etdump", tmp_path / "empty.etdump"
    text.write_text("not an ETDump")
    cut.write_bytes(ETDUMP.read_bytes()[:1000])
    empty.write_bytes(b"")
    done = ingest.add(fleet, [text, cut, empty, tmp_path / "nowhere", ETDUMP])
    assert done.runs == 1
    problems = [str(error) for error in done.refused]
    for file, problem in ((text, "is not an ETDump"), (empty, "is empty"), (cut, "cut.etdump")):
        assert any(str(file) in text and problem in text for text in problems), problems
    with pytest.raises(FleetError, match="is not an ETDump"):
        ingest.open_run(text)


def test_the_commands(tmp_path):
    dump = tmp_path / "x.etdump"
    shutil.copy(ETDUMP, dump)
    place = tmp_path / "fleet"
    done = run("fleet", "add", dump, "--to", place, "--model", "net", "--day", "2026-11-01", "--device-class", "phone")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("1 run added: 1 launch, ")
    sql = tmp_path / "runs.sql"
    sql.write_text("SELECT run, day::VARCHAR AS day, model FROM runs")
    done = run("fleet", "query", sql, "--from", place, "--format", "csv")
    digest, day, model = done.stdout.splitlines()[1].split(",")
    assert (day, model) == ("2026-11-01", "net")
    traced = run("fleet", "traces", sql, "--from", place, "--to", tmp_path / "traces")
    assert traced.stdout == f"{tmp_path}/traces/{digest}.pftrace\n", traced.stderr
    done = run("fleet", "add", dump, "--to", place, "--day", "yesterday")
    assert done.returncode == 2
    assert "invalid day value: 'yesterday'" in one_error(done.stderr)
