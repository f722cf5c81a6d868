"""What watching costs, and whether it finds a unit that threads share: a mutex around the tasks of one kind of operator.

bench/models/watch.py MODEL.pte... [--before RUNNER] [--runner RUNNER] >bench/results/models/watch.md

RUNNER: an etprof-runner that cannot watch, and this one built with the same preset. They are compared as any two experiments
are, without watching.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from worker import Worker  # noqa: E402 - found by the path above

RUNNER = ROOT / "build" / "etprof-runner"
ETPROF = ROOT / "build" / "etprof"
RUNS = 30

# A library between XNNPACK and its thread pool, which serializes the tasks of one function. Every function of the pool
# takes the pool, the task's function, and its context first, and then integers.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
typedef uintptr_t W;
typedef void (*Task)(W, W, W, W, W, W, W, W, W, W);
typedef void (*Pool)(W, W, W, W, W, W, W, W, W, W, W, W, W, W);
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
struct Inner { W function, context; };
static void in_turn(W inner, W a, W b, W c, W d, W e, W f, W g, W h, W i) {
  const struct Inner* own = (const struct Inner*)inner;
  pthread_mutex_lock(&turn);
  ((Task)own->function)(own->context, a, b, c, d, e, f, g, h, i);
  pthread_mutex_unlock(&turn);
}
#define ENTRY(name) void name(W p, W t, W x, W a, W b, W c, W d, W e, W f, W g, W h, W i, W j, W k) { \
  static Pool real; if (!real) real = (Pool)dlsym(RTLD_NEXT, #name); \
  struct Inner own = {t, x}; \
  real(p, (W)&in_turn, (W)&own, a, b, c, d, e, f, g, h, i, j, k); }
"""


def measure_overhead(model: Path, threads: int) -> tuple[float, float, bool]:
    """Returns milliseconds of a traced and a watched run in one process, and whether the watched runs were contended."""
    with Worker(RUNNER, model, threads=threads) as worker:
        worker.ask(cmd="burst", max_runs=10)
        traced = statistics.mean(worker.ask(cmd="burst", min_runs=1, max_runs=1, traced_runs=RUNS)["traced_ns"])
        reply = worker.ask(cmd="watch", runs=RUNS)
    if reply["why_not"]:
        sys.exit(reply["why_not"])
    (method,) = [op for op in reply["operators"] if op["kind"] == "method"]
    return traced / 1e6, method["time_ns"] / method["runs"] / 1e6, reply["contended"]


def find_causes(model: Path, function: str | None, folder: Path) -> dict[str, str | None] | None:
    """Returns the cause that etprof finds, by operator with tasks; None: the runs were contended."""
    shim = None
    if function:
        source = folder / "shim.c"
        source.write_text(SHIM + f"ENTRY({function})\n", encoding="utf-8")
        shim = folder / f"{function}.so"
        compiler = shutil.which("cc") or sys.exit("there is no C compiler")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", shim, source, "-ldl", "-lpthread"], check=True)
    results = folder / (function or "plain")
    config = {
        "model": str(model),
        "output_root": str(results),
        "launches": 2,
        "rounds": 1,
        "runs": 2,
        "warmup": 1,
        "experiments": [{"name": "one", "threads": 2, "env": {"LD_PRELOAD": str(shim)} if shim else {}}],
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    subprocess.run(
        [ETPROF, "run", folder / "config.json", "--watch", "--no-peaks"], check=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    process = subprocess.run([ETPROF, "kernels", results, "--json"], check=True, capture_output=True, text=True)
    (watched,) = json.loads(process.stdout)["watched"]
    if watched["contended"]:
        return None
    return {op["name"]: op["threads"]["cause"] for op in watched["operators"] if op["threads"]["regions"]}


def compare_runners(before: Path, now: Path, model: Path, folder: Path) -> str:
    """Compares a runner that cannot watch with one that can, but does not: verdict and interval."""
    runners = {"before": before, "now": now}
    config = {
        "model": str(model),
        "output_root": str(folder),
        "precision": 0.005,
        "max_seconds": 120,
        "experiments": [
            {"name": name, "threads": 1, "runner_path": str(path.resolve())} for name, path in runners.items()
        ],
    }
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    run = [ETPROF, "run", folder / "config.json", "--no-peaks"]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (comparison,) = json.loads((folder / "analysis_summary.json").read_text(encoding="utf-8"))["comparisons"]
    latency = comparison["latency"]
    if latency["ratio"] is None:
        return latency["verdict"]
    return f"{latency['verdict']}, {latency['ratio']:.4f} [{latency['ratio_low']:.4f}, {latency['ratio_high']:.4f}]"


def main() -> None:
    """Measures, and prints Markdown."""
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--runner", type=Path, default=RUNNER)
    options = parser.parse_args()
    print("# Watching\n")
    print("Of one process each; ratios are of one run on a shared two-core x86-64 virtual machine.\n")
    print("| model | threads | traced, ms | watched, ms | ratio |\n| --- | --- | --- | --- | --- |")
    for model in options.models:
        for threads in (1, 2):
            traced, watched, contended = measure_overhead(model, threads)
            note = " (contended)" if contended else ""
            print(f"| {model.stem} | {threads} | {traced:.3f} | {watched:.3f} | {watched / traced:.2f}{note} |")
    print("\n## A unit that two threads share\n")
    print("Causes that etprof names for operators on two threads, without and with a mutex around the tasks that this")
    print("function of the thread pool runs:\n")
    with tempfile.TemporaryDirectory() as folder:
        for function in (None, "pthreadpool_parallelize_3d_tile_1d_dynamic", "pthreadpool_parallelize_4d_tile_2d_dynamic",
                         "pthreadpool_parallelize_3d_tile_2d_dynamic", "pthreadpool_parallelize_2d_tile_2d_dynamic"):  # fmt: skip
            causes = find_causes(options.models[0], function, Path(folder))
            if causes is None:
                print(f"- {function or 'no mutex'}: contended, no cause is named")
                continue
            named = ", ".join(f"{name}: {cause}" for name, cause in causes.items() if cause) or "none"
            print(f"- {function or 'no mutex'}: {named}")
    if options.before is None:
        return
    print("\n## A runner that could watch, and does not\n")
    print("Against the runner before it could; the margin of *same* is 1%.\n")
    print("| model | latency |\n| --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            print(
                f"| {model.stem} | {compare_runners(options.before, options.runner, model, Path(folder) / model.stem)} |"
            )


if __name__ == "__main__":
    main()
