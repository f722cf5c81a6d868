"""The history of a project's runs, which `etprof history` stores (docs/guides/history.md)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime, timezone

import numpy as np

from etprof import _native
from etprof.arrow import Coded, Column, Nullable, Table
from etprof.workflows import Path_


class History:
    """A history file. It is created when runs are first added.

    history = etprof.History("etprof-history.sqlite")
    history.add("out_net/runs/linux-x86_64", commit="HEAD", reference="fixed")
    polars.DataFrame(history.trends(model="net"))
    pyarrow.table(history.changes())
    """

    def __init__(self, path: Path_) -> None:
        self.path = os.fspath(path)

    def __repr__(self) -> str:
        return f"<History: {self.path}>"

    def add(
        self,
        runs: Path_ | Iterable[Path_],
        *,
        commit: str,
        time: datetime | None = None,
        reference: str = "",
        device_name: str = "",
    ) -> list[dict]:
        """Add results directories, as `etprof history add`: all of them, or none if one cannot be read.

        Returns for each run: "run", "commit" (in full if git knows it), "result" ("added", "replaced", or
        "already there"), and "left_out": the parts of the run that are not stored, and why.

        Raises:
            ValueError: a file cannot be read or written; the message names it and the remedy (also for `trends` and
                `changes`)
        """
        paths = [runs] if isinstance(runs, str | os.PathLike) else list(runs)
        timestamp = "" if time is None else str(int(_utc(time).timestamp()))
        return _native.history_add(
            self.path, [os.fspath(run) for run in paths], commit, timestamp, reference, device_name
        )

    def trends(
        self, *, model: str = "", device: str = "", experiment: str = "", operator: str = "", last: int = 200
    ) -> Table:
        """Return one row per measurement of each series, the oldest first, and at most the `last` of a series (0: all).

        `model`, `device`, `experiment`, and `operator` select names that contain them, ignoring case. With `operator`,
        `self_ns` is the mean self time of those operators in one inference.
        """
        return _table(_native.history_trends(self.path, model, device, experiment, operator, last))

    def changes(
        self,
        *,
        model: str = "",
        device: str = "",
        experiment: str = "",
        operator: str = "",
        last: int = 200,
        since: str = "",
    ) -> Table:
        """Return one row per change that `etprof history check` finds, of a latency (no "operator") or an operator.

        `change` is relative: 0.02 is 2% more. The change happened after the commit `after`, at `not_after` at the latest,
        and most likely at `commit`. `counts` is False if the machine or device caused the change, and for changes up to the
        commit `since`.
        """
        return _table(_native.history_changes(self.path, model, device, experiment, operator, last, since))


def _utc(time: datetime) -> datetime:
    return time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)


def _table(columns: Iterable[tuple[str, str, list]]) -> Table:
    return Table({name: _column(values, kind) for name, kind, values in columns})


def _column(values: list, kind: str) -> Column:
    if kind == "text":
        return values
    if kind == "name":
        texts = sorted(set(values))
        codes = {text: code for code, text in enumerate(texts)}
        return Coded(np.array([codes[value] for value in values], dtype=np.int32), texts)
    if kind == "time":
        return np.array(values, dtype="datetime64[s]")
    valid = np.array([value is not None for value in values], dtype=bool)
    if valid.all():
        return np.array(values, dtype=kind)
    return Nullable(np.array([0 if value is None else value for value in values], dtype=kind), valid)
