"""How steady are the peaks that the runner measures? Ten launches of it, and their spread.

.venv/bin/python bench/models/peaks.py [--launches 10] [--threads 1,2] [--runner PATH] [--out bench/results/models/peaks.md]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def amount(value: float) -> str:
    """Formats three significant digits and a prefix: "50.8 G"."""
    prefixes = ["", "k", "M", "G", "T"]
    place = 0
    while value >= 999.5 and place + 1 < len(prefixes):
        value /= 1000
        place += 1
    return f"{value:.3g} {prefixes[place]}".strip()


def rates(launch: dict) -> dict[tuple[str, ...], tuple[float, float]]:
    """Returns the best and the median rate of the tries, by kernel."""
    by_kernel = {("clock", "", "Hz"): (launch["clock_hz"], launch["clock_hz"])}
    for peak in launch["compute"]:
        by_kernel[peak["level"], f"{peak['dtype']}, {peak['instruction']}", "MAC/s"] = (
            peak["macs_per_s"],
            peak["median_macs_per_s"],
        )
    for peak in launch["memory"]:
        by_kernel[peak["level"], peak["access"], "B/s"] = (peak["bytes_per_s"], peak["median_bytes_per_s"])
    return by_kernel


def table(launches: list[dict]) -> list[str]:
    """Returns one row per kernel: the best rate of all launches, and the spread of the launches' best rates."""
    per_launch = [rates(launch) for launch in launches]
    rows = [
        "| level | what | best | of all launches' bests: median | least | spread (least below best) | tries below: median |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for key in per_launch[0]:
        bests = sorted(launch_rates[key][0] for launch_rates in per_launch)
        below = statistics.median(1 - launch_rates[key][1] / launch_rates[key][0] for launch_rates in per_launch)
        level, kernel, unit = key
        rows.append(
            f"| {level} | {kernel} | {amount(bests[-1])}{unit} | {amount(statistics.median(bests))}{unit} "
            f"| {amount(bests[0])}{unit} | {1 - bests[0] / bests[-1]:.1%} | {below:.1%} |"
        )
    return rows


def measure(runner: Path, threads: int, launches: int) -> list[dict]:
    """Returns the output of each launch."""
    command = [runner, "--measure-peaks", f"--cpu_threads={threads}"]
    return [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(launches)
    ]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=10)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--runner", type=Path, default=ROOT / "build" / "etprof-runner")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/models/peaks.md")
    arguments = parser.parse_args()
    lines = ["# Machine peaks, launch by launch", ""]
    load = os.getloadavg()[0]
    lines += [
        f"`etprof-runner --measure-peaks`, {arguments.launches} launches one after the other, on a machine of "
        f"{os.cpu_count()} processors with a load of {load:.1f} when it began"
        + (": other work ran, so these are lower bounds, and another run may find more." if load > 0.5 else "."),
        "*tries below*: how far the middle one of a launch's tries lies below its best, as the median of the launches.",
        "",
    ]
    for threads in map(int, arguments.threads.split(",")):
        measured = measure(arguments.runner, threads, arguments.launches)
        seconds = statistics.median(launch["took_ns"] for launch in measured) / 1e9
        lines += [
            f"## {threads} thread{'s' if threads > 1 else ''}, {seconds:.1f} s a launch",
            "",
            *table(measured),
            "",
        ]
    arguments.out.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
