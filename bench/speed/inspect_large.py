"""`etprof inspect` of a program of half a gigabyte: it maps the file and reads no weights.

    .venv/bin/python bench/speed/inspect_large.py [--megabytes 500] [--times 10]

Writes bench/results/speed/inspect_large.md.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from processes import cache, measure_process

ROOT = Path(__file__).resolve().parents[2]
ETPROF = ROOT / "build" / "etprof"
WIDTH = 3200
MODEL = """
import torch


class Large:
    def get_eager_model(self):
        return torch.nn.Sequential(*[torch.nn.Linear({width}, {width}) for _ in range({layers})]).eval()

    def get_example_inputs(self):
        return (torch.rand(1, {width}),)
"""
# ExecuTorch's own deserialization of a program, for comparison.
DESERIALIZE = """
import sys
from executorch.exir._serialize._program import deserialize_pte_binary
print(len(deserialize_pte_binary(open(sys.argv[1], "rb").read()).program.execution_plan))
"""


def main() -> None:
    """Exports the model, measures, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    layers = -(-options.megabytes * 1_000_000 // (WIDTH * WIDTH * 4))
    lines = [
        "# etprof inspect of a large program",
        "",
        f"One run of `bench/speed/inspect_large.py`, the file in the page cache, {options.times} processes each, medians.",
        "",
        "| program | MB | what | wall | peak memory |",
        "|---|--:|---|--:|--:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "large.py"
        source.write_text(MODEL.format(width=WIDTH, layers=layers))
        for backend in ("xnnpack", "portable"):
            export = [ETPROF, "export", f"{source}:Large", "--backend", backend, "--outdir", folder]
            subprocess.run(export, check=True, capture_output=True)
            (pte,) = Path(folder).glob(f"*_{backend}_*.pte")
            megabytes = pte.stat().st_size / 1e6
            cache(pte)
            commands = {
                "`etprof inspect`": [ETPROF, "inspect", pte],
                "`etprof inspect --json`": [ETPROF, "inspect", pte, "--json"],
                "ExecuTorch's `deserialize_pte_binary` (Python)": [sys.executable, "-c", DESERIALIZE, pte],
            }
            for name, command in commands.items():
                runs = [measure_process(command) for _ in range(options.times if command[0] == ETPROF else 2)]
                wall, memory = (statistics.median(column) for column in zip(*runs, strict=True))
                lines.append(
                    f"| {backend} | {megabytes:.0f} | {name} | {wall * 1e3:,.1f} ms | {memory / 1e6:,.1f} MB |"
                )
            for path in Path(folder).glob(f"*_{backend}_*"):
                path.unlink()
    text = "\n".join([*lines, ""])
    (ROOT / "bench/results/speed/inspect_large.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
