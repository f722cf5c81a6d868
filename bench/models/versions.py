"""Example models on every ExecuTorch release that etprof can run: which one changed the latency, the memory, or the outputs.

    .venv/bin/python bench/models/versions.py [MODEL[:int8]...] [--seconds 60] [--out bench/results/models/versions.md]
    .venv/bin/python bench/models/versions.py --aa 20 [--aa-seconds 20] [--out bench/results/models/versions_aa.md]

Each model is measured by one `etprof versions`, so that its releases are interleaved. --aa N measures toy_cnn N times with two releases
that have the same libraries (1.5.1, and a copy of it) or the same XNNPACK (1.4.0 and 1.4.1), where every difference found is false.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import platform
import subprocess
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ETPROF = Path(os.environ.get("ETPROF", ROOT / "build" / "etprof"))
MODELS = ["mobilenet_v3_small", "mobilenet_v3_small:int8", "transformer_layer", "vit_block", "mixed_delegates"]
TABLE = "| model | release | latency, ms | compared with the one before | traced, ms | first, ms | load, ms | memory, MB | outputs | operators |"
NOTES = """\
Each release is compared with the one above it; 95% confidence intervals, false discovery rate
controlled over a model's releases. *Memory*: peak, less what the process holds before it loads the
model. *Outputs* and *operators* are compared with the release above: *operators* are those of both
with the same key and name, of all of this release. The self times of its operators and the overhead
add up to *traced* exactly, or the script fails. Releases before 1.5 were measured with etprof's
tracer."""


def export(model: str, folder: Path) -> Path:
    """Exports the model for XNNPACK, and returns the .pte."""
    name, _, quantized = model.partition(":")
    options = ["--quantize", "static"] if quantized else []
    subprocess.run([ETPROF, "export", name, *options, "--outdir", folder], check=False, capture_output=True)
    (pte,) = folder.glob("*.pte")
    return pte


def measure_summary(command: str, pte: Path, options: list[str], seconds: int) -> dict[str, Any]:
    """Measures, and returns the analysis_summary.json with the manifest."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [
            ETPROF,
            command,
            pte,
            *options,
            "--no-peaks",
            "--max-seconds",
            str(seconds),
            "--output-root",
            folder,
        ]
        subprocess.run(list(map(str, arguments)), check=True, stdout=subprocess.DEVNULL)
        return read_results(Path(folder))


def read_results(folder: Path) -> dict[str, Any]:
    """Returns the analysis_summary.json of a results directory, with its manifest."""
    manifest = json.loads((folder / "manifest.json").read_text())
    return json.loads((folder / "analysis_summary.json").read_text()) | {"manifest": manifest}


def format_verdict(latency: dict[str, Any]) -> str:
    """Formats a verdict and its interval: "slower, 0.97x [0.96, 0.98]"."""
    if latency["ratio"] is None:
        return latency["verdict"]
    return "{verdict}, {ratio:.3f}x [{ratio_low:.3f}, {ratio_high:.3f}]".format(**latency)


def format_outputs(pair: dict[str, Any] | None) -> str:
    """Formats the difference between the outputs of two releases."""
    if pair is None or pair["outputs"] is None:
        return ""
    outputs = pair["outputs"]
    return "equal" if outputs["equal"] else f"differ by {outputs['largest_absolute']:.2g}"


def measure_model(model: str, seconds: int) -> list[str]:
    """Measures a model, and returns a line for each release."""
    with tempfile.TemporaryDirectory() as folder:
        summary = measure_summary("versions", export(model, Path(folder)), [], seconds)
    compared = {pair["candidate"]: pair for pair in summary["comparisons"]}
    stored = {pair["candidate"]["experiment"]: pair for pair in summary["manifest"]["pairs"]}
    launches = {result["experiment"]: result["launches"] for result in summary["manifest"]["results"]}
    lines, operators_before = [], None
    for experiment in summary["experiments"]:
        label, pair = experiment["label"], compared.get(experiment["label"])
        groups, operators = experiment["groups"], {(op["key"], op["name"]) for op in experiment["operators"]}
        if sum(row["total_ns"] for row in groups["rows"]) != groups["total_ns"]:
            raise SystemExit(f"{model}, {label}: the operators do not add up")
        matched = "" if operators_before is None else f"{len(operators & operators_before)} of {len(operators)}"
        memory = max(
            launch["peak_rss_bytes"] - launch["rss_before_load_bytes"] for launch in launches[experiment["name"]]
        )
        cells = [
            f"{experiment['latency_ms']['p50']:.3f}",
            "" if pair is None else format_verdict(pair["latency"]),
            f"{groups['total_ns'] / groups['runs'] / 1e6:.3f}",
            f"{experiment['first_run_ms']:.2f}",
            f"{experiment['load_ms']:.2f}",
            f"{memory / 1e6:.1f}",
            format_outputs(stored.get(experiment["name"])),
            matched,
        ]
        lines.append(f"| {model} | {label.removeprefix('ExecuTorch ')} | {' | '.join(cells)} |")
        operators_before = operators
    failed = [result for result in summary["manifest"]["results"] if result["error"]]
    lines += [f"| {model} | {result['label']} | does not run: {result['error']} |" for result in failed]
    return lines


def same_with_itself(times: int, seconds: int) -> list[str]:
    """Counts how often releases without a difference were found to differ."""
    pte = ROOT / "tests" / "data" / "toy_cnn.pte"
    lines = ["| compared | times | verdicts | largest half-width |", "|---|--:|---|--:|"]
    for name, command, options in (
        ("1.5.1 and a copy of it", "profile", ["--vs", "executorch=1.5.1"]),
        ("1.4.0 and 1.4.1", "versions", ["--versions", "1.4.0,1.4.1"]),
    ):
        pairs = [measure_summary(command, pte, options, seconds)["comparisons"][0] for _ in range(times)]
        verdicts = collections.Counter(pair["latency"]["verdict"] for pair in pairs)
        widths = [pair["half_width"] for pair in pairs if pair["half_width"] is not None]
        counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
        lines.append(f"| {name} | {times} | {counts} | {f'±{100 * max(widths):.1f}%' if widths else '—'} |")
    return lines


def main() -> None:
    """Measures each model, and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--aa", type=int, default=0)
    parser.add_argument("--aa-seconds", type=int, default=20)
    parser.add_argument("--out", type=Path)
    settings = parser.parse_args()
    load = os.getloadavg()[0]
    if settings.aa:
        title = "# The same ExecuTorch twice"
        measured = f"`bench/models/versions.py --aa {settings.aa}` of toy_cnn"
        seconds, claim = settings.aa_seconds, "No verdict may be *faster* or *slower*."
    else:
        title = "# ExecuTorch's releases"
        measured = "`bench/models/versions.py` in one run"
        seconds, claim = settings.seconds, NOTES
    lines = [
        title,
        "",
        f"Made by {measured}: {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, one thread,",
        f"up to {seconds} s per pair. The load average was {load:.1f} at the start.",
        "",
        claim,
        "",
    ]
    if settings.aa:
        lines += same_with_itself(settings.aa, settings.aa_seconds)
    else:
        lines += [TABLE, "|---|---|--:|---|--:|--:|--:|--:|---|--:|"]
        for model in settings.models:
            lines += measure_model(model, settings.seconds)
    text = "\n".join(lines) + "\n"
    print(text)
    if settings.out:
        settings.out.write_text(text)


if __name__ == "__main__":
    main()
