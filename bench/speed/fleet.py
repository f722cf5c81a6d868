"""`etprof fleet` with many simulated device runs of known effects: writing, compacting, queries, verdicts, and memory.

    .venv/bin/python bench/speed/fleet.py [--runs 100000] [--out bench/results/speed/fleet.md] [--dir DIR] [--run RESULTS_DIRECTORY]

Each run is one launch series of one device with one version: 4 launches of 60 operators. Rows come from a seed and are
written by what `etprof fleet add` writes with. With --run, copies of a results directory are also parsed and added.
Engines that are not installed (Spark, ClickHouse's chdb) are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from etprof import _native
from etprof.fleet import ingest, query, schema, store, verdict

LAUNCHES = 4
OPERATORS = 60
CLASSES = 20
DAYS = 5
MODELS = ("mobilenet_v3_small", "vit_tiny")
DEVICE_SD, LAUNCH_SD = 0.02, 0.01
# log(1.4 / 1.5) by class: a quarter became 3% slower, a quarter 3% faster, the others did not change.
EFFECTS = [(-0.03, 0.03, 0.0, 0.0)[i % 4] for i in range(CLASSES)]
BATCH = 5000  # runs
TIMES = 5  # calls of each query; the fastest counts, since other work may share the machine


def time_fastest(call: Callable, times: int = 1) -> tuple[str, object]:
    """Returns wall and processor time of the fastest call as two cells of a table, and its result."""
    durations = []
    for _ in range(times):
        wall, processor = time.perf_counter(), time.process_time()
        result = call()
        durations.append((time.perf_counter() - wall, time.process_time() - processor))
    wall, processor = min(durations)
    return f"{wall:.2f} s | {processor:.2f} s", result


def peak_mib() -> float:
    """Peak memory of this process until now."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def dictionary_array(codes: np.ndarray, texts: list[str]) -> pa.Array:
    """Makes a dictionary-encoded array of texts."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(texts))


def batch(first: int, devices_per_class: int, model: str) -> dict[str, pa.Table]:
    """The tables of the runs `first` to `first` + BATCH, in the order in which `etprof fleet add` sorts them."""
    rng = np.random.default_rng(first)
    run = np.arange(first, first + BATCH)
    cell = run // 2 % (CLASSES * devices_per_class)  # a device runs both versions
    order = np.lexsort((run, run % 2, cell // devices_per_class))
    run, cell = run[order], cell[order]
    class_index, is_new = cell // devices_per_class, run % 2 == 1
    device_rng = np.random.default_rng(1)
    level = device_rng.normal(15, 0.3, CLASSES * devices_per_class)
    effect = np.repeat(EFFECTS, devices_per_class) + device_rng.normal(0, DEVICE_SD, level.size)
    log_ns = level[cell] - np.where(is_new, effect[cell], 0)
    launch_ns = np.exp(np.repeat(log_ns, LAUNCHES) + rng.normal(0, LAUNCH_SD, BATCH * LAUNCHES))
    digests = [f"{model}-{i:09}".rjust(32, "0") for i in run]
    classes, versions = [f"class{i:02}" for i in range(CLASSES)], ["1.4", "1.5"]
    devices = [f"device{i:06}" for i in range(level.size)]
    self_ns = (launch_ns[:, None] * rng.dirichlet(np.ones(OPERATORS) * 20, BATCH * LAUNCHES)).astype(np.int64) * 5

    def repeated(times: int) -> dict[str, pa.Array]:
        constant = dictionary_array(np.zeros(BATCH * times), ["main"])
        return {
            "run": dictionary_array(np.repeat(np.arange(BATCH), times), digests),
            "experiment": constant,
            "label": constant,
            "device": dictionary_array(np.repeat(cell, times), devices),
            "device_class": dictionary_array(np.repeat(class_index, times), classes),
            "version": dictionary_array(np.repeat(is_new, times), versions),
            "emulated": pa.array(np.zeros(BATCH * times, bool)),
            "launch": pa.array(
                np.tile(np.arange(LAUNCHES, dtype=np.int32).repeat(max(1, times // LAUNCHES)), BATCH)[: BATCH * times]
            ),
        }

    def table(table_schema: schema.Table, times: int, columns: dict) -> pa.Table:
        known_columns = repeated(times) | columns
        rows = BATCH * times
        arrays = {}
        for column in table_schema.columns:
            zeros = np.zeros(rows, np.int64)
            text = column.type == "string"
            arrays[column.name] = known_columns.get(
                column.name, dictionary_array(zeros, ["x"]) if text else pa.array(zeros)
            )
        return pa.table(arrays)

    rows = BATCH * LAUNCHES
    latencies = (launch_ns[:, None] * rng.lognormal(0, 0.02, (rows, 20))).astype(np.int64)
    buckets = np.sort(np.ceil(np.log(latencies) / schema.LOG_GAMMA).astype(np.int32), axis=1)
    is_start = np.concatenate([np.ones((rows, 1), bool), np.diff(buckets, axis=1) > 0], axis=1)
    starts = np.flatnonzero(is_start.reshape(-1))
    offsets = np.concatenate([[0], np.cumsum(is_start.sum(axis=1))]).astype(np.int32)
    counts = np.diff(np.append(starts, is_start.size))
    launches = {
        "runs": pa.array(np.full(rows, 20)),
        "latency_ns": pa.array(latencies.sum(axis=1)),
        "median_ns": pa.array(np.median(latencies, axis=1)),
        "min_ns": pa.array(latencies.min(axis=1)),
        "max_ns": pa.array(latencies.max(axis=1)),
        "buckets": pa.ListArray.from_arrays(offsets, pa.array(buckets.reshape(-1)[starts])),
        "counts": pa.ListArray.from_arrays(offsets, pa.array(counts)),
        "traced_runs": pa.array(np.full(rows, 5)),
        "traced_ns": pa.array(self_ns.sum(axis=1)),
        "disturbed": pa.array(np.zeros(rows, bool)),
    }
    names = [f"Convolution (NHWC, F32) IGEMM #{i}" for i in range(OPERATORS)]
    operator_index = np.tile(np.arange(OPERATORS), rows)
    operators = {
        "key": dictionary_array(operator_index, [f"forward/{i // 20}/backend/{i % 20}" for i in range(OPERATORS)]),
        "name": dictionary_array(operator_index, names),
        "type": dictionary_array(operator_index % 6, [f"Type {i}" for i in range(6)]),
        "runs": pa.array(np.full(rows * OPERATORS, 5)),
        "self_ns": pa.array(self_ns.reshape(-1)),
    }
    return {
        "runs": table(
            schema.RUNS,
            1,
            {
                "emulated": pa.array(np.zeros(BATCH, bool)),
                "measured_at": pa.array(np.zeros(BATCH, np.int64), pa.timestamp("us", "UTC")),
            },
        ),
        "launches": table(schema.LAUNCHES, LAUNCHES, launches),
        "operators": table(schema.OPERATORS, LAUNCHES * OPERATORS, operators),
    }


def write_batches(fleet: store.Fleet, runs: int) -> tuple[int, float, float, float]:
    """Writes all runs. Returns operator rows, wall and processor seconds of writing, and seconds of making the rows."""
    devices_per_class = max(5, runs // 2 // len(MODELS) // CLASSES // DAYS)
    rows, writing, processor, generating = 0, 0.0, 0.0, 0.0
    firsts = range(0, runs, 2 * BATCH)
    with ThreadPoolExecutor(2) as pool:
        for i, first in enumerate(firsts):
            begin = time.perf_counter()
            day = f"2026-11-{i * DAYS // len(firsts) + 1:02}"
            batches = [(model, batch(first // len(MODELS), devices_per_class, model)) for model in MODELS]
            generating += time.perf_counter() - begin
            begin, processor_begin = time.perf_counter(), time.process_time()
            list(pool.map(lambda model_tables, day=day: fleet.write((day, model_tables[0]), model_tables[1]), batches))
            writing += time.perf_counter() - begin
            processor += time.process_time() - processor_begin
            rows += sum(tables["operators"].num_rows for _, tables in batches)
    return rows, writing, processor, generating


def connect_clickhouse(fleet: store.Fleet) -> Callable[[str, str], tuple[int, int]] | None:
    """Returns a query function of ClickHouse in this process. None: chdb (560 MB, so no requirement) is not installed."""
    if importlib.util.find_spec("chdb") is None:
        return None
    import chdb

    def ask(name: str, number: str) -> tuple[int, int]:
        paths = ", ".join(f"'{path}'" for path in fleet.files()[name])
        table = f"file('{fleet.root}/{name}/**/*.parquet', Parquet)"
        sql = f"SELECT count(), toString(sum({number})) FROM {table} WHERE _path IN ({paths})"  # noqa: S608
        rows, total = json.loads(str(chdb.query(sql, "JSONCompactEachRow")))
        return int(rows), int(total)

    return ask


def connect_spark(fleet: store.Fleet) -> Callable[[str, str], tuple[int, int]] | None:
    """Returns a query function of a local Spark; None: Spark or Java is not installed."""
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        return None
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def ask(name: str, number: str) -> tuple[int, int]:
        return tuple(session.read.parquet(*fleet.files()[name]).selectExpr("count(*)", f"sum({number})").first())

    return ask


def connect_pyarrow(fleet: store.Fleet) -> Callable[[str, str], tuple[int, int]]:
    """Returns a query function of Arrow's datasets."""

    def ask(name: str, number: str) -> tuple[int, int]:
        table = ds.dataset(fleet.files()[name]).to_table(columns=[number])
        return table.num_rows, pc.sum(table[number].cast(pa.int64())).as_py()

    return ask


