"""Write traces for Perfetto of the runs that a query selects, with `etprof trace`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from etprof import programs
from etprof.fleet.ingest import open_run
from etprof.fleet.problem import FleetError
from etprof.fleet.query import ask
from etprof.fleet.store import Fleet


def write(fleet: Fleet, sql: str, folder: str | os.PathLike[str], max_runs: int = 100) -> list[Path]:
    """Write DIGEST.pftrace for each run in the result's column `run`. Existing files are kept.

    Raises:
        FleetError: the answer has no such column or too many runs, or a results directory is gone or has changed
    """
    answer = ask(fleet, sql)
    if "run" not in answer.columns:
        raise FleetError("the query has no column `run`", "select `run` of any of the tables", 2)
    column = answer.columns.index("run")
    runs = list(dict.fromkeys(row[column] for row in answer.rows if row[column]))
    if len(runs) > max_runs:
        raise FleetError(f"the query selects {len(runs)} runs", f"add LIMIT, or give --most {len(runs)}", 2)
    paths = dict(
        ask(
            fleet,
            "SELECT run, any_value(path) FROM runs WHERE run IN (SELECT unnest(getvariable('wanted'))) GROUP BY run",
            {"wanted": runs},
        ).rows
    )
    for run in runs:
        _check(run, paths.get(run))
    Path(folder).mkdir(parents=True, exist_ok=True)
    files = []
    for run in runs:
        file = Path(folder) / f"{run}.pftrace"
        if not file.exists():
            _trace(paths[run], file)
        files.append(file)
    return files


def _check(run: str, path: str | None) -> None:
    if path is None:
        raise FleetError(f"the fleet has no run `{run}`", "select `run` of any of the tables")
    if run not in open_run(path).digests:
        raise FleetError(f"`{path}` holds another run than `{run}` now", "restore it from where it was moved to")


def _trace(path: str, file: Path) -> None:
    command = [programs.program(), "trace", path, "-o", file]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace")  # noqa: S603  our own program
    if result.returncode != 0:
        lines = [
            line.partition(": ")[2] for line in result.stderr.splitlines() if line.startswith(("error: ", "hint: "))
        ]
        problem, remedy = (*lines, "", "")[:2]
        raise FleetError(problem or f"`etprof trace {path}` failed", remedy or "run it to see why", result.returncode)
