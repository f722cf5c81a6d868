"""Which kernels run the products of prefill and of decoding, with SME2 and without, on an emulated CPU.

.venv/bin/python bench/models/llm_kernels.py [--models FOLDER] [--out bench/results/models/llm_kernels.md]

One small random Llama in three exports of llm_steps.py's way, each measured by `etprof generate --watch` under QEMU
(script/fetch-qemu) with the bundle of `etprof build --target linux-aarch64`. Kernels are proven, times mean nothing.
Exports take about a minute each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import llm_steps

EXPORTS = {
    "fp32": [],
    "8da4w": ["+quantization.qmode=8da4w", "+quantization.group_size=32"],
    "xnnpack_dynamic_qc4": ["quantization.pt2e_quantize=xnnpack_dynamic_qc4"],
}
TESTS = ["-p", "32", "-n", "4", "-d", "0"]
QEMU = f"{llm_steps.ROOT / 'build' / 'tools' / 'qemu-aarch64'} -cpu max"
BUNDLE = llm_steps.ROOT / "build" / "bundles" / "linux-aarch64"


def measure_watched(model: Path, folder: Path) -> list[dict[str, Any]]:
    """Returns the variants of a watched run with their kernels: with all features, then without SME."""
    options = [*TESTS, "--vs", "isa=-sme,-sme2", "--watch", "--launches", "2", "--runs", "1", "--warmup", "1"]
    options += ["--runner", BUNDLE / "etprof-runner", "--exec-wrapper", QEMU, "--output-root", folder, "--json"]
    command = [llm_steps.ETPROF, "generate", model, *options]
    process = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return sorted(json.loads(process.stdout)["variants"], key=lambda variant: variant["isa"] is not None)


def cell(variant: dict[str, Any], tokens: int) -> str:
    """Returns the kernels of a variant's step as a Markdown cell."""
    kernels = [kernel for kernel in variant["kernels"] if kernel["tokens"] == tokens]
    names = [(kernel["operators"], kernel["kernel"] or f"XNNPACK's own ({kernel['code']})") for kernel in kernels]
    return "<br>".join(f"{count} x `{name.removeprefix('kai_run_')}`" for count, name in names)


def main() -> None:
    """Exports, watches, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--models", type=Path, help="folder with 0.pte, 1.pte, 2.pte of an earlier export")
    parser.add_argument("--out", type=Path, default=llm_steps.ROOT / "bench" / "results" / "models" / "llm_kernels.md")
    arguments = parser.parse_args()
    lines = ["| export | step | with SME2 | without |", "| --- | --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.models or Path(temporary)
        if not arguments.models:
            llm_steps.EXPORTS = {name: [llm_steps.SDPA, *options] for name, options in EXPORTS.items()}
            llm_steps.export(arguments.layers, folder)
        for number, name in enumerate(EXPORTS):
            variants = measure_watched(folder / f"{number}.pte", Path(temporary) / f"run{number}")
            for tokens, step in {32: "prefill of 32 tokens", 1: "decoding"}.items():
                lines.append(f"| {name} | {step} | {cell(variants[0], tokens)} | {cell(variants[1], tokens)} |")
    text = f"""# Kernels of prefill and decoding

The matrix products of a Llama with --layers {arguments.layers} in three exports, on QEMU's CPU with SME2 and with SME and
SME2 masked, as `etprof generate --watch` saw them called: `bench/models/llm_kernels.py`. In prefill the product that
gives the logits has one token.

{chr(10).join(lines)}
"""
    arguments.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
