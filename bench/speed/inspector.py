"""etprof against what its users have today, on one large ETDump: whole process against whole process, the file in the page cache.

How the file came there matters to etprof, which maps it: read from its beginning to its end, as a copy is, or page by page.

    .venv/bin/python bench/speed/inspector.py BIG.etdump [--out FILE.md] [--times 20]

BIG.etdump: 1.5 million events or more, e.g. of
    build/etprof-runner --model_path MODEL.pte --num_executions 40000 --cpu_threads 1 --etdump_path BIG.etdump
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from processes import cache, measure_process

ROOT = Path(__file__).resolve().parents[2]
INSPECT = """
import sys
from executorch.devtools import Inspector
frame = Inspector(etdump_path=sys.argv[1]).to_dataframe()
print(len(frame))
"""


def count_events(etdump: Path, folder: Path) -> int:
    """Counts the events of the Execute blocks, which are the rows of the timeline."""
    subprocess.run([ROOT / "build/etprof", "analyze", etdump, "-o", folder, "-q"], check=True)
    with next(folder.glob("*_exec_all_runs_timeline.csv")).open("rb") as file:
        return sum(1 for _ in file) - 1


def main() -> None:
    """Measures both, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etdump", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--times", type=int, default=20)
    options = parser.parse_args()
    passes_program = ROOT / "build/release/bench/speed/passes/etprof_bench_passes"
    if not passes_program.exists():
        sys.exit(
            f"{passes_program} is not built: cmake --preset release -D ETPROF_BENCH=ON, then cmake --build --preset release"
        )
    size = options.etdump.stat().st_size
    cache(options.etdump)
    memory = Path("/dev/shm")  # noqa: S108  a memory file system is intended
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        folder = Path(name)
        events = count_events(options.etdump, folder)
        analyze = [ROOT / "build/etprof", "analyze", options.etdump, "-o", folder, "-q"]

        def launches(*arguments: str) -> list[tuple[float, int]]:
            return [measure_process([*analyze, *arguments]) for _ in range(options.times)]

        etprof_runs = launches("--no-timeline")
        csv_runs = launches()
        passes = subprocess.run([passes_program, options.etdump], capture_output=True, text=True, check=True).stdout
        inspector_run = measure_process([sys.executable, "-c", INSPECT, options.etdump])
        later_etprof_runs = launches("--no-timeline")  # again afterwards, since the machine drifts
        cache(options.etdump, page_by_page=True)
        page_by_page_seconds = statistics.median(wall for wall, _ in launches("--no-timeline"))
        cache(options.etdump)
    seconds = statistics.median(wall for wall, _ in etprof_runs + later_etprof_runs)
    csv_seconds = statistics.median(wall for wall, _ in csv_runs)
    lines = [
        f"## {events / 1e6:.2f} million events, {size / 2**20:.0f} MiB, one run of the bench",
        "",
        "| what | wall time | peak memory | |",
        "| --- | ---: | ---: | --- |",
        f"| Inspector(...).to_dataframe(), a process | {inspector_run[0]:.1f} s | {inspector_run[1] / 2**20:.0f} MiB | |",
        f"| etprof analyze -o DIR --no-timeline, a process | {1000 * seconds:.0f} ms | {max(m for _, m in etprof_runs) / 2**20:.0f} MiB "
        f"({max(m for _, m in etprof_runs) / size:.2f} times the file) | {inspector_run[0] / seconds:.0f} times less |",
        f"| the same, of a file that came into the page cache page by page | {1000 * page_by_page_seconds:.0f} ms | | "
        f"{inspector_run[0] / page_by_page_seconds:.0f} times less |",
        f"| etprof analyze -o DIR, with a row of CSV an event, to a memory file system | {1000 * csv_seconds:.0f} ms | "
        f"{max(m for _, m in csv_runs) / 2**20:.0f} MiB | |",
        "",
        passes,
    ]
    text = "\n".join(lines)
    print(text)
    if options.out:
        options.out.write_text(text)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
