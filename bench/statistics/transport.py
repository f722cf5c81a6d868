"""Does the transport show in a latency? A worker on this machine against the same one over ssh on its loopback.

Both are measured in one run, burst by burst in turns: the second one is started by `ssh` (exec_wrapper) through a real sshd on
this machine's loopback. Latency is taken where the worker runs, so there is nothing to see: a "faster" or "slower" is
expected once in twenty.

    .venv/bin/python bench/statistics/transport.py [MODEL.pte] [--times 20] [--max-seconds S] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "devices"))
from lab import Lab  # noqa: E402


def measure_once(lab: Lab, model: Path, folder: Path, max_seconds: float | None) -> dict:
    """Measures once: verdict, ratio (local / ssh), relative half-width, and launches."""
    ssh = ["ssh", "-F", str(lab.ssh_config), "board"]
    config = {
        "model": str(model),
        "output_root": str(folder / "run"),
        "experiments": [{"name": "local"}, {"name": "over_ssh", "exec_wrapper": ssh}],
    }
    if max_seconds is not None:
        config["max_seconds"] = max_seconds
    path = folder / "transport.json"
    path.write_text(json.dumps(config))
    process = lab.run([ROOT / "build" / "etprof", "run", path], timeout=1200)
    if process.returncode != 0:
        sys.exit(process.stderr)
    summary = json.loads((folder / "run" / "analysis_summary.json").read_text())["comparisons"][0]
    latency = summary["latency"]
    return {
        "verdict": latency["verdict"],
        "ratio": latency["ratio"],
        "half_width": math.sqrt(latency["ratio_high"] / latency["ratio_low"]) - 1,
        "launches": summary["launches"],
    }


def report(model: Path, results: list[dict], max_seconds: float | None) -> str:
    """The result as Markdown."""
    verdicts = collections.Counter(result["verdict"] for result in results)
    widths = sorted(result["half_width"] for result in results)
    logs = [math.log(result["ratio"]) for result in results]
    mean = statistics.mean(logs)
    error = statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
    lines = [
        "# A local worker against one over ssh on loopback",
        "",
        f"{model.stem}, {len(results)} times"
        + (f", at most {max_seconds:g} s each" if max_seconds is not None else "")
        + f", on a machine of {os.cpu_count()} cores (`bench/statistics/transport.py`).",
        "",
        "Verdicts: " + ", ".join(f"{name} {count}" for name, count in verdicts.most_common()) + ".",
        "",
        f"Half-width: median {100 * statistics.median(widths):.2f} %, largest {100 * widths[-1]:.2f} %.",
        "",
        f"Ratio local / ssh over all of them: {math.exp(mean):.4f}, standard error {100 * error:.2f} %.",
        "",
        "| ratio | half-width | launches | verdict |",
        "| ---: | ---: | ---: | --- |",
    ]
    lines += [
        f"| {result['ratio']:.4f} | {100 * result['half_width']:.2f} % | {result['launches']} | {result['verdict']} |"
        for result in results
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, nargs="?", default=ROOT / "tests" / "data" / "toy_cnn.pte")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--max-seconds", type=float)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as name:
        lab = Lab(Path(name) / "lab")
        try:
            lab.ssh("board")
            for i in range(arguments.times):
                folder = Path(name) / f"run{i}"
                folder.mkdir()
                results.append(measure_once(lab, arguments.model.resolve(), folder, arguments.max_seconds))
                print(f"{i + 1} of {arguments.times}: {results[-1]}", file=sys.stderr)
        finally:
            lab.close()
    text = report(arguments.model, results, arguments.max_seconds)
    print(text)
    if arguments.out:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
