"""How often is etprof wrong on a busy machine, and how often can it still decide?

Measures four models (about 0.1, 1, 5, and 50 ms) against themselves and with the CPU's widest extension off and on,
on an idle machine and with interference: busy loops, a memory copier, a control group with half a processor, workers
that are stopped at random, and one processor for all. The truth of a pair is what the idle measurements of the same run
say. With --before another build of etprof is measured in the same run, in turns.

    .venv/bin/python bench/statistics/contention.py [--times 3] [--max-seconds 4] [--before ETPROF [--before-times 1]] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ETPROF = ROOT / "build" / "etprof"
# A square image of so many pixels makes the example model take about so many milliseconds.
SIDES = {"0.1 ms": 48, "1 ms": 160, "5 ms": 352, "50 ms": 1088}
QUIET = "idle"
CALLED = ("faster", "slower")


@contextlib.contextmanager
def processes(count: int, *command: str):
    """`count` processes of a command, killed at the end."""
    started = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(count)]
    try:
        yield []
    finally:
        for process in started:
            process.kill()
            process.wait()


def loops(count: int):
    """Processes that compute and never rest."""
    return processes(count, "sh", "-c", "while :; do :; done")


def copier():
    """A process that copies memory, more than the caches hold, without a rest."""
    code = (
        "import ctypes\nn = 192 << 20\na = ctypes.create_string_buffer(n)\nb = ctypes.create_string_buffer(n)\n"
        "while True: ctypes.memmove(a, b, n)"
    )
    return processes(1, sys.executable, "-c", code)


@contextlib.contextmanager
def half_a_processor():
    """A control group whose quota is half a processor; yields what starts a command within it."""
    first, second = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    old = (first / "cpu.cfs_quota_us").exists() or (first / "cpu.cfs_period_us").exists()
    group = (first if old else second) / f"etprof-bench-{os.getpid()}"
    group.mkdir()
    try:
        if old:
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text("50000")
        else:
            (group / "cpu.max").write_text("50000 100000")
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)


def workers() -> list[int]:
    """The process numbers of all etprof-runner --worker."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if b"etprof-runner\0--worker" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


@contextlib.contextmanager
def stopped_at_random():
    """Workers are stopped for 2 to 20 ms, about ten times a second."""
    ended = threading.Event()
    generator = random.Random(1)  # noqa: S311 - no secret

    def stop_some() -> None:
        while not ended.is_set():
            for worker in workers():
                with contextlib.suppress(OSError):
                    os.kill(worker, signal.SIGSTOP)
                    time.sleep(generator.uniform(0.002, 0.02))
                    os.kill(worker, signal.SIGCONT)
            ended.wait(generator.uniform(0.02, 0.15))

    thread = threading.Thread(target=stop_some)
    thread.start()
    try:
        yield []
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def one_processor():
    """Everything on CPU 0, beside one busy loop."""
    with processes(1, "taskset", "-c", "0", "sh", "-c", "while :; do :; done"):
        yield ["taskset", "-c", "0"]


CONDITIONS = {
    QUIET: lambda: loops(0),
    "1 busy loop": lambda: loops(1),
    "2 busy loops": lambda: loops(2),
    "3 busy loops": lambda: loops(3),
    "4 busy loops": lambda: loops(4),
    "memory copier": copier,
    "half a processor": half_a_processor,
    "random stops": stopped_at_random,
    "one processor, 1 busy loop": one_processor,
}


