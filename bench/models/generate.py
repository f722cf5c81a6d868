"""One small random Llama in three exports, measured by `etprof generate` in one run.

.venv/bin/python bench/models/generate.py [--seconds 240] [--layers 4] [--out bench/results/models/generate.md]

The exports are those of llm_steps.py, which take about a minute each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import llm_steps

NAMES = {"0": "custom SDPA", "1": "plain", "2": "8da4w"}  # of llm_steps.EXPORTS, in its order
TESTS = ["-p", "128", "-n", "32", "-d", "0,1024,2000"]


def measured(folder: Path, seconds: int) -> dict[str, Any]:
    """What `etprof generate --json` says: the first export against the others."""
    words: list[str] = []
    for number, name in list(NAMES.items())[1:]:
        words += ["--vs", f"model={folder / number}.pte,label={name}"]
    command = [llm_steps.ETPROF, "generate", folder / "0.pte", *words, *TESTS, "--json"]
    command += ["--max-seconds", str(seconds), "--output-root", folder / "run"]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    for variant in result["variants"]:
        variant["variant"] = NAMES.get(variant["variant"], variant["variant"])
    return result


def number(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def interval(low: float | None, high: float | None) -> str:
    """Bounds as text; "" where there are none."""
    return "" if low is None or high is None else f" [{number(low)}, {number(high)}]"


def tables(result: dict[str, Any]) -> list[str]:
    """The tests, the first token, and the lines, in Markdown."""
    ratios = {(pair["candidate"], test["test"]): test for pair in result["pairs"] for test in pair["tests"]}
    lines = ["| test | export | t/s | ms/token | against custom SDPA |", "| --- | --- | ---: | ---: | --- |"]
    names = [test["test"] for test in result["variants"][0]["tests"]]
    for name in names:
        for variant in result["variants"]:
            test = next(one for one in variant["tests"] if one["test"] == name)
            ratio = ratios.get((variant["variant"], name))
            against = "baseline"
            if ratio is not None:
                against = ratio["verdict"]
                if ratio["ratio"] is not None:
                    against += f", {ratio['ratio']:.3g}x [{ratio['ratio_low']:.3g}, {ratio['ratio_high']:.3g}]"
            rate = "—"
            if test["tokens_per_second"] is not None:
                rate = number(test["tokens_per_second"])
                rate += interval(test["tokens_per_second_low"], test["tokens_per_second_high"])
            each = "—" if test["ms_per_token"] is None else f"{test['ms_per_token']:.3f}"
            lines.append(f"| {name} | {variant['variant']} | {rate} | {each} | {against} |")
    lines += ["", "| export | first token, ms | at 0, ms | + per 1,000 tokens, ms | largest misfit |"]
    lines.append("| --- | --- | --- | --- | ---: |")
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
        lines.append(f"| {variant['variant']} | {start} | {cells[0]} | {cells[1]} | {misfit} |")
    return lines


def main() -> None:
    """Exports, measures, and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=240)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--models", type=Path, help="folder with 0.pte, 1.pte, 2.pte of an earlier export")
    parser.add_argument("--out", type=Path, default=llm_steps.ROOT / "bench/results/models/generate.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.models is None:
            llm_steps.export(arguments.layers, folder)
        else:
            for number in NAMES:
                (folder / f"{number}.pte").symlink_to((arguments.models / f"{number}.pte").resolve())
        result = measured(folder, arguments.seconds)
    text = [
        "# Generating with three exports",
        "",
        f"A Llama of {arguments.layers} layers, width {llm_steps.LLAMA['dim']}, random weights, context {llm_steps.CONTEXT:,}, one",
        f"thread, `bench/models/generate.py --seconds {arguments.seconds}`: {result['launches']} launches, in which all tests of all",
        "exports alternate. Ratios are speedups over custom SDPA in fp32. All intervals are of 95%.",
        "",
        *tables(result),
        "",
        *(f"- {warning}" for warning in result["warnings"]),
    ]
    arguments.out.write_text("\n".join(text).rstrip() + "\n")


if __name__ == "__main__":
    main()
