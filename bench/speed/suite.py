#!/usr/bin/env python3
"""A suite of six models, two data types, and three devices of the tests' lab, killed ten times and resumed.

The devices are this machine, a board behind a real sshd, and a phone behind a real adbd. The moments of the kills
(SIGKILL) are random. Writes bench/results/speed/suite.md. Needs root (the lab's network), script/bootstrap --dev, and an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "devices")]
from lab import Lab  # noqa: E402

ETPROF = ROOT / "build" / "etprof"
MODELS = ["toy_cnn", "mobilenet_v3_small", "image_encoder", "transformer_layer", "vit_block", "stateful_decoder=decode"]


def read_complete_launches(root: Path) -> dict[tuple[str, str, int], str]:
    """Returns the bursts of every stored complete launch as text."""
    stored = {}
    for path in sorted((root / "runs").glob("*/*/*/manifest.json")):
        manifest = json.loads(path.read_text())
        for result in manifest["results"]:
            for launch in result["launches"]:
                if launch["status"] == "complete":
                    key = (
                        str(path.parent.relative_to(root)),
                        f"{result['experiment']}/{result['threads']}",
                        launch["index"],
                    )
                    stored[key] = json.dumps(launch.get("bursts"), sort_keys=True)
    return stored


def main() -> None:
    """Makes the lab, and measures there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--models", default=",".join(MODELS), help="what etprof export takes, and =METHOD, separated by commas"
    )
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--between", type=float, default=60, help="seconds from one kill to the next, at most")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/speed/suite.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lab = Lab(folder / "lab")
        try:
            measure(lab, folder, options)
        finally:
            lab.close()


def measure(lab: Lab, folder: Path, options: argparse.Namespace) -> None:
    """Runs the suite to its end, with kills, and reports lost launches."""
    board = lab.ssh("board")
    phone = lab.adb("phone", abi="x86_64")
    phone.connect()
    models = options.models.split(",")
    suite = {
        "models": [dict(zip(("model", "method"), model.split("="), strict=False)) for model in models],
        "dtypes": ["fp32", "int8"],
        "devices": ["local", board.spec, phone.spec],
        "variants": ["threads=2"],
        "runner_path": str(ETPROF.resolve().parent / "etprof-runner"),
        "output_root": str(folder / "out"),
        "max_seconds": 4,
        "peaks": False,
    }
    path = folder / "suite.json"
    path.write_text(json.dumps(suite))
    root = folder / "out"
    environment = {**lab.environment, "ETPROF_DEVICE_DIR": str(folder)}
    start = time.monotonic()
    # Exports take longest and are made once, so the suite is only killed after the first cell has begun.
    generator = random.Random(24)  # noqa: S311
    lost = kills = measured_twice = 0
    stored_before: dict[tuple[str, str, int], str] = {}
    finished: dict[str, int] = {}
    exit_code = None
    while exit_code is None:
        process = subprocess.Popen(lab.command([ETPROF, "suite", path]), env=environment, stdout=subprocess.DEVNULL)
        while process.poll() is None and not (root / "runs").exists():
            time.sleep(0.2)
        try:
            exit_code = process.wait(generator.uniform(1, options.between) if kills < options.kills else None)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        stored_now = read_complete_launches(root)
        lost += sum(stored_now.get(key) != value for key, value in stored_before.items())
        for manifest in (root / "runs").glob("*/*/*/manifest.json"):
            if json.loads(manifest.read_text())["status"] == "complete":
                key, stamp = str(manifest.parent.relative_to(root)), manifest.stat().st_mtime_ns
                measured_twice += finished.setdefault(key, stamp) != stamp
        stored_before = stored_now
    report = json.loads((root / "suite_report.json").read_text())
    statuses = [cell["status"] for cell in report["cells"]]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    lines = [
        "# A suite that is killed",
        "",
        f"`bench/speed/suite.py`: {len(models)} model{'s' if len(models) > 1 else ''} x 2 data types x 3 devices (this machine, ssh, and adb on its loopback), one",
        f"variant, {suite['max_seconds']} s for each pair, on {os.cpu_count()} processors that the three devices share.",
        "",
        "| | |",
        "| --- | --- |",
        f"| cells measured | {statuses.count('measured')} of {len(statuses)} |",
        f"| killed with SIGKILL | {kills} times |",
        f"| complete launches at the end | {len(stored_before)} |",
        f"| of those stored before a kill: lost or changed after it | {lost} |",
        f"| finished cells that were measured again | {measured_twice} |",
        f"| exit code of the last one | {exit_code} |",
        f"| minutes, with exports | {(time.monotonic() - start) / 60:.0f} |",
        f"| peak memory of the largest process (exports included) | {peak:.0f} MB |",
    ]
    text = "\n".join(lines) + "\n"
    options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
