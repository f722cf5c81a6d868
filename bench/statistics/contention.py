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
# Side of a square image, by the approximate latency of the example model.
SIDES = {"0.1 ms": 48, "1 ms": 160, "5 ms": 352, "50 ms": 1088}
QUIET = "idle"
CALLED = ("faster", "slower")


@contextlib.contextmanager
def processes(count: int, *command: str):
    """Runs `count` processes of a command, which are killed at the end."""
    started = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(count)]
    try:
        yield []
    finally:
        for process in started:
            process.kill()
            process.wait()


def busy_loops(count: int):
    """Runs processes that always compute."""
    return processes(count, "sh", "-c", "while :; do :; done")


def memory_copier():
    """Runs a process that always copies memory, more than fits into the caches."""
    code = (
        "import ctypes\nn = 192 << 20\na = ctypes.create_string_buffer(n)\nb = ctypes.create_string_buffer(n)\n"
        "while True: ctypes.memmove(a, b, n)"
    )
    return processes(1, sys.executable, "-c", code)


@contextlib.contextmanager
def half_a_processor():
    """Makes a cgroup with a quota of half a processor; yields the prefix of a command that runs in it."""
    v1_root, v2_root = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    is_v1 = (v1_root / "cpu.cfs_quota_us").exists() or (v1_root / "cpu.cfs_period_us").exists()
    group = (v1_root if is_v1 else v2_root) / f"etprof-bench-{os.getpid()}"
    group.mkdir()
    try:
        if is_v1:
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


def find_workers() -> list[int]:
    """Returns the process ids of all `etprof-runner --worker`."""
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if b"etprof-runner\0--worker" in (entry / "cmdline").read_bytes():
                    pids.append(int(entry.name))
    return pids


@contextlib.contextmanager
def stopped_at_random():
    """Stops each worker for 2 to 20 ms, about ten times per second."""
    stop_event = threading.Event()
    generator = random.Random(1)  # noqa: S311 - no secret

    def stop_workers() -> None:
        while not stop_event.is_set():
            for worker in find_workers():
                with contextlib.suppress(OSError):
                    os.kill(worker, signal.SIGSTOP)
                    time.sleep(generator.uniform(0.002, 0.02))
                    os.kill(worker, signal.SIGCONT)
            stop_event.wait(generator.uniform(0.02, 0.15))

    thread = threading.Thread(target=stop_workers)
    thread.start()
    try:
        yield []
    finally:
        stop_event.set()
        thread.join()


@contextlib.contextmanager
def one_processor():
    """Runs everything on CPU 0, next to one busy loop."""
    with processes(1, "taskset", "-c", "0", "sh", "-c", "while :; do :; done"):
        yield ["taskset", "-c", "0"]


CONDITIONS = {
    QUIET: lambda: busy_loops(0),
    "1 busy loop": lambda: busy_loops(1),
    "2 busy loops": lambda: busy_loops(2),
    "3 busy loops": lambda: busy_loops(3),
    "4 busy loops": lambda: busy_loops(4),
    "memory copier": memory_copier,
    "half a processor": half_a_processor,
    "random stops": stopped_at_random,
    "one processor, 1 busy loop": one_processor,
}


def export(folder: Path, sides: dict[str, int]) -> dict[str, Path]:
    """Exports the models with images of these sides, by name."""
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


def widest_extension_mask() -> str:
    """Returns the mask that disables this CPU's widest extension."""
    report = json.loads(subprocess.run([ETPROF, "isa", "--json"], check=True, capture_output=True).stdout)
    return report["widest"]["off"]


def measure(etprof: Path, model: Path, pair: str, mask: str, condition: str, seconds: float, folder: Path) -> dict:
    """Measures a pair under a condition: verdict, ratio, and interval of the latency."""
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


