"""Tables that the Python module passes to other libraries by `__arrow_c_stream__`."""

import gc
import io
import json
import sys
import threading

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from program import DATA

import etprof
from etprof.arrow import Coded, Nullable, Records, Table
from etprof.etdump import Reported
from etprof.fleet import query, store

ETDUMP = DATA / "toy_cnn.t1.etdump"


@pytest.fixture
def dump():
    return etprof.read_etdump(ETDUMP)


def test_events_are_the_frames_in_every_library(dump):
    frame = dump.events()
    tables = {
        "pyarrow": pa.table(dump).to_pandas(),
        "polars": pl.DataFrame(dump).to_pandas(),
        "pandas": pd.DataFrame.from_arrow(dump),
        "duckdb": duckdb.sql("select * from dump").df(),
    }
    for library, table in tables.items():
        assert list(table.columns) == list(frame.columns), library
        for column in frame.columns:
            assert table[column].tolist() == frame[column].tolist(), (library, column)


def test_times_lie_where_the_dump_has_them(dump):
    table = pa.table(dump)
    for column in ("start_ns", "end_ns"):
        (chunk,) = table[column].chunks
        assert chunk.buffers()[1].address == getattr(dump, column).ctypes.data
    (codes,) = table["name"].chunks
    assert codes.indices.buffers()[1].address == dump.name.ctypes.data
    (profile,) = dump.profiles()
    (self_ns,) = pa.table(profile.self_times())["self_ns"].chunks
    assert self_ns.buffers()[1].address == profile.self_ns.ctypes.data


def test_a_table_outlives_what_it_was_made_of():
    dump = etprof.read_etdump(ETDUMP)
    expected = dump.start_ns.tolist(), [dump.names[i] for i in dump.name]
    table, frame = pa.table(dump), pl.DataFrame(dump)
    column = table["start_ns"].combine_chunks()
    names = table["name"].combine_chunks()
    del dump
    gc.collect()
    assert frame["start_ns"].to_list() == expected[0]
    del table  # a child outlives its parent
    gc.collect()
    assert column.to_pylist() == expected[0]
    assert names.to_pylist() == expected[1]


def test_arrays_are_let_go_of_once():
    values = np.arange(1000)
    before = sys.getrefcount(values)
    table = Table({"a": values})
    capsules = [table.__arrow_c_stream__() for _ in range(3)]  # nobody reads two of them
    taken = pa.RecordBatchReader._import_from_c_capsule(capsules[0]).read_all()
    assert taken["a"].to_pylist() == values.tolist()
    del capsules, taken, table
    gc.collect()
    assert sys.getrefcount(values) == before


def test_another_thread_may_let_go_of_a_table():
    tables = [pa.table(Table({"a": np.arange(100), "b": [str(i) for i in range(100)]})) for _ in range(50)]
    threads = [threading.Thread(target=tables.pop) for _ in range(len(tables))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not tables


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 1000])
def test_every_kind_of_column_survives(rows):
    rng = np.random.default_rng(rows)
    numbers = {name: rng.integers(0, 100, rows).astype(name) for name in ("int8", "uint8", "int16", "int32", "int64")}
    valid = rng.random(rows) < 0.5
    codes = rng.integers(0, 3, rows).astype(np.int32)
    texts = [None if i % 3 == 0 else "ü" * (i % 5) for i in range(rows)]
    table = Table(
        {
            **numbers,
            "float64": rng.random(rows),
            "flag": valid,
            "missing": Nullable(np.arange(rows), valid),
            "coded": Coded(codes, ["one", "zwei", "三"]),
            "text": texts,
        }
    )
    expected = {
        **{name: column.tolist() for name, column in numbers.items()},
        "float64": table.columns["float64"].tolist(),
        "flag": valid.tolist(),
        "missing": [i if known else None for i, known in enumerate(valid)],
        "coded": [["one", "zwei", "三"][code] for code in codes],
        "text": texts,
    }
    read = pa.table(table)
    read.validate(full=True)
    assert read.to_pydict() == expected
    assert pl.DataFrame(table).to_dict(as_series=False) == expected
    assert duckdb.from_arrow(table).fetchall() == list(zip(*expected.values(), strict=True))
    frame = pd.DataFrame.from_arrow(table)
    assert len(frame) == rows
    assert int(frame["missing"].isna().sum()) == rows - int(valid.sum())


def test_what_is_no_table_is_refused():
    with pytest.raises(ValueError, match="rows"):
        Table({"a": np.arange(2), "b": np.arange(3)})
    assert len(Table({})) == 0
    assert pa.table(Table({})).num_rows == 0


def test_operators_are_the_frames(dump):
    (profile,) = dump.profiles()
    frame = profile.to_pandas()
    table = pl.DataFrame(profile)
    assert table.columns == list(frame.columns)
    for column in frame.columns:
        assert table[column].to_list() == frame[column].tolist(), column
    times = pl.DataFrame(profile.self_times())
    assert times["self_ns"].sum() == int(profile.run_total_ns.sum())


def test_an_operator_that_did_not_run_has_no_number():
    class OneOperatorNeverRan:
        operators = (
            dict.fromkeys(("key", "name", "type", "kind", "category", "group"), "x")
            | {"instruction": 0, "parent": -1, "portable": False},
        ) * 2
        self_ns = np.array([[1, 2], [-1, -1]])
        run_total_ns = np.array([1, 2])
        run_phase = ("steady", "steady")

    profile = etprof.Profile(OneOperatorNeverRan())
    table = pa.table(profile)
    assert table["mean_ms"].to_pylist() == [1.5e-6, None]
    assert table["p50_ms"].null_count == 1
    assert profile.to_pandas()["mean_ms"].isna().tolist() == [False, True]
    assert pl.DataFrame(profile.self_times())["self_ns"].to_list() == [1, 2, None, None]


