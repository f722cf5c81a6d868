"""`etprof fleet`, from results directories to answers and traces."""

import csv
import io
import json
import shutil

import numpy as np
import polars as pl
import pytest
from program import ROOT, one_error, run

import etprof
from etprof.fleet import ingest, query, schema, store
from etprof.fleet.problem import FleetError


def copy_with_manifest(measured, folder, **keys):
    """A copy of the run with other values in its manifest."""
    shutil.copytree(measured, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | keys))
    return folder


def tables(fleet: store.Fleet) -> dict[str, pl.DataFrame]:
    return {
        name: pl.read_parquet(files, hive_partitioning=False) if files else None
        for name, files in fleet.files().items()
    }


def test_a_run_becomes_rows_that_add_up(measured, tmp_path):
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
    done = ingest.add(fleet, [measured], ingest.Labels("phone 1", "phone", "1.5"), events=2)
    manifest = json.loads((measured / "manifest.json").read_text())
    frames = tables(fleet)
    assert (done.runs, done.known, done.launches) == (1, 0, 4)
    assert frames["runs"]["experiment"].to_list() == ["one", "two"]
    assert frames["runs"]["threads"].to_list() == [1, 2]
    assert frames["runs"]["path"].to_list() == [str(measured)] * 2
    assert set(frames["launches"]["device"]) == {"phone 1"}
    assert query.ask(fleet, query.read_sql("conservation")).rows == []
    for result in manifest["results"]:
        rows = frames["launches"].filter(pl.col("experiment") == result["experiment"])
        assert rows["runs"].sum() == result["runs"]
        assert rows["first_run_ns"].to_list() == [launch["first_run_ns"] for launch in result["launches"]]
        if result["runs"]:
            assert rows["latency_ns"].sum() / result["runs"] / 1e6 == pytest.approx(result["latency_ms"], rel=1e-12)
            assert rows["min_ns"].min() / 1e6 == pytest.approx(result["min_ms"], rel=1e-12)
        assert rows["counts"].explode(empty_as_null=False).sum() == result["runs"]
        # The expected operators come from the ETDump without the fleet's code.
        (profile,) = etprof.read_etdump(measured / result["etdump"]).profiles()
        phases = [one for one in result["etdump_runs"] for _ in range(one["runs"])]
        for launch in range(2):
            of_launch = [i for i, one in enumerate(phases) if one["launch"] == launch]
            steady = [i for i in of_launch if phases[i]["phase"] == "steady"]
            counted = steady or [i for i in of_launch if phases[i]["phase"] == "disturbed"]
            row = rows.filter(pl.col("launch") == launch).row(0, named=True)
            assert row["traced_runs"] == len(counted)
            assert row["disturbed"] == (not steady)
            assert row["traced_ns"] == int(profile.run_total_ns[counted].sum())
            operators = frames["operators"].filter(experiment=result["experiment"], launch=launch)
            expected = {
                operator["key"]: int(times[counted].sum())
                for operator, times in zip(profile.operators, profile.self_ns, strict=True)
            }
            found = dict(operators.select("key", "self_ns").rows())
            assert {key: ns for key, ns in found.items() if key != "clipped"} == expected
    events = frames["events"]
    for _, sample in events.group_by("experiment", "traced_run"):
        (whole,) = sample.filter(name="Method::execute").rows(named=True)
        assert whole["start_ns"] == 0
        assert (sample["start_ns"] + sample["duration_ns"]).max() <= whole["duration_ns"]
    for result in manifest["results"]:
        phases = [one["phase"] for one in result["etdump_runs"] for _ in range(one["runs"])]
        sampled = events.filter(experiment=result["experiment"])["traced_run"].n_unique()
        assert sampled == min(2, phases.count("steady") or len(phases))


def test_launches_under_other_conditions_are_another_configuration(measured, tmp_path):
    manifest = json.loads((measured / "manifest.json").read_text())

    def configurations(**keys) -> list[str]:
        folder = tmp_path / f"run_{len(list(tmp_path.iterdir()))}"
        fleet = store.Fleet(str(folder / "fleet"), create=True)
        results = [result | keys.pop("result", {}) for result in manifest["results"][:1]]
        assert not ingest.add(fleet, [copy_with_manifest(measured, folder / "run", results=results, **keys)]).refused
        return [row[0] for row in query.ask(fleet, "SELECT DISTINCT configuration FROM launches").rows]

    (plain,) = configurations()
    assert plain == "one t1"
    assert configurations(result={"period_ns": 33_000_000, "cpus": "0-3"}) == ["one t1 cpus=0-3 period=33ms"]
    sustained = manifest["schedule"] | {"sustained_seconds": 600.0}
    assert configurations(method="decode", schedule=sustained) == ["one t1 method=decode sustained=600s"]


