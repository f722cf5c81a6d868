"""How often does etprof see a difference where there is none, and how small a change can it show here?

Measures a model against itself, N times, with the default schedule, and writes down verdicts, half-widths and the ratio's
spread. A false "faster" or "slower" should be seen at most once in twenty.

    .venv/bin/python bench/aa.py MODEL.pte [--times 40] [--max-seconds S] [--precision P] [--cpus MASK] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def measure_once(model: Path, folder: Path, settings: dict) -> dict:
    """One A/A run: verdict, ratio, half-width (relative), launches and seconds."""
    config = {
        "model": str(model),
        "output_root": str(folder / "run"),
        "experiments": [{"name": "a"}, {"name": "a_again"}],
    }
    for key in ("max_seconds", "precision"):
        if settings[key] is not None:
            config[key] = settings[key]
    if settings["cpus"] is not None:
        for experiment in config["experiments"]:
            experiment["cpu_affinity"] = settings["cpus"]
    path = folder / "aa.json"
    path.write_text(json.dumps(config))
    begin = time.monotonic()
    subprocess.run(
        [ROOT / "build" / "etprof", "run", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    seconds = time.monotonic() - begin
    summary = json.loads((folder / "run" / "analysis_summary.json").read_text())["comparisons"][0]
    latency = summary["latency"]
    operators = collections.Counter(row["verdict"] for row in summary["operators"] if row["ratio"] is not None)
    return {
        "verdict": latency["verdict"],
        "ratio": latency["ratio"],
        "half_width": math.sqrt(latency["ratio_high"] / latency["ratio_low"]) - 1,
        "launches": summary["launches"],
        "seconds": seconds,
        "operators": sum(operators.values()),
        "operators_wrong": operators["faster"] + operators["slower"],
    }


def report(model: Path, results: list[dict], settings: dict) -> str:
    """The result as Markdown."""
    verdicts = collections.Counter(result["verdict"] for result in results)
    widths = sorted(result["half_width"] for result in results)
    offsets = sorted(abs(math.log(result["ratio"])) for result in results)
    wrong = sum(result["operators_wrong"] for result in results)
    with_wrong = sum(result["operators_wrong"] > 0 for result in results)
    lines = [
        f"## {model.stem}, {len(results)} times against itself",
        "",
        "settings other than the defaults: "
        + (", ".join(f"{key} {value}" for key, value in settings.items() if value is not None) or "none"),
        "",
        "verdicts: " + ", ".join(f"{name} {count}" for name, count in verdicts.most_common()),
        "",
        f"half-width: median {100 * statistics.median(widths):.2f} %, largest {100 * widths[-1]:.2f} %. "
        f"Distance of the ratio from 1: median {100 * statistics.median(offsets):.2f} %, largest {100 * offsets[-1]:.2f} %.",
        "",
        f"launches: {min(r['launches'] for r in results)} to {max(r['launches'] for r in results)}; seconds: median "
        f"{statistics.median(r['seconds'] for r in results):.0f}, most {max(r['seconds'] for r in results):.0f}.",
        "",
        f"operators called faster or slower: {wrong} of {sum(r['operators'] for r in results)}, in {with_wrong} of {len(results)} comparisons.",
        "",
        "| verdict | ratio | half-width | launches | seconds |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {r['verdict']} | {r['ratio']:.4f} | {100 * r['half_width']:.2f} % | {r['launches']} | {r['seconds']:.0f} |"
        for r in results
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--max-seconds", type=float, help="default: etprof's own, 60 s")
    parser.add_argument(
        "--precision", type=float, help="stop at this relative half-width; default: etprof's own, 0.005"
    )
    parser.add_argument("--cpus", help="run on these CPUs only, as a taskset mask")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    settings = {"max_seconds": arguments.max_seconds, "precision": arguments.precision, "cpus": arguments.cpus}
    results = []
    for number in range(arguments.times):
        with tempfile.TemporaryDirectory() as folder:
            results.append(measure_once(arguments.model.resolve(), Path(folder), settings))
        last = results[-1]
        print(
            f"{number + 1}/{arguments.times} {last['verdict']} {last['ratio']:.4f} ±{100 * last['half_width']:.2f} %",
            flush=True,
        )
        if arguments.out:  # written as it grows, so that an interrupted bench keeps what it has
            arguments.out.write_text(report(arguments.model, results, settings))
    print(report(arguments.model, results, settings))


if __name__ == "__main__":
    main()
