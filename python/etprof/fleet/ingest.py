"""Results directories as rows of a fleet's tables."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from etprof.fleet import schema
from etprof.fleet.problem import FleetError
from etprof.fleet.store import Batch, Fleet, Partition

_BATCH_ROWS = 4_000_000  # operator rows that are held in memory


@dataclass(frozen=True)
class Labels:
    """What the person who adds runs says of all of them; None: what the manifest says."""

    device: str | None = None
    device_class: str | None = None
    version: str | None = None


@dataclass(frozen=True)
class Run:
    """A results directory whose manifest was read."""

    folder: Path
    digest: str
    manifest: dict
    partition: Partition


@dataclass
class Added:
    """What an addition did."""

    runs: int = 0
    known: int = 0
    launches: int = 0
    operators: int = 0
    refused: list[FleetError] = field(default_factory=list)  # what could not be read, and why


def open_run(folder: str | os.PathLike[str]) -> Run:
    """Read a results directory's manifest.

    Raises:
        FleetError: it is no results directory, or the measurement has not ended
    """
    path = Path(folder)
    try:
        if not (path / "manifest.json").is_file():
            raise FileNotFoundError
        contents = (path / "manifest.json").read_bytes()
        manifest = json.loads(contents)
        status, model, when = manifest["status"], manifest["model_id"], manifest["generated_at"]
        manifest["results"] = [dict(result) for result in manifest["results"]]
        manifest["device"] = dict(manifest.get("device") or {})
        day = datetime.strptime(when, "%Y-%m-%dT%H:%M:%SZ").date().isoformat()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FleetError(
            f"`{path}` is no results directory of etprof: {_reason(error)}",
            "give directories that `etprof validate` accepts",
        ) from error
    if status != "complete":
        raise FleetError(
            f"`{path}` is {status}, and would count twice when it is complete",
            "finish it: `etprof run CONFIG --resume`",
        )
    return Run(path, hashlib.sha256(contents).hexdigest()[:32], manifest, (day, model or "unknown"))


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "it has no manifest.json"
    if isinstance(error, KeyError):
        return f"its manifest.json lacks `{error.args[0]}`"
    return f"manifest.json: {error}"


def add(
    fleet: Fleet, folders: Sequence[str | os.PathLike[str]], labels: Labels | None = None, events: int = 0
) -> Added:
    """Add results directories. Those that the fleet has are left out, so adding twice changes nothing.

    One that cannot be read does not keep the others out: `refused` of the result has it.

    Args:
        fleet: where to
        folders: results directories
        labels: what to call device, class, and version
        events: keep the events of so many traced runs per experiment, spread evenly
    """
    done = Added()
    by_partition: dict[Partition, dict[str, Run]] = {}
    for folder in folders:
        try:
            run = open_run(folder)
        except FleetError as error:  # noqa: PERF203  opening a file takes longer
            done.refused.append(error)
        else:
            by_partition.setdefault(run.partition, {})[run.digest] = run
    there: dict[Partition, list[Batch]] = {}
    for batch in fleet.batches():
        there.setdefault(batch.partition, []).append(batch)
    for partition, runs in sorted(by_partition.items()):
        known = fleet.known_runs(there.get(partition, ())) & runs.keys()
        done.known += len(known)
        new = [run for digest, run in runs.items() if digest not in known]
        for rows in _batches(new, labels or Labels(), events, done.refused):
            tables = rows.tables()
            fleet.write(partition, tables)
            done.runs += len(rows.runs)
            done.launches += tables["launches"].num_rows
            done.operators += tables["operators"].num_rows
    return done


def _batches(runs: list[Run], labels: Labels, events: int, refused: list[FleetError]) -> Iterator[Rows]:
    """Rows of runs, as many as fit into memory. Files are read beside each other: the reader is C++ and needs no lock."""
    runs = sorted(runs, key=lambda run: (*_named(run, labels)[1:], run.digest))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = Rows()
        for start in range(0, len(runs), 64):
            some = runs[start : start + 64]
            for run, experiments in zip(some, pool.map(_read, some), strict=True):
                try:
                    if isinstance(experiments, FleetError):
                        raise experiments
                    rows.add(run, experiments, labels, events)
                except FleetError as error:
                    refused.append(error)
                if rows.operators >= _BATCH_ROWS:
                    yield rows
                    rows = Rows()
        if rows.runs:
            yield rows


def _read(run: Run) -> list[dict] | FleetError:
    from etprof import _native

    try:
        return _native.run_experiments(str(run.folder))
    except ValueError as error:
        return FleetError(str(error).splitlines()[0], f"see `etprof validate {run.folder}`")


def _named(run: Run, labels: Labels) -> tuple[str, str, str]:
    """Device, class, and version."""
    device = run.manifest.get("device") or {}
    versions = {result.get("executorch_version") for result in run.manifest["results"]} - {None}
    return (
        labels.device or device.get("name") or "unknown",
        labels.device_class or device.get("cpu_model") or device.get("name") or "unknown",
        labels.version or " ".join(sorted(versions)) or "unknown",
    )


class _Text:
    """A column of texts that repeat, as codes of a vocabulary."""

    def __init__(self) -> None:
        self.codes: list[np.ndarray] = []
        self.vocabulary: dict[str | None, int] = {}

    def code(self, text: str | None) -> int:
        return self.vocabulary.setdefault(text, len(self.vocabulary))

    def extend(self, texts: Iterable[str | None], tiled: int = 1) -> None:
        self.codes.append(np.tile(np.array([self.code(text) for text in texts], dtype=np.int32), tiled))

    def repeat(self, text: str | None, times: int) -> None:
        self.codes.append(np.full(times, self.code(text), dtype=np.int32))

    def array(self) -> pa.Array:
        codes = np.concatenate(self.codes) if self.codes else np.zeros(0, dtype=np.int32)
        words = list(self.vocabulary)
        missing = codes == self.vocabulary[None] if None in self.vocabulary else None
        texts = pa.array(["" if word is None else word for word in words], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=missing), texts)


class _Columns:
    """A table in the making."""

    def __init__(self, table: schema.Table) -> None:
        self.table = table
        self.texts = {column.name: _Text() for column in table.columns if column.type == "string"}
        self.numbers: dict[str, list[Any]] = {column.name: [] for column in table.columns if column.type != "string"}
        self.rows = 0

    def extend(self, rows: int, values: Mapping[str, Any]) -> None:
        """Add rows. A text is one for all of them; a list of texts is repeated; numbers are an array, or one for all."""
        self.rows += rows
        for name, text in self.texts.items():
            value = values[name]
            if isinstance(value, list):
                text.extend(value, rows // len(value) if value else 1)
            else:
                text.repeat(value, rows)
        for name, parts in self.numbers.items():
            value = values[name]
            parts.append(value if isinstance(value, np.ndarray) else [value] * rows)

    def array(self, column: schema.Column) -> pa.Array:
        if column.name in self.texts:
            return self.texts[column.name].array()
        kind = schema.arrow_type(column)
        parts = [pa.array(part, kind) for part in self.numbers[column.name]]
        return pa.concat_arrays(parts) if parts else pa.array([], kind)

    def arrow(self) -> pa.Table:
        return pa.table({column.name: self.array(column) for column in self.table.columns})


class Rows:
    """The tables of some runs, in memory."""

    def __init__(self) -> None:
        self.runs: set[str] = set()
        self._tables = {table.name: _Columns(table) for table in schema.TABLES}

    @property
    def operators(self) -> int:
        """How many rows of operators there are."""
        return self._tables["operators"].rows

    def tables(self) -> dict[str, pa.Table]:
        """Return them as Arrow has them."""
        return {name: columns.arrow() for name, columns in self._tables.items()}

    def add(self, run: Run, experiments: list[dict], labels: Labels, events: int = 0) -> None:
        """Add the rows of one run, all of them or none.

        Raises:
            FleetError: its manifest lacks something
        """
        try:
            parts = [
                part
                for result, read in zip(run.manifest["results"], experiments, strict=True)
                if result["mode"] == "timing"
                for part in _of_experiment(run, result, read, _named(run, labels), events)
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise FleetError(
                f"`{run.folder}` cannot be added: {_reason(error)}", f"see `etprof validate {run.folder}`"
            ) from error
        self.runs.add(run.digest)
        for table, rows, values in parts:
            self._tables[table].extend(rows, values)


def _of_experiment(
    run: Run, result: dict, read: dict, named: tuple[str, str, str], events: int
) -> Iterator[tuple[str, int, dict]]:
    """Table, number of rows, and their values."""
    device, device_class, version = named
    launches = [launch for launch in result["launches"] if launch["status"] != "failed"]
    same = {
        "run": run.digest,
        "experiment": result["experiment"],
        "device": device,
        "device_class": device_class,
        "version": version,
        "emulated": result["emulated"],
    }
    yield "runs", 1, same | _of_run(run, result, len(launches))
    traced = _Traced(read["profile"])
    order = np.argsort(read["launch"], kind="stable")
    latencies, of_launch = read["latency_ns"][order], read["launch"][order]
    for launch in launches:
        begin, end = np.searchsorted(of_launch, [launch["index"], launch["index"] + 1])
        row = _of_launch(launch, latencies[begin:end]) | traced.whole(launch["index"])
        configuration = f"{result['label']} t{result['threads']} {result['isa']}".strip()
        yield "launches", 1, same | row | {"configuration": configuration}
        operators = traced.operators(launch["index"])
        yield "operators", len(operators["key"]), same | operators | {"launch": launch["index"]}
    if events and result["etdump"] and read["profile"] is not None:
        for rows, values in _sampled(run.folder / result["etdump"], read["profile"], events):
            yield "events", rows, same | values


def _of_run(run: Run, result: dict, launches: int) -> dict:
    device = run.manifest.get("device") or {}
    when = datetime.strptime(run.manifest["generated_at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    return {
        "label": result["label"],
        "measured_at": when,
        "platform": run.manifest["platform"],
        "os": device.get("os") or None,
        "executorch_version": result["executorch_version"],
        "etprof_version": run.manifest["etprof_version"],
        "model_sha256": result["model_sha256"],
        "configuration_sha256": result["configuration_sha256"],
        "threads": result["threads"],
        "isa": result["isa"],
        "backends": ",".join(result["backends"]),
        "launches": launches,
        "path": str(run.folder.resolve()),
    }


def _of_launch(launch: dict, latencies: np.ndarray) -> dict:
    buckets, counts = bucketed(latencies)
    some = latencies.size > 0
    return {
        "launch": launch["index"],
        "runs": latencies.size,
        "latency_ns": int(latencies.sum()),
        "median_ns": float(np.median(latencies)) if some else None,
        "min_ns": int(latencies.min()) if some else None,
        "max_ns": int(latencies.max()) if some else None,
        "buckets": buckets.tolist(),
        "counts": counts.tolist(),
        "load_ns": launch["load_ns"],
        "first_run_ns": launch["first_run_ns"],
        "peak_rss_bytes": launch["peak_rss_bytes"],
    }


def bucketed(latencies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the buckets that latencies (ns, above 0) fall into, and how many fall into each."""
    buckets = np.ceil(np.log(latencies[latencies > 0]) / schema.LOG_GAMMA).astype(np.int32)
    return np.unique(buckets, return_counts=True)