def test_adding_twice_changes_nothing(measured, tmp_path):
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
    ingest.add(fleet, [measured])
    before = {file: file.read_bytes() for file in (tmp_path / "fleet").rglob("*.parquet")}
    again = ingest.add(fleet, [measured, measured])
    assert (again.runs, again.known) == (0, 1)
    later = copy_with_manifest(measured, tmp_path / "later", generated_at="2026-01-02T03:04:05Z", model_id="other net")
    assert ingest.add(fleet, [measured, later]).runs == 1
    after = {file: file.read_bytes() for file in (tmp_path / "fleet").rglob("*.parquet")}
    assert len(after) == 2 * len(before)
    assert {file: after[file] for file in before} == before
    days = query.ask(fleet, "SELECT DISTINCT day::VARCHAR, model FROM operators ORDER BY ALL").rows
    assert days[0] == ("2026-01-02", "other net")
    fleet.compact()
    assert ingest.add(fleet, [later, measured]).known == 2


def test_what_is_no_finished_run_is_refused_and_the_others_are_added(measured, tmp_path):
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
    manifest = json.loads((measured / "manifest.json").read_text())
    cut = copy_with_manifest(measured, tmp_path / "cut", generated_at="2026-01-01T00:00:01Z")
    for file in cut.rglob("*.etdump"):
        file.write_bytes(file.read_bytes()[:100])
    without = [{key: value for key, value in result.items() if key != "isa"} for result in manifest["results"]]
    cases = {
        "is running": copy_with_manifest(measured, tmp_path / "running", status="running"),
        "no manifest.json": tmp_path,
        "must look like": copy_with_manifest(measured, tmp_path / "day", generated_at="yesterday"),
        "etdump": cut,
        "isa": copy_with_manifest(measured, tmp_path / "without", results=without, generated_at="2026-01-01T00:00:02Z"),
        "manifest": copy_with_manifest(measured, tmp_path / "odd", results=[1]),
    }
    done = ingest.add(fleet, [*cases.values(), measured])
    assert done.runs == 1
    assert len(done.refused) == len(cases)
    for problem, folder in cases.items():
        assert any(problem in str(error) and str(folder) in str(error) for error in done.refused), (
            problem,
            done.refused,
        )
    assert query.ask(fleet, query.read_sql("conservation")).rows == []
    assert len(query.ask(fleet, "FROM runs").rows) == 2
    process = run("fleet", "add", measured, tmp_path / "running", tmp_path / "cut", "--to", fleet.uri)
    assert process.returncode == 3
    assert "left out: `" in process.stderr
    assert process.stderr.splitlines()[-1].startswith("hint: ")
    # A fleet is created only if a run can be added, whatever the order of the paths.
    created, not_created = tmp_path / "made", tmp_path / "none"
    assert "1 run added" in run("fleet", "add", tmp_path / "running", measured, "--to", created).stderr
    assert run("fleet", "add", tmp_path / "running", tmp_path / "cut", "--to", not_created).returncode == 3
    assert created.exists()


def test_clipped_time_is_a_row():
    class Overlapping:
        operators = (
            {
                "key": "a",
                "name": "A",
                "type": "A",
                "kind": "method",
                "category": "framework",
                "group": "Framework overhead",
            },
        )
        self_ns = np.array([[10, 12]])
        run_phase = ("steady", "steady")
        run_launch = np.array([0, 0])
        run_total_ns = np.array([7, 12])
        run_clipped_ns = np.array([-3, 0])

    (launch, operators), (missing, _) = ingest.traced_rows(Overlapping(), [0, 1])
    assert [(row["key"], row["self_ns"], row["runs"]) for row in operators] == [("a", 22, 2), ("clipped", -3, 1)]
    assert sum(row["self_ns"] for row in operators) == launch["traced_ns"] == 19
    assert missing["traced_runs"] == 0


