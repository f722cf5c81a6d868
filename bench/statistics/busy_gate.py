"""What a gate decides on a busy machine: by time, by counting instructions, and by two stored measurements.

A network of ten equal convolutions is checked against copies of itself that compute nothing more, or about 1, 3, or 10%
more, on an idle machine and with interference (contention.py). What is true is known: the multiply-accumulates of both
programs, by `etprof inspect`. `stored` measures each side on its own and compares what was stored.

    .venv/bin/python bench/statistics/busy_gate.py [--times 3] [--max-seconds 10] [--sides 16] [--loads idle,...] [--methods check,...] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import collections
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contention import CONDITIONS, ETPROF
from waiting import compilers

MODEL = """
import torch

SIDE, EXTRA = {side}, {extra!r}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        layers = []
        for _ in range(10):
            layers += [torch.nn.Conv2d(16, 16, 3, padding=1), torch.nn.ReLU()]
        layers += [torch.nn.Conv2d(16, *EXTRA)] if EXTRA else []
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)

    def get_example_inputs(self):
        return (torch.randn(1, 16, SIDE, SIDE),)
"""
# An additional convolution: output channels, kernel size, stride, and padding.
CHANGES = {"A/A": None, "+1%": (14, 1), "+3%": (43, 1), "+10%": (16, 3, 1, 1)}
LOADS = ("idle", "1 busy loop", "2 busy loops", "4 busy loops", "memory copier", "random stops")
LIMIT = 0.02  # check's default for time; also used for instructions
CODES = {0: "pass", 1: "fail", 5: "inconclusive"}


def export(folder: Path, side: int) -> dict[str, Path]:
    """Exports the base and its copies; returns them by change."""
    models = {}
    for change, extra in CHANGES.items():
        out = folder / f"{side}{change.replace('/', '')}"
        out.mkdir()
        source = out / "net.py"
        source.write_text(MODEL.format(side=side, extra=extra))
        command = [ETPROF, "export", "--model", f"{source}:Net", "--no-check", "--outdir", out]
        subprocess.run(command, check=True, capture_output=True)
        models[change] = next(out.glob("*.pte"))
    # The files of A/A differ in trailing bytes, since equal files would not be measured.
    models["base"] = folder / f"base{side}.pte"
    models["base"].write_bytes(models["A/A"].read_bytes() + bytes(16))
    return models


def macs(model: Path) -> int:
    """Returns the multiply-accumulates of an inference."""
    process = subprocess.run([ETPROF, "inspect", model, "--json"], check=True, capture_output=True)
    return json.loads(process.stdout)["methods"][0]["macs"]


def check(prefix: list, *arguments) -> str:
    """Returns the result of `etprof check`. `prefix`: command that starts it."""
    process = subprocess.run([*prefix, ETPROF, "check", *arguments], capture_output=True, text=True)
    if process.returncode not in CODES:
        sys.exit(process.stderr)
    return CODES[process.returncode]


def check_time(prefix, base, candidate, seconds, folder) -> str:
    """Measures both now, interleaved."""
    return check(prefix, base, candidate, "--max-seconds", str(seconds), "--output-root", folder / "time")


def check_instructions(prefix, base, candidate, _, folder) -> str:
    """Counts the instructions of both."""
    limit = f"{100 * LIMIT:g}%"
    return check(
        prefix, base, candidate, "--instructions", "--max-instruction-growth", limit, "--output-root", folder / "count"
    )


def profile(prefix: list, model: Path, seconds: float, folder: Path) -> Path:
    """Measures one side alone, and stores the measurement in the folder."""
    command = [*prefix, ETPROF, "profile", model, "--max-seconds", str(seconds), "--no-peaks"]
    subprocess.run([*command, "--output-root", folder], check=True, capture_output=True)
    return folder


def check_stored(prefix, base, candidate, seconds, folder) -> str:
    """Measures one side after the other, then compares the stored measurements."""
    sides = [profile(prefix, model, seconds / 2, folder / name) for name, model in (("a", base), ("b", candidate))]
    return check(prefix, *sides, "--allow-mismatch", "model")


METHODS = {"check": check_time, "check --instructions": check_instructions, "stored": check_stored}


def main() -> None:
    """Measures all combinations, and writes the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--max-seconds", type=float, default=10)
    parser.add_argument("--sides", default="16")
    parser.add_argument("--loads", default=",".join(LOADS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        conditions = {**CONDITIONS, "2 compilers": lambda: compilers(folder)}
        for side in map(int, options.sides.split(",")):
            models = export(folder, side)
            truth = {change: macs(models[change]) / macs(models["base"]) - 1 for change in CHANGES}
            for load in options.loads.split(","):
                for method in options.methods.split(","):
                    counts_by_change = collections.defaultdict(collections.Counter)
                    durations = []
                    for change in CHANGES:
                        for _ in range(options.times):
                            begin = time.monotonic()
                            with conditions[load]() as prefix:
                                result = METHODS[method](
                                    prefix, models["base"], models[change], options.max_seconds, folder
                                )
                            durations.append(time.monotonic() - begin)
                            counts_by_change[change][result] += 1
                    rows.append((side, truth, load, method, counts_by_change, statistics.median(durations)))
                    print(*rows[-1], file=sys.stderr)
    text = table(rows, options)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text)


def table(rows, options) -> str:
    """The results as Markdown."""
    cpu = next(
        (line.split(": ")[1] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "?"
    )
    lines = [
        "# What a gate decides on a busy machine",
        "",
        f"Made by `bench/statistics/busy_gate.py --times {options.times} --max-seconds {options.max_seconds:g}` on {cpu}.",
        "Ten equal convolutions of 16 channels on images of so many pixels, against copies with a further one. Of",
        f"{options.times} checks each that may grow by {100 * LIMIT:g}%: how many passed, failed, and were inconclusive.",
        "*false*: failed where the multiply-accumulates grow by less, or passed where they grow by more. `stored` compares",
        "two measurements of half the time each.",
        "",
    ]
    header = ["pixels", "load", "by"]
    header += [f"{change} ({100 * growth:+.1f}% MACs)" for change, growth in rows[0][1].items()]
    header += ["decided", "false", "median seconds"]
    lines += ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    for side, truth, load, method, counts_by_change, seconds in rows:
        decided = sum(count["pass"] + count["fail"] for count in counts_by_change.values())
        false_decisions = sum(
            count["pass" if truth[change] > LIMIT else "fail"] for change, count in counts_by_change.items()
        )
        counts = [f"{c['pass']} / {c['fail']} / {c['inconclusive']}" for c in counts_by_change.values()]
        share = f"{decided} of {len(CHANGES) * options.times}"
        lines.append(
            f"| {side} | {load} | {method} | "
            + " | ".join(counts)
            + f" | {share} | {false_decisions} | {seconds:.1f} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