class _Traced:
    """Sums of a Profile's self times by launch: of the steady runs, or where a launch has none, of its disturbed ones."""

    def __init__(self, profile: Any) -> None:
        self.profile = profile
        if profile is None:
            return
        self.self_ns = profile.self_ns
        self.phase = np.array(profile.run_phase)
        self.launch = profile.run_launch
        self.total = profile.run_total_ns
        self.clipped = profile.run_clipped_ns
        described = profile.operators
        self.described = {
            key: [one[key] for one in described] for key in ("key", "name", "type", "kind", "category", "group")
        }

    def runs(self, launch: int) -> tuple[np.ndarray, bool]:
        """Indices of the runs, and whether they were disturbed."""
        if self.profile is None:
            return np.zeros(0, dtype=np.int64), False
        ours = self.launch == launch
        steady = np.flatnonzero(ours & (self.phase == "steady"))
        disturbed = np.flatnonzero(ours & (self.phase == "disturbed"))
        return (steady, False) if steady.size or not disturbed.size else (disturbed, True)

    def whole(self, launch: int) -> dict:
        runs, disturbed = self.runs(launch)
        return {
            "traced_runs": runs.size,
            "traced_ns": int(self.total[runs].sum()) if runs.size else 0,
            "disturbed": disturbed,
        }

    def operators(self, launch: int) -> dict:
        runs, _ = self.runs(launch)
        if not runs.size:
            nothing = np.zeros(0, dtype=np.int64)
            texts: dict = {key: [] for key in ("key", "name", "type", "kind", "category", "group_name")}
            return {**texts, "runs": nothing, "self_ns": nothing}
        times = self.self_ns[:, runs]
        counts = (times >= 0).sum(axis=1)
        sums = np.where(times >= 0, times, 0).sum(axis=1)
        kept = np.flatnonzero(counts)
        texts = {key: [words[i] for i in kept] for key, words in self.described.items()}
        counts, sums = counts[kept], sums[kept]
        clipped = int(self.clipped[runs].sum())
        if clipped:
            for key, word in (("key", "clipped"), ("name", "Clipped"), ("type", "Clipped"), ("kind", "clipped")):
                texts[key].append(word)
            texts["category"].append("framework")
            texts["group"].append("Clipped")
            counts = np.append(counts, np.count_nonzero(self.clipped[runs]))
            sums = np.append(sums, clipped)
        texts["group_name"] = texts.pop("group")
        return {**texts, "runs": counts.astype(np.int64), "self_ns": sums.astype(np.int64)}


