"""Does `etprof generate` find times that are true by construction, and `etprof check` the phase that became slower?

A language model of operators that wait for `a + b * position` nanoseconds (tests/spinning.py), each of which draws
factors of its own for `a` and `b` in every process, so that processes differ by known amounts. Everything is measured by
etprof as users do, on the machine as it is. Besides: times with a step at a position, 2% in one phase only, and processes
that become slower while they run, without any dependence on the position.

    .venv/bin/python bench/statistics/spinning.py [--runs 60] [--checks 10] [--out bench/results/statistics/spinning.md]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ETPROF = Path(os.environ.get("ETPROF", ROOT / "build" / "etprof"))
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "runner")]
os.environ.setdefault("ETPROF_RUNNER", str(ROOT / "build" / "etprof-runner"))

import runner_bench  # noqa: E402 - found by the path above
import spinning  # noqa: E402

DEVIATION = 0.02  # standard deviation of the factors of processes
DEPTHS = "0,1000,2000,3000,4000"
KNEES = (0.0, 0.2, 0.5)  # relative increase of `a` from position 2,048 on
# The factors of a variant, and the checks that must fail for them, by name.
INJECTED = {
    "nothing": ("prefill:1", set()),
    "prefill": ("prefill:1.02", {"pp128", "first token"}),
    "decoding": ("decode:1.02", {"tg1", "tg1 @ d4000"}),
    "slope": ("slope:1.02", {"tg1 @ d4000"}),
}
LIMIT = "0.5%"
RAMP = 0.2  # relative slowdown per second
T_OF_10 = 2.262  # Student's t, 95%, ten launches


class Bench:
    """The exported model and the library of its kernel, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runs = folder, 0
        self.model = spinning.export(folder / "spinning.pte")
        self.library = runner_bench.library(folder, "spin_kernel.cc", ET_EVENT_TRACER_ENABLED="1")

    def generate(self, launches: int, *options: object, spin: str = "") -> Path:
        """Runs `etprof generate`, and returns the results directory."""
        self.runs += 1
        out = self.folder / f"run{self.runs}"
        command = [ETPROF, "generate", self.model, "--load", self.library, "--launches", launches, "--runs", 10]
        command += ["--output-root", out, *options]
        env = {**os.environ, "ETPROF_SPIN": spin}
        subprocess.run(list(map(str, command)), check=True, capture_output=True, env=env)
        return out


def show_json(folder: Path) -> dict[str, Any]:
    """Returns the JSON of `etprof generate` for a results directory."""
    process = subprocess.run([ETPROF, "generate", folder, "--json"], check=True, capture_output=True)
    return json.loads(process.stdout)


def share_text(count: int, total: int) -> str:
    """Formats a count with its share of the total."""
    return f"{count} of {total} ({100 * count / total:.1f}%)"


def expected_range(share: float, total: int) -> str:
    """Returns the range that contains a count with this share in 95 of 100 cases."""
    deviation = 1.96 * math.sqrt(share * (1 - share) * total)
    return f"{max(0, math.ceil(share * total - deviation))} to {min(total, math.floor(share * total + deviation))}"


def coverage(bench: Bench, runs: int) -> list[str]:
    """Counts how often intervals contain the truth, in runs of five processes."""
    counts: Counter[str] = Counter()
    slope = sum(b for _, b in spinning.OPERATORS)
    for _ in range(runs):
        result = show_json(bench.generate(5, "-p", 128, "-n", 1, "-d", "0,2000,4000", spin=f"launch:{DEVIATION}"))
        decode = result["variants"][0]["decode"]
        counts["no knee"] += decode["fits"]
        if decode["slope_ns_per_token_low"] is not None:
            counts["total"] += 1
            counts["total slope"] += decode["slope_ns_per_token_low"] <= slope <= decode["slope_ns_per_token_high"]
        operators = [operator for operator in decode["operators"] if operator["name"].startswith("etprof_spin")]
        operators.sort(key=lambda operator: int(operator["key"].split("/")[1]))
        if len(operators) != len(spinning.OPERATORS):
            continue
        counts["runs"] += 1
        for (a, b), operator in zip(spinning.OPERATORS, operators, strict=True):
            counts["intercepts"] += operator["intercept_ns_low"] <= a <= operator["intercept_ns_high"]
            contains_slope = operator["slope_ns_per_token_low"] <= b <= operator["slope_ns_per_token_high"]
            counts["slopes" if b > 0 else "flat slopes"] += contains_slope
    flat = sum(b == 0 for _, b in spinning.OPERATORS) * counts["runs"]
    total_intercepts = len(spinning.OPERATORS) * counts["runs"]
    rows = [
        ("intercept of an operator", counts["intercepts"], total_intercepts, 0.95),
        ("slope of an operator, of 50 to 300 ns a token", counts["slopes"], total_intercepts - flat, 0.95),
        (f"slope of the untraced step, {slope} ns a token", counts["total slope"], counts["total"], 0.95),
        ("an operator without a slope is given one", flat - counts["flat slopes"], flat, 0.05),
        ("a knee is called where there is none", runs - counts["no knee"], runs, 0),
    ]
    lines = ["| interval | truth is in it, or it is so | if the confidence holds |", "| --- | ---: | ---: |"]
    for name, count, total, share in rows:
        lines.append(f"| {name} | {share_text(count, total)} | {expected_range(share, total)} |")
    return lines


