"""Convert results directories and single ETDumps to rows of a fleet's tables."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from etprof import artifacts
from etprof.errors import is_utf8
from etprof.fleet import schema
from etprof.fleet.problem import FleetError
from etprof.fleet.store import Batch, Fleet, Partition, concatenate

_MAX_MODEL_BYTES = 240  # bytes, because the model is part of a folder's name
_MAX_BATCH_ROWS = 4_000_000  # operator rows that are in memory at once


@dataclass(frozen=True)
class Labels:
    """Labels that the user gives to all added runs; None: the manifest's value, or no value for an ETDump."""

    device: str | None = None
    device_class: str | None = None
    version: str | None = None
    model: str | None = None  # for ETDumps only, because a results directory names its model
    day: str | None = None  # for ETDumps only, as 2026-11-01


@dataclass(frozen=True)
class Run:
    """A results directory with its manifest, or an ETDump with a manifest made from what is known about the file."""

    path: Path
    digest: str
    manifest: dict
    partition: Partition
    older_digest: str = ""  # digest of the manifest's bytes, which older versions of etprof used

    @property
    def digests(self) -> set[str]:
        """The digests under which a fleet may store the run."""
        return {self.digest, self.older_digest} - {""}

    @property
    def is_etdump(self) -> bool:
        """Whether the run is a single ETDump."""
        return self.manifest["status"] == _ETDUMP_STATUS

    @property
    def hint(self) -> str:
        """The hint with the command that explains what is wrong with the run."""
        return f"see `etprof {'analyze' if self.is_etdump else 'validate'} {self.path}`"


# Only the traced runs of an ETDump's launch are known.
_ETDUMP_STATUS = "etdump"
_ETDUMP_MANIFEST: dict = {
    "status": _ETDUMP_STATUS,
    "generated_at": None,
    "device": {},
    "platform": None,
    "etprof_version": None,
    "results": [],
}
_ETDUMP_LAUNCH = {"index": 0, "status": "complete", "load_ns": None, "first_run_ns": None, "peak_rss_bytes": None}
_ETDUMP_RESULT: dict = {
    "mode": "timing",
    "launches": [_ETDUMP_LAUNCH],
    **dict.fromkeys(("emulated", "executorch_version", "model_sha256", "configuration_sha256", "threads", "isa")),
    "backends": None,
}


@dataclass
class Added:
    """The result of adding runs."""

    runs: int = 0
    known: int = 0
    launches: int = 0
    operators: int = 0
    refused: list[FleetError] = field(default_factory=list)  # one error per path that could not be read


def open_run(path: str | os.PathLike[str], labels: Labels | None = None) -> Run:
    """Read a results directory's manifest, or check an ETDump.

    Raises:
        FleetError: the path is neither of them, or the measurement has not ended
    """
    path = Path(path)
    run = _open_etdump(path, labels or Labels()) if path.is_file() else _open_results(path)
    if not is_utf8(str(path.resolve())):
        raise FleetError(f"`{path}` cannot be added: its path is not UTF-8", "rename it")
    if len(schema.escaped(run.partition[1])) > _MAX_MODEL_BYTES:
        raise FleetError(
            f"`{path}` cannot be added: the name of its model is too long", "rename the model, and measure it"
        )
    return run


def _open_etdump(path: Path, labels: Labels) -> Run:
    partition = labels.day or schema.NO_DAY, labels.model or "unknown"
    try:
        run = Run(path, artifacts.hash_file(path)[:32], _ETDUMP_MANIFEST, partition)
        with path.open("rb") as file:
            header = file.read(12)
    except OSError as error:
        raise FleetError(f"`{path}` cannot be read: {error.strerror}", "check your access to it") from error
    if b"ED00" not in (header[4:8], header[8:12]):  # the identifier follows an optional size
        _trace(run)
    return run


def _trace(run: Run) -> Any:
    """Read an ETDump's events.

    Raises:
        FleetError: the file is not an ETDump, or is damaged
    """
    from etprof import _native

    try:
        return _native.read_etdump(str(run.path))
    except ValueError as error:
        raise FleetError(str(error).splitlines()[0], "give ETDumps, or results directories") from error


def _open_results(path: Path) -> Run:
    from etprof import _native

    try:
        if not (path / "manifest.json").is_file():
            raise FileNotFoundError
        contents = (path / "manifest.json").read_bytes()
        _native.check_manifest(contents)
        manifest = json.loads(contents)
        status, model, generated_at = manifest["status"], manifest["model_id"], manifest["generated_at"]
        day = datetime.strptime(generated_at, "%Y-%m-%dT%H:%M:%SZ").date().isoformat()
        manifest["results"]  # some layouts that can be analyzed have no results
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FleetError(
            f"`{path}` is not a results directory of etprof: {_reason(error)}",
            "give directories that `etprof validate` accepts, or ETDumps",
        ) from error
    if status != "complete":
        raise FleetError(
            f"`{path}` is {status}, and would count twice when it is complete",
            "finish it: `etprof run CONFIG --resume`",
        )
    older_digest = hashlib.sha256(contents).hexdigest()[:32]
    return Run(path, _digest_of(contents), manifest, (day, model or "unknown"), older_digest)


