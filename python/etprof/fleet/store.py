"""The files of a fleet: list, add, and compact batches. All operations are safe against a kill at any moment.

A batch is one file per table with the same name, written in the order of `schema.TABLES`. Its file in
`runs` commits the batch. A compaction writes a batch that replaces others: first the list of the replaced batches, then its
tables. Its file in `runs` commits the compaction, too. The next compaction removes files that a kill has left.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import posixpath
import re
import time
import urllib.parse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import fsspec.implementations.local
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etprof import artifacts, errors
from etprof.fleet import schema
from etprof.fleet.problem import FleetError

_MARKER = "etprof_fleet.json"
_REPLACES = "replaces"
# The key in a file's metadata of the file's SHA-256, which is computed with zeros in place of the digest.
_DIGEST = b"etprof_sha256"
_NO_DIGEST = b"0" * 64
# The digest in the encoding of Thrift's compact protocol. A Parquet reader is not used, because damage may mislead it.
_RECORDED = re.compile(_DIGEST + rb"\x18\x40(?P<digest>[0-9a-f]{64})")
_FOOTER = 1 << 20  # bytes at the end of a file that contain its metadata
_ADD_AGAIN = "remove the other files of this batch, and add its runs again; move what etprof did not write out of the fleet's folder"
_MAX_MERGED_BYTES = 32 << 20  # bytes of operators that a compaction holds in memory, about 8 million rows
_ROW_GROUP = 1 << 18  # rows; small enough to skip row groups, large enough to compress well

Partition = tuple[str, str]  # day, model


@dataclass(frozen=True)
class Batch:
    """One file per table, for one day and model."""

    partition: Partition
    name: str


# The file system's information about files, by table and batch.
FilesByTable = Mapping[str, Mapping[Batch, dict]]


class Fleet:
    """A fleet: a folder or bucket of tables."""

    def __init__(self, uri: str, create: bool = False) -> None:
        """Open the fleet.

        Raises:
            FleetError: the location cannot be reached, is not a fleet, or has a newer schema
        """
        self.uri = uri
        try:
            self.fs, root = fsspec.core.url_to_fs(uri)
        except (ImportError, ValueError) as error:
            raise FleetError(
                f"`{uri}` cannot be opened: {error}", "give a folder, or a URL that fsspec knows"
            ) from error
        self.root = root.rstrip("/")
        self._verified: dict[str, tuple[int, int]] = {}  # size and time of each intact file, by path
        self.local = isinstance(self.fs, fsspec.implementations.local.LocalFileSystem)
        try:
            self._check_marker(create)
        except (FleetError, OSError):
            raise
        except Exception as error:  # clients of object stores raise their own errors
            raise FleetError(
                f"`{uri}` cannot be reached: {errors.one_line(error)}",
                "check the URL, the endpoint, and your credentials",
                4,
            ) from error

    def _check_marker(self, create: bool) -> None:
        marker = self._path(_MARKER)
        try:
            version = json.loads(self.fs.cat_file(marker))["schema_version"]
        except FileNotFoundError:
            if not create:
                raise FleetError(
                    f"`{self.uri}` is not a fleet: it has no {_MARKER}", "create one: `etprof fleet add RUN --to URI`"
                ) from None
            if self.fs.exists(self.root) and self.fs.ls(self.root):
                raise FleetError(f"`{self.uri}` is neither empty nor a fleet", "give a new folder") from None
            try:
                self._write(marker, json.dumps({"schema_version": schema.VERSION}).encode())
            except FileNotFoundError as error:
                raise FleetError(
                    f"`{self.uri}` cannot be made: {error}", "make the folder or bucket that it is in first"
                ) from error
            return
        except (ValueError, KeyError, TypeError) as error:
            raise FleetError(
                f"`{marker}` is damaged: {error}", f'write {{"schema_version": {schema.VERSION}}} into it'
            ) from error
        if version != schema.VERSION:
            raise FleetError(
                f"`{self.uri}` has schema version {version}, this etprof knows {schema.VERSION}", "use its etprof"
            )

    # --- files --------------------------------------------------------------------------------------------------------

    def _path(self, *parts: str) -> str:
        return posixpath.join(self.root, *parts)

    def path(self, table: str, batch: Batch, suffix: str = ".parquet") -> str:
        """Return the path of a batch's table."""
        day, model = batch.partition
        return self._path(table, f"day={day}", f"model={schema.escaped(model)}", f"{batch.name}{suffix}")

    def _list_path(self, batch: Batch) -> str:
        return self.path(_REPLACES, batch, ".json")

    def _write(self, path: str, contents: Any) -> None:
        """Write a file atomically: by renaming, or as one object."""
        if not self.local:
            self.fs.pipe_file(path, bytes(contents))
            return
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        artifacts.replace_file(file, contents)

    def _remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):  # another compaction has already removed the file
            self.fs.rm_file(path)

    def _files_by_batch(self, table: str, suffix: str = ".parquet") -> dict[Batch, dict]:
        """Return the file system's information about a table's files by batch, including batches without a commit."""
        folder = self._path(table)
        try:
            self.fs.invalidate_cache()
            found = self.fs.find(folder, detail=True)
        except FileNotFoundError:
            return {}
        batches = {}
        for path, detail in sorted(found.items()):
            parts = path.split("/")
            day, model, name = parts[-3:] if len(parts) >= 3 else ("", "", "")
            if day.startswith("day=") and model.startswith("model=") and name.endswith(suffix) and name[0] != ".":
                partition = day[4:], urllib.parse.unquote(model[6:])
                batches[Batch(partition, name[: -len(suffix)])] = detail
        return batches

    def _files_by_table(self) -> FilesByTable:
        return {table.name: self._files_by_batch(table.name) for table in schema.TABLES}

    def batches(self) -> list[Batch]:
        """Return the batches of the fleet: those that are committed and that no compaction has replaced.

        A compaction in another process removes what it replaces before it removes the list. So the lists of
        before and after name every replaced batch. A caller with a batch that is replaced meanwhile finds no file to read.
        """
        lists = self._replacement_lists()
        committed = self._files_by_batch(schema.RUNS.name)
        lists |= self._replacement_lists()
        replaced = {old for new, old_batches in lists.items() if new in committed for old in old_batches}
        return [batch for batch in committed if batch not in replaced]

    def _replacement_lists(self) -> dict[Batch, list[Batch]]:
        """Return the replaced batches of each unfinished compaction, by the compaction's new batch."""
        return {new: self._replaced_by(new) for new in self._files_by_batch(_REPLACES, ".json")}

    def _replaced_by(self, batch: Batch) -> list[Batch]:
        """Return the batches in a list. A batch's name depends on its list, so a list that names itself is not etprof's.

        Raises:
            FleetError: the list is damaged
        """
        path = self._list_path(batch)
        try:
            names = json.loads(self.fs.cat_file(path))
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise TypeError("it is not a list of names")
            runs = self.known_runs([batch]) if self.fs.exists(self.path(schema.RUNS.name, batch)) else None
            if runs is not None and batch.name != _batch_name(runs, names):
                raise ValueError("it does not belong to its batch")
        except FileNotFoundError:
            return []  # the compaction has just finished, and the replaced batches are removed
        except (ValueError, TypeError) as error:
            raise FleetError(f"`{path}` is damaged: {error}", "move it out of the fleet's folder") from error
        return [Batch(batch.partition, name) for name in names]

    def files(self) -> dict[str, list[str]]:
        """Return the files of each table, as paths of the fleet's file system.

        Raises:
            FleetError: a batch lacks a file
        """
        missing = ""
        for _ in range(3):  # a compaction may remove files after they are listed
            batches = self.batches()
            stored = self._files_by_table()
            missing = next((path for batch in batches if (path := self._missing(batch, stored))), "")
            if not missing:
                break
        else:
            raise FleetError(f"`{missing}` is missing", _ADD_AGAIN)
        self._cache_listing(details for files in stored.values() for details in files.values())
        return {name: [self.path(name, batch) for batch in batches if batch in files] for name, files in stored.items()}

    def urls(self, files: list[str]) -> list[str]:
        """Return files of `files` as paths on this machine, or as URLs with their protocol."""
        return files if self.local else [self.fs.unstrip_protocol(file) for file in files]

    def _missing(self, batch: Batch, stored: FilesByTable) -> str:
        """Return the path of a table that a committed batch lacks, or "". Events are optional."""
        missing_tables = (t.name for t in schema.TABLES if t is not schema.EVENTS and batch not in stored[t.name])
        return next((self.path(name, batch) for name in missing_tables), "")

    def verify(self, files: Iterable[str]) -> None:
        """Compare local files with the SHA-256 in them. Object stores have their own checksums.

        Raises:
            FleetError: a file is damaged
        """
        if not self.local:
            return
        stats = {path: Path(path).stat() for path in files}
        changed = [path for path, stat in stats.items() if self._verified.get(path) != (stat.st_size, stat.st_mtime_ns)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for path, _ in zip(changed, pool.map(lambda path: len(self._read_verified(path)), changed), strict=True):
                self._verified[path] = (stats[path].st_size, stats[path].st_mtime_ns)

    def _read_verified(self, path: str) -> bytes:
        """Read a Parquet file and verify its digest."""
        contents = Path(path).read_bytes() if self.local else self.fs.cat_file(path)
        recorded = list(
            _RECORDED.finditer(contents, max(0, len(contents) - _FOOTER))
        )  # files of older versions of etprof have no digest
        if recorded and recorded[-1]["digest"] != _digest(contents, recorded[-1].start("digest")):
            raise _damaged(path, "its SHA-256 is another")
        return contents

    def _cache_listing(self, found: Iterable[dict]) -> None:
        """Put listed files into the client's cache. Otherwise an engine sends several requests per file for its size."""
        folders = defaultdict(list)
        for details in found:
            folders[posixpath.dirname(details["name"])].append(details)
        for folder, files in folders.items():
            self.fs.dircache[folder] = files

    def known_runs(self, batches: Iterable[Batch]) -> set[str]:
        """Return the digests of the runs in some batches."""
        return {run for batch in batches for run in self._read(schema.RUNS, batch, ["run"])["run"].to_pylist()}

    def _read(self, table: schema.Table, batch: Batch, columns: list[str] | None = None) -> pa.Table:
        texts = [column.name for column in table.columns if column.type == "string"]
        path = self.path(table.name, batch)
        try:
            # The whole file is read at once: this is one request, and does not depend on a cached size. It is read in this
            # thread, because a thread of Arrow that releases a Python object at Python's exit crashes the process.
            contents = pa.BufferReader(self._read_verified(path))
            return pq.ParquetFile(contents, read_dictionary=texts, pre_buffer=False).read(
                columns, use_threads=self.local
            )
        except KeyError as error:  # the file lacks a requested column
            raise FleetError(
                f"`{path}` is not a file of a fleet: it lacks the columns of the table {table.name}",
                "move it out of the fleet's folder",
            ) from error
        except FileNotFoundError:
            raise
        except (pa.ArrowException, ValueError, OSError) as error:
            raise _damaged(path, str(error)) from error

    # --- writing ------------------------------------------------------------------------------------------------------

    def write(
        self, partition: Partition, tables: Mapping[str, pa.Table], replaces: Iterable[Batch] = ()
    ) -> Batch | None:
        """Write one batch, which may replace others. Returns None if there are no runs to write.

        The batch's name is derived from its runs, so writing the same runs again gives the same files.
        """
        runs = sorted(set(tables[schema.RUNS.name]["run"].to_pylist()))
        if not runs:
            return None
        replaces = list(replaces)
        batch = Batch(partition, _batch_name(runs, [old.name for old in replaces]))
        if replaces:
            self._write(self._list_path(batch), json.dumps([old.name for old in replaces]).encode())
        for table in schema.TABLES:
            contents = tables.get(table.name)
            if contents is not None and (contents.num_rows or table is not schema.EVENTS):
                self._write(self.path(table.name, batch), parquet(table, contents))
        return batch

    def compact(self, min_files: int = 2, grace_s: float = 24 * 3600) -> Compacted:
        """Merge the batches of each partition, and remove files that killed processes have left.

        Args:
            min_files: partitions with fewer files stay as they are
            grace_s: age at which files without a committed batch are removed; younger files may still be in use by a writer
        """
        removed = self._remove_replaced() + self._remove_strays(grace_s)
        partitions = defaultdict(list)
        for batch in self.batches():
            partitions[batch.partition].append(batch)
        before = sum(map(len, partitions.values()))
        after = before
        stored = self._files_by_table()
        runs = {batch: self.known_runs([batch]) for batches in partitions.values() for batch in batches}
        duplicates = _duplicate_runs(runs)
        for partition, batches in sorted(partitions.items()):
            groups = []
            if len(batches) >= min_files:
                groups = [group for group in _group_by_size(batches, stored[schema.OPERATORS.name]) if len(group) > 1]
            merged = {batch for group in groups for batch in group}
            drop = duplicates[partition]
            changed = [[batch] for batch in batches if batch not in merged and drop & runs[batch]]
            for group in groups + changed:
                after -= len(group) - self._replace(group, stored, drop)
        removed += self._remove_replaced()
        return Compacted(before, after, removed)

    def remove(self, runs: set[str]) -> set[str]:
        """Remove runs from the fleet by their digests. Returns the digests that the fleet had."""
        stored = self._files_by_table()
        found: set[str] = set()
        for batch in self.batches():
            if batch_runs := self.known_runs([batch]) & runs:
                self._replace([batch], stored, batch_runs)
                found |= batch_runs
        self._remove_replaced()
        return found

    def _replace(self, batches: list[Batch], stored: FilesByTable, drop: set[str]) -> int:
        """Replace batches of one partition by one batch, without some runs. Returns the number of batches left: 1 or 0."""
        if self.write(batches[0].partition, dict(self._merge(batches, stored, drop)), batches):
            return 1
        for batch in batches:
            self._remove_batch(batch, stored)
        return 0

    def _remove_batch(self, batch: Batch, stored: FilesByTable) -> int:
        """Remove the files of a batch, `runs` first. Returns the number of files."""
        tables = [table.name for table in reversed(schema.TABLES) if batch in stored[table.name]]
        for table in tables:
            self._remove(self.path(table, batch))
        return len(tables)

    def _merge(
        self, batches: list[Batch], stored: FilesByTable, drop: Iterable[str] = ()
    ) -> Iterator[tuple[str, pa.Table]]:
        """Yield the merged and sorted tables of several batches, without some runs and without duplicate runs."""
        taken = set(drop)
        dropped: list[set[str]] = []
        keys: set[tuple] = set()
        for batch in batches:
            read = self._read(schema.RUNS, batch, list(schema.SORTED_BY))
            runs = set(read["run"].to_pylist())
            dropped.append(runs & taken)
            keys.update(
                key
                for key in zip(*(read[name].to_pylist() for name in schema.SORTED_BY), strict=True)
                if key[-1] not in taken
            )
            taken |= runs
        order = {key[-1]: rank for rank, key in enumerate(sorted(keys))}
        for table in schema.TABLES:
            parts = []
            for batch, duplicates in zip(batches, dropped, strict=True):
                if missing := self._missing(batch, stored):
                    raise FleetError(f"`{missing}` is missing", _ADD_AGAIN)
                if batch not in stored[table.name]:
                    continue
                part = self._read(table, batch)
                if duplicates:
                    part = part.filter(pc.invert(pc.is_in(part["run"], pa.array(sorted(duplicates)))))
                parts.append(part)
            if parts:
                yield table.name, _sort_by_run(concatenate(parts), order)

    def _remove_replaced(self) -> int:
        """Finish compactions: remove the `runs` files of replaced batches first, and the list of these batches last."""
        lists = self._replacement_lists()
        # Tables are listed after the lists, so that all replaced batches appear even if the client caches listings.
        stored = self._files_by_table()
        removed = 0
        for new, old_batches in lists.items():
            if new not in stored[schema.RUNS.name]:
                continue
            removed += sum(self._remove_batch(old, stored) for old in old_batches)
            self._remove(self._list_path(new))
        return removed

    def _remove_strays(self, grace_s: float) -> int:
        """Remove batches without a file in `runs`, which an addition or compaction left when it was killed."""
        committed = self._files_by_batch(schema.RUNS.name)
        removed = 0
        for name, suffix in [(table.name, ".parquet") for table in schema.TABLES] + [(_REPLACES, ".json")]:
            for batch, detail in self._files_by_batch(name, suffix).items():
                if batch in committed or _age_s(detail) < grace_s:
                    continue
                self._remove(self._list_path(batch) if name == _REPLACES else self.path(name, batch))
                removed += 1
            for path in self._temporary_files(name, grace_s):
                self._remove(path)
                removed += 1
        return removed

    def _temporary_files(self, table: str, grace_s: float) -> list[str]:
        """Return temporary files that `_write` left when it was killed."""
        if not self.local or not self.fs.exists(self._path(table)):
            return []
        found = self.fs.find(self._path(table), detail=True).items()
        return [
            path
            for path, detail in found
            if (match := artifacts.TEMPORARY_NAME.fullmatch(posixpath.basename(path)))
            and match["name"].endswith((".parquet", ".json"))
            and _age_s(detail) >= grace_s
        ]


@dataclass(frozen=True)
class Compacted:
    """The result of a compaction: batches before and after, and the number of removed files."""

    before: int
    after: int
    removed_files: int


def _duplicate_runs(runs: Mapping[Batch, set[str]]) -> dict[Partition, set[str]]:
    """Return the duplicate runs to drop from each partition. The partition with the more specific label keeps a run."""

    def rank(batch: Batch) -> tuple[bool, bool, Partition]:
        day, model = batch.partition
        return day == schema.NO_DAY, model == "unknown", batch.partition

    keeps: dict[str, Partition] = {}
    for batch in sorted(runs, key=rank):
        for run in runs[batch]:
            keeps.setdefault(run, batch.partition)
    duplicates: dict[Partition, set[str]] = {batch.partition: set() for batch in runs}
    for batch, batch_runs in runs.items():
        duplicates[batch.partition] |= {run for run in batch_runs if keeps[run] != batch.partition}
    return duplicates


def _group_by_size(batches: list[Batch], operators: Mapping[Batch, Mapping[str, Any]]) -> Iterator[list[Batch]]:
    """Group batches to merge, each group not much larger than _MAX_MERGED_BYTES. A batch that is already large stays alone."""
    group: list[Batch] = []
    size = 0
    for batch in batches:
        batch_size = operators.get(batch, {}).get("size") or 0
        if batch_size >= _MAX_MERGED_BYTES:
            continue
        group.append(batch)
        size += batch_size
        if size >= _MAX_MERGED_BYTES:
            yield group
            group, size = [], 0
    yield group


def concatenate(parts: list[pa.Table]) -> pa.Table:
    """Concatenate tables. Columns that older files declare as never null may have nulls in newer files."""
    return pa.concat_tables(parts, promote_options="default").unify_dictionaries()


def _sort_by_run(table: pa.Table, order: Mapping[str, int]) -> pa.Table:
    """Sort the rows by run and keep the order within each run, which has only one class and version."""
    runs = table["run"].combine_chunks()
    rank = np.array([order.get(run, 0) for run in runs.dictionary.to_pylist()], dtype=np.int32)
    return table.take(pa.array(np.argsort(rank[runs.indices.to_numpy()], kind="stable")))


def parquet(table: schema.Table, contents: pa.Table) -> bytes:
    """Return the bytes of a table's file, including the digest."""
    out = pa.BufferOutputStream()
    contents = _check_schema(table, contents)
    with pq.ParquetWriter(
        out,
        contents.schema,
        compression="zstd",
        compression_level=1,
        # Texts, launches, and threads repeat, so they get dictionaries. 64-bit numbers are stored as differences, which
        # takes a quarter less space, and an engine reads them four times as fast.
        use_dictionary=[column.name for column in table.columns if column.type in ("string", "int32")],
        column_encoding={column.name: "DELTA_BINARY_PACKED" for column in table.columns if column.type == "int64"},
        write_statistics=True,
        store_schema=False,  # every reader sees texts instead of Arrow's dictionaries
        sorting_columns=[pq.SortingColumn(contents.schema.get_field_index(key)) for key in schema.SORTED_BY],
    ) as writer:
        writer.write_table(contents, _ROW_GROUP)
        writer.add_key_value_metadata({"etprof_fleet": str(schema.VERSION), _DIGEST: _NO_DIGEST})
    written = out.getvalue().to_pybytes()
    at = written.rindex(_NO_DIGEST)
    return written[:at] + _digest(written, at) + written[at + len(_NO_DIGEST) :]


def _digest(contents: bytes, at: int) -> bytes:
    """Return the SHA-256 of a file in hexadecimal, computed with zeros in place of the digest at `at`."""
    digest = hashlib.sha256(memoryview(contents)[:at])
    digest.update(_NO_DIGEST)
    digest.update(memoryview(contents)[at + len(_NO_DIGEST) :])
    return digest.hexdigest().encode()


def _batch_name(runs: Iterable[str], replaces: Iterable[str]) -> str:
    """Return a batch's name, which is derived from its runs and the batches that it replaces."""
    replaces = list(replaces)
    digest = hashlib.sha256("\n".join([*sorted(runs), *replaces]).encode()).hexdigest()[:32]
    return ("compact-" if replaces else "batch-") + digest


def _damaged(path: str, reason: str) -> FleetError:
    return FleetError(
        f"`{path}` is damaged: {reason.splitlines()[0]}", "remove this batch's files, and add its runs again"
    )


def _check_schema(table: schema.Table, contents: pa.Table) -> pa.Table:
    """Check that names and types match the schema. A text may have a dictionary, which is kept."""
    declared = schema.arrow_schema(table)
    if contents.schema.names != declared.names:
        raise ValueError(f"{table.name} has the columns {contents.schema.names}, not {declared.names}")
    fields = [
        field.with_type(have.type) if pa.types.is_dictionary(have.type) and pa.types.is_string(field.type) else field
        for field, have in zip(declared, contents.schema, strict=True)
    ]
    return contents.cast(pa.schema(fields))


def _age_s(detail: Mapping[str, Any]) -> float:
    """Return a file's age in seconds from the file system's information. A file without a time counts as new."""
    for key in ("mtime", "LastModified", "last_modified", "updated", "created"):
        when = detail.get(key)
        if isinstance(when, int | float):
            return time.time() - when
        if hasattr(when, "timestamp"):
            return time.time() - when.timestamp()
    return 0
