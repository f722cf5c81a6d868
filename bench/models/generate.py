"""One small random Llama in four exports, measured by `etprof generate` in one run.

.venv/bin/python bench/models/generate.py [--seconds 300] [--layers 4] [--out bench/results/models/generate.md]

Three exports are ExecuTorch's, of llm_steps.py, which take about a minute each. The fourth is optimum-executorch's, of the
same weights, whose packages pip puts into a folder of their own (--optimum names one that has them already).
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

import llm_steps

# Names of the exports of llm_steps.EXPORTS, in its order, and of optimum's export.
NAMES = {"0": "custom SDPA", "1": "plain", "2": "8da4w", "optimum": "optimum"}
TESTS = ["-p", "128", "-n", "32", "-d", "0,1024,2000"]
# The versions of transformers and what it needs that optimum-executorch 1.1 was made for.
PACKAGES = [
    *("optimum-executorch~=1.1.0", "optimum~=2.0.0", "transformers==5.0.0rc1", "accelerate", "tokenizers>=0.22,<0.23"),
    *("huggingface-hub>=1.2,<2", "hf-xet", "psutil", "httpx", "httpcore", "h11", "anyio", "sniffio", "certifi", "idna"),
    *("shellingham", "typer-slim", "typer", "click", "filelock", "fsspec", "tqdm", "pyyaml", "requests", "urllib3"),
    "charset-normalizer",
]
# The checkpoint under the names of transformers, whose rotary embedding pairs the halves of a head, not neighbors.
OPTIMUM = """
import json, re, sys, torch
import etprof  # it declares torchvision's operators
from transformers import LlamaConfig, LlamaForCausalLM
import optimum.executorch.modeling
from optimum.exporters.executorch.recipes.xnnpack import export_to_executorch_with_xnnpack
from optimum.exporters.executorch.tasks.causal_lm import load_causal_lm_model
given, context = json.load(open("params.json")), int(sys.argv[1])
dim, heads, kv_heads = given["dim"], given["n_heads"], given["n_kv_heads"]
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=given["vocab_size"], hidden_size=dim, intermediate_size=given["hidden_dim"],
    num_hidden_layers=given["n_layers"], num_attention_heads=heads, num_key_value_heads=kv_heads,
    rms_norm_eps=given["norm_eps"], max_position_embeddings=context, tie_word_embeddings=False))
names = {
    "^tok_embeddings": "model.embed_tokens", "^output": "lm_head", "^norm": "model.norm", "^layers": "model.layers",
    "attention_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", r"attention\\.w(.)": r"self_attn.\\1_proj",
    r"feed_forward\\.w1": "mlp.gate_proj", r"feed_forward\\.w2": "mlp.down_proj", r"feed_forward\\.w3": "mlp.up_proj"}
