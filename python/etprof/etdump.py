"""ETDumps as NumPy columns and pandas frames."""

from __future__ import annotations

import errno
import json
import os
import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    import numpy as np
except ModuleNotFoundError as error:
    raise ImportError("etprof's Python module needs NumPy: pip install numpy") from error

from etprof.arrow import Coded, Nullable, Records, Table
from etprof.results import counted, html_table

if TYPE_CHECKING:
    import pandas as pd

    from etprof import _native

# The keys of a Profile's operators, and the types of their columns in an Arrow table.
_OPERATOR_KEYS: dict[str, type] = {
    "key": str,
    "name": str,
    "type": str,
    "kind": str,
    "category": str,
    "group": str,
    "instruction": int,
    "parent": int,
    "portable": bool,
}

_HEALTH_KEYS: dict[str, type] = {
    "name": str,
    "severity": str,
    "explanation": str,
    "count": int,
    "amount_ns": int,
    "first_place": str,
}

# Nanoseconds per tick, for the units of ExecuTorch's TimeScale.
_NANOSECONDS_PER_TICK = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def _native_module() -> Any:
    try:
        from etprof import _native
    except ImportError as error:
        raise ImportError(
            "etprof's native module is not here: install the wheel (pip install . in a checkout of etprof)"
        ) from error
    return _native


def _nanoseconds(unit: str) -> float:
    if unit not in _NANOSECONDS_PER_TICK:
        raise ValueError(f"{unit!r} is not a unit of time: give one of {', '.join(_NANOSECONDS_PER_TICK)}")
    return _NANOSECONDS_PER_TICK[unit]


def read_etdump(
    path: str | os.PathLike[str] | bytes, source_time_scale: str = "ns", delegate_time_scale: str | None = None
) -> Etdump:
    """Read a whole ETDump.

    Args:
        path: the file that ExecuTorch's runners and Module API write, or its bytes
        source_time_scale: the unit of the file's clock: "ns" (what ExecuTorch writes on Linux, macOS and Android),
            "us", "ms" or "s"
        delegate_time_scale: the unit of the events that delegates write; None: the same

    Raises:
        FileNotFoundError: the file does not exist
        ValueError: the file is not an ETDump, is truncated, or is malformed; the message says where

    Warns:
        UserWarning: runs were disturbed; only the results directory of the file knows which
    """
    scales = (
        _nanoseconds(source_time_scale),
        None if delegate_time_scale is None else _nanoseconds(delegate_time_scale),
    )
    if isinstance(path, bytes):
        return Etdump(_native_module().read_etdump(path, *scales))
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    dump = Etdump(_native_module().read_etdump(str(path), *scales), path)
    _warn_of_disturbed_runs(path)
    return dump


def _warn_of_disturbed_runs(path: Path) -> None:
    """Warn if other processes disturbed runs. The manifest of the results directory counts these runs; an ETDump does not."""
    path = path.resolve()
    try:
        manifest = path.parents[1] / "manifest.json"
        results = json.loads(manifest.read_bytes())["results"]
        (run_counts,) = (result["etdump_runs"] for result in results if manifest.parent / result["etdump"] == path)
        runs = {
            phase: sum(entry["runs"] for entry in run_counts if entry["phase"] == phase)
            for phase in ("steady", "disturbed")
        }
    except (OSError, IndexError, KeyError, TypeError, ValueError):  # the file is not in a results directory
        return
    if runs["disturbed"]:
        warnings.warn(
            f"{runs['disturbed']} of the {sum(runs.values())} traced runs after the warmup in {path.name} were disturbed "
            f"by other processes. The file alone does not say which, so its profiles have them all. "
            f"Read the results directory {manifest.parent}, which leaves them out: etprof.compare, etprof.analyze.",
            stacklevel=3,
        )