def test_buckets_are_ddsketchs():
    from ddsketch import LogCollapsingLowestDenseDDSketch

    rng = np.random.default_rng(5)
    latencies = rng.lognormal(15, 1, 5000).astype(np.int64)
    sketch = LogCollapsingLowestDenseDDSketch(schema.ACCURACY)
    for value in latencies:
        sketch.add(float(value))
    buckets, counts = ingest.bucketed(latencies)
    for quantile in (0.01, 0.5, 0.9, 0.99, 1):
        bucket = buckets[np.searchsorted(np.cumsum(counts), quantile * (latencies.size - 1), side="right")]
        ours = schema.bucket_middle(float(bucket))
        assert ours == pytest.approx(sketch.get_quantile_value(quantile), rel=1e-9)
        truth = np.sort(latencies)[int(quantile * (latencies.size - 1))]
        assert abs(ours / truth - 1) <= schema.ACCURACY
    # Halves add up to the whole, whatever the order.
    halves = [
        dict(zip(*(part.tolist() for part in ingest.bucketed(half)), strict=True)) for half in np.split(latencies, 2)
    ]
    merged = {bucket: sum(half.get(bucket, 0) for half in halves) for bucket in {*halves[0], *halves[1]}}
    assert merged == dict(zip(buckets.tolist(), counts.tolist(), strict=True))


def test_the_commands(measured, tmp_path):
    fleet = tmp_path / "fleet"
    done = run("fleet", "add", measured, "--to", fleet, "--version", "1.5", "--device", "d1", "--events", "1")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.startswith("1 run added: 4 launches, ")
    shipped = csv.DictReader(io.StringIO(run("fleet", "query", "--format", "csv").stdout))
    assert {row["query"] for row in shipped} == set(query.names())
    rows = json.loads(run("fleet", "query", "coverage", "--from", fleet, "--format", "json").stdout)
    assert [(row["version"], row["runs"], row["devices"], row["launches"]) for row in rows] == [("1.5", 1, 1, 4)]
    mine = tmp_path / "mine.sql"
    mine.write_text("SELECT run, getvariable('word') AS word FROM runs WHERE experiment = 'one'")
    done = run("fleet", "query", mine, "--from", fleet, "--set", "word=\x1b[31m=1+1", "--format", "table")
    opened = store.Fleet(str(fleet))
    (digest,) = opened.known_runs(opened.batches())
    assert done.stdout.splitlines()[1].split() == [digest, "\\x1b[31m=1+1"]
    files = json.loads(run("fleet", "files", "--from", fleet).stdout)
    assert {name: len(paths) for name, paths in files.items()} == {
        "operators": 1,
        "events": 1,
        "launches": 1,
        "runs": 1,
    }
    traced = run("fleet", "traces", mine, "--from", fleet, "--to", tmp_path / "traces")
    assert traced.stdout == f"{tmp_path}/traces/{digest}.pftrace\n", traced.stderr
    run("trace", measured, "-o", tmp_path / "told.pftrace")
    assert (tmp_path / "traces" / f"{digest}.pftrace").read_bytes() == (tmp_path / "told.pftrace").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("add", "nowhere", "--to", "{}/fleet"), 3, "no manifest.json"),
        (("query", "nosuch", "--from", "{}"), 2, "There is no query `nosuch`"),
        (("query", "trend", "--from", "{}"), 3, "is not a fleet"),
        (("query", "trend"), 2, "needs `--from URI`"),
        (("query", "--set", "x"), 2, "invalid NAME=VALUE value: 'x'"),
        (("nosuch",), 2, "does not take `nosuch`"),
    ],
)
def test_a_wrong_command_line_is_two_lines(arguments, code, problem, tmp_path):
    done = run("fleet", *(one.format(tmp_path) for one in arguments))
    assert done.returncode == code
    assert problem in one_error(done.stderr)
    assert not (tmp_path / "fleet").exists()


def test_sql_that_fails_says_why(tmp_path):
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
    with pytest.raises(FleetError, match="nosuch"):
        query.ask(fleet, "SELECT nosuch FROM runs")
    with pytest.raises(FleetError, match="Parser"):
        query.ask(fleet, "this is not SQL")
    assert query.ask(fleet, "SET VARIABLE x = 1").rows == []


def test_the_page_of_the_tables_is_the_schemas():
    assert (ROOT / "docs/reference/fleet.md").read_text(encoding="utf-8") == schema.page()
