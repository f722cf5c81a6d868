"""A fleet's files: rows add up, adding again and compacting change nothing, and no kill loses or doubles a run."""

import datetime
import os
import sys
import uuid

import duckdb
import fsspec
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import simulated

from etprof.fleet import query, schema, store
from etprof.fleet.problem import FleetError

DAYS = ("2026-11-01", "2026-11-02")
MODELS = ("net", "net ü/50%=x")


@pytest.fixture(params=["folder", "file", "memory"])
def uri(request, tmp_path):
    """The location of a fleet: a path, a URL, or an object store without renames."""
    return {
        "folder": str(tmp_path / "fleet"),
        "file": f"file://{tmp_path}/fleet",
        "memory": f"memory://{uuid.uuid4().hex}/fleet",
    }[request.param]


def filled(uri: str) -> store.Fleet:
    fleet = store.Fleet(uri, create=True)
    for i, (day, model) in enumerate((day, model) for day in DAYS for model in MODELS):
        for part in range(2):
            tables = simulated.batch(f"class{part}", 3, {"1": 0.0, "2": 0.1}, seed=2 * i + part, tag=f"{i}-")
            fleet.write((day, model), tables)
    return fleet


def contents(fleet: store.Fleet) -> dict[str, list[tuple]]:
    """All rows of the fleet's files, sorted."""
    rows = {}
    for name, files in fleet.files().items():
        tables = []
        for file in files:
            with fleet.fs.open(file, "rb") as opened:
                tables.append(pq.ParquetFile(opened).read())
        rows[name] = sorted(
            (tuple(row.values()) for table in tables for row in table.to_pylist()),
            key=repr,
        )
    return rows


def test_engines_agree_and_rows_add_up(uri):
    fleet = filled(uri)
    rows = contents(fleet)
    assert {name: len(table) for name, table in rows.items()} == {
        "runs": 48,
        "launches": 144,
        "operators": 144 * simulated.OPERATORS,
        "events": 0,
    }
    assert query.ask(fleet, query.read_sql("conservation")).rows == []
    assert query.ask(fleet, query.read_sql("duplicates")).rows == []
    sums = {}
    for name, files in fleet.files().items():
        if not files:
            continue
        number = {"operators": "self_ns", "launches": "latency_ns", "runs": "threads"}[name]
        open_files = [fleet.fs.open(file, "rb") for file in files]
        frame = pl.concat(pl.read_parquet(file) for file in open_files)
        arrow = pyarrow.dataset.dataset(files, filesystem=pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(fleet.fs)))
        sums[name] = {
            "polars": (len(frame), frame[number].sum()),
            "pyarrow": (arrow.count_rows(), pyarrow.compute.sum(arrow.to_table()[number]).as_py()),
            "duckdb": query.ask(fleet, f"FROM {name} SELECT count(*), sum({number})::BIGINT").rows[0],
        }
    for engines in sums.values():
        assert len(set(engines.values())) == 1, sums


def test_engines_read_days_and_models_from_the_folders(tmp_path):
    fleet = filled(str(tmp_path / "fleet"))
    expected = sorted(query.ask(fleet, "SELECT day::VARCHAR, model, count(*) FROM launches GROUP BY ALL").rows)
    assert [row[:2] for row in expected] == [(day, model) for day in DAYS for model in MODELS]
    glob = f"{tmp_path}/fleet/launches/**/*.parquet"
    frame = pl.read_parquet(glob, hive_partitioning=True, hive_schema={"day": pl.Date, "model": pl.String})
    assert sorted((str(day), model, n) for day, model, n in frame.group_by("day", "model").len().rows()) == expected
    rows = duckdb.sql(f"FROM '{glob}' SELECT day::VARCHAR, model, count(*) GROUP BY ALL").fetchall()
    assert sorted(rows) == expected


def test_files_are_what_the_schema_says(tmp_path):
    fleet = filled(str(tmp_path / "fleet"))
    for table in schema.TABLES:
        for file in fleet.files()[table.name]:
            read = pq.ParquetFile(file)
            for field, declared in zip(read.schema_arrow, schema.arrow_schema(table), strict=True):
                assert (field.name, field.type, field.nullable) == (declared.name, declared.type, declared.nullable)
            assert read.metadata.metadata[b"etprof_fleet"] == b"1"
            group = read.metadata.row_group(0)
            for i in range(group.num_columns):
                column = group.column(i)
                assert column.compression == "ZSTD"
                assert column.statistics is not None, column.path_in_schema
                encoding = {"string": "RLE_DICTIONARY", "int32": "RLE_DICTIONARY", "int64": "DELTA_BINARY_PACKED"}
                kind = {one.name: one.type for one in table.columns}.get(column.path_in_schema)
                assert encoding.get(kind, "RLE") in column.encodings, column.path_in_schema
            rows = read.read().to_pylist()
            keys = [tuple(row[key] for key in schema.SORTED_BY) for row in rows]
            assert keys == sorted(keys)
            assert [column.column_index for column in group.sorting_columns] == [
                read.schema_arrow.get_field_index(key) for key in schema.SORTED_BY
            ]


