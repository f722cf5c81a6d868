"""Histories of scripted runs, for the tests of `etprof history` and of the Python module."""

import json
import pathlib
import shutil
import sqlite3


def measure(bench, name: str = "run", factor: float = 1, launches: int = 4) -> pathlib.Path:
    """Measures a results directory with a reference, "fixed", and with "net", whose latency is multiplied by `factor`."""
    bench.out = bench.folder / name
    experiments = [
        bench.experiment("fixed"),
        bench.experiment("net", env={"FAKE_LATENCY_NS": str(round(1_000_000 * factor))}),
    ]
    result = bench.run("run", bench.write(experiments, launches=launches))
    assert result.returncode == 0, result.stderr
    return bench.out


def copy_with_time(run: pathlib.Path, copy: pathlib.Path, second: int) -> pathlib.Path:
    """Copies a run, with another time of measurement."""
    shutil.copytree(run, copy)
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["generated_at"] = f"2026-01-01T00:00:{second:02}Z"
    path.write_text(json.dumps(manifest))
    return copy


def slow_down(file: pathlib.Path, name: str, factor: float, since: int) -> str:
    """Makes an operator of "net" slower by `factor` from the commit `since` on, and returns its key."""
    with sqlite3.connect(file) as database:
        operator, key = database.execute(
            "SELECT operator, key FROM operator_time JOIN operator ON operator.id = operator WHERE instr(name, ?) "
            "GROUP BY operator ORDER BY sum(self_ns) DESC",
            (name,),
        ).fetchone()
        rows = database.execute(
            "SELECT result, self_ns, by_launch FROM operator_time JOIN result ON result.id = result JOIN run "
            "ON run.id = run JOIN series ON series.id = series WHERE operator = ? AND experiment = 'net' "
            "AND CAST(substr(commit_name, 2) AS INTEGER) >= ?",
            (operator, since),
        ).fetchall()
        assert rows
        for result, total, by_launch in rows:
            launches = (
                json.dumps([round(factor * time) for time in json.loads(by_launch)], separators=(",", ":"))
                if by_launch
                else None
            )
            database.execute(
                "UPDATE operator_time SET self_ns = ?, by_launch = ? WHERE result = ? AND operator = ?",
                (round(factor * total), launches, result, operator),
            )
    database.close()
    return key
