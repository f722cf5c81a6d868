"""Fleets whose files are damaged, missing, or foreign, and folders with odd names."""

import json
import os
import random

import pytest
import simulated
from program import run

from etprof.fleet import query, store
from etprof.fleet.problem import FleetError

CELL = ("2026-11-01", "net")


@pytest.mark.parametrize("name", ["f[a]", "f*", "f?", "f[!b]", "f[", "**", "f{a,b}", "f'a", "f[[]"])
def test_a_folder_whose_name_is_a_pattern(name, tmp_path):
    for number, folder in enumerate(("fa", "fb", name)):
        # The runs are the same, so the files have the same names.
        tables = simulated.batch("a", 1, {"1": 0.0}, seed=number)
        fleet = store.Fleet(str(tmp_path / folder / "fleet"), create=True)
        fleet.write(CELL, tables)
        expected = sum(tables["launches"]["latency_ns"].to_pylist())
        assert query.ask(fleet, "SELECT sum(latency_ns) FROM launches").rows == [(expected,)]


@pytest.mark.parametrize("name", ["a\\b", "day=2020-01-01", "model=x"])
def test_a_folder_that_duckdb_takes_for_another(name, tmp_path):
    fleet = store.Fleet(str(tmp_path / name / "fleet"), create=True)
    fleet.write(CELL, simulated.batch("a", 1, {"1": 0.0}, seed=1))
    with pytest.raises(FleetError, match="DuckDB cannot read"):
        query.ask(fleet, "SELECT day, model FROM runs")


def filled(folder) -> store.Fleet:
    fleet = store.Fleet(str(folder), create=True)
    for number in range(2):
        fleet.write(CELL, simulated.batch(f"class{number}", 2, {"1": 0.0, "2": 0.1}, seed=number, tag=f"{number}-"))
    return fleet


def test_a_damaged_file_gives_no_other_sums(tmp_path):
    sums = (
        "SELECT (SELECT sum(hash(runs)) FROM runs), (SELECT sum(hash(launches)) FROM launches), "
        "(SELECT sum(hash(operators)) FROM operators)"
    )
    fleet = filled(tmp_path / "fleet")
    expected = query.ask(fleet, sums).rows
    files = sorted((tmp_path / "fleet").rglob("*.parquet"))
    rng = random.Random(7)  # noqa: S311
    refused = 0
    for _ in range(150):
        file = rng.choice(files)
        whole = file.read_bytes()
        contents = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            contents[rng.randrange(len(contents))] ^= 1 << rng.randrange(8)
        file.write_bytes(contents)
        try:
            assert query.ask(store.Fleet(fleet.uri), sums).rows == expected
        except FleetError as error:
            assert "damaged" in str(error) or "is not" in str(error)
            refused += 1
        file.write_bytes(whole)
    assert refused >= 149  # a bit of the digest's name may be changed
    assert query.ask(store.Fleet(fleet.uri), sums).rows == expected


@pytest.mark.parametrize("table", ["operators", "launches"])
def test_a_missing_file_is_named(table, tmp_path):
    fleet = filled(tmp_path / "fleet")
    next((tmp_path / "fleet" / table).rglob("*.parquet")).unlink()
    for action in (lambda: query.ask(fleet, "FROM runs"), fleet.compact):
        with pytest.raises(FleetError, match=rf"{table}/.* is missing"):
            action()


@pytest.mark.parametrize("list_kind", ["itself", "all", "other", "text", "number", "object", "cut"])
def test_a_list_that_is_not_a_compactions_removes_nothing(list_kind, tmp_path):
    fleet = filled(tmp_path / "fleet")
    batches = fleet.batches()
    path = tmp_path / "fleet" / fleet._list_path(batches[0])
    path.parent.mkdir(parents=True)
    contents = {
        "itself": [batches[0].name],
        "all": [batch.name for batch in batches],
        "other": [batches[1].name],
        "text": batches[0].name,
        "number": 1,
        "object": {"a": 1},
    }
    path.write_text(json.dumps(contents[list_kind]) if list_kind in contents else '["ba')
    before = {file: file.read_bytes() for file in (tmp_path / "fleet").rglob("*") if file.is_file()}
    for action in (lambda: query.ask(fleet, "FROM runs"), fleet.compact):
        with pytest.raises(FleetError, match=r"replaces/.*\.json` is damaged"):
            action()
    assert {file: file.read_bytes() for file in (tmp_path / "fleet").rglob("*") if file.is_file()} == before


def test_a_query_is_not_read_from_a_pipe(tmp_path):
    pipe = tmp_path / "mine.sql"
    os.mkfifo(pipe)
    done = run("fleet", "query", pipe, "--from", filled(tmp_path / "fleet").uri)
    assert done.returncode == 3, done.stderr
    assert "is not a regular file" in done.stderr