def _digest_of(manifest: bytes) -> str:
    """Return a digest that is the same for all JSON texts with the same values, whichever tool wrote them."""

    def number(text: str) -> float:
        value = float(text)
        return int(value) if value.is_integer() and abs(value) < 2**53 else value

    values = json.loads(manifest, parse_float=number)
    return hashlib.sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:32]


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "it has no manifest.json"
    if isinstance(error, KeyError):
        return f"its manifest.json lacks `{error.args[0]}`"
    return f"manifest.json: {error}"


def add(fleet: Fleet, paths: Sequence[str | os.PathLike[str]], labels: Labels | None = None, events: int = 0) -> Added:
    """Add results directories and ETDumps. Runs that the fleet already has are skipped, so adding twice changes nothing.

    Runs that cannot be read are in the result's `refused`; the others are added.

    Args:
        fleet: the fleet to which runs are added
        paths: results directories and ETDumps; each ETDump counts as one launch
        labels: device, class, and version; for ETDumps also model and day
        events: number of traced runs per experiment whose events are kept, spread evenly
    """
    added = Added()
    labels = labels or Labels()
    by_partition: dict[Partition, dict[str, Run]] = {}
    for path in paths:
        try:
            run = open_run(path, labels)
        except FleetError as error:  # noqa: PERF203  opening a file takes longer
            added.refused.append(error)
        else:
            by_partition.setdefault(run.partition, {})[run.digest] = run
    batches: dict[Partition, list[Batch]] = {}
    for batch in fleet.batches():
        batches.setdefault(batch.partition, []).append(batch)
    for partition, runs in sorted(by_partition.items()):
        stored = fleet.known_runs(batches.get(partition, ()))
        known = {digest for digest, run in runs.items() if run.digests & stored}
        added.known += len(known)
        new_runs = [run for digest, run in runs.items() if digest not in known]
        # An ETDump gets its day and model from labels, which may differ from an earlier addition's. Other runs have their own.
        other_partitions = (
            {digest: other for other in batches if other != partition for digest in fleet.known_runs(batches[other])}
            if any(run.is_etdump for run in new_runs)
            else {}
        )
        added.refused.extend(
            _other_labels_error(run, other_partitions[run.digest]) for run in new_runs if run.digest in other_partitions
        )
        new_runs = [run for run in new_runs if run.digest not in other_partitions]
        for rows in _batches(new_runs, labels, events, added.refused):
            tables = rows.tables()
            fleet.write(partition, tables)
            added.runs += len(rows.runs)
            added.launches += tables["launches"].num_rows
            added.operators += tables["operators"].num_rows
    return added


def _other_labels_error(run: Run, partition: Partition) -> FleetError:
    day, model = partition
    return FleetError(
        f"`{run.path}` is in the fleet already, as model `{model}` of {'no day' if day == schema.NO_DAY else day}",
        "to label it anew, remove it first: `etprof fleet remove`",
    )


def _batches(runs: list[Run], labels: Labels, events: int, refused: list[FleetError]) -> Iterator[Rows]:
    """Yield batches of rows that fit into memory. Threads read files in parallel, because the C++ reader needs no lock."""
    runs = sorted(runs, key=lambda run: (*_device_and_version(run, labels)[1:], run.digest))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = Rows()
        for start in range(0, len(runs), 64):
            chunk = runs[start : start + 64]
            for run, experiments in zip(chunk, pool.map(_read, chunk), strict=True):
                try:
                    if isinstance(experiments, FleetError):
                        raise experiments
                    rows.add(run, experiments, labels, events)
                except FleetError as error:
                    refused.append(error)
                if rows.operators >= _MAX_BATCH_ROWS:
                    yield rows
                    rows = Rows()
        if rows.runs:
            yield rows


def _read(run: Run) -> list[tuple[dict, dict]] | FleetError:
    """Return each experiment's result in the manifest, with its latencies and Profile."""
    from etprof import _native

    try:
        if run.is_etdump:
            return _read_etdump(run)
        return list(zip(run.manifest["results"], _native.run_experiments(str(run.path)), strict=True))
    except FleetError as error:
        return error
    except ValueError as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        message = reason if str(run.path) in reason else f"`{run.path}` cannot be added: {reason}"
        return FleetError(message, run.hint)


