"""What the Python module gives to other libraries by `__arrow_c_stream__`."""

import gc
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
from etprof.arrow import Coded, Nullable, Table

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
    capsules = [table.__arrow_c_stream__() for _ in range(3)]  # two of them are never taken
    taken = pa.RecordBatchReader._import_from_c_capsule(capsules[0]).read_all()
    assert taken["a"].to_pylist() == values.tolist()
    del capsules, taken, table
    gc.collect()
    assert sys.getrefcount(values) == before


def test_another_thread_may_let_go_of_a_table():
    kept = [pa.table(Table({"a": np.arange(100), "b": [str(i) for i in range(100)]})) for _ in range(50)]
    threads = [threading.Thread(target=kept.pop) for _ in range(len(kept))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not kept


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
