"""What etprof's commands do, as functions. Each returns what its command shows with --json (docs/reference/json.md)."""

from __future__ import annotations

import json
import os
from pathlib import Path

from etprof import _native

Path_ = str | os.PathLike[str]


def analyze(path: Path_) -> dict:
    """Show where the time goes: an ETDump or a timeline CSV; a results directory's files are regenerated, too.

    Raises:
        ValueError: here and below: what was given cannot be read; the message says what and why
    """
    return json.loads(_native.analyze(os.fspath(path)))


def report(path: Path_, out: Path_ | None = None) -> list[Path]:
    """Regenerate report.md and report.html of a results directory or a trace, in the folder or as the file `out`."""
    return [Path(file) for file in _native.report(os.fspath(path), os.fspath(out) if out is not None else "")]


def inspect(model: Path_) -> dict:
    """Show what is in a .pte: instructions, delegates, tensors, sizes, MACs."""
    return json.loads(_native.inspect(os.fspath(model)))


def check(baseline: Path_, candidate: Path_ | None = None, max_slowdown: float = 0.02) -> dict:
    """Compare two results directories, or the pairs of one, with a limit (0.02: latency +2%); see "result"."""
    paths = [os.fspath(baseline)] + ([os.fspath(candidate)] if candidate is not None else [])
    return json.loads(_native.check(paths, max_slowdown))


def check_programs(baseline: Path_, candidate: Path_, thresholds: Path_ | None = None) -> dict:
    """Compare two .pte without running them, with the limits of a file if any: `etprof check --static`."""
    return json.loads(_native.check_programs(os.fspath(baseline), os.fspath(candidate), os.fspath(thresholds or "")))


def diff(baseline: Path_, candidate: Path_, *runs: Path_) -> dict:
    """Show what differs between two .pte, with times where `runs` measured them."""
    return json.loads(_native.diff(os.fspath(baseline), os.fspath(candidate), [os.fspath(run) for run in runs]))


def kernels(*paths: Path_, filter_op: str = "") -> dict:
    """Show the microkernels that logs of kernel-log runs, or results directories, tell of."""
    return json.loads(_native.kernels([os.fspath(path) for path in paths], filter_op))


def trace(*paths: Path_, out: Path_, model: Path_ | None = None) -> Path:
    """Write the runs of a results directory or of traces as a timeline: Perfetto's, or Chrome's for a .json."""
    return Path(_native.trace([os.fspath(path) for path in paths], os.fspath(out), os.fspath(model or "")))


def validate(run: Path_) -> dict:
    """Verify the integrity of a results directory; see "ok" and "findings"."""
    return json.loads(_native.validate(os.fspath(run)))