def connect_polars(fleet: store.Fleet) -> Callable[[str, str], tuple[int, int]]:
    """Returns a query function of lazy Polars frames."""

    def ask(name: str, number: str) -> tuple[int, int]:
        total = pl.col(number).cast(pl.Int64).sum().alias("sum")
        return pl.scan_parquet(fleet.files()[name]).select(pl.len(), total).collect().row(0)

    return ask


def connect_duckdb(fleet: store.Fleet) -> Callable[[str, str], tuple[int, int]]:
    """Returns a query function of DuckDB, which `etprof fleet query` uses, too."""
    return lambda name, number: query.ask(fleet, f"FROM {name} SELECT count(*), sum({number})::BIGINT").rows[0]


ENGINES = {
    "DuckDB": connect_duckdb,
    "Polars": connect_polars,
    "pyarrow": connect_pyarrow,
    "Spark": connect_spark,
    "ClickHouse": connect_clickhouse,
}


def compare_engines(fleet: store.Fleet) -> list[str]:
    """Compares the rows and sums of each table between the installed engines."""
    engines = {name: ask for name, connect in ENGINES.items() if (ask := connect(fleet)) is not None}
    lines = []
    for name, number in (("runs", "launches"), ("launches", "latency_ns"), ("operators", "self_ns")):
        answers = {engine: ask(name, number) for engine, ask in engines.items()}
        same = len(set(answers.values())) == 1
        lines.append(
            f"- {name}: {answers['DuckDB'][0]} rows, "
            + (f"the same sums by {', '.join(answers)}" if same else f"OTHER SUMS {answers}")
        )
    return lines


