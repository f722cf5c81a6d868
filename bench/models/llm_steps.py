"""One small random Llama, exported by ExecuTorch's export_llm in four ways: decode steps by position, and a prefill, in one run.

.venv/bin/python bench/models/llm_steps.py [--seconds 120] [--layers 4] [--out bench/results/models/llm_steps.md]

Each kind of export and step is an experiment, and all alternate in one run. Exports take about a minute each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ETPROF = Path(os.environ.get("ETPROF", ROOT / "build" / "etprof"))
CONTEXT = 2048
LLAMA = {"dim": 256, "n_heads": 8, "n_kv_heads": 4, "vocab_size": 2048, "norm_eps": 1e-5, "hidden_dim": 512}
SDPA = "model.use_sdpa_with_kv_cache=True"
EXPORTS = {
    "custom SDPA": [SDPA],
    "plain": ["model.use_sdpa_with_kv_cache=False"],
    "8da4w": [SDPA, "+quantization.qmode=8da4w", "+quantization.group_size=32"],
    "int8 cache": [SDPA, "model.quantize_kv_cache=True"],
}
STEPS = {"decode at 0": (1, 0), "decode at 1,024": (1, 1024), "decode at 2,040": (1, 2040), "prefill of 128": (128, 0)}
# export_llm and the checkpoint run in separate processes. A torchvision for another device breaks the import.
EXPORT = """
import sys
sys.modules["torchvision"] = None
from executorch.extension.llm.export.export_llm import main
main()
"""
CHECKPOINT = """
import json, sys, torch
sys.modules["torchvision"] = None
from executorch.examples.models.llama.llama_transformer import construct_transformer
from executorch.examples.models.llama.model_args import ModelArgs
torch.manual_seed(0)
model = construct_transformer(ModelArgs(**json.load(open("params.json"))))
for value in model.parameters():
    torch.nn.init.normal_(value, std=0.05) if value.dim() > 1 else torch.nn.init.ones_(value)