def test_writing_again_changes_nothing(uri):
    fleet = filled(uri)
    before, files = contents(fleet), fleet.files()
    assert filled(uri).files() == files
    assert contents(fleet) == before


def test_compacting_keeps_every_row(uri):
    fleet = filled(uri)
    before = contents(fleet)
    assert fleet.compact() == store.Compacted(before=8, after=4, removed_files=24)
    assert contents(fleet) == before
    assert all(len(files) in (0, 4) for files in fleet.files().values())
    # Nothing is left that another engine would read.
    found = [file for file in fleet.fs.find(fleet.root) if not file.endswith("etprof_fleet.json")]
    assert sorted(found) == sorted(file for files in fleet.files().values() for file in files)
    assert fleet.compact() == store.Compacted(before=4, after=4, removed_files=0)


def test_large_files_stay_as_they_are(tmp_path, monkeypatch):
    fleet = filled(str(tmp_path / "fleet"))
    before = contents(fleet)
    sizes = [fleet.fs.size(file) for file in fleet.files()["operators"]]
    monkeypatch.setattr(store, "_MAX_MERGED_BYTES", min(sizes))
    assert fleet.compact().after == 8
    monkeypatch.setattr(store, "_MAX_MERGED_BYTES", max(sizes) + 1)
    assert fleet.compact().after == 4
    assert fleet.compact(min_files=1).after == 4
    assert contents(fleet) == before


def test_a_run_that_two_batches_have_is_one_after_compacting(uri):
    fleet = store.Fleet(uri, create=True)
    tables = simulated.batch("a", 4, {"1": 0.0}, seed=1)
    fleet.write(("2026-11-01", "net"), tables)
    expected = contents(fleet)
    some = pyarrow.array(tables["runs"]["run"].to_pylist()[:2])
    fleet.write(
        ("2026-11-01", "net"),
        {name: table.filter(pyarrow.compute.is_in(table["run"], some)) for name, table in tables.items()},
    )
    assert len(query.ask(fleet, query.read_sql("duplicates")).rows) == 2
    fleet.compact()
    assert query.ask(fleet, query.read_sql("duplicates")).rows == []
    assert contents(fleet) == expected


class KilledError(BaseException):
    """A simulated kill of the process."""


def killed_after(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """Lets `steps` operations that change files succeed, and simulates a kill at the next."""
    left = [steps]

    def counted(original):
        def call(*arguments, **named):
            if left[0] == 0:
                raise KilledError
            left[0] -= 1
            return original(*arguments, **named)

        return call

    monkeypatch.setattr(store.Fleet, "_write", counted(store.Fleet._write))
    monkeypatch.setattr(store.Fleet, "_remove", counted(store.Fleet._remove))


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_compacting_may_be_killed_at_any_moment(kind, tmp_path, monkeypatch):
    parts = [simulated.batch(f"c{part}", 1, {"1": 0.0}, part, launches=1) for part in range(2)]
    steps = 0
    while True:
        uri = str(tmp_path / f"{steps}") if kind == "folder" else f"memory://{uuid.uuid4().hex}"
        fleet = store.Fleet(uri, create=True)
        for tables in parts:
            fleet.write(("2026-11-01", "net"), tables)
        before = contents(fleet)
        with monkeypatch.context() as patch:
            killed_after(patch, steps)
            try:
                fleet.compact()
                finished = True
            except KilledError:
                finished = False
        assert contents(fleet) == before, steps
        fleet.compact(grace_s=0)
        assert contents(fleet) == before, steps
        assert len(fleet.batches()) == 1
        found = [file for file in fleet.fs.find(fleet.root) if not file.endswith("etprof_fleet.json")]
        assert sorted(found) == sorted(file for files in fleet.files().values() for file in files), steps
        if finished:
            break
        steps += 1
    # A list and three tables are written, then six tables and the list removed.
    assert steps == 11


def test_adding_may_be_killed_at_any_moment(uri, monkeypatch):
    for steps in range(4):
        place = f"{uri}{steps}"
        fleet = store.Fleet(place, create=True)
        tables = simulated.batch("a", 2, {"1": 0.0}, seed=1)
        with monkeypatch.context() as patch:
            killed_after(patch, steps)
            if steps < 3:
                with pytest.raises(KilledError):
                    fleet.write(("2026-11-01", "net"), tables)
            else:
                fleet.write(("2026-11-01", "net"), tables)
        rows = contents(fleet)
        assert [len(rows[name]) for name in ("runs", "launches")] == ([0, 0] if steps < 3 else [2, 6])
        assert query.ask(fleet, query.read_sql("conservation")).rows == []
        fleet.compact()
        assert len(fleet._files_by_batch("operators")) == (steps > 0), "files that a writer may still need are kept"
        fleet.write(("2026-11-01", "net"), tables)
        assert len(contents(fleet)["operators"]) == 6 * simulated.OPERATORS


def test_half_a_file_has_no_name(tmp_path, monkeypatch):
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        fleet.write(("2026-11-01", "net"), simulated.batch("a", 1, {"1": 0.0}, seed=1))
    mark = tmp_path / "fleet" / "etprof_fleet.json"
    assert [file for file in (tmp_path / "fleet").rglob("*") if file.is_file()] == [mark]

    def killed(*_):
        raise KilledError

    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KilledError):
        fleet.write(("2026-11-01", "net"), simulated.batch("a", 1, {"1": 0.0}, seed=1))
    monkeypatch.undo()
    assert fleet.files() == {table.name: [] for table in schema.TABLES}
    left = list((tmp_path / "fleet").rglob(".*.tmp"))
    assert len(left) == 1
    assert fleet.compact().removed_files == 0, "a writer may still need it"
    assert fleet.compact(grace_s=0).removed_files == 1
    assert not left[0].exists()