class Etdump:
    """An ETDump as columns: entry i of each column is event i, in the order of the file (children before parents).

    `start_ns` and `end_ns` share the memory into which the file was read; other columns are made on first use.
    Times are whole nanoseconds of the device's monotonic clock.
    """

    def __init__(self, trace: _native.Trace, path: Path | None = None) -> None:
        self._trace = trace
        self.path = path

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self._trace)

    def __repr__(self) -> str:
        return f"<Etdump {self.path}: {counted(len(self), 'event')} in {counted(len(self.block_names), 'block')}>"

    @cached_property
    def start_ns(self) -> np.ndarray:
        """Start of each event: int64, read-only, not copied."""
        return self._trace.start_ns

    @cached_property
    def end_ns(self) -> np.ndarray:
        """End of each event: int64, read-only, not copied."""
        return self._trace.end_ns

    @property
    def duration_ns(self) -> np.ndarray:
        """Duration of each event, end minus start: int64."""
        return self.end_ns - self.start_ns

    @cached_property
    def names(self) -> list[str]:
        """The distinct names, to which `name` refers."""
        return self._trace.names

    @cached_property
    def name(self) -> np.ndarray:
        """Index of each event's name in `names`: uint32."""
        return self._trace.name

    @cached_property
    def delegated(self) -> np.ndarray:
        """Whether a delegate (not the framework) wrote the event: bool."""
        return self._trace.delegated.astype(bool)

    @cached_property
    def chain(self) -> np.ndarray:
        """Chain of the event's instruction; -1 outside the instruction stream: int32."""
        return self._trace.chain

    @cached_property
    def instruction(self) -> np.ndarray:
        """The event's instruction, as in the file: int32."""
        return self._trace.instruction

    @cached_property
    def delegate_id(self) -> np.ndarray:
        """Integer identifier of a delegate's event; -1: no integer identifier: int32."""
        return self._trace.delegate_id

    @cached_property
    def block_names(self) -> list[str]:
        """Name of each block: "Default" (loading) or "Execute"."""
        return self._trace.block_names

    @cached_property
    def block(self) -> np.ndarray:
        """Index of each event's block: int64."""
        return np.repeat(np.arange(len(self.block_names)), self._trace.block_event_count)

    @cached_property
    def reported(self) -> Reported:
        """Values that delegates report and that are not host time: bytes, cycles, times of other clocks, estimates.

        Each is a dict of delegate, name, kind, unit, instruction, run (counted from 0 over complete runs), and value. These
        values are not events, so columns, data frames, and profiles do not contain them.
        """
        return Reported(self._trace.reported)

    @cached_property
    def health(self) -> Records:
        """Irregularities in the file: name, severity, explanation, count, amount_ns, first_place."""
        return Records(self._trace.health, _HEALTH_KEYS)

    def profiles(self, method: str = "forward", warmup: int = 0) -> list[Profile]:
        """Return one Profile per method, in the order of the methods' first runs.

        Args:
            method: the name to give to the method, which an ETDump does not contain
            warmup: at least this many runs after the first count as warmup, not as steady
        """
        return [Profile(profile) for profile in self._trace.profiles(method, warmup)]

    def events(self) -> pd.DataFrame:
        """Return one row per event: block, block_name, name, delegated, chain, instruction, delegate_id, and times (ns)."""
        import pandas as pd

        return pd.DataFrame(
            {
                name: pd.Categorical.from_codes(column.codes, column.texts) if isinstance(column, Coded) else column
                for name, column in self._events().columns.items()
            },
            copy=False,
        )

    def _events(self) -> Table:
        kinds, kind_indices = np.unique(self.block_names, return_inverse=True)
        return Table(
            {
                "block": self.block,
                "block_name": Coded(kind_indices[self.block].astype(np.int32), kinds.tolist()),
                "name": Coded(self.name.view(np.int32), self.names),
                "delegated": self.delegated,
                "chain": self.chain,
                "instruction": self.instruction,
                "delegate_id": self.delegate_id,
                "start_ns": self.start_ns,
                "end_ns": self.end_ns,
                "duration_ns": self.duration_ns,
            }
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the events as an Arrow stream: `polars.DataFrame(dump)`, `pyarrow.table(dump)`. Times are not copied."""
        return self._events().__arrow_c_stream__(requested_schema)

    def to_pandas(self, target_time_scale: str = "ms", include_units: bool = True) -> pd.DataFrame:
        """Return the same columns, rows, and values as ExecuTorch's Inspector(...).to_dataframe().

        A row is one event over all runs with the same layout: `raw` has its times by run, and `start_time` its starts (ns).
        op_types, stack_traces, and module_hierarchy are empty, as in Inspector without an ETRecord. There are two differences.
        If a run has an event several times (a loop), Inspector keeps only the last; here each occurrence is a row. Inspector
        takes an event that ends before it starts for an event on a 32-bit clock; here its time is negative.

        Args:
            target_time_scale: "ns", "us", "ms" or "s"
            include_units: name the unit in the headings, as Inspector does
        """
        import pandas as pd

        scale = _nanoseconds(target_time_scale)
        unit = f" ({target_time_scale})" if include_units else ""
        columns: dict[str, Any] = {
            key: []
            for key in (
                "event_block_name",
                "event_name",
                "raw",
                *(statistic + unit for statistic in ("p10", "p50", "p90", "avg", "min", "max")),
                "op_types",
                "delegate_debug_identifier",
                "stack_traces",
                "module_hierarchy",
                "is_delegated_op",
                "delegate_backend_name",
                "debug_data",
                "start_time",
            )
        }
        for block_name, first_event, starts, times in self._block_groups(scale):
            events = starts.shape[0]
            columns["event_block_name"] += [block_name] * events
            for name, delegated, identifier in map(self._identity, range(first_event, first_event + events)):
                columns["event_name"].append(name)
                columns["is_delegated_op"].append(delegated)
                columns["delegate_debug_identifier"].append(identifier)
            columns["raw"] += times.tolist()
            columns["start_time"] += starts.tolist()
            p10, p50, p90 = np.percentile(times, [10, 50, 90], axis=1)
            statistics = (p10, p50, p90, times.mean(axis=1), times.min(axis=1), times.max(axis=1))
            for statistic, values in zip(("p10", "p50", "p90", "avg", "min", "max"), statistics, strict=True):
                columns[statistic + unit] += values.tolist()
        rows = len(columns["event_name"])
        # Missing identifiers are None, not NaN, as in Inspector.
        columns["delegate_debug_identifier"] = pd.Series(columns["delegate_debug_identifier"], dtype=object)
        columns["op_types"] = [[] for _ in range(rows)]
        columns["stack_traces"] = [{} for _ in range(rows)]
        columns["module_hierarchy"] = [{} for _ in range(rows)]
        columns["delegate_backend_name"] = [None] * rows
        columns["debug_data"] = [[] for _ in range(rows)]
        return pd.DataFrame(columns)

    def _block_groups(self, scale: float) -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
        """Group the blocks by name, layout, and bundled input. Yield each group's name, first event, starts, and times.

        Starts (ns) and times (in units of `scale` ns) have the shape events x runs.
        """
        trace = self._trace
        first, layout, bundled = trace.block_first_event, trace.block_layout, trace.block_bundled_input
        sizes = trace.block_event_count
        groups: dict[tuple[str, int, int], list[int]] = {}
        for block, key in enumerate(zip(self.block_names, layout.tolist(), bundled.tolist(), strict=True)):
            groups.setdefault(key, []).append(block)
        for (name, _, _), blocks in groups.items():
            size = int(sizes[blocks[0]])
            if size == 0:
                continue
            event_indices = first[blocks][None, :] + np.arange(size)[:, None]
            starts = self.start_ns[event_indices]
            yield name, int(first[blocks[0]]), starts, (self.end_ns[event_indices] - starts) / scale

    def _identity(self, event: int) -> tuple[str, bool, str | int | None]:
        """Return an event's name, whether a delegate wrote it, and its identifier as in Inspector."""
        name = self.names[self.name[event]]
        if not self.delegated[event]:
            return name, False, None
        number = int(self.delegate_id[event])
        return name, True, number if number >= 0 else name


class Reported(Records):
    """Values that delegates report, each a dict with arrays by run. The table has one row per value."""

    def table(self) -> Table:
        """Return delegate, name, kind, unit, instruction, run, value."""
        sizes = [len(entry["value"]) for entry in self]
        columns: dict[str, Any] = {}
        for key in ("delegate", "name", "kind", "unit"):
            indices = {text: i for i, text in enumerate(dict.fromkeys(entry[key] for entry in self))}
            columns[key] = Coded(
                np.repeat(np.array([indices[entry[key]] for entry in self], dtype=np.int32), sizes), list(indices)
            )
        columns["instruction"] = np.repeat(np.array([entry["instruction"] for entry in self], dtype=np.int32), sizes)
        for key, kind in (("run", np.uint32), ("value", np.int64)):
            columns[key] = np.concatenate([np.zeros(0, dtype=kind), *(entry[key] for entry in self)])
        return Table(columns)


class Profile:
    """The times of one method, by operator and run, in whole nanoseconds."""

    def __init__(self, profile: _native.Profile) -> None:
        self._profile = profile

    def __repr__(self) -> str:
        runs = self.run_total_ns[self._steady]
        median = f", median {np.median(runs) / 1e6:.4g} ms" if runs.size else ""
        return f"<Profile: {counted(len(self.operators), 'operator')}, {counted(runs.size, 'steady run')}{median}>"

    def _repr_html_(self) -> str:
        columns = self._statistics.columns
        statistics = {key: columns[key] for key in ("name", "category", "runs", "mean_ms", "p50_ms", "p99_ms", "share")}
        cells = [column.values if isinstance(column, Nullable) else column for column in statistics.values()]
        rows = [dict(zip(statistics, row, strict=True)) for row in zip(*cells, strict=True)]
        return html_table(sorted(rows, key=lambda row: -np.nan_to_num(row["share"])), repr(self))

    @cached_property
    def operators(self) -> Records:
        """Operators and spans of the framework: key, name, type, kind, category, group, instruction, parent, portable."""
        return Records(self._profile.operators, _OPERATOR_KEYS)

    @cached_property
    def self_ns(self) -> np.ndarray:
        """Self times, operators x runs: int64, read-only, not copied; -1 where an operator did not run."""
        return self._profile.self_ns

    def duration_ns(self, operator: int) -> np.ndarray:
        """Return an operator's time in each run, including the spans inside: int64; -1 where it did not run."""
        return self._profile.duration_ns(operator)

    @cached_property
    def run_total_ns(self) -> np.ndarray:
        """Duration of Method::execute in each run: int64."""
        return self._profile.run_total_ns

    @cached_property
    def run_phase(self) -> np.ndarray:
        """Phase of each run: "first", "warmup" or "steady"."""
        return np.array(self._profile.run_phase)

    @cached_property
    def health(self) -> Records:
        """Irregularities in the trace."""
        return Records(self._profile.health, _HEALTH_KEYS)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per operator, with statistics of its self time (ms) over steady runs: runs, mean, p50, p90, p99, share."""
        import pandas as pd

        return pd.DataFrame(
            {
                name: column.values if isinstance(column, Nullable) else column
                for name, column in self._statistics.columns.items()
            }
        )

    @cached_property
    def _steady(self) -> np.ndarray:
        """Mask of the runs that the statistics cover: the steady runs, or all runs if none is steady."""
        steady = self.run_phase == "steady"
        return steady if steady.any() else np.ones_like(steady, dtype=bool)

    @cached_property
    def _statistics(self) -> Table:
        steady = self._steady
        times = self.self_ns[:, steady]
        columns: dict[str, Any] = {}
        for key, kind in _OPERATOR_KEYS.items():
            values = [operator[key] for operator in self.operators]
            columns[key] = values if kind is str else np.array(values, dtype=np.int32 if kind is int else kind)
        run_times = [row[row >= 0] / 1e6 for row in times]
        runs = np.array([row.size for row in run_times], dtype=np.int64)
        columns["runs"] = runs
        columns["mean_ms"] = Nullable(np.array([row.mean() if row.size else np.nan for row in run_times]), runs > 0)
        for percent in (50, 90, 99):
            percentiles = np.array([np.percentile(row, percent) if row.size else np.nan for row in run_times])
            columns[f"p{percent}_ms"] = Nullable(percentiles, runs > 0)
        total = self.run_total_ns[steady].sum()
        share = np.where(times >= 0, times, 0).sum(axis=1) / (total or np.nan)
        columns["share"] = Nullable(share, np.isfinite(share))
        return Table(columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table of to_pandas() as an Arrow stream: `polars.DataFrame(profile)`. Undefined numbers are null."""
        return self._statistics.__arrow_c_stream__(requested_schema)

    def self_times(self) -> Table:
        """Return all self times as a table: operator (index), run, self_ns (null where it did not run; not copied)."""
        operators, runs = self.self_ns.shape
        times = self.self_ns.reshape(-1)
        return Table(
            {
                "operator": np.repeat(np.arange(operators, dtype=np.int32), runs),
                "run": np.tile(np.arange(runs, dtype=np.int32), operators),
                "self_ns": Nullable(times, times >= 0),
            }
        )
