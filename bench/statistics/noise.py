"""Records the noise of this machine: the bursts of a model against itself, for etprof_bench_noise to put effects into.

.venv/bin/python bench/statistics/noise.py MODEL.pte OUT.csv [--seconds 240] [--cpus MASK]
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def record(model: Path, folder: Path, seconds: float, cpus: str | None) -> list[dict]:
    """The bursts of both sides, in the order of launch and round."""
    config = {
        "model": str(model.resolve()),
        "output_root": str(folder / "run"),
        "max_seconds": seconds,
        "precision": 1e-6,  # never reached, so that all the time is used
        "experiments": [{"name": "a"}, {"name": "a_again"}],
    }
    if cpus is not None:
        for experiment in config["experiments"]:
            experiment["cpu_affinity"] = cpus
    path = folder / "noise.json"
    path.write_text(json.dumps(config))
    subprocess.run([ROOT / "build" / "etprof", "run", path], check=True, stdout=subprocess.DEVNULL)
    manifest = json.loads((folder / "run" / "manifest.json").read_text())
    bursts = []
    for side, result in enumerate(manifest["results"]):
        for launch in result["launches"]:
            bursts += [
                {
                    "launch": launch["index"],
                    "round": burst["round"],
                    "side": side,
                    "start_ns": burst["start_ns"],
                    "end_ns": burst["end_ns"],
                    "median_ns": burst["median_ns"],
                }
                for burst in launch["bursts"]
                if burst["median_ns"] is not None
            ]
    return sorted(bursts, key=lambda burst: (burst["launch"], burst["round"], burst["side"]))


def main() -> None:
    """Record and write the CSV."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--cpus")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bursts = record(options.model, Path(folder), options.seconds, options.cpus)
    first = bursts[0]["start_ns"]
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, bursts[0].keys(), lineterminator="\n")
        writer.writeheader()
        for burst in bursts:
            burst["start_ns"] -= first
            burst["end_ns"] -= first
            writer.writerow(burst)


if __name__ == "__main__":
    main()