def test_strays_go_when_they_are_old(tmp_path):
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
    tables = simulated.batch("a", 1, {"1": 0.0}, seed=1)
    batch = fleet.write(("2026-11-01", "net"), tables)
    fleet._remove(fleet.path("runs", batch))
    assert fleet.compact().removed_files == 0
    old = datetime.datetime.now().timestamp() - 25 * 3600
    for name in ("operators", "launches"):
        os.utime(fleet.path(name, batch), (old, old))
    assert fleet.compact().removed_files == 2
    assert not fleet._files_by_batch("operators")


def test_what_is_no_fleet_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(FleetError, match="is neither empty nor a fleet"):
        store.Fleet(str(tmp_path / "mine"), create=True)
    with pytest.raises(FleetError, match="is not a fleet"):
        store.Fleet(str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(FleetError, match="cannot be opened"):
        store.Fleet("nosuch://x")
    newer = tmp_path / "newer"
    newer.mkdir()
    (newer / "etprof_fleet.json").write_text('{"schema_version": 99}')
    with pytest.raises(FleetError, match="schema version 99"):
        store.Fleet(str(newer))
    (newer / "etprof_fleet.json").write_text("[]")
    with pytest.raises(FleetError, match="damaged"):
        store.Fleet(str(newer))


def test_tables_of_other_columns_are_refused(tmp_path):
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
    tables = simulated.batch("a", 1, {"1": 0.0}, seed=1)
    tables["operators"] = tables["operators"].drop_columns("self_ns")
    with pytest.raises(ValueError, match="operators has the columns"):
        fleet.write(("2026-11-01", "net"), tables)


def test_a_damaged_file_is_named(tmp_path):
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
    batch = fleet.write(("2026-11-01", "net"), simulated.batch("a", 1, {"1": 0.0}, seed=1))
    fleet.write(("2026-11-01", "net"), simulated.batch("b", 1, {"1": 0.0}, seed=2))
    path = tmp_path / "fleet" / fleet.path("runs", batch)
    path.write_bytes(path.read_bytes()[:-10])
    for action in (fleet.compact, lambda: fleet.known_runs([batch]), lambda: query.ask(fleet, "FROM runs")):
        with pytest.raises(FleetError, match=r"runs/day=2026-11-01/model=net/batch-\w+\.parquet"):
            action()
    assert path.exists()


def test_a_foreign_file_is_named_and_stays(tmp_path):
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
    fleet.write(("2026-11-01", "net"), simulated.batch("a", 1, {"1": 0.0}, seed=1))
    foreign = tmp_path / "fleet/runs/day=2026-11-01/model=net/foreign.parquet"
    pq.write_table(pa.table({"other": [1]}), foreign)
    strays = [batch for batch in fleet.batches() if "foreign" in str(batch)]
    for action in (fleet.compact, lambda: fleet.known_runs(strays), lambda: query.ask(fleet, "SELECT run FROM runs")):
        with pytest.raises(FleetError, match=r"foreign\.parquet") as raised:
            action()
        assert "out of the fleet's folder" in raised.value.remedy
    assert foreign.exists()


def test_what_is_not_installed_is_said(monkeypatch, capsys):
    from etprof.fleet.__main__ import main

    monkeypatch.delitem(sys.modules, "etprof.fleet.query")
    monkeypatch.delattr("etprof.fleet.query")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["query"]) == 3
    stderr = capsys.readouterr().err
    assert "needs the Python package duckdb" in stderr and "script/bootstrap --fleet" in stderr


def test_an_empty_fleet_answers(uri):
    fleet = store.Fleet(uri, create=True)
    for name in query.names():
        assert query.ask(fleet, query.read_sql(name)).rows == [], name
    assert fsspec.core.url_to_fs(uri)[0].exists(fleet.root)
