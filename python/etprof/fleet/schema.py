"""The description of a fleet's tables, which determines the Parquet files, their check, and docs/reference/fleet.md.

`etprof fleet tables` prints that page, and needs only Python's standard library.
"""

from __future__ import annotations

import math
import textwrap
import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1

# Latencies are counted in DDSketch's buckets (Masson, Rim, Lee: "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with
# Relative-Error Guarantees", VLDB 2019): bucket i holds (GAMMA^(i-1), GAMMA^i] ns. Its middle, 2 GAMMA^i / (GAMMA + 1), has
# a relative error of at most ACCURACY. SQL can add up buckets of many devices, so no engine needs a library for them.
ACCURACY = 0.01
GAMMA = (1 + ACCURACY) / (1 - ACCURACY)
LOG_GAMMA = math.log(GAMMA)


@dataclass(frozen=True)
class Column:
    """A column, with the name of Arrow's type. Repeating texts are stored with a dictionary."""

    name: str
    type: str
    meaning: str
    unit: str = ""
    null: str = ""  # the condition for null; empty: never null


@dataclass(frozen=True)
class Table:
    """A table and its columns."""

    name: str
    row: str
    columns: tuple[Column, ...]


# The order of rows within a file, so that row groups can be skipped. A run has one class and one version.
SORTED_BY = ("device_class", "version", "run")

# Partitions are in the names of folders, in Hive's format. Engines show them as columns of every table.
PARTITIONS = (
    Column("day", "date", "day of the measurement (UTC)", null="an ETDump without `--day`"),
    Column("model", "string", "model's name; of an ETDump `--model`, or `unknown`"),
)
NO_DAY = "__HIVE_DEFAULT_PARTITION__"  # Hive's name for null

_RUN = Column(
    "run",
    "string",
    "digest of the values in the run's manifest.json, or of the ETDump: the first 32 hexadecimal digits of a SHA-256",
)
_EXPERIMENT = Column("experiment", "string", "name of the experiment, unique within its run")
_LAUNCH = Column("launch", "int32", "process, counted from 0")
_CLASS = Column("device_class", "string", "kind of device: `--device-class`, or the processor's name, or `unknown`")
_VERSION = Column(
    "version", "string", "what was compared over time: `--version`, or the version of ExecuTorch, or `unknown`"
)
_DEVICE = Column("device", "string", "the single device: `--device`, or its name in the manifest", null="unknown")
_EMULATED = Column("emulated", "bool", "the CPU was emulated: times are not meaningful", null="an ETDump")
_DISTURBED = Column(
    "disturbed",
    "bool",
    "no traced steady-state run was clean, so `traced` values are of disturbed runs; of an ETDump: of its first runs",
    null="steady-state runs of an ETDump, which does not say",
)

RUNS = Table(
    "runs",
    "one row per experiment of a results directory, or per method of an ETDump",
    (
        _RUN,
        _EXPERIMENT,
        Column("label", "string", "what reports call the experiment"),
        Column("measured_at", "timestamp", "when it was measured (UTC)", null="an ETDump"),
        _DEVICE,
        _CLASS,
        _VERSION,
        Column("platform", "string", "operating system and processor: linux-x86_64, android, mac", null="an ETDump"),
        Column("os", "string", "version of the operating system", null="unknown"),
        Column("executorch_version", "string", "of the runner", null="unknown"),
        Column("etprof_version", "string", "which measured", null="an ETDump"),
        Column("model_sha256", "string", "of the .pte", null="unknown"),
        Column("configuration_sha256", "string", "of everything that was configured except names", null="unknown"),
        Column("threads", "int32", "threads of the runner", null="an ETDump"),
        Column("isa", "string", "mask of CPU features as configured; empty: none", null="an ETDump"),
        Column("backends", "string", "delegates, separated by commas", null="an ETDump"),
        _EMULATED,
        Column("launches", "int32", "rows of this experiment in `launches`"),
        Column("path", "string", "results directory or ETDump when it was added, for `etprof fleet traces`"),
    ),
)
LAUNCHES = Table(
    "launches",
    "one row per launch of an experiment: the unit of all statistics. An ETDump is one launch, with traced runs only",
    (
        _RUN,
        _EXPERIMENT,
        _LAUNCH,
        _DEVICE,
        _CLASS,
        _VERSION,
        Column(
            "configuration",
            "string",
            "label, threads, mask, method, CPUs, period, and sustained load: what must agree for two launches to be compared",
            null="an ETDump",
        ),
        _EMULATED,
        Column("runs", "int64", "clean untraced runs"),
        Column("latency_ns", "int64", "sum of their latencies", "ns"),
        Column("median_ns", "float64", "median of their latencies", "ns", "no run was clean"),
        Column("min_ns", "int64", "fastest of them", "ns", "no run was clean"),
        Column("max_ns", "int64", "slowest of them", "ns", "no run was clean"),
        Column("buckets", "list<int32>", "indices of their latencies' buckets (see below)"),
        Column("counts", "list<int64>", "runs in each of these buckets"),
        Column("traced_runs", "int64", "traced runs that `operators` is made of"),
        Column("traced_ns", "int64", "sum of their Method::execute", "ns"),
        _DISTURBED,
        Column("load_ns", "int64", "loading of program and method", "ns", "unknown"),
        Column("first_run_ns", "int64", "first inference of the process", "ns", "unknown"),
        Column("peak_rss_bytes", "int64", "peak memory of the process", "bytes", "unknown"),
    ),
)
OPERATORS = Table(
    "operators",
    "one row per operator and launch. `self_ns` of a launch adds up to its `traced_ns` exactly",
    (
        _RUN,
        _EXPERIMENT,
        _LAUNCH,
        _CLASS,
        _VERSION,
        Column("key", "string", "identity within the model: method, instruction, kind, place within the call"),
        Column("name", "string", "what ExecuTorch's Inspector calls it"),
        Column("type", "string", "name without XNNPACK's number and without `native_call_`"),
        Column("kind", "string", "method, operator_call, delegate_call, kernel, backend, other, or clipped"),
        Column("category", "string", "fine category"),
        Column("group_name", "string", "coarse category (`group` is a word of SQL)"),
        Column("runs", "int64", "traced runs in which it ran"),
        Column("self_ns", "int64", "sum of its self times over these runs; the row `clipped` is negative", "ns"),
    ),
)
EVENTS = Table(
    "events",
    "one row per event of the sampled runs (`--events`)",
    (
        _RUN,
        _EXPERIMENT,
        _LAUNCH,
        _CLASS,
        _VERSION,
        Column("traced_run", "int64", "which run of the ETDump, counted from 0"),
        Column("name", "string", "what ExecuTorch's Inspector calls it"),
        Column("delegated", "bool", "a delegate wrote it, not the framework"),
        Column("instruction", "int32", "as in the ETDump; -1: outside of the instructions"),
        Column("start_ns", "int64", "start since that of Method::execute", "ns"),
        Column("duration_ns", "int64", "time, with that of events inside", "ns"),
    ),
)
# The order in which the tables of a batch are written. The last one, `runs`, commits the batch.
TABLES = (OPERATORS, EVENTS, LAUNCHES, RUNS)
BY_NAME = {table.name: table for table in TABLES}


