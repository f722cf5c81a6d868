"""Every example model in every data type and quantization: exported, compared with PyTorch, measured.

One row each: the share of MACs that XNNPACK takes, the largest difference from eager fp32 and the signal-to-noise
ratio, the median latency, and what the CPU's widest extension (`etprof isa --widest`) is worth: the ratio of the latencies
without and with it, with its 95 % interval.

With --libraries those of bench/models/architectures.py instead (transformers, timm, torchvision), with their MACs compared with
PyTorch's own counter.

    .venv/bin/python bench/models/models.py [MODEL...] [--libraries] [--seconds 30] [--threads 1] [--folder DIR] [--out bench/results/models/models.md]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ETPROF = Path(os.environ.get("ETPROF", ROOT / "build" / "etprof"))

VARIANTS = {
    "fp32": [],
    "fp16": ["--dtype", "fp16"],
    "bf16": ["--dtype", "bf16"],
    "int8": ["--quantize", "static"],
    "int8dyn": ["--quantize", "dynamic"],
}
HEADER = [
    "model, method",
    "type",
    "check",
    "MACs",
    "delegated MACs",
    "delegates",
    "largest difference",
    "SQNR",
    "latency",
    "{extension} off / on",
]
NOTES = [
    "- **check**: see [what `etprof export` checks](../../../docs/reference/export.md#the-check). A failed check is a finding, not an error of the bench.",
    "- **MACs**: in brackets, how many times as many torch.utils.flop_counter finds in the eager model.",
    "- **bf16**: XNNPACK's partitioner takes none of it. Matrix products run in portable kernels for tenths of seconds, so there are few launches and wide intervals.",
    "- **fp16**: a CPU without half-precision arithmetic (x86-64 without avx512fp16) converts to fp32 and back.",
    "- **delegates**: each call costs time, and so do [the operators between two of them](../../../docs/guides/inspect.md).",
]


def example_models() -> list[str]:
    """Returns the names of etprof's example models, without those of ExecuTorch."""
    from etprof import models

    return models.model_names()


def export(model: str, variant: str, folder: Path) -> Path | str:
    """Returns the .pte, even if its check fails, or the error as text."""
    from etprof.exporting import find

    pte = folder / f"{find.default_name(model)}_xnnpack_{variant}.pte"
    if pte.is_file():
        return pte
    command = [ETPROF, "export", model, *VARIANTS[variant], "--outdir", folder]
    process = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if process.returncode in (0, 1, 5):
        return pte
    print(process.stderr, file=sys.stderr)
    return next((line for line in process.stderr.splitlines() if line.startswith("error: ")), "error: it says nothing")