weights = {}
for name, value in torch.load("checkpoint.pth").items():
    count = heads if ".wq." in name else kv_heads if ".wk." in name else None
    if count:
        value = value.view(count, dim // heads // 2, 2, dim).transpose(1, 2).reshape(-1, dim)
    for ours, theirs in names.items():
        name = re.sub(ours, theirs, name)
    weights[name] = value
model.load_state_dict(weights)
model.save_pretrained("optimum")
module = load_causal_lm_model("optimum", max_seq_len=context, max_length=context, use_custom_sdpa=True, use_custom_kv_cache=True)
(program,) = export_to_executorch_with_xnnpack(module).values()
open("optimum.pte", "wb").write(program.buffer)
"""


def export_optimum(folder: Path, packages: Path | None) -> None:
    """Writes optimum.pte from the checkpoint that llm_steps.export made."""
    if packages is None:
        packages = folder / "packages"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(packages), *PACKAGES]
        subprocess.run(pip, check=True, capture_output=True)
    env = {**os.environ, "PYTHONPATH": f"{packages}:{llm_steps.ROOT / 'python'}"}
    command = [sys.executable, "-c", OPTIMUM, str(llm_steps.CONTEXT)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=env)


def measure(folder: Path, seconds: int) -> dict[str, Any]:
    """Compares the first export with the others, and returns the JSON of `etprof generate`."""
    variants: list[str] = []
    for number, name in list(NAMES.items())[1:]:
        variants += ["--vs", f"model={folder / number}.pte,label={name}"]
    command = [llm_steps.ETPROF, "generate", folder / "0.pte", *variants, *TESTS, "--json"]
    command += ["--max-seconds", str(seconds), "--output-root", folder / "run"]
    process = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    result = json.loads(process.stdout)
    for variant in result["variants"]:
        variant["variant"] = NAMES.get(variant["variant"], variant["variant"])
    return result


def number(value: float) -> str:
    """Formats a number with three digits, or all before the decimal point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def interval(low: float | None, high: float | None) -> str:
    """Formats bounds; "": there are none."""
    return "" if low is None or high is None else f" [{number(low)}, {number(high)}]"


def tests(result: dict[str, Any]) -> list[str]:
    """Returns the table of prompts and generated tokens as Markdown."""
    ratios = {(pair["candidate"], test["test"]): test for pair in result["pairs"] for test in pair["tests"]}
    lines = ["| test | export | t/s | ms/token | against custom SDPA |", "| --- | --- | ---: | ---: | --- |"]
    names = [test["test"] for test in result["variants"][0]["tests"]]
    for name in names:
        for variant in result["variants"]:
            test = next(entry for entry in variant["tests"] if entry["test"] == name)
            ratio = ratios.get((variant["variant"], name))
            speedup = "baseline"
            if ratio is not None:
                speedup = ratio["verdict"]
                if ratio["ratio"] is not None:
                    speedup += f", {ratio['ratio']:.3g}x [{ratio['ratio_low']:.3g}, {ratio['ratio_high']:.3g}]"
            rate = "—"
            if test["tokens_per_second"] is not None:
                rate = number(test["tokens_per_second"])
                rate += interval(test["tokens_per_second_low"], test["tokens_per_second_high"])
            ms_per_token = "—" if test["ms_per_token"] is None else f"{test['ms_per_token']:.3f}"
            lines.append(f"| {name} | {variant['variant']} | {rate} | {ms_per_token} | {speedup} |")
    return lines


def texts(result: dict[str, Any]) -> list[str]:
    """Returns the table of first tokens, lines by position, memory, and texts as Markdown."""
    lines = ["| export | first token, ms | at 0, ms | + per 1,000 tokens, ms | largest misfit | memory, MB | text |"]
    lines.append("| --- | --- | --- | --- | ---: | ---: | --- |")
    differs = {pair["candidate"]: pair["first_different_token"] for pair in result["pairs"]}
    for variant in result["variants"]:
        first, line = variant["first_token"], variant["decode"]
        start = "—"
        if first:
            bounds = [None if first[key] is None else first[key] / 1e6 for key in ("low_ns", "high_ns")]
            start = f"{first['total_ns'] / 1e6:.2f}{interval(*bounds)}"
        cells = ["—", "—"]
        for i, (key, scale) in enumerate((("intercept_ns", 1e-6), ("slope_ns_per_token", 1e-3))):
            if line and line[key] is not None:
                bounds = [line[f"{key}_low"] * scale, line[f"{key}_high"] * scale]
                cells[i] = f"{line[key] * scale:.3g}{interval(*bounds)}"
        misfit = "—" if not line or line["misfit"] is None else f"{100 * line['misfit']:.1f}%"
        text = "baseline"
        if variant["variant"] in differs:
            first_other = differs[variant["variant"]]
            text = "the same" if first_other is None else f"differs after {first_other} tokens"
        memory = f"{variant['peak_rss_bytes'] / 1e6:.0f}"
        lines.append(f"| {variant['variant']} | {start} | {cells[0]} | {cells[1]} | {misfit} | {memory} | {text} |")
    return lines


def main() -> None:
    """Exports, measures, and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--models", type=Path, help="folder with 0.pte, 1.pte, 2.pte, and optimum.pte")
    parser.add_argument("--optimum", type=Path, help="folder with optimum-executorch and what it needs")
    parser.add_argument("--out", type=Path, default=llm_steps.ROOT / "bench/results/models/generate.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.models is None:
            llm_steps.export(arguments.layers, folder)
            export_optimum(folder, arguments.optimum)
        else:
            for name in NAMES:
                (folder / f"{name}.pte").symlink_to((arguments.models / f"{name}.pte").resolve())
        result = measure(folder, arguments.seconds)
    text = [
        "# Generating with four exports",
        "",
        f"A Llama of {arguments.layers} layers, width {llm_steps.LLAMA['dim']}, random weights, context {llm_steps.CONTEXT:,}, one",
        f"thread, `bench/models/generate.py --seconds {arguments.seconds}`: {result['launches']} launches, in which all tests of all",
        "exports alternate. Ratios are speedups over custom SDPA in fp32. All intervals are of 95%. The first three are of",
        "ExecuTorch's export_llm, for 511 tokens at once or fewer; optimum is optimum-executorch's with custom SDPA and cache,",
        "for 2,047, which gives the logits of every token. All have the same weights. Memory is the largest resident size.",
        "",
        *tests(result),
        "",
        *texts(result),
        "",
        *(f"- {warning}" for warning in result["warnings"]),
    ]
    arguments.out.write_text("\n".join(text).rstrip() + "\n")


if __name__ == "__main__":
    main()
