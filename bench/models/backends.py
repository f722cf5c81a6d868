"""Models as portable, XNNPACK, and OpenVINO programs, measured in one run each: latency, and where it goes.

.venv/bin/python bench/models/backends.py [MODEL...] [--seconds 60] [--threads 1] [--out bench/results/models/backends.md]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ETPROF = Path(os.environ.get("ETPROF", ROOT / "build" / "etprof"))
BACKENDS = ["xnnpack", "openvino", "portable"]  # the first is the baseline
GROUPS = ["Convolution", "GEMM", "Data Movement", "Elementwise", "Other", "Delegate overhead"]


def measure(model: str, seconds: int, threads: int, folder: Path) -> dict[str, Any]:
    """Measures all backends in one run, and returns its summary."""
    for backend in BACKENDS:
        export = [ETPROF, "export", model, "--backend", backend, "--outdir", folder, "--name", model]
        subprocess.run(export, check=True, capture_output=True)
    config = {
        "output_root": f"runs_{model}",
        "peaks": False,
        "max_seconds": seconds,
        "experiments": [
            {"name": backend, "model": f"{model}_{backend}_fp32.pte", "threads": threads} for backend in BACKENDS
        ],
    }
    (folder / "config.json").write_text(json.dumps(config))
    subprocess.run([ETPROF, "run", "config.json"], cwd=folder, check=True, capture_output=True)
    return json.loads((folder / f"runs_{model}" / "analysis_summary.json").read_text())


def rows(model: str, summary: dict[str, Any]) -> list[str]:
    """Returns a line of Markdown for each backend."""
    lines = []
    compared = {
        comparison["candidate"]: comparison
        for comparison in summary["comparisons"]
        if comparison["baseline"] == BACKENDS[0]
    }
    first = compared[BACKENDS[1]]
    for backend in BACKENDS:
        comparison = compared.get(backend, first)
        side = "candidate_ms" if backend in compared else "baseline_ms"
        latency = comparison["latency"]
        ratio = "baseline"
        if backend in compared:
            ratio = latency["verdict"]
            if latency["ratio"] is not None:
                ratio += f", {latency['ratio']:.3g}x [{latency['ratio_low']:.3g}, {latency['ratio_high']:.3g}]"
        groups = {group["name"]: group[side] for group in comparison["groups"]}
        times = [latency[side], *(groups.get(name) for name in GROUPS)]
        texts = [f"{time:.3f}" if time else "" for time in times]
        lines.append(f"| {model} | {backend} | {texts[0]} | {ratio} | {' | '.join(texts[1:])} |")
    return lines


def main() -> None:
    """Measures each model, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["mobilenet_v3_small", "transformer_layer", "vit_block"])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    lines = [
        "# Backends side by side",
        "",
        f"One run of `bench/models/backends.py` for each model, in fp32 with {arguments.threads} thread(s): median latency in ms,",
        "the speedup over XNNPACK with its 95% confidence interval, and mean self times in ms. *contended*: other",
        "processes left too few clean runs for a ratio; operators are of traced runs.",
        "",
        f"| model | backend | latency | speedup | {' | '.join(GROUPS)} |",
        f"|---|---|--:|---|{'--:|' * len(GROUPS)}",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments.models:
            lines += rows(model, measure(model, arguments.seconds, arguments.threads, Path(folder)))
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
