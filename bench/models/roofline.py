"""What share of its roofline each operator of three models and of one large matrix multiplication reaches.

    .venv/bin/python bench/models/roofline.py [--seconds 20]

Writes bench/results/models/roofline.md.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ETPROF = ROOT / "build" / "etprof"
LARGE = """
import torch


class Large:
    def get_eager_model(self):
        return torch.nn.Linear(2048, 2048).eval()

    def get_example_inputs(self):
        return (torch.rand(512, 2048),)
"""


def run(*command: object) -> str:
    """Returns the output of the command; exits if it fails."""
    process = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True, cwd=ROOT)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{process.stderr}")
    return process.stdout


def main() -> None:
    """Exports, measures and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20, help="of measuring, a model")
    seconds = parser.parse_args().seconds
    lines = [
        "# Operators and the machine's roofline",
        "",
        "One run of `bench/models/roofline.py`; fp32, one thread. Rows are the operators with the most MACs or bytes;",
        "what is above 100 % is explained in docs/guides/bottlenecks.md.",
        "",
    ]
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.py"
        large.write_text(LARGE)
        for model in ("toy_cnn", "mobilenet_v3_small", "transformer_layer", f"{large}:Large"):
            run(ETPROF, "export", "--model", model, "--outdir", folder)
        for pte in sorted(Path(folder).glob("*.pte")):
            out = Path(folder) / pte.stem
            run(ETPROF, "profile", pte, "--output-root", out, "--max-seconds", seconds, "--threads", 1)
            (summary,) = out.rglob("analysis_summary.json")
            experiment = json.loads(summary.read_text())["experiments"][0]
            roofline = experiment["roofline"]
            share = roofline["roof_ms"] / roofline["covered_ms"]
            lines += [
                f"## {pte.stem}",
                "",
                f"{len(roofline['rows'])} operators, {roofline['covered_ms']:.3f} ms, "
                f"at their rooflines {roofline['roof_ms']:.3f} ms: {share:.0%}.",
                "",
                "| operator | time | GFLOP/s | GB/s | bound by | of the roof |",
                "|---|--:|--:|--:|---|--:|",
            ]
            rows = sorted(roofline["rows"], key=lambda row: -row["time_ms"])
            above = [row for row in rows if row["share_of_roof"] > 1]
            for row in [*rows[:12], *(row for row in above if row not in rows[:12])]:
                lines.append(
                    f"| {row['name']} | {row['time_ms'] * 1e3:.1f} µs | {2 * row['macs_per_s'] / 1e9:.1f} | "
                    f"{row['bytes_per_s'] / 1e9:.1f} | {row['bound']} | {row['share_of_roof']:.0%} |"
                )
            lines += ["", f"{len(above)} of {len(rows)} above 100 %.", ""]
    (ROOT / "bench/results/models/roofline.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
