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
    """Three significant digits and a prefix: "50.8 G"."""
    prefixes = ["", "k", "M", "G", "T"]
    place = 0
    while value >= 999.5 and place + 1 < len(prefixes):
        value /= 1000
        place += 1
    return f"{value:.3g} {prefixes[place]}".strip()


def rates(launch: dict) -> dict[tuple[str, ...], tuple[float, float]]:
    """Of each kernel: the best try, and the median of the tries."""
    found = {("clock", "", "Hz"): (launch["clock_hz"], launch["clock_hz"])}
    for peak in launch["compute"]:
        found[peak["level"], f"{peak['dtype']}, {peak['instruction']}", "MAC/s"] = (
            peak["macs_per_s"],
            peak["median_macs_per_s"],
        )
    for peak in launch["memory"]:
        found[peak["level"], peak["access"], "B/s"] = (peak["bytes_per_s"], peak["median_bytes_per_s"])
    return found


def table(launches: list[dict]) -> list[str]:
    """One row a kernel: the best of all launches, and how far the launches' bests lie apart."""
    per_launch = [rates(launch) for launch in launches]
    rows = [
        "| level | what | best | of all launches' bests: median | least | spread (least below best) | tries below: median |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for key in per_launch[0]:
        bests = sorted(found[key][0] for found in per_launch)
        below = statistics.median(1 - found[key][1] / found[key][0] for found in per_launch)
        level, what, unit = key
        rows.append(
            f"| {level} | {what} | {amount(bests[-1])}{unit} | {amount(statistics.median(bests))}{unit} "
            f"| {amount(bests[0])}{unit} | {1 - bests[0] / bests[-1]:.1%} | {below:.1%} |"
        )
    return rows


def measure(runner: Path, threads: int, launches: int) -> list[dict]:
    """What each launch says."""
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
        found = measure(arguments.runner, threads, arguments.launches)
        seconds = statistics.median(launch["took_ns"] for launch in found) / 1e9
        lines += [f"## {threads} thread{'s' if threads > 1 else ''}, {seconds:.1f} s a launch", "", *table(found), ""]
    arguments.out.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