def _read_etdump(run: Run) -> list[tuple[dict, dict]]:
    """Return one experiment per method, named by the prefix of its operators' keys, because an ETDump does not name it."""
    profiles = _trace(run).profiles()
    if not any(profile.run_phase for profile in profiles):
        raise FleetError(f"`{run.path}` has no complete run", run.hint)
    names = [f"method {i + 1}" for i in range(len(profiles))] if len(profiles) > 1 else ["forward"]
    no_runs = np.zeros(0, dtype=np.int64)
    return [
        (
            {**_ETDUMP_RESULT, "experiment": name, "label": name, "etdump": run.path.name},
            {"launch": no_runs, "latency_ns": no_runs, "profile": profile},
        )
        for name, profile in zip(names, profiles, strict=True)
    ]


def _device_and_version(run: Run, labels: Labels) -> tuple[str | None, str, str]:
    """Return the run's device, device class, and version."""
    device = run.manifest.get("device") or {}
    versions = {result.get("executorch_version") for result in run.manifest["results"]} - {None}
    return (
        labels.device or device.get("name") or None,
        labels.device_class or device.get("cpu_model") or device.get("name") or "unknown",
        labels.version or " ".join(sorted(versions)) or "unknown",
    )


class Rows:
    """The tables of some runs, in memory."""

    def __init__(self) -> None:
        self.runs: set[str] = set()
        self.operators = 0  # number of operator rows
        self._tables = {table.name: [schema.rows_table(table, [])] for table in schema.TABLES}

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables as Arrow tables."""
        return {name: concatenate(parts).combine_chunks() for name, parts in self._tables.items()}

    def add(self, run: Run, experiments: list[tuple[dict, dict]], labels: Labels, events: int = 0) -> None:
        """Add all rows of one run, or none if it cannot be read.

        Raises:
            FleetError: the run's manifest lacks a key
        """
        try:
            parts = [
                (table, schema.rows_table(schema.BY_NAME[table], rows))
                for result, data in experiments
                if result["mode"] == "timing"
                for table, rows in _experiment_rows(run, result, data, _device_and_version(run, labels), events).items()
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise FleetError(f"`{run.path}` cannot be added: {_reason(error)}", run.hint) from error
        self.runs.add(run.digest)
        for name, table in parts:
            self._tables[name].append(table)
            self.operators += table.num_rows if name == schema.OPERATORS.name else 0


def _experiment_rows(
    run: Run, result: dict, data: dict, device_and_version: tuple[str | None, str, str], events: int
) -> dict[str, list[dict]]:
    """Return the rows of each table."""
    common = {"run": run.digest, "experiment": result["experiment"], "emulated": result["emulated"]}
    common |= dict(zip(("device", "device_class", "version"), device_and_version, strict=True))
    launches = [launch for launch in result["launches"] if launch["status"] != "failed"]
    rows: dict[str, list[dict]] = {"runs": [_run_row(run, result, len(launches))], "launches": [], "operators": []}
    traces = traced_rows(data["profile"], [launch["index"] for launch in launches], run.is_etdump)
    for launch, (traced, operators) in zip(launches, traces, strict=True):
        row = {key: launch[key] for key in ("load_ns", "first_run_ns", "peak_rss_bytes")}
        row |= {"launch": launch["index"], "configuration": _configuration(run, result)}
        latencies = data["latency_ns"][data["launch"] == launch["index"]]
        rows["launches"].append(row | latency_columns(latencies) | traced)
        rows["operators"] += [operator | {"launch": launch["index"]} for operator in operators]
    if events and result["etdump"] and data["profile"] is not None:
        file = run.path if run.is_etdump else run.path / result["etdump"]
        rows["events"] = list(_sample_events(file, data["profile"], events))
    return {table: [common | row for row in rows_of_table] for table, rows_of_table in rows.items()}


def _configuration(run: Run, result: dict) -> str | None:
    if result["threads"] is None:
        return None
    settings = [result["label"], f"t{result['threads']}", result["isa"]]
    if (method := result.get("method") or run.manifest.get("method", "forward")) != "forward":
        settings.append(f"method={method}")
    if cpus := result.get("cpus"):
        settings.append(f"cpus={cpus}")
    if period_ns := result.get("period_ns"):
        settings.append(f"period={period_ns / 1e6:g}ms")
    if seconds := (run.manifest.get("schedule") or {}).get("sustained_seconds"):
        settings.append(f"sustained={seconds:g}s")
    return " ".join(filter(None, settings))


# Columns that have the values of these keys of the manifest's result.
_RESULT_KEYS = ("label", "executorch_version", "model_sha256", "configuration_sha256", "threads", "isa")


def _run_row(run: Run, result: dict, launches: int) -> dict:
    device = run.manifest.get("device") or {}
    generated_at = run.manifest["generated_at"]
    return {key: result[key] for key in _RESULT_KEYS} | {
        "measured_at": generated_at
        and datetime.strptime(generated_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc),
        "platform": run.manifest["platform"],
        "os": device.get("os") or None,
        "etprof_version": run.manifest["etprof_version"],
        "backends": None if result["backends"] is None else ",".join(result["backends"]),
        "launches": launches,
        "path": str(run.path.resolve()),
    }


def latency_columns(latencies: np.ndarray) -> dict:
    """Return the columns of a launch that summarize its latencies (ns)."""
    buckets, counts = bucketed(latencies)
    has_runs = latencies.size > 0
    return {
        "runs": latencies.size,
        "latency_ns": int(latencies.sum()),
        "median_ns": float(np.median(latencies)) if has_runs else None,
        "min_ns": int(latencies.min()) if has_runs else None,
        "max_ns": int(latencies.max()) if has_runs else None,
        "buckets": buckets.tolist(),
        "counts": counts.tolist(),
    }


def bucketed(latencies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the histogram buckets of latencies (ns, above 0), and the number of latencies in each."""
    buckets = np.ceil(np.log(latencies[latencies > 0]) / schema.LOG_GAMMA).astype(np.int32)
    return np.unique(buckets, return_counts=True)