def describe_verdicts(class_verdicts: list[verdict.ClassVerdict]) -> str:
    """Counts the right and wrong verdicts, and the intervals that cover the truth."""
    truth = {f"class{i:02}": effect for i, effect in enumerate(EFFECTS)}
    right = {-0.03: "slower", 0.03: "faster", 0.0: "same"}
    hits = sum(class_verdict.verdict == right[truth[class_verdict.device_class]] for class_verdict in class_verdicts)
    wrong = sum(
        class_verdict.verdict not in (right[truth[class_verdict.device_class]], "inconclusive")
        for class_verdict in class_verdicts
    )
    cover = sum(
        class_verdict.ratio_low <= np.exp(truth[class_verdict.device_class]) <= class_verdict.ratio_high
        for class_verdict in class_verdicts
    )
    return f"{hits} of {len(class_verdicts)} classes as they are, {wrong} wrong; {cover} intervals cover the truth"


def coverage(classes: int = 20_000, truth: float = 0.02) -> str:
    """Returns how often the interval of a class covers the truth, if each class is decided alone."""
    rng = np.random.default_rng(1)
    texts = []
    for devices in (3, 10, 100):
        effects = truth + rng.normal(0, DEVICE_SD, (classes, devices))
        effects += rng.normal(0, LAUNCH_SD * np.sqrt(2 / LAUNCHES), effects.shape)
        class_verdicts = [_native.judge_units([units], 0.05, 0.01)[0] for units in effects.tolist()]
        covered = sum(
            class_verdict["ratio_low"] <= np.exp(truth) <= class_verdict["ratio_high"]
            for class_verdict in class_verdicts
        )
        texts.append(f"{covered / classes:.1%} with {devices} devices")
    return ", ".join(texts)


