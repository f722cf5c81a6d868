"""Do short bursts with opening runs measure the same latency as one long run?

Two workers of one model (one with the widest extension masked, so that the caches are cooled by other code and weights)
take turns in bursts of 50 ms, as `etprof run` does; between the turns the first one runs alone for a second, warm.
Compared are the medians of the bursts with that of the long run next to them. Without opening runs, the first runs of each
burst would be part of it: their cost is shown.

    .venv/bin/python bench/statistics/bursts.py MODEL.pte --mask=-avx2 [--blocks 10] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from pathlib import Path

from scipy.stats import t as student_t

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from worker import Worker  # noqa: E402 - found by the path above

BURST = {"cmd": "burst", "target_ns": 50_000_000, "min_runs": 3, "min_opening": 1, "max_opening": 30}


def measure(model: Path, mask: str, blocks: int, bursts: int) -> list[dict]:
    """Returns one row per block: medians in ns of the long run and of the bursts, opening runs, and the first run of each burst."""
    runner = ROOT / "build" / "etprof-runner"
    rows = []
    with Worker(runner, model) as measured, Worker(runner, model, isa=mask) as other:
        for worker in (measured, other):
            worker.ask(**{**BURST, "target_ns": 500_000_000})
        for _ in range(blocks):
            long_run = measured.ask(**{**BURST, "target_ns": 1_000_000_000})["untraced_ns"]
            replies = []
            for _ in range(bursts):
                other.ask(**BURST)
                replies.append(measured.ask(**BURST))
            rows.append(
                {
                    "long": statistics.median(long_run),
                    "bursts": statistics.median(statistics.median(r["untraced_ns"]) for r in replies),
                    "opening": [len(r["opening_ns"]) for r in replies],
                    "first": statistics.median(r["opening_ns"][0] for r in replies),
                }
            )
    return rows


def report(model: Path, mask: str, rows: list[dict]) -> str:
    """The result as Markdown."""
    ratios = [math.log(row["bursts"] / row["long"]) for row in rows]
    mean = statistics.mean(ratios)
    error = statistics.stdev(ratios) / math.sqrt(len(ratios)) * student_t.ppf(0.975, len(ratios) - 1)
    opening = sorted(count for row in rows for count in row["opening"])
    first = statistics.median(row["first"] / row["long"] for row in rows)
    lines = [
        f"## {model.stem}, alternating with isa={mask}",
        "",
        f"Burst medians against a long warm run of the same worker, {len(rows)} blocks: "
        f"{100 * math.expm1(mean):+.2f} % (95 %: {100 * math.expm1(mean - error):+.2f} to {100 * math.expm1(mean + error):+.2f} %).",
        "",
        f"Opening runs a burst: median {statistics.median(opening):.0f}, 90th percentile "
        f"{opening[int(0.9 * (len(opening) - 1))]}, most {opening[-1]}. The first run after a switch took {first:.2f} times a warm one.",
        "",
        "| long run, ms | bursts, ms | ratio |",
        "| ---: | ---: | ---: |",
    ]
    lines += [f"| {r['long'] / 1e6:.3f} | {r['bursts'] / 1e6:.3f} | {r['bursts'] / r['long']:.4f} |" for r in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--mask", required=True)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--bursts", type=int, default=10)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    text = report(
        arguments.model, arguments.mask, measure(arguments.model, arguments.mask, arguments.blocks, arguments.bursts)
    )
    print(text)
    if arguments.out:
        with arguments.out.open("a") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
