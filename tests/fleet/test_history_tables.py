"""etprof.History against the command's output, in the libraries that people read its tables with."""

import datetime
import json

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from measure.history_runs import copy_with_time, measure, slow_down
from measure.measure_bench import Bench, program

import etprof


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A folder with a history of 18 commits: "net" is slower from c6 on, one of its operators from c10 on."""
    bench = Bench(tmp_path_factory.mktemp("history"), program("etprof", "ETPROF"))
    runs = measure(bench, "fast"), measure(bench, "slow", 1.05)
    history = etprof.History(bench.folder / "h.sqlite")
    for number in range(18):
        run = copy_with_time(runs[number >= 6], bench.folder / f"r{number}", number)
        time = datetime.datetime(2026, 1, 1, 0, 0, number, tzinfo=datetime.timezone.utc)
        (added,) = history.add(run, commit=f"c{number}", time=time, reference="fixed")
        assert added == {"run": str(run), "commit": f"c{number}", "result": "added", "left_out": []}
    bench.key = slow_down(bench.folder / "h.sqlite", "Convolution", 1.3, since=10)
    return bench


@pytest.fixture
def history(bench):
    return etprof.History(bench.folder / "h.sqlite")


def shown(bench, *words) -> dict[str, list[dict]]:
    """The rows of the command's tables, by their ids and columns, and each with its section."""
    document = json.loads(bench.run("history", *words, "--history", "h.sqlite", "--json").stdout)
    tables: dict[str, list[dict]] = {}
    for section in document["sections"]:
        for table in [part["table"] for part in section["parts"] if "table" in part]:
            names = [column["id"] for column in table["columns"]]
            for row in table["rows"]:
                cells = dict(zip(names, row["cells"], strict=True)) | {"section": section.get("title")}
                tables.setdefault(table["id"], []).append(cells)
    return tables


def test_trends_are_the_commands(bench, history):
    table = history.trends()
    frame = pl.DataFrame(table)
    assert frame.height == len(table) == 36
    arrow = pa.table(table)
    assert arrow.schema.field("time").type == pa.timestamp("s", "UTC")
    assert duckdb.sql("select count(*), count(latency_ns) from arrow").fetchall() == [(36, 36)]
    rows = shown(bench, "show")["trend"]
    for row in rows:
        name, commit = row["section"], row["commit"]["text"]
        one = frame.filter((pl.col("series") == name) & (pl.col("commit") == commit)).row(0, named=True)
        assert one["latency_ns"] == pytest.approx(row["time"]["value"])
        assert one["measured_at"] == one["time"]
        assert f"{one['time']:%Y-%m-%dT%H:%M:%SZ}" == row["measured_at"]["text"]
        assert one["launches"] == row["launches"]["value"]
        if one["experiment"] == "net":
            assert one["relative"] == pytest.approx(row["relative"]["value"])
            assert one["relative_low"] <= one["relative"] <= one["relative_high"]
        else:
            assert one["relative"] is None
    assert set(frame["self_ns"]) == {None}
    assert set(frame["reference"]) == {"fixed"}
    assert pl.DataFrame(history.trends(experiment="net", operator="Convolution", last=3))["self_ns"].null_count() == 0
    assert len(history.trends(last=3)) == 6


def test_no_change_has_the_same_columns(history):
    without_changes, with_changes = pa.table(history.changes(experiment="fixed")), pa.table(history.changes())
    assert (without_changes.num_rows, without_changes.schema.names) == (0, with_changes.schema.names)
    assert without_changes.schema.types == with_changes.schema.types


def test_changes_are_the_commands(bench, history):
    rows = pl.DataFrame(history.changes()).to_dicts()
    check = json.loads(bench.run("history", "check", "--history", "h.sqlite", "--json").stdout)
    series = [(of, change) for of in check["series"] for change in of["changes"]]
    operators = [(of, change) for of in check["series"] for row in of["operators"] for change in row["changes"]]
    latency_rows = [row for row in rows if row["operator"] is None]
    operator_rows = [row for row in rows if row["operator"] is not None]
    for ours, theirs in ((latency_rows, series), (operator_rows, operators)):
        assert len(ours) == len(theirs) == 1
        for row, (of, change) in zip(ours, theirs, strict=True):
            assert row["series"] == of["name"]
            for name in ("commit", "after", "not_after", "cause", "counts"):
                assert row[name] == change[name]
            assert row["change"] == pytest.approx(change["growth"])
            assert row["change_low"] <= row["change"] <= row["change_high"]
            assert row["relative"]
    assert latency_rows[0]["commit"] == "c6"
    assert (operator_rows[0]["commit"], operator_rows[0]["key"]) == ("c10", bench.key)
    assert operator_rows[0]["change"] == pytest.approx(0.3, abs=1e-3)
    assert [row["counts"] for row in pl.DataFrame(history.changes(since="c8")).to_dicts()] == [False, True]
    # A history without changes gives an empty table.
    without_changes = pl.DataFrame(history.changes(experiment="fixed"))
    assert without_changes.height == 0
    assert without_changes.columns == list(pl.DataFrame(history.changes()).columns)


def test_what_cannot_be_read_says_so(bench, history):
    with pytest.raises(ValueError, match="no such file"):
        etprof.History(bench.folder / "none.sqlite").trends()
    with pytest.raises(ValueError, match="no measurement that matches the filters"):
        history.trends(model="other")
    with pytest.raises(ValueError, match="none is given"):
        history.add(bench.folder / "r0", commit="")
    (again,) = history.add([bench.folder / "r0"], commit="c0", reference="fixed")
    assert again["result"] == "already there"
