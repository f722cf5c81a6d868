"""A history of a million runs: what it takes to show the trend of one model, to check it, and to add a run.

    .venv/bin/python bench/speed/history.py [--runs 1000000] [--out bench/results/speed/history.md]

The runs are made: 20 models, 4 devices, and 5 experiments, each of them with a commit an hour, 10 launches, and the self
times of 12 operators by launch. Only the first one is measured, with the tests' scripted worker, so that etprof makes the file.
"""

import argparse
import json
import math
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS, DEVICES, EXPERIMENTS, LAUNCHES, OPERATORS = 20, 4, 5, 10, 12


def measure_run(folder: pathlib.Path, etprof: str) -> pathlib.Path:
    """Measures two launches, and returns the results directory."""
    config = folder / "config.json"
    experiment = {"name": "base", "runner_path": str(ROOT / "tests/measure/fake_worker.py"), "runs": 10}
    experiment["env"] = {"FAKE_STATE": str(folder / "state")}
    out = folder / f"run{len(list(folder.glob('run*')))}"
    keys = {"model": str(ROOT / "tests/data/toy_cnn.pte"), "output_root": str(out), "launches": 2}
    config.write_text(json.dumps(keys | {"experiments": [experiment]}))
    subprocess.run([etprof, "run", str(config)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return out


def fill(file: pathlib.Path, runs: int) -> None:
    """Adds `runs` runs. Every tenth series has a step of 3% in its last quarter."""
    database = sqlite3.connect(file)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA journal_mode = MEMORY")
    database.execute("PRAGMA cache_size = -400000")
    generator = random.Random(1)  # noqa: S311 (not for secrets)
    series = [(m, d, e) for m in range(MODELS) for d in range(DEVICES) for e in range(EXPERIMENTS)]
    database.executemany(
        "INSERT INTO series VALUES(?, ?, 'forward', ?, 1, '', ?)",
        [(100 + i, f"model_{m:02}", f"variant_{e}", f"device_{d}") for i, (m, d, e) in enumerate(series)],
    )
    database.executemany(
        "INSERT INTO operator VALUES(?, ?, ?)",
        [(1000 + i, f"forward/{i}/kernel/0", f"op {i}") for i in range(OPERATORS)],
    )
    runs_per_series = runs // len(series)
    machine, artifact = 1, 1
    levels = [math.log(1e6 * (1 + m)) for m, _, _ in series]
    run_count = 0
    for hour in range(runs_per_series):
        run_rows, result_rows, launch_rows, operator_rows = [], [], [], []
        for i in range(len(series)):
            run_count += 1
            run_id, timestamp = 1000 + run_count, 1_600_000_000 + 3600 * hour
            step = 0.03 if i % 10 == 3 and hour >= runs_per_series - 50 else 0.0
            level = levels[i] + step + generator.gauss(0, 0.004)
            run_rows.append((run_id, f"made {run_count}", f"c{hour:08x}", timestamp, timestamp + 60, machine, LAUNCHES))
            result_rows.append((run_id, 100 + i, run_id, timestamp, timestamp + 60, artifact, 20))
            times = [round(math.exp(level + generator.gauss(0, 0.01))) for _ in range(LAUNCHES)]
            launch_rows += [(run_id, n, times[n], 90, 100, times[n]) for n in range(LAUNCHES)]
            total = round(20 * math.exp(level) / OPERATORS)
            for n in range(OPERATORS):
                parts = [round(time / OPERATORS + generator.gauss(0, 1000)) for time in times]
                operator_rows.append(
                    (run_id, 1000 + n, total + generator.randrange(1000), json.dumps(parts, separators=(",", ":")))
                )
        database.executemany(
            "INSERT INTO run(id, identity, commit_name, time, measured_at, etprof_version, reference, machine, launches, "
            "rounds, hot_rounds, capped_rounds, repeated_bursts) VALUES(?, ?, ?, ?, ?, '0', '', ?, ?, 70, 0, 0, 0)",
            run_rows,
        )
        database.executemany("INSERT INTO result VALUES(?, ?, ?, ?, ?, ?, ?)", result_rows)
        database.executemany("INSERT INTO launch VALUES(?, ?, ?, ?, ?, NULL, ?)", launch_rows)
        database.executemany("INSERT INTO operator_time VALUES(?, ?, ?, ?)", operator_rows)
    database.commit()
    database.close()


def time_command(command: list[str], codes: tuple[int, ...] = (0,)) -> tuple[float, float, float]:
    """Returns the medians of five calls: wall-clock seconds and processor seconds; and the largest peak memory (MB)."""
    walls, processor, memory = [], [], 0.0
    for _ in range(5):
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        error = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            sys.exit(f"{command}: {process.returncode}\n{error.decode()}")
        walls.append(time.monotonic() - begin)
        processor.append(usage.ru_utime + usage.ru_stime)
        memory = max(memory, usage.ru_maxrss / 1e3)
    return sorted(walls)[2], sorted(processor)[2], memory


def main() -> None:
    """Makes the file, times the queries, and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench/results/speed/history.md")
    parser.add_argument("--etprof", default=str(ROOT / "build/etprof"))
    parser.add_argument("--fill", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fill:
        fill(arguments.fill, arguments.runs)
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="etprof-history-"))
    try:
        file = folder / "history.sqlite"
        etprof = [arguments.etprof, "history"]
        first = measure_run(folder, arguments.etprof)
        subprocess.run(
            [*etprof, "add", first, "--commit", "c", "--history", file], check=True, stdout=subprocess.DEVNULL
        )
        begin = time.monotonic()
        # In a separate process, since its memory would count as peak memory of later child processes.
        subprocess.run([sys.executable, __file__, "--runs", str(arguments.runs), "--fill", file], check=True)
        seconds = time.monotonic() - begin
        with sqlite3.connect(file) as database:
            runs = database.execute("SELECT count(*) FROM run").fetchone()[0]
        database.close()
        show_options = ["--model", "model_07", "--history", str(file)]
        series_options = [*show_options, "--device", "device_1", "--experiment", "variant_3"]
        lines = [
            (
                "trends of one model (20 series, the last 200 runs of each)",
                time_command([*etprof, "show", *show_options]),
            ),
            ("one series of it, the last 200 runs", time_command([*etprof, "show", *series_options])),
            ("one series of it, all runs", time_command([*etprof, "show", *series_options, "--last", "0"])),
            (
                "self time of an operator in that series",
                time_command([*etprof, "show", *series_options, "--operator", "op 3"]),
            ),
            ("check of one model", time_command([*etprof, "check", *show_options], (0, 1, 5))),
        ]
        adds = []
        for number in range(3):
            run = measure_run(folder, arguments.etprof)
            begin = time.monotonic()
            command = [*etprof, "add", run, "--commit", f"n{number}", "--history", file]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            adds.append(time.monotonic() - begin)
        size = file.stat().st_size
    finally:
        shutil.rmtree(folder)
    text = [
        "# A history of many runs",
        "",
        f"Made by `bench/speed/history.py`: {runs:,} runs in {MODELS * DEVICES * EXPERIMENTS} series ({MODELS} models), each with "
        f"{LAUNCHES} launches and {OPERATORS} operators, in a file of {size / 1e9:.2f} GB ({size / runs:.0f} bytes a run). "
        "Medians of five calls on a shared two-core x86-64 virtual machine, the start of the program included.",
        "",
        "| question | wall clock | processor time | peak memory |",
        "| --- | ---: | ---: | ---: |",
        *(f"| {name} | {wall:.2f} s | {cpu:.2f} s | {memory:.0f} MB |" for name, (wall, cpu, memory) in lines),
        "",
        f"To add a measured run to it takes {sorted(adds)[1]:.2f} s, its traces read. (The made runs were inserted at "
        f"{runs / seconds:,.0f} a second, by Python.)",
        "",
    ]
    arguments.out.write_text("\n".join(text))


if __name__ == "__main__":
    main()
