"""How long does `etprof run` take on three devices at once, against the slowest of them alone?

Three boards behind real sshds on this machine's loopback, and workers that sleep instead of computing, so that what is
measured is etprof and not the machine's cores. Each board sleeps longer than the one before. In turns: every board alone
(`--only`), then all three at once.

    .venv/bin/python bench/speed/devices.py [--repeats 5] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "devices"))
from lab import Lab  # noqa: E402

SLEEPS = {"one": 0.6, "two": 0.7, "three": 0.8}  # seconds per burst; long compared with the start of a worker
DATA = ROOT / "tests" / "data"


def write_config(folder: Path) -> Path:
    """Writes a configuration with an experiment for each board, and returns its path."""
    experiments = [
        {
            "name": name,
            "device": f"ssh:{name}",
            "env": {"FAKE_SLEEP": str(sleep), "FAKE_ETDUMP": str(DATA / "toy_cnn.t1.etdump")},
        }
        for name, sleep in SLEEPS.items()
    ]
    config = {
        "model": str(DATA / "toy_cnn.pte"),
        "runner_path": str(ROOT / "tests" / "measure" / "fake_worker.py"),
        "output_root": str(folder / "out"),
        "launches": 3,
        "rounds": 7,
        "runs": 8,
        "experiments": experiments,
    }
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return path


def time_run(lab: Lab, config: Path, *arguments: str) -> float:
    """Returns the wall time in seconds of a run, which must succeed."""
    begin = time.monotonic()
    process = lab.run([ROOT / "build" / "etprof", "run", config, *arguments], timeout=600)
    elapsed = time.monotonic() - begin
    if process.returncode != 0:
        sys.exit(process.stderr)
    return elapsed


def measure(repeats: int) -> list[dict[str, float]]:
    """Returns one row per repeat: seconds of each board alone, and of all at once ("all")."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lab = Lab(folder / "lab")
        try:
            for board in SLEEPS:
                lab.ssh(board)
            config = write_config(folder)
            time_run(lab, config)  # pushes the files that the boards cache
            for _ in range(repeats):
                row = {board: time_run(lab, config, "--only", board) for board in SLEEPS}
                rows.append(row | {"all": time_run(lab, config)})
        finally:
            lab.close()
    return rows


def report(rows: list[dict[str, float]]) -> str:
    """The result as Markdown."""
    ratios = [row["all"] / max(row[board] for board in SLEEPS) for row in rows]
    sequential_ratios = [row["all"] / sum(row[board] for board in SLEEPS) for row in rows]
    lines = [
        "# Three devices at once against the slowest of them alone",
        "",
        f"{len(rows)} times on a machine of {os.cpu_count()} cores, boards behind sshd on its loopback, workers that sleep "
        f"{', '.join(f'{sleep:.2f}' for sleep in SLEEPS.values())} s a burst (`bench/speed/devices.py`).",
        "",
        f"All at once took {statistics.median(ratios):.3f} times as long as the slowest alone (median; at most "
        f"{max(ratios):.3f}; asked for: at most 1.2), and {statistics.median(sequential_ratios):.3f} times as long as one after the "
        "other.",
        "",
        "| " + " | ".join(f"{board} alone, s" for board in SLEEPS) + " | all at once, s | ratio to the slowest |",
        "| " + " | ".join("---:" for _ in range(len(SLEEPS) + 2)) + " |",
    ]
    for row, ratio in zip(rows, ratios, strict=True):
        cells = [f"{row[board]:.2f}" for board in SLEEPS] + [f"{row['all']:.2f}", f"{ratio:.3f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    text = report(measure(arguments.repeats))
    print(text)
    if arguments.out:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
