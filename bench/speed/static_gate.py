"""Processor time of `etprof check --static`, of the pairs that its tests have and of pairs of your own.

.venv/bin/python bench/speed/static_gate.py [A.pte B.pte]... [--out FILE.md] [--times 20]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from processes import cache

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python/tests/programs"), str(ROOT / "tests")]

from test_static_gate import WORSE, Exports  # noqa: E402 - found by the path above


def processor_ms(baseline: Path, candidate: Path) -> float:
    """Returns user and system time (ms) of one check, whether it passes or fails."""
    command = [ROOT / "build/etprof", "check", "--static", baseline, candidate]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"failed: {command}")
    return 1000 * (usage.ru_utime + usage.ru_stime)


def main() -> None:
    """Measures each pair, and its baseline against itself."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--times", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        exports = Exports(Path(folder))
        pairs = [(name, exports[pair[0]], exports[pair[1]]) for name, pair in WORSE.items()]
        given_programs = arguments.programs
        pairs += [(f"{a.stem}, {b.stem}", a, b) for a, b in zip(given_programs[::2], given_programs[1::2], strict=True)]
        lines = [
            "# The static gate\n",
            f"One run of `bench/speed/static_gate.py`: milliseconds of processor time (user and system) of a whole process,\n"
            f"the files in the page cache. Median and largest of {arguments.times}. A/A: the baseline against itself.\n",
            "| pair | MB | A/B | most | A/A | most |",
            "|---|--:|--:|--:|--:|--:|",
        ]
        for name, baseline, candidate in pairs:
            for path in (baseline, candidate):
                cache(path)
            megabytes = (baseline.stat().st_size + candidate.stat().st_size) / 1e6
            row = [name, f"{megabytes:.2f}"]
            for compared in (candidate, baseline):
                times = [processor_ms(baseline, compared) for _ in range(arguments.times)]
                row += [f"{statistics.median(times):.1f}", f"{max(times):.1f}"]
            lines.append(f"| {' | '.join(row)} |")
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
