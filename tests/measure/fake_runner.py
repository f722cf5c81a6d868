#!/usr/bin/env python3
"""A fake executor_runner: prints a log, and copies an ETDump of 20 runs. It does not support --worker.

FAKE_LOG      stdout: prints "Iteration" lines to stdout; 0: prints none [to stderr, as ExecuTorch's runner does]
FAKE_SECONDS  duration of each run, seconds [0]
FAKE_ETDUMP   0: writes no ETDump
FAKE_EXIT     its exit code, or -signal [0]
FAKE_FAIL_ONCE  "<folder>:<process>": that process, counted from 1, exits with an error before its first run
FAKE_NAN      1: prints an output with NaN
FAKE_XNNPACK  1: prints the output of a real kernel-log runner, with XNNPACK's log on stderr
FAKE_HOLD     after the output, waits while this file exists
FAKE_ENDLESS  "slow...", "fast...": writes this text without end; else a file that it makes when it has closed stdout, and goes on
"""

import os
import pathlib
import shutil
import sys
import time

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
ETDUMP = DATA / "toy_cnn.t1.etdump"
TRACE = DATA / "toy_cnn.t1.log"


def hold() -> None:
    sys.stdout.flush()
    while pathlib.Path(os.environ.get("FAKE_HOLD", "/nonexistent")).exists():
        time.sleep(0.01)


def fail_once() -> None:
    folder, _, failing = os.environ.get("FAKE_FAIL_ONCE", "").rpartition(":")
    if not folder:
        return
    processes = pathlib.Path(folder)
    processes.mkdir(exist_ok=True)
    (processes / str(os.getpid())).touch()
    if len(list(processes.iterdir())) == int(failing):
        sys.exit("E: out of memory")


def go_on_without_end() -> None:
    endless = os.environ.get("FAKE_ENDLESS", "")
    while endless.startswith(("slow", "fast")):
        print(endless, flush=True)
        time.sleep(0.01 if endless.startswith("slow") else 0)
    if endless:
        os.close(1)
        pathlib.Path(endless).touch()
        time.sleep(600)


def main() -> None:
    flags = dict(a[2:].partition("=")[::2] for a in sys.argv[1:])
    if "worker" in flags:
        sys.exit("ERROR: unknown command line flag 'worker'")
    fail_once()
    go_on_without_end()
    runs = int(flags["num_executions"])
    log = sys.stdout if os.environ.get("FAKE_LOG") == "stdout" else sys.stderr
    for i in range(runs):
        time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
        if os.environ.get("FAKE_LOG") != "0":
            print(
                f"I 00:00:00.{i:06} executorch:executor_runner.cpp:779] Iteration {i + 1} of {runs}: {2 + i / 1000:.6f} ms",
                file=log,
                flush=True,
            )
    if os.environ.get("FAKE_NAN") == "1":
        print("OutputX 0: tensor(sizes=[1, 2], [\n  nan, 1.,\n])")
    if os.environ.get("FAKE_XNNPACK") == "1":
        for line in TRACE.read_text(encoding="utf-8").splitlines():
            if "(XNNPACK)" in line:
                print(line, file=sys.stderr if line.startswith("Note") else sys.stdout)
    hold()
    if os.environ.get("FAKE_ETDUMP") != "0":
        shutil.copyfile(ETDUMP, flags["etdump_path"])
    sys.stdout.flush()
    code = int(os.environ.get("FAKE_EXIT", "0"))
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


main()