def knees(bench: Bench) -> list[str]:
    """Measures times with a step at a position."""
    flat, slope = sum(a for a, _ in spinning.OPERATORS), sum(b for _, b in spinning.OPERATORS)
    lines = ["| step | truly off a line | measured | line |", "| ---: | ---: | ---: | --- |"]
    for knee in KNEES:
        # The line through (0, 0, 0, 1, 1) misses the third value by 0.4.
        height = knee * flat
        truth = 0.4 * height / (flat + 2000 * slope + 0.4 * height)
        run = bench.generate(3, "-p", 128, "-n", 1, "-d", DEPTHS, spin=f"knee:{knee}")
        decode = show_json(run)["variants"][0]["decode"]
        line_text = "a line" if decode["fits"] else "no line"
        lines.append(f"| {height / 1000:.0f} µs | {100 * truth:.2f}% | {100 * decode['misfit']:.2f}% | {line_text} |")
    return lines


def injected(bench: Bench, checks: int) -> list[str]:
    """Counts the checks that fail if one phase takes 2% longer."""
    results: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in INJECTED}
    for _ in range(checks):
        variants = [f"env=ETPROF_SPIN={spin},label={name}" for name, (spin, _) in INJECTED.items()]
        run = bench.generate(
            10, "-p", 128, "-n", 1, "-d", "0,4000", *(option for variant in variants for option in ("--vs", variant))
        )
        command = [ETPROF, "check", run, "--generate", "--max-slowdown", LIMIT, "--json"]
        process = subprocess.run(list(map(str, command)), check=False, capture_output=True)
        pairs = json.loads(process.stdout)["pairs"]
        for name, pair in zip(INJECTED, pairs, strict=True):
            if not pair["name"].startswith(name):
                sys.exit(f"'{pair['name']}' is not the pair of '{name}'")
            for item in pair["checks"]:
                results[name][item["name"], item["result"]] += 1
    names = ["pp128", "tg1", "tg1 @ d4000", "first token", "cache"]
    lines = [f"| 2% more in | {' | '.join(names)} |", f"| --- |{' ---: |' * len(names)}"]
    for name, (_, truth) in INJECTED.items():
        cells = []
        for test in names:
            fails, inconclusive = results[name][test, "fail"], results[name][test, "inconclusive"]
            cells.append(
                (f"**{fails}**" if test in truth else str(fails)) + (f" ({inconclusive})" if inconclusive else "")
            )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def ramp(bench: Bench) -> list[str]:
    """Measures slopes by position of processes that become slower independently of the position."""
    tokens = 1000
    options = ["-p", 128, "-n", tokens, "-d", "0,1000,2000,3000"]
    run = bench.generate(10, *options, spin=f"slope:0;ramp:{RAMP}")
    slopes = []
    for result in json.loads((run / "manifest.json").read_text())["results"]:
        for launch in result["launches"]:
            if (walk := launch.get("walk")) is None:
                continue
            steps = list(zip(walk["at"], walk["execute_ns"], walk["wait_ns"], strict=True))[-tokens + 1 :]
            clean = [(at, ns) for at, ns, wait in steps if wait <= max(3000, 0.01 * ns)]  # as src/measure/schedule
            # Medians of 100 steps each, so that a few slow steps have no effect.
            chunks = [clean[i : i + 100] for i in range(0, len(clean) - 99, 100)]
            points = [[statistics.median(values) for values in zip(*chunk, strict=True)] for chunk in chunks]
            slopes.append(statistics.linear_regression(*zip(*points, strict=True)).slope)
    decode = show_json(run)["variants"][0]["decode"]
    mean, half_width = statistics.mean(slopes), T_OF_10 * statistics.stdev(slopes) / math.sqrt(len(slopes))
    bounds = [decode[f"slope_ns_per_token{suffix}"] for suffix in ("", "_low", "_high")]
    return [
        "| positions | ns a token |",
        "| --- | ---: |",
        "| truth | 0 |",
        f"| in order: the generated text | {mean:.2f} [{mean - half_width:.2f}, {mean + half_width:.2f}] |",
        "| in random order: `etprof generate` | {:.2f} [{:.2f}, {:.2f}] |".format(*bounds),
    ]


def main() -> None:
    """Measures, and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--checks", type=int, default=10)
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/statistics/spinning.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name))
        ramp_lines, knee_lines = ramp(bench), knees(bench)
        injected_lines, coverage_lines = injected(bench, arguments.checks), coverage(bench, arguments.runs)
    count = len(spinning.OPERATORS)
    flat, slope = sum(a for a, _ in spinning.OPERATORS), sum(b for _, b in spinning.OPERATORS)
    text = f"""# Times that are true by construction

A language model of {count} operators that wait for a + b x position: together {flat / 1000:.0f} µs and {slope} ns a token.
`bench/statistics/spinning.py --runs {arguments.runs} --checks {arguments.checks}`, by `etprof generate` and `etprof check`.

## Intervals

{arguments.runs} runs of five processes at three positions. In every process each operator draws factors of its own for a and
b, with a deviation of {100 * DEVIATION:.0f}%. An operator takes 0.1 µs more than it waits (the clock, the event), a twelfth
of an intercept's half-width where a is 50 µs. The truth of an intercept is without that.

{chr(10).join(coverage_lines)}

## Knees

Three processes, five positions; a is larger from the position 2,048 on. There is no line where a position lies more than
5% off it.

{chr(10).join(knee_lines)}

## One phase slower

How many of {arguments.checks} checks (`--max-slowdown {LIMIT}`, ten processes) fail, by what takes 2% more, and in
brackets how many are inconclusive. What has to fail is bold: prefill is nearly all of the time to the first token, and
4,000 tokens make the slope three quarters of a step.

{chr(10).join(injected_lines)}

## Processes that become slower

Ten processes, each of which becomes {100 * RAMP:.0f}% slower in a second, as beside a load that grows. Nothing depends on
the position. Both slopes are from undisturbed runs of the same processes.

{chr(10).join(ramp_lines)}
"""
    arguments.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
