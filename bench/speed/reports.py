"""What writing costs beyond the analysis, of one large ETDump: the page, and traces for viewers.

    .venv/bin/python bench/speed/reports.py BIG.etdump [--out FILE.md] [--times 5]

BIG.etdump: as for inspector.py.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from processes import cache, measure_process

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Measures the cases interleaved, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etdump", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    cache(options.etdump)
    etprof = ROOT / "build/etprof"
    memory = Path("/dev/shm")  # noqa: S108  a memory file system is intended
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        folder = Path(name)
        # The first case reads, analyzes, and shows a screen, as all other cases do, too.
        cases = {
            "analysis alone": ([etprof, "analyze", options.etdump], None),
            "report.html": ([etprof, "report", options.etdump, "--out", folder / "r.html"], folder / "r.html"),
            "report.md": ([etprof, "report", options.etdump, "--out", folder / "r.md"], folder / "r.md"),
            **{
                f"trace, {format_name}": ([etprof, "trace", options.etdump, "-o", folder / file], folder / file)
                for format_name, file in {
                    "Perfetto": "t.pftrace",
                    "Perfetto, gzip": "t.pftrace.gz",
                    "Chrome JSON": "t.json",
                    "Chrome JSON, gzip": "t.json.gz",
                }.items()
            },
        }
        seconds = {case: [] for case in cases}
        for _ in range(options.times):
            for case, (command, _) in cases.items():
                seconds[case].append(measure_process(command)[0])
        analysis_seconds = statistics.median(seconds["analysis alone"])
        lines = [
            f"An ETDump of {options.etdump.stat().st_size / 1e6:.0f} MB, whole processes in turns, {options.times} times,"
            " medians. Output to a memory file system.",
            "",
            "| what is written | time | beyond the analysis | size |",
            "|---|---:|---:|---:|",
        ]
        for case, (_, file) in cases.items():
            median = statistics.median(seconds[case])
            size = f"{file.stat().st_size / 1e6:.1f} MB" if file else ""
            lines.append(
                f"| {case} | {median:.2f} s | {f'{median - analysis_seconds:.2f} s' if file else ''} | {size} |"
            )
    text = "\n".join(lines) + "\n"
    print(text)
    if options.out:
        options.out.write_text(f"# Writing reports and traces\n\n{text}")


if __name__ == "__main__":
    main()