def estimate_truth(results: list[dict]) -> tuple[float, float]:
    """Returns an interval of the true ratio: mean of the idle measurements' logarithms, plus or minus twice its error."""
    logs = [math.log(result["ratio"]) for result in results if result["ratio"] is not None]
    if not logs:
        return math.nan, math.nan
    spread = 2 * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0.01
    mean = statistics.mean(logs)
    return math.exp(mean - spread), math.exp(mean + spread)


def classify(result: dict, pair: str, truth: tuple[float, float]) -> str:
    """Returns right, wrong, or the verdict of a measurement without a ratio."""
    if result["ratio"] is None:
        return result["verdict"]
    low, high = (1.0, 1.0) if pair == "A/A" else truth
    if result["ratio_low"] > high or result["ratio_high"] < low:
        return "wrong"
    if pair == "A/A" and result["verdict"] in CALLED:
        return "wrong"
    return "right"


def table(results: list[dict]) -> list[str]:
    """Returns counts by condition as Markdown."""
    lines = [
        "| interference | measurements | right | wrong | contended | A/A called | decided |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for condition in [*CONDITIONS, "all"]:
        matching = [result for result in results if condition in ("all", result["condition"])]
        if not matching:
            continue
        kinds = collections.Counter(result["kind"] for result in matching)
        called = sum(result["pair"] == "A/A" and result["verdict"] in CALLED for result in matching)
        decided = sum(result["ratio"] is not None for result in matching) / len(matching)
        lines.append(
            f"| {condition} | {len(matching)} | {kinds['right']} | {kinds['wrong']} | {kinds['contended']} | {called} | {decided:.0%} |"
        )
    return lines


def details(results: list[dict]) -> list[str]:
    """Returns the ratios of A/B by model and condition as Markdown."""
    lines = ["| model | interference | A/B ratios |", "| --- | --- | --- |"]
    for name in SIDES:
        for condition in CONDITIONS:
            matching = [r for r in results if (r["model"], r["condition"], r["pair"]) == (name, condition, "A/B")]
            if matching:
                texts = [
                    r["verdict"]
                    if r["ratio"] is None
                    else f"{r['ratio']:.2f} [{r['ratio_low']:.2f}, {r['ratio_high']:.2f}]"
                    for r in matching
                ]
                lines.append(f"| {name} | {condition} | {'; '.join(texts)} |")
    return lines


def document(results: dict[str, list[dict]], conditions: str) -> list[str]:
    """Classifies the results, and returns the document as Markdown."""
    text = ["# Measuring on a busy machine", "", __doc__.split("\n\n")[1].replace("\n", " "), ""]
    all_results = [result for build_results in results.values() for result in build_results]
    for build, build_results in results.items():
        for result in build_results:
            idle = [
                other
                for other in all_results
                if (other["model"], other["pair"], other["condition"]) == (result["model"], result["pair"], QUIET)
            ]
            result["kind"] = classify(result, result["pair"], estimate_truth(idle))
        title = "This etprof" if build == "this" else "Before"
        text += [f"## {title}", "", *table(build_results), "", *details(build_results), ""]
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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the load's processes end, too
    builds = {"this": ETPROF} | ({"before": options.before.resolve()} if options.before else {})
    results = collections.defaultdict(list)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        models = export(Path(temporary), SIDES)
        mask = widest_extension_mask()
        generator = random.Random(1)  # noqa: S311 - no secret
        for repetition in range(options.times):
            measured_builds = [build for build in builds if build == "this" or repetition < options.before_times]
            plan = [(m, p, c, b) for m in models for p in ("A/A", "A/B") for c in CONDITIONS for b in measured_builds]
            generator.shuffle(plan)
            for model, pair, condition, build in plan:
                folder = Path(tempfile.mkdtemp(dir=temporary))
                result = measure(builds[build], models[model], pair, mask, condition, options.max_seconds, folder)
                results[build].append({"model": model, "pair": pair, "condition": condition, **result})
                print(
                    repetition,
                    build,
                    model,
                    pair,
                    condition,
                    result["verdict"],
                    result["ratio"],
                    file=sys.stderr,
                    flush=True,
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