torch.save(model.state_dict(), "checkpoint.pth")
"""


def run_python(code: str, folder: Path, *arguments: str) -> None:
    """Runs code in a separate process."""
    subprocess.run([sys.executable, "-c", code, *arguments], cwd=folder, check=True, capture_output=True)


def export(layers: int, folder: Path) -> None:
    """Writes 0.pte to 3.pte, in the order of EXPORTS."""
    (folder / "params.json").write_text(json.dumps(LLAMA | {"n_layers": layers}))
    run_python(CHECKPOINT, folder)
    for number, options in enumerate(EXPORTS.values()):
        settings = ["base.model_class=stories110m", "base.checkpoint=checkpoint.pth", "base.params=params.json"]
        settings += ["model.use_kv_cache=True", "backend.xnnpack.enabled=True", "export.max_seq_length=512"]
        settings += [f"export.max_context_length={CONTEXT}", f"export.output_name={number}.pte", *options]
        run_python(EXPORT, folder, *settings)


def write_inputs(path: Path, tokens: int, position: int) -> None:
    """Writes an .inputs file with random tokens at a position."""
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(tokens)
    token_ids = torch.randint(0, LLAMA["vocab_size"], (1, tokens))
    save_file(
        {"forward/0": token_ids, "forward/1": torch.tensor([position])}, path, metadata={"format": "etprof-inputs-1"}
    )


def measure(seconds: int, folder: Path) -> dict[str, Any]:
    """Measures all exports and steps in one run, and returns its summary."""
    experiments = []
    for step, (name, place) in enumerate(STEPS.items()):
        write_inputs(folder / f"{step}.inputs", *place)
        experiments += [
            {
                "name": f"{step}_{number}",
                "label": f"{kind}, {name}",
                "model": f"{number}.pte",
                "inputs": f"{step}.inputs",
            }
            for number, kind in enumerate(EXPORTS)
        ]
    pairs = [
        {"baseline": f"{step}_0", "candidate": f"{step}_{number}"}
        for step in range(len(STEPS))
        for number in range(1, len(EXPORTS))
    ]
    config = {"output_root": "run", "peaks": False, "max_seconds": seconds, "experiments": experiments}
    config["analysis"] = {"compare_pairs": pairs}
    (folder / "config.json").write_text(json.dumps(config))
    subprocess.run([ETPROF, "run", "config.json"], cwd=folder, check=True, capture_output=True)
    return json.loads((folder / "run" / "analysis_summary.json").read_text())


def inspect_forward(pte: Path) -> dict[str, Any]:
    """Returns the JSON of `etprof inspect` for the method forward."""
    document = json.loads(subprocess.run([ETPROF, "inspect", pte, "--json"], check=True, capture_output=True).stdout)
    return next(method for method in document["methods"] if method["name"] == "forward")


def attention_ms(experiment: dict[str, Any]) -> float:
    """Returns the mean self time of attention and of cache updates in a traced run, ms."""
    names = ("sdpa", "update_cache", "index_put", "native_call_copy_")
    return sum(
        operator["self_ms"]["mean"]
        for operator in experiment["operators"]
        if any(name in operator["name"] for name in names)
    )


def tables(summary: dict[str, Any], folder: Path) -> list[str]:
    """Returns the tables of steps and of exports as Markdown."""
    experiment_by_name = {entry["name"]: entry for entry in summary["experiments"]}
    compared = {(entry["candidate"]): entry["latency"] for entry in summary["comparisons"]}
    lines = ["| step | export | latency, ms | against custom SDPA | kernels of attention and cache, ms (traced) |"]
    lines.append("| --- | --- | ---: | --- | ---: |")
    for step, place in enumerate(STEPS):
        for number, kind in enumerate(EXPORTS):
            experiment = experiment_by_name[f"{step}_{number}"]
            latency = compared.get(experiment["label"])
            ratio = "baseline" if number == 0 else "—"
            if number > 0 and latency:
                ratio = latency["verdict"]
                if latency["ratio"] is not None:
                    ratio += f", {latency['ratio']:.3g}x [{latency['ratio_low']:.3g}, {latency['ratio_high']:.3g}]"
            median = experiment["latency_ms"]["p50"]
            lines.append(f"| {place} | {kind} | {median:.3f} | {ratio} | {attention_ms(experiment):.3f} |")
    lines += ["", "| export | file, MB | planned, MB | cache, bytes a token | 1,000 tokens more, ms |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    last, first = STEPS["decode at 2,040"][1], STEPS["decode at 0"][1]
    for number, kind in enumerate(EXPORTS):
        method = inspect_forward(folder / f"{number}.pte")
        latencies = [experiment_by_name[f"{step}_{number}"]["latency_ms"]["p50"] for step in (0, 2)]
        size = (folder / f"{number}.pte").stat().st_size / 1e6
        lines.append(
            f"| {kind} | {size:.1f} | {method['planned_bytes'] / 1e6:.1f} | {method['state']['bytes_per_token']:,} | "
            f"{(latencies[1] - latencies[0]) / (last - first) * 1000:.3f} |"
        )
    return lines


def main() -> None:
    """Exports, measures, and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/models/llm_steps.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(arguments.layers, folder)
        summary = measure(arguments.seconds, folder)
        text = [
            "# Steps of a language model",
            "",
            f"A Llama of {arguments.layers} layers, width {LLAMA['dim']}, {LLAMA['n_heads']} heads and {LLAMA['n_kv_heads']} of keys, random weights, context {CONTEXT:,},",
            f"one thread, `bench/models/llm_steps.py --seconds {arguments.seconds}`: all exports and steps alternate in one run. Ratios are",
            "speedups over custom SDPA in fp32, with 95% intervals. Without custom SDPA attention is made of other kernels, of which the",
            "last column has none.",
            "",
            *tables(summary, folder),
        ]
        arguments.out.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