def measure_adding(run: Path, folder: Path, copies: int = 200) -> str:
    """Measures how fast results directories are parsed and added. They are copies of `run` with different times."""
    manifest = json.loads((run / "manifest.json").read_text())
    folders = []
    for i in range(copies):
        copy = folder / f"run{i}"
        copy.mkdir(parents=True)
        for part in run.iterdir():
            if part.name != "manifest.json":
                (copy / part.name).symlink_to(part.resolve())
        generated_at = f"2026-11-01T{i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}Z"
        (copy / "manifest.json").write_text(json.dumps(manifest | {"generated_at": generated_at}))
        folders.append(copy)
    fleet = store.Fleet(str(folder / "fleet"), create=True)
    begin = time.perf_counter()
    summary = ingest.add(fleet, folders)
    elapsed = time.perf_counter() - begin
    return f"{copies} results directories in {elapsed:.1f} s: {copies / elapsed:.0f}/s, {summary.operators / elapsed:,.0f} operator rows/s"


def report(options: argparse.Namespace, root: Path) -> list[str]:
    """Measures everything, and returns the lines of the report."""
    load_average = os.getloadavg()[0]
    load = (
        f" Other work shared the machine: {load_average:.1f} processes before it began." if load_average > 0.5 else ""
    )
    fleet = store.Fleet(str(root / "fleet"), create=True)
    rows, writing, processor, generating = write_batches(fleet, options.runs)
    size = sum(file.stat().st_size for file in root.rglob("*.parquet"))
    written_mib = peak_mib()
    batches_before = len(fleet.batches())
    compacting, compacted = time_fastest(fleet.compact)
    compacted_mib = peak_mib()
    lines = [
        f"{options.runs} runs, {options.runs * LAUNCHES} launches, {rows} operator rows on {os.cpu_count()} cores, "
        f"one run of the bench. Of queries and the verdict it is the fastest of {TIMES}.{load}",
        "",
        "| what | wall time | processor time | |",
        "| --- | ---: | ---: | --- |",
        f"| write | {writing:.2f} s | {processor:.2f} s | {rows / writing / 1e6:.2f} million operator rows/s, {size / rows:.1f} bytes per operator row |",
        f"| compact | {compacting} | {batches_before} batches became {compacted.after} |",
    ]
    for name in query.names():
        cells, answer = time_fastest(lambda name=name: query.ask(fleet, query.read_sql(name)), TIMES)
        lines.append(f"| query {name} | {cells} | {len(answer.rows)} rows |")
    cells, class_verdicts = time_fastest(lambda: verdict.judge(fleet, verdict.Question("1.4", "1.5")), TIMES)
    lines += [
        f"| verdict | {cells} | {describe_verdicts(class_verdicts)} |",
        "",
        f"Peak memory: {written_mib:.0f} MiB after writing, {compacted_mib:.0f} MiB after compacting, "
        f"{peak_mib():.0f} MiB at the end. (Making the rows took {generating:.1f} s, which is not counted.)",
        "",
    ]
    lines += [f"Of 20000 intervals at 95% of simulated classes, these cover the truth: {coverage()}.", ""]
    lines += compare_engines(fleet)
    if options.run:
        lines += ["", "Parsed and added: " + measure_adding(options.run, root / "copies") + "."]
    return [*lines, ""]


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000, help=f"a multiple of {2 * BATCH}")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--dir", type=Path, help="where to write (default: a temporary folder)")
    parser.add_argument("--run", type=Path, help="a results directory to copy and add")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="fleet-", dir=options.dir))
    try:
        text = "\n".join(report(options, root))
    finally:
        shutil.rmtree(root)
    sys.stdout.write(text)
    if options.out:
        options.out.write_text("# etprof fleet\n\n" + text, encoding="utf-8")


if __name__ == "__main__":
    main()
