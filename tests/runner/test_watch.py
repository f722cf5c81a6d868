"""`{"cmd": "watch"}`: the functions that XNNPACK calls, compared with gdb and with the process's memory."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from runner_bench import skip

POOL = re.compile(r"pthreadpool_parallelize_\w+")
RUNS = 3


def watch(worker: Any, model: Path, *arguments: str) -> dict:
    """Starts a worker, loads the model, and returns the reply of `watch`."""
    process = worker(*arguments)
    process.ask("load", model=str(model))
    return process.ask("watch", runs=RUNS, warmup=0)


def output(*arguments: str | Path) -> str:
    completed = subprocess.run([*map(str, arguments)], capture_output=True, text=True, check=False, timeout=300)
    return completed.stdout + completed.stderr


def operators(reply: dict, kind: str = "backend") -> list[dict]:
    return [op for op in reply["operators"] if op["kind"] == kind]


def calls(reply: dict, op: dict, *, tasks: bool) -> dict[int, int]:
    """The calls per run by the function's address: tasks of the thread pool, or functions that tasks called."""
    counted = {}
    for function in op["functions"]:
        if function["is_task"] == tasks:
            address = reply["functions"][function["function"]]["address"]
            counted[address] = sum(function["calls"]) / op["runs"]
    return counted


WATCHED = re.compile(r"pthreadpool_par|kai_run")


def slots(process: Any, names: re.Pattern[str] = WATCHED) -> dict[str, int]:
    """Reads the slots (GOT entries) from the process's memory through which XNNPACK's library calls functions of these
    names: address by name."""
    maps = Path(f"/proc/{process.process.pid}/maps").read_text(encoding="utf-8").splitlines()
    first = next(line for line in maps if line.endswith("libexecutorch_backend_xnnpack.so")).split()
    base, library = int(first[0].split("-")[0], 16), first[-1]
    relocations = output("readelf", "-rW", library)
    addresses = {}
    with Path(f"/proc/{process.process.pid}/mem").open("rb") as memory:
        for line in relocations.splitlines():
            parts = line.split()
            if len(parts) < 5 or not re.search("JUMP_SLO|GLOB_DAT", parts[2]) or not names.match(parts[4]):
                continue
            memory.seek(base + int(parts[0], 16))
            addresses[parts[4].partition("@")[0]] = int.from_bytes(memory.read(8), "little")
    return addresses


def check_timeline(reply: dict) -> None:
    """Checks that the timeline has every operator once, and that the tasks of its threads are within it."""
    timeline = reply["timeline"]
    assert timeline["begin_ns"] > 0 and timeline["left_out"] == 0
    spans = {span["operator"]: span for span in timeline["spans"]}
    assert len(spans) == len(timeline["spans"]) == len(reply["operators"])
    whole = timeline["spans"][0]
    assert reply["operators"][whole["operator"]]["kind"] == "method" and whole["begin_ns"] == 0
    for index, op in enumerate(reply["operators"]):
        span = spans[index]
        assert 0 <= span["begin_ns"] <= span["end_ns"] <= whole["end_ns"]
        for thread_slice in span["slices"]:
            assert span["begin_ns"] <= thread_slice["begin_ns"] <= thread_slice["end_ns"] <= span["end_ns"]
            assert 0 < thread_slice["busy_ns"] <= thread_slice["end_ns"] - thread_slice["begin_ns"]
        if op["kind"] == "backend":  # with several threads, the number of tasks of some regions varies between runs
            tasks = sum(thread_slice["tasks"] for thread_slice in span["slices"])
            assert reply["threads"] > 1 or tasks * op["runs"] == op["threads"][0]["tasks"]
            assert (tasks > 0) == (op["regions"] > 0)
            assert len(span["slices"]) * op["runs"] <= op["regions"] * reply["threads"]
    for thread in range(reply["threads"]):
        slices = [
            thread_slice
            for span in timeline["spans"]
            for thread_slice in span["slices"]
            if thread_slice["thread"] == thread
        ]
        slices.sort(key=lambda thread_slice: thread_slice["begin_ns"])
        assert all(
            thread_slice["end_ns"] <= next_slice["begin_ns"] for thread_slice, next_slice in itertools.pairwise(slices)
        )


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_all_time_of_all_threads_is_busy_or_waiting(worker: Any, toy: Path, threads: int) -> None:
    reply = watch(worker, toy, f"--cpu_threads={threads}")
    assert reply["why_not"] == "" and reply["outputs_compared"] and reply["unmatched_calls"] == 0
    assert reply["threads"] == threads
    for op in reply["operators"]:
        assert len(op["threads"]) == threads
        assert sum(thread["busy_ns"] + thread["waiting_ns"] for thread in op["threads"]) == threads * op["time_ns"]
        assert all(0 <= thread["busy_ns"] <= op["parallel_ns"] <= op["time_ns"] for thread in op["threads"])
        tasks = sum(thread["tasks"] for thread in op["threads"])
        assert tasks == sum(sum(function["calls"]) for function in op["functions"] if function["is_task"])
    (call,) = operators(reply, "delegate_call")
    for thread in range(threads):
        inside = sum(op["threads"][thread]["busy_ns"] for op in operators(reply))
        assert inside == call["threads"][thread]["busy_ns"]
    check_timeline(reply)


