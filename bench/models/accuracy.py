"""Prints bench/results/models/accuracy.md: what keeping a few operators in float gains and costs.

    python bench/models/accuracy.py FOLDER > bench/results/models/accuracy.md

Exports go to FOLDER. Needs etprof and etprof-runner (ETPROF, ETPROF_RUNNER), and PYTHONPATH=python.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from etprof import accuracy, programs
from etprof.export import Request, export_model

MODELS = {"transformer_layer": ["add"], "vit_block": ["add", "cat"]}
SECONDS = 60  # per pair
_TEXT = """# What a few operators in float gain and cost

Static int8 (XNNPACK), calibrated on the example input alone, random weights, one thread. The
*emulated* ratio is of four inputs that neither calibration nor the choice has seen, together; the
others are of the `.pte` on this CPU. Speed is against int8 with its 95% confidence interval, all in
one interleaved measurement.
"""


def ratios(export: accuracy.Export) -> str:
    """Formats the SQNR of the .pte on the example, which calibrated it, and its range on the held-out inputs."""
    example, *others = (case.outputs[0].sqnr_db for case in export.check.cases)
    return f"{example:.1f} dB | {min(others):.1f} to {max(others):.1f} dB" if others else f"{example:.1f} dB |"


def speed(latency: dict) -> str:
    """The verdict with its interval."""
    if latency["verdict"] not in ("faster", "slower"):
        return f"{latency['verdict']}, [{latency['ratio_low']:.3f}, {latency['ratio_high']:.3f}]"
    return accuracy._speed(latency)


def rows(model: str, keep: list[str], folder: Path) -> list[str]:
    """Returns rows of the table: int8 unchanged, int8 with kept operators, and fp32."""
    base = Request(model, quantize="static", outdir=folder)
    int8, (study,) = accuracy.study(base)
    with_keep = export_model(Request(model, quantize="static", outdir=folder, keep=keep))
    fp32 = export_model(Request(model, outdir=folder))
    kept_nodes = study.find_unquantized(nodes(study, keep))
    emulated = [study.emulation.sqnr_db(study.inputs, float_nodes)[0] for float_nodes in (frozenset(), kept_nodes)]
    others = [with_keep.paths[0], fp32.paths[0]]
    program = programs.etprof()
    options = [word for other in others for word in ("--vs", f"model={other}")]
    command = [program, "profile", int8.paths[0], *options, "--json", "--no-peaks", "--output-root", folder / "run"]
    process = subprocess.run([*command, "--max-seconds", str(2 * SECONDS)], capture_output=True, check=True)
    latencies = [pair["latency"] for pair in json.loads(process.stdout)["comparisons"]]
    return [
        f"| {model}, int8 | {emulated[0]:.1f} dB | {ratios(int8)} | {latencies[0]['baseline_ms']:.3f} ms | |",
        f"| with `--keep {' '.join(keep)}` | {emulated[1]:.1f} dB | {ratios(with_keep)} | "
        f"{latencies[0]['candidate_ms']:.3f} ms | {speed(latencies[0])} |",
        f"| fp32 | | {fp32.check.cases[0].outputs[0].sqnr_db:.1f} dB | | {latencies[1]['candidate_ms']:.3f} ms | "
        f"{speed(latencies[1])} |",
    ]


def nodes(study: accuracy.MethodStudy, keep: list[str]) -> frozenset[str]:
    """Returns the nodes that the patterns match."""
    from etprof.exporting.keep import select_nodes

    return select_nodes("", study.emulation.module, keep)


def main() -> None:
    """Prints the page."""
    folder = Path(sys.argv[1])
    print(_TEXT)
    print("| model | emulated | example | held-out inputs | latency | speed |")
    print("| --- | --- | --- | --- | --- | --- |")
    for model, keep in MODELS.items():
        print(*rows(model, keep, folder), sep="\n", flush=True)
    print("\nReproduce: `PYTHONPATH=python python bench/models/accuracy.py FOLDER`")


if __name__ == "__main__":
    main()