def export(folder: Path, sides: dict[str, int]) -> dict[str, Path]:
    """The models of those sides, by name."""
    models = {}
    for name, side in sides.items():
        out = folder / str(side)
        subprocess.run(
            [
                ETPROF,
                "export",
                "--model",
                "toy_cnn",
                "--input-shape",
                f"image=1x3x{side}x{side}",
                "--no-check",
                "--outdir",
                out,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        models[name] = next(out.glob("*.pte"))
    return models


def widest() -> str:
    """A mask that takes this CPU's widest extension away."""
    report = json.loads(subprocess.run([ETPROF, "isa", "--json"], check=True, capture_output=True).stdout)
    return report["widest"]["off"]


def measure(etprof: Path, model: Path, pair: str, mask: str, condition: str, seconds: float, folder: Path) -> dict:
    """One measurement under a condition: verdict, ratio and interval of its headline."""
    experiments = [{"name": "a", "isa": mask} if pair == "A/B" else {"name": "a"}, {"name": "b"}]
    config = folder / "config.json"
    config.write_text(
        json.dumps(
            {
                "model": str(model),
                "output_root": str(folder / "run"),
                "experiments": experiments,
                "max_seconds": seconds,
                "peaks": False,
                "analysis": {
                    "compare_pairs": [
                        {"baseline": {"experiment": "a", "threads": 1}, "candidate": {"experiment": "b", "threads": 1}}
                    ]
                },
            }
        )
    )
    with CONDITIONS[condition]() as prefix:
        time.sleep(0.05)
        subprocess.run(
            [*prefix, etprof, "run", config], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    summary = json.loads((folder / "run" / "analysis_summary.json").read_text())["comparisons"]
    if not summary:
        return {"verdict": "contended", "ratio": None}
    latency = summary[0]["latency"]
    return {key: latency[key] for key in ("verdict", "ratio", "ratio_low", "ratio_high")}


def truth_of(results: list[dict]) -> tuple[float, float]:
    """What the idle measurements say together: the mean of their logarithms, give or take the spread of the mean."""
    logs = [math.log(result["ratio"]) for result in results if result["ratio"] is not None]
    if not logs:
        return math.nan, math.nan
    spread = 2 * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0.01
    mean = statistics.mean(logs)
    return math.exp(mean - spread), math.exp(mean + spread)


def kind_of(result: dict, pair: str, truth: tuple[float, float]) -> str:
    """right, wrong, or the verdict that says that nothing is known."""
    if result["ratio"] is None:
        return result["verdict"]
    low, high = (1.0, 1.0) if pair == "A/A" else truth
    if result["ratio_low"] > high or result["ratio_high"] < low:
        return "wrong"
    if pair == "A/A" and result["verdict"] in CALLED:
        return "wrong"
    return "right"


def table(results: list[dict]) -> list[str]:
    """By condition, as Markdown."""
    lines = [
        "| interference | measurements | right | wrong | contended | A/A called | decided |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for condition in [*CONDITIONS, "all"]:
        some = [result for result in results if condition in ("all", result["condition"])]
        if not some:
            continue
        kinds = collections.Counter(result["kind"] for result in some)
        called = sum(result["pair"] == "A/A" and result["verdict"] in CALLED for result in some)
        decided = sum(result["ratio"] is not None for result in some) / len(some)
        lines.append(
            f"| {condition} | {len(some)} | {kinds['right']} | {kinds['wrong']} | {kinds['contended']} | {called} | {decided:.0%} |"
        )
    return lines


def details(results: list[dict]) -> list[str]:
    """A/B by model and condition, as Markdown."""
    lines = ["| model | interference | A/B ratios |", "| --- | --- | --- |"]
    for name in SIDES:
        for condition in CONDITIONS:
            some = [r for r in results if (r["model"], r["condition"], r["pair"]) == (name, condition, "A/B")]
            if some:
                texts = [
                    r["verdict"]
                    if r["ratio"] is None
                    else f"{r['ratio']:.2f} [{r['ratio_low']:.2f}, {r['ratio_high']:.2f}]"
                    for r in some
                ]
                lines.append(f"| {name} | {condition} | {'; '.join(texts)} |")
    return lines


def document(results: dict[str, list[dict]], conditions: str) -> list[str]:
    """All of it, as Markdown; judges the results."""
    text = ["# Measuring on a busy machine", "", __doc__.split("\n\n")[1].replace("\n", " "), ""]
    everything = [result for of_build in results.values() for result in of_build]
    for build, of_build in results.items():
        for result in of_build:
            idle = [
                one
                for one in everything
                if (one["model"], one["pair"], one["condition"]) == (result["model"], result["pair"], QUIET)
            ]
            result["kind"] = kind_of(result, result["pair"], truth_of(idle))
        title = "This etprof" if build == "this" else "Before"
        text += [f"## {title}", "", *table(of_build), "", *details(of_build), ""]
    return [*text, conditions]


def main() -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--max-seconds", type=float, default=4)
    parser.add_argument("--before", type=Path, help="another etprof to measure in the same run")
    parser.add_argument("--before-times", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", type=Path, help="where to put every measurement")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started for it ends
    builds = {"this": ETPROF} | ({"before": options.before.resolve()} if options.before else {})
    results = collections.defaultdict(list)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        models = export(Path(temporary), SIDES)
        mask = widest()
        generator = random.Random(1)  # noqa: S311 - no secret
        for turn in range(options.times):
            measured = [build for build in builds if build == "this" or turn < options.before_times]
            plan = [(m, p, c, b) for m in models for p in ("A/A", "A/B") for c in CONDITIONS for b in measured]
            generator.shuffle(plan)
            for model, pair, condition, build in plan:
                folder = Path(tempfile.mkdtemp(dir=temporary))
                result = measure(builds[build], models[model], pair, mask, condition, options.max_seconds, folder)
                results[build].append({"model": model, "pair": pair, "condition": condition, **result})
                print(
                    turn, build, model, pair, condition, result["verdict"], result["ratio"], file=sys.stderr, flush=True
                )
    if options.json:
        options.json.write_text(json.dumps(results))
    minutes = (time.monotonic() - begin) / 60
    text = document(
        results,
        f"{os.cpu_count()} CPUs, mask {mask}, {options.max_seconds:g} s a measurement, {minutes:.0f} minutes in all.",
    )
    if options.out:
        options.out.write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
