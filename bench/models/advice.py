"""What `etprof export` advises, done and measured, for architectures of transformers, timm, and torchvision.

The code of each hint is taken from the .pte.json and applied as it stands. The finding's estimate is that of `etprof profile` of
the model as it is; the gain is that of `etprof profile` of both, interleaved.

    .venv/bin/python bench/models/advice.py [MODEL...] [--seconds 30] [--threads 1] [--folder DIR] [--out bench/results/models/advice.md]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import models

# Architectures, with the data type in which the advice is applied.
CHOSEN = {
    "HfWhisperEncoder": "fp32",
    "HfSiglipVision": "fp32",
    "HfDinov2": "fp32",
    "HfT5Encoder": "fp32",
    "HfAlbert": "fp32",
    "HfGpt2": "fp32",
    "HfSegformer": "fp32",
    "HfGemma": "fp32",
    "HfBert": "fp32",
    "HfDistilbert": "fp32",
    "HfLlama": "fp32",
    "HfVit": "fp32",
    "TimmVit": "fp32",
    "TimmConvnext": "fp32",
    "TvMobilenetV3Small": "fp16",
    "TvEfficientnet": "fp16",
}
# Larger than bench/models/architectures.py has them: of an inference of 0.1 ms tracing is too large a part for an estimate.
_VISION = {"hidden_size": 192, "intermediate_size": 768, "image_size": 224}
LARGER = {
    "HfWhisperEncoder": {"d_model": 192, "encoder_ffn_dim": 768, "max_source_positions": 300},
    "HfSiglipVision": _VISION,
    "HfDinov2": {"hidden_size": 192, "image_size": 224},
    "HfT5Encoder": {"d_model": 256, "d_kv": 64, "d_ff": 1024},
    "HfAlbert": {"hidden_size": 256, "intermediate_size": 1024, "max_position_embeddings": 128},
    "HfGpt2": {"n_embd": 256, "n_positions": 128},
}
HEADER = [
    "model",
    "type",
    "advice",
    "not delegated",
    "delegates",
    "check",
    "estimate without the operators",
    "and without boundaries",
    "measured",
]
NOTES = [
    "- **advice**: the hints of `etprof export` whose code was applied: each is one call of `wrappers`.",
    "- **not delegated**, **delegates**, **check**: before, then after. The advice is not about what a check finds.",
    "- **estimate**: what the finding on operators that are not delegated says of these hints: were the operators gone, and were the boundaries between delegates gone, too. What takes their place takes time, and delegates that join are faster.",
    "- **—**: traced runs took more than 10% longer than untraced ones, and then the finding gives no estimate.",
    "- **measured**: how many times as fast the changed model is, with the 95% interval of interleaved launches.",
]
_ESTIMATE = re.compile(r"Estimate[^:]*: ([\d.]+)x without these operators(?:, ([\d.]+)x without the boundaries)?")
_SOURCE = """
import sys

from torch import nn
from torch.nn import functional

from etprof import wrappers

sys.path.insert(0, {folder!r})
import architectures


class Plain{name}(architectures.{name}):
    sizes = {{**getattr(architectures.{name}, "sizes", {{}}), **{larger!r}}}
    length = {length}


class Changed{name}(Plain{name}):
    def get_eager_model(self):
        model = super().get_eager_model()
{changes}
        return model
