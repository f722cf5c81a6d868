"""Prints bench/results/models/frontier.md: ways to run two models, their frontier, and which of them is confirmed as fastest.

    python bench/models/frontier.py FOLDER [SECONDS] > bench/results/models/frontier.md

Exports and results go to FOLDER; SECONDS is the limit of each pair (60). Needs etprof and etprof-runner (ETPROF,
ETPROF_RUNNER), and PYTHONPATH=python. Takes half an hour.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from etprof import programs

MODELS = [{"model": "transformer_layer", "keep": "add"}, {"model": "vit_block", "keep": ["add", "cat"]}]
_TEXT = """# The best setting of two models

`etprof suite` with `confirm`, five data types, one and two threads, random weights, on this CPU.
SQNR is the lowest of the export's check. *Frontier*: no other setting of the model is as good or
better in latency, SQNR, and peak memory, and measurably better in one.
"""


def format_number(value: float | None, form: str) -> str:
    """Formats a cell."""
    return "—" if value is None else form.format(value)


def speedup(pair: dict) -> str:
    """Formats the speedup of a confirmed setting over the unchanged model."""
    if pair["ratio"] is None:
        return pair["verdict"]
    return f"{pair['verdict']}, {pair['ratio']:.2f}x [{pair['ratio_low']:.2f}, {pair['ratio_high']:.2f}]"


def settings(report: dict) -> list[str]:
    """Returns the table of all settings."""
    lines = ["| model | setting | latency | SQNR | peak memory | load | frontier |", "|---|---|--:|--:|--:|--:|---|"]
    for cell in report["cells"]:
        for setting in cell["settings"]:
            place = f"no: {setting['dominated_by']}" if setting["dominated_by"] else setting["frontier"]
            lines.append(
                f"| {cell['model']} | {cell['dtype']}, {setting['label']} | {format_number(setting['latency_ms'], '{:.3f} ms')} | "
                f"{format_number(setting['sqnr_db'], '{:.1f} dB')} | {format_number(setting['peak_memory_bytes'] and setting['peak_memory_bytes'] / 1e6, '{:.1f} MB')} | "
                f"{format_number(setting['load_ms'], '{:.2f} ms')} | {place} |"
            )
    return lines


def confirmed(report: dict) -> list[str]:
    """Returns the table of the launches that confirm the frontier, which are not those that found it."""
    lines = [
        "",
        "## Measured again",
        "",
        "| model | setting | latency | against the model as it is |",
        "|---|---|--:|---|",
    ]
    sentences = []
    for confirmation in report["confirmations"]:
        for index, setting in enumerate(confirmation["settings"]):
            speed = speedup(confirmation["pairs"][index - 1]) if index else ""
            lines.append(
                f"| {confirmation['model']} | {setting['label']} | {format_number(setting['latency_ms'], '{:.3f} ms')} | {speed} |"
            )
        tied = f" Not measurably slower: {', '.join(confirmation['tied'])}." if confirmation["tied"] else ""
        sentences.append(
            f"{confirmation['model']}: {confirmation['fastest'] or 'nothing'} is confirmed as fastest.{tied}"
        )
    return [*lines, "", *sentences]


def main(folder: Path, seconds: float) -> None:
    """Measures and prints."""
    folder.mkdir(parents=True, exist_ok=True)
    suite = folder / "frontier.json"
    keys = {"dtypes": ["fp32", "fp16", "int8dyn", "int8", "int8+keep"], "variants": ["threads=2"], "confirm": True}
    suite.write_text(
        json.dumps(
            {"models": MODELS, **keys, "max_seconds": seconds, "peaks": False, "output_root": str(folder / "suite")}
        )
    )
    process = subprocess.run([programs.etprof(), "suite", suite, "--json"], capture_output=True, check=False, text=True)
    if process.returncode != 0:
        sys.exit(process.stderr)
    report = json.loads(process.stdout)
    print(_TEXT, *settings(report), *confirmed(report), sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), float(sys.argv[2]) if len(sys.argv) > 2 else 60)
