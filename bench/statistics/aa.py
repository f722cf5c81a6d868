"""How often does etprof see a difference where there is none, and how small a change can it show here?

Measures each model against itself, N times, with the default schedule, and writes down verdicts, half-widths, the ratio's spread,
and how many comparisons call an operator, a group, a layer, or the headline faster or slower. A false "faster" or "slower"
should be seen at most once in twenty.

With --copies, the two variants are byte-for-byte copies of the model under names and folders of different lengths, others in each
comparison. What depends on the lengths of names, and so on the memory layout, shows only then.

    .venv/bin/python bench/statistics/aa.py MODEL.pte... [--copies] [--times 40] [--max-seconds S] [--precision P] [--cpus MASK] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


CALLED = ("faster", "slower")
TABLES = ("operators", "groups", "layers")


def copy_model(model: Path, folder: Path, name: str) -> Path:
    """Copies the model, with its .inputs and .etrecord, to NAME/NAME.pte."""
    copy = folder / name / f"{name}.pte"
    copy.parent.mkdir()
    for file in model.parent.glob(f"{model.name}*"):
        shutil.copy(file, f"{copy}{file.name.removeprefix(model.name)}")
    return copy


def make_experiments(model: Path, folder: Path, copies: bool, number: int) -> list[dict]:
    """Makes two equal experiments. The names of copies differ by 4 to 46 characters, depending on `number`."""
    if not copies:
        return [{"name": name, "model": str(model)} for name in ("a", "a_again")]
    first = 37 * number % 50
    second = (first + 4 + 6 * (number % 7)) % 50
    names = ["a" * (1 + first), "b" * (1 + second)]
    return [{"name": name, "model": str(copy_model(model, folder, name))} for name in names]


def measure_once(model: Path, folder: Path, settings: dict, number: int) -> dict:
    """Measures A/A: verdict, ratio, relative half-width, launches, seconds, and rows of each table called faster or slower."""
    config = {
        "output_root": str(folder / "run"),
        "experiments": make_experiments(model, folder, settings["copies"], number),
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
    return {
        "verdict": latency["verdict"],
        "ratio": latency["ratio"],
        "half_width": math.sqrt(latency["ratio_high"] / latency["ratio_low"]) - 1 if latency["ratio"] else None,
        "launches": summary["launches"],
        "seconds": seconds,
        "judged": {table: sum(row["ratio"] is not None for row in summary[table]) for table in TABLES},
        "called": {table: sum(row["verdict"] in CALLED for row in summary[table]) for table in TABLES},
    }


def headline_called(result: dict) -> bool:
    """Whether the latency was called faster or slower."""
    return result["verdict"] in CALLED


def called_lines(results: list[dict]) -> list[str]:
    """Returns how many comparisons call something faster or slower, by table, as Markdown."""
    number = len(results)
    anything = sum(headline_called(result) or any(result["called"].values()) for result in results)
    rows = [["headline", sum(map(headline_called, results)), number, sum(map(headline_called, results))]]
    for table in TABLES:
        called = [result["called"][table] for result in results]
        rows.append([table, sum(called), sum(result["judged"][table] for result in results), sum(map(bool, called))])
    return [
        f"comparisons that call anything faster or slower: {anything} of {number}.",
        "",
        f"| called faster or slower | rows | of | comparisons of {number} |",
        "| --- | ---: | ---: | ---: |",
        *(f"| {name} | {called} | {judged} | {comparisons} |" for name, called, judged, comparisons in rows),
    ]


def report(model: Path, results: list[dict], settings: dict) -> str:
    """The result as Markdown."""
    verdicts = collections.Counter(result["verdict"] for result in results)
    decided = [result for result in results if result["ratio"] is not None]  # the others are contended
    widths = sorted(result["half_width"] for result in decided) or [math.nan]
    offsets = sorted(abs(math.log(result["ratio"])) for result in decided) or [math.nan]
    lines = [
        f"## {model.stem}, {len(results)} times against {'its copy' if settings['copies'] else 'itself'}",
        "",
        "settings other than the defaults: "
        + (
            ", ".join(f"{key} {value}" for key, value in settings.items() if value is not None and key != "copies")
            or "none"
        ),
        "",
        "verdicts: " + ", ".join(f"{name} {count}" for name, count in verdicts.most_common()),
        "",
        f"half-width: median {100 * statistics.median(widths):.2f} %, largest {100 * widths[-1]:.2f} %. "
        f"Distance of the ratio from 1: median {100 * statistics.median(offsets):.2f} %, largest {100 * offsets[-1]:.2f} %.",
        "",
        f"launches: {min(r['launches'] for r in results)} to {max(r['launches'] for r in results)}; seconds: median "
        f"{statistics.median(r['seconds'] for r in results):.0f}, most {max(r['seconds'] for r in results):.0f}.",
        "",
        *called_lines(results),
        "",
        "| verdict | ratio | half-width | launches | seconds |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {r['verdict']} | "
        + (f"{r['ratio']:.4f} | {100 * r['half_width']:.2f} %" if r["ratio"] is not None else "— | —")
        + f" | {r['launches']} | {r['seconds']:.0f} |"
        for r in results
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL.pte")
    parser.add_argument("--copies", action="store_true", help="compare copies under names of different lengths")
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--max-seconds", type=float, help="default: etprof's own, 60 s")
    parser.add_argument(
        "--precision", type=float, help="stop at this relative half-width; default: etprof's own, 0.005"
    )
    parser.add_argument("--cpus", help="run on these CPUs only, as a taskset mask")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    settings = {key: getattr(arguments, key) for key in ("max_seconds", "precision", "cpus", "copies")}
    reports: list[str] = []
    for model in arguments.models:
        results = []
        for number in range(arguments.times):
            with tempfile.TemporaryDirectory() as folder:
                results.append(measure_once(model.resolve(), Path(folder), settings, number))
            last = results[-1]
            called = ", ".join(f"{table} {count}" for table, count in last["called"].items() if count > 0)
            print(
                f"{number + 1}/{arguments.times} {last['verdict']} {last['ratio']:.4f} ±{100 * last['half_width']:.2f} %"
                + (f", called: {called}" if called else ""),
                flush=True,
            )
            if arguments.out:  # written after each result, so that an interrupted bench keeps its results
                arguments.out.write_text("\n".join([*reports, report(model, results, settings)]))
        reports.append(report(model, results, settings))
    print("\n".join(reports))


if __name__ == "__main__":
    main()