def same_in_every_library(table, rows: list[dict]) -> None:
    """Asserts that pyarrow, Polars, DuckDB, and pandas read these rows."""
    expected = [tuple(row.values()) for row in rows]
    columns = list(rows[0])
    read = pa.table(table)
    read.validate(full=True)
    assert read.column_names == columns
    assert read.to_pylist() == rows
    assert pl.DataFrame(table).rows() == [tuple(row.values()) for row in pl.DataFrame(read).to_dicts()] == expected
    assert duckdb.from_arrow(table).fetchall() == expected
    frame = pd.DataFrame.from_arrow(table)
    assert list(frame.columns) == columns
    assert pa.Table.from_pandas(frame, preserve_index=False).cast(read.schema).to_pylist() == rows


def test_rows_are_tables():
    rows = [
        {"text": "ü", "flag": True, "count": 1, "number": 1, "words": ["a", "b"], "unknown": None, "all": {"x": [1]}},
        {"text": None, "flag": None, "count": None, "number": 0.5, "words": None, "unknown": None, "all": None},
        {"text": "", "flag": False, "count": -(2**62), "number": None, "words": [], "unknown": None, "all": {}},
    ]
    records = Records(rows)
    assert records == rows
    assert (len(records), records[1], records[1:], list(records)) == (3, rows[1], rows[1:], rows)
    json_rows = [row | {"all": None if row["all"] is None else json.dumps(row["all"])} for row in rows]
    same_in_every_library(records, [row | {"number": row["number"] and float(row["number"])} for row in json_rows])
    # A table without rows has the declared columns.
    empty = pa.table(Records([], {"a": int, "b": str}))
    assert (empty.num_rows, empty.schema.field("a").type, empty.schema.field("b").type) == (0, pa.int64(), pa.string())
    assert pa.table(Records([{"a": None}], {"a": float})).schema.field("a").type == pa.float64()


def test_every_table_of_the_module_is_one(dump):
    (profile,) = dump.profiles()
    same_in_every_library(profile.operators, list(profile.operators))
    for health in (dump.health, profile.health):
        assert pa.table(health).column_names == ["name", "severity", "explanation", "count", "amount_ns", "first_place"]
    comparison = etprof.compare(
        DATA / "sme2_emulated" / "toy_cnn.sme2_off.etdump", DATA / "sme2_emulated" / "toy_cnn.sme2_on.etdump"
    )
    for table, rows in ((comparison, "operators"), (comparison.rows("groups"), "groups")):
        polars_frame = pl.DataFrame(table)
        assert polars_frame.height == len(comparison.data[rows]) > 0
        for name in ("name", "baseline_ms", "verdict", "ratio"):
            assert polars_frame[name].to_list() == [row[name] for row in comparison.data[rows]]
            assert pa.table(table)[name].to_pylist() == polars_frame[name].to_list()
        frame = pd.DataFrame.from_arrow(table)
        assert frame["verdict"].tolist() == [row["verdict"] for row in comparison.data[rows]]
        assert not [name for name in polars_frame.columns if name.endswith("_ns") or name.startswith("match_")]
        assert len(duckdb.from_arrow(table).fetchall()) == polars_frame.height


def test_what_delegates_report_is_a_row_per_value():
    reported = Reported(
        [
            {
                "delegate": "QnnBackend",
                "name": "cycles",
                "kind": "cycles",
                "unit": "cycles",
                "instruction": 3,
                "run": np.array([0, 2], dtype=np.uint32),
                "value": np.array([7, -9]),
            },
            {
                "delegate": "QnnBackend",
                "name": "bytes",
                "kind": "bytes",
                "unit": "bytes",
                "instruction": -1,
                "run": np.array([1], dtype=np.uint32),
                "value": np.array([2**40]),
            },
        ]
    )
    common = {"delegate": "QnnBackend"}
    cycles = {"name": "cycles", "kind": "cycles", "unit": "cycles", "instruction": 3}
    rows = [
        common | cycles | {"run": 0, "value": 7},
        common | cycles | {"run": 2, "value": -9},
        common | {"name": "bytes", "kind": "bytes", "unit": "bytes", "instruction": -1, "run": 1, "value": 2**40},
    ]
    assert pa.table(reported).to_pylist() == rows
    assert pl.DataFrame(reported).to_dicts() == rows
    assert duckdb.from_arrow(reported).fetchall() == [tuple(row.values()) for row in rows]
    assert pd.DataFrame.from_arrow(reported).to_dict("records") == rows
    assert pa.table(Reported([])).num_rows == 0


def test_an_answer_of_a_fleet_is_duckdbs_table(tmp_path):
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
    answer = query.ask(fleet, "SELECT 1 AS a, ['x'] AS b UNION ALL SELECT NULL, NULL")
    same_in_every_library(answer, [{"a": 1, "b": ["x"]}, {"a": None, "b": None}])
    copied = pa.table(answer)["a"].chunks[0].buffers()[1].address
    assert copied == answer.table["a"].chunks[0].buffers()[1].address
    assert pa.table(query.ask(fleet, "FROM launches")).num_rows == 0


def test_numbers_that_json_lacks_are_null(tmp_path):
    fleet = store.Fleet(str(tmp_path / "fleet"), create=True)
    answer = query.ask(fleet, "SELECT 'NaN'::DOUBLE AS a, ['-Infinity'::DOUBLE, 2.5] AS b")
    out = io.StringIO()
    query.show(answer.columns, answer.rows, "json", out)
    assert "NaN" not in out.getvalue()
    assert json.loads(out.getvalue()) == [{"a": None, "b": [None, 2.5]}]
    query.show(answer.columns, answer.rows, "table", out)