def escaped(value: str) -> str:
    """Return the escaped value for the name of a folder."""
    return urllib.parse.quote(value, safe="")


def arrow_type(column: Column) -> pa.DataType:
    """Return the type in memory and in files."""
    import pyarrow as pa

    if column.type.startswith("list<"):
        return pa.list_(getattr(pa, column.type[5:-1])())
    if column.type == "timestamp":
        return pa.timestamp("us", tz="UTC")
    return getattr(pa, {"bool": "bool_", "date": "date32"}.get(column.type, column.type))()


def arrow_schema(table: Table) -> pa.Schema:
    """Return the schema of a table's files."""
    import pyarrow as pa

    fields = [pa.field(column.name, arrow_type(column), nullable=bool(column.null)) for column in table.columns]
    return pa.schema(fields)


def rows_table(table: Table, rows: list[dict]) -> pa.Table:
    """Return a table in memory, whose texts have dictionaries. Keys of the rows that are no column are ignored."""
    import pyarrow as pa

    kinds = [arrow_type(column) for column in table.columns]
    fields = [
        (column.name, pa.dictionary(pa.int32(), kind) if pa.types.is_string(kind) else kind)
        for column, kind in zip(table.columns, kinds, strict=True)
    ]
    return pa.Table.from_pylist(rows, pa.schema(fields))


def empty_view(table: Table) -> pa.Table:
    """Return the columns of a view of the table's files, for a fleet without such files."""
    import pyarrow as pa

    return pa.schema([(column.name, arrow_type(column)) for column in (*table.columns, *PARTITIONS)]).empty_table()


def page() -> str:
    """Return the text of docs/reference/fleet.md."""
    lines = [
        "# Fleet tables",
        "",
        "Made by `script/reference` from `python/etprof/fleet/schema.py`. [A fleet of devices](../guides/fleet.md)",
        "is the guide.",
        "",
        f"Schema version {VERSION}, which `etprof_fleet.json` in the fleet's folder and the metadata of each Parquet",
        "file state. A table is all files `TABLE/day=YYYY-MM-DD/model=NAME/*.parquet`; names are",
        "percent-encoded. Files are compressed with zstd, and rows are sorted by `device_class`, `version`,",
        "and `run`, so that engines skip row groups.",
        "",
        "`day` (date of the measurement, UTC) and `model` are columns of every table. Of an ETDump without",
        f"`--day` the day is null, and its folder is Hive's `day={NO_DAY}`.",
    ]
    for table in reversed(TABLES):
        lines += ["", f"## {table.name}", "", textwrap.fill(f"{table.row[0].upper()}{table.row[1:]}.", 100), ""]
        lines += ["| column | type | unit | meaning |", "| --- | --- | --- | --- |"]
        for column in table.columns:
            meaning = column.meaning + (f"; null: {column.null}" if column.null else "")
            lines.append(f"| `{column.name}` | {_type_text(column)} | {column.unit} | {meaning} |")
    lines += [
        "",
        "## Buckets",
        "",
        f"Bucket i counts latencies above g^(i-1) and up to g^i ns, with g = {1 + ACCURACY:g}/{1 - ACCURACY:g}. These are the buckets",
        "of DDSketch (Masson et al., VLDB 2019). Counts of launches, devices, and days add up. A percentile",
        f"is the value 2 g^i / (g + 1) of its bucket, and is off by at most {ACCURACY:.0%}.",
    ]
    return "\n".join(lines) + "\n"


def _type_text(column: Column) -> str:
    return {"bool": "boolean", "timestamp": "timestamp (µs, UTC)"}.get(column.type, column.type)


def bucket_middle(bucket: Any) -> Any:
    """Return the value (ns) that represents a bucket, with a relative error of at most ACCURACY."""
    return 2 * GAMMA**bucket / (GAMMA + 1)