def test_the_same_kernels_are_called_as_often_in_every_run(worker: Any, toy: Path) -> None:
    calls_by_run = []
    for threads in (1, 1, 2):
        reply = watch(worker, toy, f"--cpu_threads={threads}")
        calls_by_run.append({op["name"]: calls(reply, op, tasks=False) for op in operators(reply)})
    assert calls_by_run[0] == calls_by_run[1]
    products = [name for name in calls_by_run[0] if "GEMM" in name]
    assert len(products) == 5
    for name in products:  # more threads have other tiles, but the functions are the same
        assert len(calls_by_run[0][name]) == 1 and set(calls_by_run[0][name]) == set(calls_by_run[2][name])


def test_every_call_is_put_back(worker: Any, toy: Path) -> None:
    process = worker("--cpu_threads=2")
    process.ask("load", model=str(toy))
    before = slots(process)
    assert len([name for name in before if POOL.match(name)]) >= 20
    process.ask("burst", max_runs=3)
    assert slots(process) == before
    assert process.ask("watch", runs=1)["functions"]
    assert slots(process) == before
    assert process.ask("burst", max_runs=3)["untraced_ns"]
    assert process.ask("watch", runs=1)["functions"]


def test_a_program_without_xnnpack_cannot_be_watched(worker: Any, models: Path) -> None:
    reply = watch(worker, models / "portable_add.pte")
    assert "no call of XNNPACK was seen" in reply["why_not"]
    assert reply["functions"] == reply["operators"] == []


def test_gdb_sees_the_same_entries(runner: Path, worker: Any, toy: Path, tmp_path: Path) -> None:
    """Sets breakpoints at five functions in a run without `watch`."""
    if shutil.which("gdb") is None:
        skip("gdb is not installed")
    reply = watch(worker, toy, "--cpu_threads=1")
    expected: dict[int, int] = {}
    for op in operators(reply):
        for address, count in calls(reply, op, tasks=False).items():
            expected[address] = expected.get(address, 0) + int(count)
    breakpoints = sorted(expected, key=lambda address: expected[address])[-5:]
    assert len(breakpoints) == 5
    script = tmp_path / "commands"
    lines = ["set pagination off", "set breakpoint pending on", "set confirm off", "catch load backend_xnnpack", "run",
             "python base = next(int(l.split('-')[0], 16) for l in open(f'/proc/{gdb.selected_inferior().pid}/maps')"
             " if 'backend_xnnpack' in l)"]  # fmt: skip
    for number, address in enumerate(breakpoints):
        lines += [f"python gdb.execute('break *%d' % (base + {address}))", f"ignore {number + 2} 1000000"]
    lines += ["continue", "info breakpoints"]
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    program = [runner, "--model_path", toy, "--num_executions", "2", "--cpu_threads", "1"]
    log = output("gdb", "-q", "-batch", "-x", script, "--args", *program)
    if "Could not trace the inferior" in log or "ptrace" in log:
        pytest.skip("the system forbids to trace processes, which no installation changes")
    hits = [int(n) for n in re.findall(r"breakpoint already hit (\d+) times?", log)]
    assert hits[-5:] == [2 * expected[address] for address in breakpoints], log[-2000:]


def test_too_many_runs_are_refused(worker: Any, toy: Path) -> None:
    process = worker()
    process.ask("load", model=str(toy))
    assert '"runs" must be at most 1000' in process.expect_error("watch", runs=100000)