"""


def hint_codes(pte: Path) -> list[str]:
    """Returns the code of each hint; hints that wrap the model come last."""
    hints = json.loads(pte.with_name(f"{pte.name}.json").read_text())["hints"]["forward"]
    codes = [match[1] for hint in hints if (match := re.match(r"Use `(wrappers\.\w+\(model, .*?\))`", hint["text"]))]
    return sorted(codes, key=lambda code: "Substitute" in code)


def write_models(name: str, advised: Sequence[str], folder: Path, small: bool) -> Path:
    """Writes a file with the unchanged class and a class that follows the advice."""
    larger = {} if small else LARGER.get(name, {})
    file = folder / f"advice_{name.lower()}.py"
    file.write_text(
        _SOURCE.format(
            folder=str(Path(__file__).parent),
            name=name,
            larger=larger,
            length=128 if larger else 16,
            changes="\n".join(f"        model = {code}" for code in advised),
        )
    )
    return file


def row(name: str, kind: str, folder: Path, settings: argparse.Namespace) -> list[str] | None:
    """Returns a row of the table; None: no hint has code."""
    pte = models.export(f"{write_models(name, (), folder, settings.small)}:Plain{name}", kind, folder)
    if isinstance(pte, str):
        return [name, kind, "—", pte, *["—"] * (len(HEADER) - 4)]
    if not (advised := hint_codes(pte)):
        return None
    advice_text = ", ".join(
        sorted(set(re.findall(r"wrappers\.(?:attention|(?!Substitute|replace)\w+)", " ".join(advised))))
    )
    with tempfile.TemporaryDirectory() as scratch:
        after = models.export(f"{write_models(name, advised, folder, settings.small)}:Changed{name}", kind, folder)
        if isinstance(after, str):
            return [name, kind, advice_text, after, *["—"] * (len(HEADER) - 4)]
        manifests = [json.loads(entry.with_name(f"{entry.name}.json").read_text()) for entry in (pte, after)]
        operators, delegates = (
            [count(manifest["delegation"][0]) for manifest in manifests]
            for count in (lambda entry: entry["other_operators"], lambda entry: sum(entry["delegates"].values()))
        )
        alone = profile([pte], settings, Path(scratch) / "alone")
        texts = [finding["text"] for finding in alone["insights"] if finding["kind"] == "portable"]
        estimate = next((match for text in texts if (match := _ESTIMATE.search(text))), None)
        (comparison,) = profile([pte, "--vs", f"model={after}"], settings, Path(scratch) / "pair")["comparisons"]
    latency = comparison["latency"]
    has_ratio = latency["ratio"] is not None
    return [
        name,
        kind,
        advice_text,
        f"{operators[0]}, {operators[1]}",
        f"{delegates[0]}, {delegates[1]}",
        ", ".join(manifest["check"]["verdict"] for manifest in manifests),
        f"{estimate[1]}x" if estimate else "—",
        f"{estimate[2]}x" if estimate and estimate[2] else "—",
        "{ratio:.2f}x [{ratio_low:.2f}, {ratio_high:.2f}]".format(**latency) if has_ratio else latency["verdict"],
    ]


def profile(command: Sequence[object], settings: argparse.Namespace, folder: Path) -> dict:
    """Measures, and returns the analysis."""
    options = ["--threads", settings.threads, "--max-seconds", settings.seconds, "--no-peaks", "--output-root", folder]
    words = list(map(str, [models.ETPROF, "profile", *command, *options]))
    process = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if process.returncode != 0:
        print(process.stderr, file=sys.stderr)
        return {"insights": [], "comparisons": [{"latency": {"ratio": None, "verdict": "does not run"}}]}
    return json.loads((folder / "analysis_summary.json").read_text())


def report(rows: list[list[str]], settings: argparse.Namespace) -> str:
    """The table as Markdown."""
    threads = f"{settings.threads} thread{'s' if settings.threads > 1 else ''}"
    lines = [
        "# Advice of `etprof export`, applied and measured",
        "",
        f"Made by `bench/models/advice.py` in one run: {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, {threads}, at "
        f"most {settings.seconds:g} s for each measurement{', in the sizes of bench/models/architectures.py' if settings.small else ''}.",
        "",
        *(f"| {' | '.join(row)} |" for row in [HEADER, ["---"] * len(HEADER), *rows]),
        "",
        *NOTES,
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: those of CHOSEN")
    parser.add_argument("--small", action="store_true", help="in the sizes of bench/models/architectures.py")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where exports are kept; default: nowhere")
    parser.add_argument("--out", type=Path)
    settings = parser.parse_args()
    sys.path.insert(0, str(models.ROOT / "python"))
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in settings.models or CHOSEN:
            if (cells := row(name, CHOSEN[name], settings.folder or Path(scratch), settings)) is None:
                continue
            rows.append(cells)
            print(*cells, sep=" | ", flush=True)
            if settings.out:  # written after each row, so that an interrupted bench keeps its results
                settings.out.write_text(report(rows, settings))


if __name__ == "__main__":
    main()
