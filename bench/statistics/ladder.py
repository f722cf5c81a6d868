"""Do the ends of an ISA ladder agree with the A/B of the same masks?

Measures, N times in turns, the ladder of a model and the A/B of its lowest level (every feature masked) against the model as
it is, and writes down both ratios with their 95 % intervals. The intervals of two measurements of one thing overlap nearly
always (where both cover 95 %, and are as wide, in more than 99 of 100).

    .venv/bin/python bench/statistics/ladder.py MODEL.pte [--times 5] [--threads N] [--ladder-seconds S] [--ab-seconds S] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ETPROF = Path(os.environ.get("ETPROF", ROOT / "build" / "etprof"))


def measure(folder: Path, *arguments: str) -> dict:
    """Returns the analysis_summary.json of a measurement."""
    subprocess.run(
        [ETPROF, *arguments, "--output-root", folder],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return json.loads((folder / "analysis_summary.json").read_text())


def measure_once(model: Path, folder: Path, settings: argparse.Namespace) -> dict | None:
    """Returns ratio, low, and high of the ladder's ends and of the A/B. Above 1, the CPU with all features is faster.

    None if either is contended: other processes left too few clean runs for a ratio.
    """
    threads = ["--threads", str(settings.threads)]
    ladder = measure(folder / "ladder", "isa", str(model), *threads, "--max-seconds", str(settings.ladder_seconds))[
        "ladder"
    ]
    ladder_latency = ladder["latency"]["cells"][-1]["over_lowest"]
    ab = measure(
        folder / "ab", "profile", str(model), *threads, "--vs", "isa=none", "--max-seconds", str(settings.ab_seconds)
    )
    # "none" is the candidate of the A/B, so its ratio is inverted.
    ab_latency = ab["comparisons"][0]["latency"]
    if "contended" in (ladder_latency["verdict"], ab_latency["verdict"]):
        return None
    steps = {
        cell["level"]: cell["over_below"]["ratio"] if cell["over_below"]["verdict"] in ("faster", "slower") else None
        for cell in ladder["latency"]["cells"][1:]
    }
    return {
        "levels": [level["name"] for level in ladder["levels"]],
        "steps": steps,
        "ladder": (ladder_latency["ratio"], ladder_latency["ratio_low"], ladder_latency["ratio_high"]),
        "ab": (1 / ab_latency["ratio"], 1 / ab_latency["ratio_high"], 1 / ab_latency["ratio_low"]),
    }


def intervals_overlap(result: dict) -> bool:
    """Whether the two intervals overlap."""
    return max(result["ladder"][1], result["ab"][1]) <= min(result["ladder"][2], result["ab"][2])


def report(model: Path, results: list[dict], settings: argparse.Namespace) -> str:
    """The result as Markdown."""
    levels = results[0]["levels"]
    agree = sum(map(intervals_overlap, results))
    lines = [
        f"## {model.stem}, {settings.threads} thread{'s' if settings.threads > 1 else ''}: "
        f"{levels[0]} to {levels[-1]}, {len(results)} times",
        "",
        f"{settings.ladder_seconds:g} s for a ladder of {len(levels)} levels, {settings.ab_seconds:g} s for an A/B. "
        f"The intervals overlap in {agree} of {len(results)}.",
        "",
        f"| ladder: {levels[-1]} over {levels[0]} | A/B of the same masks | overlap | the ladder's steps |",
        "| --- | --- | --- | --- |",
    ]
    for result in results:
        cells = ["{:.3f}x [{:.3f}, {:.3f}]".format(*result[side]) for side in ("ladder", "ab")]
        steps = ", ".join(f"{name} {ratio:.2f}x" for name, ratio in result["steps"].items() if ratio is not None)
        lines.append(
            f"| {cells[0]} | {cells[1]} | {'yes' if intervals_overlap(result) else 'no'} | {steps or 'none certain'} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ladder-seconds", type=float, default=105)
    parser.add_argument("--ab-seconds", type=float, default=60)
    parser.add_argument("--out", type=Path)
    settings = parser.parse_args()
    results = []
    for number in range(settings.times):
        with tempfile.TemporaryDirectory() as folder:
            result = measure_once(settings.model.resolve(), Path(folder), settings)
        if result is None:
            print(f"{number + 1}/{settings.times} contended: left out", flush=True)
            continue
        results.append(result)
        print(f"{number + 1}/{settings.times} {results[-1]['ladder']} {results[-1]['ab']}", flush=True)
        text = report(settings.model, results, settings)
        if settings.out:  # written after each result, so that an interrupted bench keeps its results
            settings.out.write_text(text)
    print(text if results else "contended each time: measure when nothing else runs")


if __name__ == "__main__":
    main()