_CLIPPED = dict.fromkeys(("key", "kind"), "clipped") | dict.fromkeys(("name", "type", "group_name"), "Clipped")


def traced_rows(profile: Any, launches: Iterable[int], is_etdump: bool = False) -> Iterator[tuple[dict, list[dict]]]:
    """Yield for each launch the columns of its traced runs, and the rows of its operators.

    The traced runs are the steady ones, or if there are none, the disturbed ones. An ETDump does not contain which runs
    were disturbed; if none of its runs is steady, all runs count.
    """
    steady_is_disturbed = None if is_etdump else False
    other_phases = ("first", "warmup") if is_etdump else ("disturbed",)
    if profile is None:
        no_trace = {"traced_runs": 0, "traced_ns": 0, "disturbed": steady_is_disturbed}
        yield from ((no_trace, []) for _ in launches)
        return
    operators, self_ns, phase = profile.operators, profile.self_ns, np.array(profile.run_phase, dtype=str)
    launch_of_run, total, clipped = profile.run_launch, profile.run_total_ns, profile.run_clipped_ns
    for launch in launches:
        runs = np.flatnonzero((launch_of_run == launch) & (phase == "steady"))
        other_runs = np.flatnonzero((launch_of_run == launch) & np.isin(phase, other_phases))
        disturbed = not runs.size and other_runs.size > 0
        runs = other_runs if disturbed else runs
        times = self_ns[:, runs]
        sums = np.where(times >= 0, times, 0).sum(axis=1).tolist()
        rows = [
            operator | {"group_name": operator["group"], "runs": count, "self_ns": time}
            for operator, count, time in zip(operators, (times >= 0).sum(axis=1).tolist(), sums, strict=True)
            if count
        ]
        if count := np.count_nonzero(clipped[runs]):
            rows.append(_CLIPPED | {"category": "framework", "runs": count, "self_ns": int(clipped[runs].sum())})
        yield (
            {
                "traced_runs": runs.size,
                "traced_ns": int(total[runs].sum()),
                "disturbed": True if disturbed else steady_is_disturbed,
            },
            rows,
        )


def _sample_events(etdump: Path, profile: Any, max_runs: int) -> Iterator[dict]:
    """Yield the events of some traced runs of an ETDump, spread evenly over the steady runs, or over all if none is steady."""
    from etprof import _native
    from etprof.etdump import Etdump

    dump = Etdump(_native.read_etdump(str(etdump)))
    phase = np.array(profile.run_phase)
    runs = np.flatnonzero(phase == "steady")
    runs = runs if runs.size else np.arange(phase.size)
    is_execution = np.array([name == "Method::execute" for name in dump.names], dtype=bool)[dump.name]
    executions = np.flatnonzero(is_execution)  # one event per complete run, in the file's order
    if executions.size != phase.size:
        return  # incomplete runs make it uncertain to which run an event belongs
    first, count = dump._trace.block_first_event, dump._trace.block_event_count
    for run in runs[np.unique(np.linspace(0, runs.size - 1, min(max_runs, runs.size)).round().astype(int))]:
        block = int(dump.block[executions[run]])
        for event in range(int(first[block]), int(first[block] + count[block])):
            yield {
                "launch": int(profile.run_launch[run]),
                "traced_run": int(run),
                "name": dump.names[dump.name[event]],
                "delegated": bool(dump.delegated[event]),
                "instruction": int(dump.instruction[event]),
                "start_ns": int(dump.start_ns[event] - dump.start_ns[executions[run]]),
                "duration_ns": int(dump.end_ns[event] - dump.start_ns[event]),
            }
