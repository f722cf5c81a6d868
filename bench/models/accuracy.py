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
SECONDS = 60  # of each pair
_TEXT = """# What a few operators in float gain and cost

Static int8 (XNNPACK), calibrated on the example input alone, random weights, one thread. The
*emulated* ratio is of four inputs that neither calibration nor the choice has seen, together; the
others are of the `.pte` on this CPU. Speed is against int8 with its 95% confidence interval, all in
one interleaved measurement.
"""


def ratios(done: accuracy.Export) -> str:
    """Of the .pte: on the example, which calibrated it, and the least and the most of the held-out inputs."""
    example, *others = (case.outputs[0].sqnr_db for case in done.check.cases)
    return f"{example:.1f} dB | {min(others):.1f} to {max(others):.1f} dB" if others else f"{example:.1f} dB |"


def speed(latency: dict) -> str:
    """The verdict with its interval."""
    if latency["verdict"] not in ("faster", "slower"):
        return f"{latency['verdict']}, [{latency['ratio_low']:.3f}, {latency['ratio_high']:.3f}]"
    return accuracy._speed(latency)


def rows(model: str, keep: list[str], folder: Path) -> list[str]:
    """The table's: int8 as it is, with what is kept, and fp32."""
    base = Request(model, quantize="static", outdir=folder)
    done, (studied,) = accuracy.study(base)
    kept = export_model(Request(model, quantize="static", outdir=folder, keep=keep))
    exact = export_model(Request(model, outdir=folder))
    freed = studied.freed(nodes(studied, keep))
    emulated = [studied.emulation.sqnr_db(studied.inputs, off)[0] for off in (frozenset(), freed)]
    others = [kept.paths[0], exact.paths[0]]
    program = programs.etprof()
    words = [word for other in others for word in ("--vs", f"model={other}")]
    command = [program, "profile", done.paths[0], *words, "--json", "--no-peaks", "--output-root", folder / "run"]
    found = subprocess.run([*command, "--max-seconds", str(2 * SECONDS)], capture_output=True, check=True)
    latencies = [pair["latency"] for pair in json.loads(found.stdout)["comparisons"]]
    return [
        f"| {model}, int8 | {emulated[0]:.1f} dB | {ratios(done)} | {latencies[0]['baseline_ms']:.3f} ms | |",
        f"| with `--keep {' '.join(keep)}` | {emulated[1]:.1f} dB | {ratios(kept)} | "
        f"{latencies[0]['candidate_ms']:.3f} ms | {speed(latencies[0])} |",
        f"| fp32 | | {exact.check.cases[0].outputs[0].sqnr_db:.1f} dB | | {latencies[1]['candidate_ms']:.3f} ms | "
        f"{speed(latencies[1])} |",
    ]


def nodes(studied: accuracy.Studied, keep: list[str]) -> frozenset[str]:
    """What the patterns choose."""
    from etprof.exporting.keep import chosen

    return chosen("", studied.emulation.module, keep)


def main() -> None:
    """Print the page."""
    folder = Path(sys.argv[1])
    print(_TEXT)
    print("| model | emulated | example | held-out inputs | latency | speed |")
    print("| --- | --- | --- | --- | --- | --- |")
    for model, keep in MODELS.items():
        print(*rows(model, keep, folder), sep="\n", flush=True)
    print("\nReproduce: `PYTHONPATH=python python bench/models/accuracy.py FOLDER`")


if __name__ == "__main__":
    main()
