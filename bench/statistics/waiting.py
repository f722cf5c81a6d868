"""How far is the ratio of clean runs on a busy machine from that of an idle one?

Measures an example model at two sizes with one of the CPU's extensions off and on, against itself, and against a
slightly larger one, on an idle machine and beside other processes. The difference of a pair's mean effect from its idle one is what waiting does to
every launch alike, so that the spread between launches does not show it (kWaitingErrorFactor in src/profile/compare/comparison.h).

    .venv/bin/python bench/statistics/waiting.py [--seconds 60] [--launches 60] [--out FILE.md] [--json FILE]
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import csv
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import contention

# Sides of square images, and of slightly larger ones, which are a few percent more work.
SIDES = {48: 50, 96: 98}
SOURCE = '#include <regex>\n#include <map>\nstd::regex r("a*"); std::map<int, std::regex> m; int main() { return m.size(); }\n'


@contextlib.contextmanager
def compilers(folder: Path):
    """Runs two compilers all the time."""
    (folder / "busy.cc").write_text(SOURCE)
    with contention.processes(2, "sh", "-c", f"while :; do c++ -O2 -c -o /dev/null {folder}/busy.cc; done"):
        yield []


def conditions(folder: Path) -> dict:
    """Returns the loads by name."""
    return {
        contention.QUIET: lambda: contention.busy_loops(0),
        "2 busy loops": lambda: contention.busy_loops(2),
        "4 busy loops": lambda: contention.busy_loops(4),
        "2 compilers": lambda: compilers(folder),
    }


def is_clean(latency: float, wait: float) -> bool:
    """Whether a run is clean by the rule of src/measure/schedule/clean_runs.h."""
    return wait <= 3000 or wait <= 0.01 * latency


def read_clean_medians(folder: Path) -> tuple[dict, float]:
    """Returns medians of an experiment's clean runs by launch and round, and the share of time that its threads waited."""
    (file,) = [path for path in folder.glob("*_latency.csv") if "e2e" not in path.name]
    clean = collections.defaultdict(list)
    waited = ran = 0.0
    with file.open(newline="") as rows:
        for row in csv.DictReader(rows):
            if row["phase"] != "recorded" or row["traced"] != "0" or not row["wait_ns"]:
                continue
            latency, wait = float(row["latency_ns"]), float(row["wait_ns"])
            waited += wait
            ran += latency
            if is_clean(latency, wait):
                clean[int(row["launch"]), row["round"]].append(latency)
    share = waited / (waited + ran) if ran else math.nan
    return {key: statistics.median(values) for key, values in clean.items()}, share


def effect(a: dict, b: dict) -> tuple[float, float, int]:
    """Returns the mean over launches of the median over rounds of log(a / b), its standard error, and the launches."""
    launches = collections.defaultdict(list)
    for key in a.keys() & b.keys():
        launches[key[0]].append(math.log(a[key] / b[key]))
    effects = [statistics.median(values) for values in launches.values()]
    if len(effects) < 3:
        return math.nan, math.nan, len(effects)
    return statistics.mean(effects), statistics.stdev(effects) / math.sqrt(len(effects)), len(effects)


PAIRS = {"extension off/on": ("off", "on"), "more work": ("larger", "on"), "itself": ("again", "on")}


def measure(model: Path, larger: Path, mask: str, options: argparse.Namespace, start_load, folder: Path) -> dict:
    """Measures once: the effects of the pairs, the latency, and the share of time waited."""
    config = folder / "config.json"
    out = folder / "run"
    experiments = [
        {"name": "on"},
        {"name": "off", "isa": mask},
        {"name": "larger", "model": str(larger)},
        {"name": "again"},
    ]
    config.write_text(
        json.dumps(
            {
                "model": str(model),
                "output_root": str(out),
                "experiments": experiments,
                "launches": options.launches,
                "max_seconds": options.seconds,
                "peaks": False,
            }
        )
    )
    with start_load() as prefix:
        time.sleep(0.05)
        subprocess.run(
            [*prefix, contention.ETPROF, "run", config],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    sides = {experiment["name"]: read_clean_medians(out / experiment["name"]) for experiment in experiments}
    medians = list(sides["on"][0].values())
    return {
        "latency": statistics.median(medians) / 1e6 if medians else math.nan,
        "waited": max(share for _, share in sides.values()),
    } | {pair: effect(sides[a][0], sides[b][0]) for pair, (a, b) in PAIRS.items()}


def make_rows(results: list[dict]) -> list[str]:
    """Returns the deviation of each pair from its idle effect, as Markdown."""
    lines = [
        "| model | interference | waited | pair | launches | off by | noise (2 standard errors) |",
        "| --- | --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for result in results:
        (idle,) = [r for r in results if (r["side"], r["condition"]) == (result["side"], contention.QUIET)]
        for pair in PAIRS:
            mean, error, launches = result[pair]
            idle_mean, idle_error, _ = (0.0, 0.0, 0) if pair == "itself" else idle[pair]
            if result is idle and pair != "itself":
                continue
            deviation, noise = mean - idle_mean, 2 * math.hypot(error, idle_error)
            texts = ["too few", ""] if math.isnan(deviation) else [f"{100 * deviation:+.2f}%", f"{100 * noise:.2f}%"]
            lines.append(
                f"| {idle['latency']:.2f} ms | {result['condition']} | {result['waited']:.0%} | {pair} | {launches} | {texts[0]} | {texts[1]} |"
            )
    return lines


def main() -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--launches", type=int, default=60)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", type=Path, help="where to put every measurement")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the load's processes end, too
    begin = time.monotonic()
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        models = contention.export(Path(temporary), {str(side): side for pair in SIDES.items() for side in pair})
        mask = contention.widest_extension_mask()
        for side, larger in SIDES.items():
            for condition, start_load in conditions(Path(temporary)).items():
                folder = Path(tempfile.mkdtemp(dir=temporary))
                result = measure(models[str(side)], models[str(larger)], mask, options, start_load, folder)
                results.append({"side": side, "condition": condition, **result})
                print(results[-1], file=sys.stderr, flush=True)
    if options.json:
        options.json.write_text(json.dumps(results))
    minutes = (time.monotonic() - begin) / 60
    text = ["# What waiting does to the ratio of clean runs", "", __doc__.split("\n\n")[1].replace("\n", " "), ""]
    text += [*make_rows(results), "", f"{os.cpu_count()} CPUs, mask {mask}, {minutes:.0f} minutes in all."]
    if options.out:
        options.out.write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