def _sampled(etdump: Path, profile: Any, wanted: int) -> Iterator[tuple[int, dict]]:
    """Events of some traced runs of an ETDump: of steady ones, or of all where there is none, spread evenly."""
    from etprof import read_etdump

    dump = read_etdump(etdump)
    phase = np.array(profile.run_phase)
    runs = np.flatnonzero(phase == "steady")
    runs = runs if runs.size else np.arange(phase.size)
    is_run = np.array([name == "Method::execute" for name in dump.names], dtype=bool)[dump.name]
    wholes = np.flatnonzero(is_run)  # one per complete run, in the file's order
    if wholes.size != phase.size:
        return  # runs that are cut: which event is of which run is not certain
    first, count = dump._trace.block_first_event, dump._trace.block_event_count
    for run in runs[np.unique(np.linspace(0, runs.size - 1, min(wanted, runs.size)).round().astype(int))]:
        block = int(dump.block[wholes[run]])
        events = slice(int(first[block]), int(first[block] + count[block]))
        yield (
            int(count[block]),
            {
                "launch": int(profile.run_launch[run]),
                "traced_run": int(run),
                "name": [dump.names[i] for i in dump.name[events]],
                "delegated": dump.delegated[events],
                "instruction": dump.instruction[events],
                "start_ns": dump.start_ns[events] - dump.start_ns[wholes[run]],
                "duration_ns": dump.duration_ns[events],
            },
        )