def flops(model: str) -> dict[str, float]:
    """Returns the MACs of the eager model by PyTorch's counter, by method."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from etprof.exporting import find

    counts = {}
    for name, method in find.build_methods(find.find_model(model)).items():
        # The counter does not support PyTorch's attention kernel for CPUs.
        with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
            method.module(*method.args, **method.kwargs)
        counts[name] = counter.get_total_flops() / 2
    return counts


def measure(pte: Path, method: str, extension: str, settings: argparse.Namespace, folder: Path) -> tuple[str, str]:
    """Returns the latency with the extension, and the ratio of the latencies without and with it."""
    command = [
        *(ETPROF, "profile", pte, "--method", method, "--threads", str(settings.threads), "--no-peaks"),
        *("--max-seconds", str(settings.seconds), "--output-root", folder, "--vs", f"isa=-{extension}"),
    ]
    process = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if process.returncode != 0:
        print(process.stderr, file=sys.stderr)
        return "does not run", "—"
    comparison = json.loads((folder / "analysis_summary.json").read_text())["comparisons"][0]
    if comparison["candidate"] != f"{extension} on":
        sys.exit(f"the candidate is {comparison['candidate']}, not {extension} on")
    latency = comparison["latency"]
    # On a busy machine there may be no ratio.
    has_ratio = latency["ratio"] is not None
    ratio = "{ratio:.2f}x [{ratio_low:.2f}, {ratio_high:.2f}]".format(**latency) if has_ratio else latency["verdict"]
    return "—" if latency["candidate_ms"] is None else f"{latency['candidate_ms']:.3g} ms", ratio


def measure_model(
    model: str, variant: str, extension: str, settings: argparse.Namespace, folder: Path
) -> list[list[str]]:
    """Returns a row for each method."""
    pte = export(model, variant, folder)
    if isinstance(pte, str):
        return [[model.rpartition(":")[2], variant, f"not exported: {pte}", *["—"] * (len(HEADER) - 3)]]
    manifest = json.loads(pte.with_name(f"{pte.name}.json").read_text())
    macs_by_method = flops(model)
    return [
        measure_method(pte, manifest, method, macs_by_method[method], extension, settings)
        for method in manifest["methods"]
    ]


def count_macs(pte: Path, method: str) -> int | None:
    """Returns the MACs that `etprof inspect` counts."""
    process = subprocess.run([ETPROF, "inspect", "--json", pte], capture_output=True, text=True, check=True)
    return next(entry["macs"] for entry in json.loads(process.stdout)["methods"] if entry["name"] == method)


def measure_method(
    pte: Path, manifest: dict, method: str, eager_macs: float, extension: str, settings: argparse.Namespace
) -> list[str]:
    """Returns the row of a method of an export."""
    macs = count_macs(pte, method)
    delegation = next(entry for entry in manifest["delegation"] if entry["method"] == method)
    cases = [
        entry for entry in manifest["check"]["cases"] if entry["method"] == method and entry["inputs"] == "example"
    ]
    outputs = [output for case in cases for output in case["outputs"]]
    differences = [output["max_abs_diff"] for output in outputs if output["max_abs_diff"] is not None]
    noise = [output["sqnr_db"] for output in outputs if output["sqnr_db"] is not None]
    with tempfile.TemporaryDirectory() as folder:
        latency, ratio = measure(pte, method, extension, settings, Path(folder))
    share = delegation["delegated_share_of_macs"]
    several = len(manifest["methods"]) > 1
    return [
        f"{manifest['model']}, {method}" if several else manifest["model"],
        manifest["dtype"],
        manifest["check"]["verdict"] if manifest["check"]["why"] is None else f"fail: {manifest['check']['why']}",
        f"{macs / 1e6:.4g} M ({eager_macs / macs:.3f})" if macs else "—",
        f"{100 * share:.1f} %" if share is not None else "—",
        str(sum(delegation["delegates"].values())),
        f"{max(differences):.2g}" if differences else "—",
        f"{min(noise):.1f} dB" if noise else "—",
        latency,
        ratio,
    ]


def export_all(model: str, variants: Sequence[str], folder: Path) -> None:
    """Exports all data types in one process, which builds the model once."""
    if {*variants} <= {"fp32", "fp16", "bf16", "int8"}:
        command = [ETPROF, "export", model, "--dtype", ",".join(variants), "--outdir", folder]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def report(rows: list[list[str]], extension: str, settings: argparse.Namespace) -> str:
    """The table as Markdown."""
    threads = f"{settings.threads} thread{'s' if settings.threads > 1 else ''}"
    header = [cell.format(extension=extension) for cell in HEADER]
    lines = [
        f"# {'Architectures of transformers, timm and torchvision' if settings.libraries else 'The example models in every data type'}",
        "",
        f"Made by `bench/models/models.py` in one run: {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, {threads}, at most {settings.seconds:g} s for each comparison. Differences and SQNR are of the example inputs' outputs "
        f"from eager PyTorch in fp32. Above 1x, {extension} is worth something.",
        "",
        *(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *rows]),
        "",
        *NOTES,
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: every example model")
    parser.add_argument("--types", nargs="+", choices=VARIANTS, help="default: all that make sense")
    parser.add_argument("--libraries", action="store_true", help="the architectures of bench/models/architectures.py")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where exports are kept; default: nowhere")
    parser.add_argument("--out", type=Path)
    settings = parser.parse_args()
    sys.path.insert(0, str(ROOT / "python"))
    extension = subprocess.run([ETPROF, "isa", "--widest"], check=True, capture_output=True, text=True).stdout.strip()
    if not extension:
        sys.exit("this CPU has no extension to switch off")
    rows: list[list[str]] = []
    model_names = settings.models or example_models()
    types = dict.fromkeys(model_names, settings.types or list(VARIANTS))
    if settings.libraries:
        from architectures import TYPES

        model_names = [f"{ROOT / 'bench/models/architectures.py'}:{name}" for name in settings.models or TYPES]
        types = {model: settings.types or TYPES[model.rpartition(":")[2]] for model in model_names}
    with tempfile.TemporaryDirectory() as scratch:
        folder = settings.folder or Path(scratch)
        for model in model_names:
            export_all(model, types[model], folder)
            for variant in types[model]:
                rows += measure_model(model, variant, extension, settings, folder)
                print(*rows[-1], sep=" | ", flush=True)
                if settings.out:  # written after each row, so that an interrupted bench keeps its results
                    settings.out.write_text(report(rows, extension, settings))


if __name__ == "__main__":
    main()
