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


def validate(run: Path_) -> dict:
    """Verify the integrity of a results directory; see "ok" and "findings"."""
    return json.loads(_native.validate(os.fspath(run)))
