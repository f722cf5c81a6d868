"""How far apart are measurements of the same, and what does a gate say of two that were stored?

Profiles one model again and again, under each load, and checks every two of these results against each other: with what
their launches show (`--drift 0%`), and with the drift that etprof assumes. No check should fail.

    .venv/bin/python bench/statistics/apart.py [--times 30] [--max-seconds 3] [--side 16] [--loads idle,...] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import statistics
import sys
import tempfile
from pathlib import Path

from busy_gate import check, export, profile
from contention import CONDITIONS

LOADS = ("idle", "memory copier", "2 busy loops")
LIMITS = ("2%", "5%")


def launch_logs(folder: Path) -> list[float]:
    """Returns the logarithm of the median clean latency of each launch."""
    manifest = json.loads((folder / "manifest.json").read_text())
    medians = []
    for launch in manifest["results"][0]["launches"]:
        runs = [burst["median_ns"] for burst in launch["bursts"] if burst["clean_runs"] > 0]
        if runs:
            medians.append(math.log(statistics.median(runs)))
    return medians


def format_shares(results: list[str]) -> str:
    """Formats the percentages of failed, passed, and inconclusive checks."""
    return " / ".join(f"{100 * results.count(name) / len(results):.1f}" for name in ("fail", "pass", "inconclusive"))


def main() -> None:
    """Measures under all loads, and writes the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--max-seconds", type=float, default=3)
    parser.add_argument("--side", type=int, default=16)
    parser.add_argument("--loads", default=",".join(LOADS))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = export(folder, options.side)["A/A"]
        for load in options.loads.split(","):
            with CONDITIONS[load]() as prefix:
                stored = [
                    profile(prefix, model, options.max_seconds, folder / f"{load}{i}") for i in range(options.times)
                ]
            logs_by_run = [launch_logs(run) for run in stored]
            between = statistics.stdev(map(statistics.mean, logs_by_run))
            within = math.sqrt(statistics.mean(statistics.variance(v) / len(v) for v in logs_by_run))
            row = [load, f"{100 * between:.2f}%", f"{100 * within:.2f}%"]
            for limit, drift in itertools.product(LIMITS, (["--drift", "0%"], [])):
                pairs = itertools.combinations(stored, 2)
                row.append(format_shares([check([], a, b, "--max-slowdown", limit, *drift) for a, b in pairs]))
            rows.append(row)
            print(*row, file=sys.stderr)
    header = ["load", "differ by", "launches explain"]
    header += [f"{limit}, {drift}" for limit in LIMITS for drift in ("launches alone", "with drift")]
    lines = [
        "# Measurements of the same at different times",
        "",
        f"Made by `bench/statistics/apart.py --times {options.times} --max-seconds {options.max_seconds:g}`: one model,",
        "measured again and again. *differ by* is the standard deviation of the measurements, *launches explain* what it",
        "would be if launches differed by chance alone. Then the checks of every two of them, by what may be slower: how",
        "many percent failed (all falsely), passed, and were inconclusive.",
        "",
        "| " + " | ".join(header) + " |",
        "|" + " --- |" * len(header),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
    text = "\n".join(lines) + "\n"
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
