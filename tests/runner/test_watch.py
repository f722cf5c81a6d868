"""`{"cmd": "watch"}`: which functions XNNPACK calls, against gdb and against the process's own memory."""

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


def watched(worker: Any, model: Path, *words: str) -> dict:
    """The reply, with each function's index replaced by its entry."""
    process = worker(*words)
    process.ask("load", model=str(model))
    return process.ask("watch", runs=RUNS, warmup=0)


def output(*words: str | Path) -> str:
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, timeout=300)
    return done.stdout + done.stderr


def operators(reply: dict, kind: str = "backend") -> list[dict]:
    return [op for op in reply["operators"] if op["kind"] == kind]


def calls(reply: dict, op: dict, *, tasks: bool) -> dict[int, int]:
    """Of one run, by address: of what the thread pool was given, or of what tasks called."""
    counted = {}
    for one in op["functions"]:
        if one["is_task"] == tasks:
            address = reply["functions"][one["function"]]["address"]
            counted[address] = sum(one["calls"]) / op["runs"]
    return counted


WATCHED = re.compile(r"pthreadpool_par|kai_run")


def slots(process: Any, names: re.Pattern[str] = WATCHED) -> dict[str, int]:
    """What the process's memory holds in the words through which XNNPACK's library calls functions of these names."""
    maps = Path(f"/proc/{process.process.pid}/maps").read_text(encoding="utf-8").splitlines()
    first = next(line for line in maps if line.endswith("libexecutorch_backend_xnnpack.so")).split()
    base, library = int(first[0].split("-")[0], 16), first[-1]
    relocations = output("readelf", "-rW", library)
    words = {}
    with Path(f"/proc/{process.process.pid}/mem").open("rb") as memory:
        for line in relocations.splitlines():
            parts = line.split()
            if len(parts) < 5 or not re.search("JUMP_SLO|GLOB_DAT", parts[2]) or not names.match(parts[4]):
                continue
            memory.seek(base + int(parts[0], 16))
            words[parts[4].partition("@")[0]] = int.from_bytes(memory.read(8), "little")
    return words


def check_timeline(reply: dict) -> None:
    """When operators and threads worked, in one of the runs: every operator once, and its threads' tasks within it."""
    timeline = reply["timeline"]
    assert timeline["begin_ns"] > 0 and timeline["left_out"] == 0
    spans = {span["operator"]: span for span in timeline["spans"]}
    assert len(spans) == len(timeline["spans"]) == len(reply["operators"])
    whole = timeline["spans"][0]
    assert reply["operators"][whole["operator"]]["kind"] == "method" and whole["begin_ns"] == 0
    for index, op in enumerate(reply["operators"]):
        span = spans[index]
        assert 0 <= span["begin_ns"] <= span["end_ns"] <= whole["end_ns"]
        for one in span["slices"]:
            assert span["begin_ns"] <= one["begin_ns"] <= one["end_ns"] <= span["end_ns"]
            assert 0 < one["busy_ns"] <= one["end_ns"] - one["begin_ns"]
        if op["kind"] == "backend":  # with more threads some regions have another number of tasks in every run
            tasks = sum(one["tasks"] for one in span["slices"])
            assert reply["threads"] > 1 or tasks * op["runs"] == op["threads"][0]["tasks"]
            assert (tasks > 0) == (op["regions"] > 0)
            assert len(span["slices"]) * op["runs"] <= op["regions"] * reply["threads"]
    for thread in range(reply["threads"]):
        own = [one for span in timeline["spans"] for one in span["slices"] if one["thread"] == thread]
        own.sort(key=lambda one: one["begin_ns"])
        assert all(one["end_ns"] <= after["begin_ns"] for one, after in itertools.pairwise(own))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_all_time_of_all_threads_is_busy_or_waiting(worker: Any, toy: Path, threads: int) -> None:
    reply = watched(worker, toy, f"--cpu_threads={threads}")
    assert reply["why_not"] == "" and reply["outputs_compared"] and reply["unmatched_calls"] == 0
    assert reply["threads"] == threads
    for op in reply["operators"]:
        assert len(op["threads"]) == threads
        assert sum(thread["busy_ns"] + thread["waiting_ns"] for thread in op["threads"]) == threads * op["time_ns"]
        assert all(0 <= thread["busy_ns"] <= op["parallel_ns"] <= op["time_ns"] for thread in op["threads"])
        tasks = sum(thread["tasks"] for thread in op["threads"])
        assert tasks == sum(sum(one["calls"]) for one in op["functions"] if one["is_task"])
    (call,) = operators(reply, "delegate_call")
    for thread in range(threads):
        inside = sum(op["threads"][thread]["busy_ns"] for op in operators(reply))
        assert inside == call["threads"][thread]["busy_ns"]
    check_timeline(reply)


def test_the_same_kernels_are_called_as_often_in_every_run(worker: Any, toy: Path) -> None:
    seen = []
    for threads in (1, 1, 2):
        reply = watched(worker, toy, f"--cpu_threads={threads}")
        seen.append({op["name"]: calls(reply, op, tasks=False) for op in operators(reply)})
    assert seen[0] == seen[1]
    products = [name for name in seen[0] if "GEMM" in name]
    assert len(products) == 5
    for name in products:  # tiles are cut otherwise for more threads, and the functions are the same
        assert len(seen[0][name]) == 1 and set(seen[0][name]) == set(seen[2][name])


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
    reply = watched(worker, models / "portable_add.pte")
    assert "no call of XNNPACK was seen" in reply["why_not"]
    assert reply["functions"] == reply["operators"] == []


def test_gdb_sees_the_same_entries(runner: Path, worker: Any, toy: Path, tmp_path: Path) -> None:
    """Breakpoints at five functions, in a run that nothing watches."""
    if shutil.which("gdb") is None:
        skip("gdb is not installed")
    reply = watched(worker, toy, "--cpu_threads=1")
    expected: dict[int, int] = {}
    for op in operators(reply):
        for address, count in calls(reply, op, tasks=False).items():
            expected[address] = expected.get(address, 0) + int(count)
    chosen = sorted(expected, key=lambda address: expected[address])[-5:]
    assert len(chosen) == 5
    script = tmp_path / "commands"
    lines = ["set pagination off", "set breakpoint pending on", "set confirm off", "catch load backend_xnnpack", "run",
             "python base = next(int(l.split('-')[0], 16) for l in open(f'/proc/{gdb.selected_inferior().pid}/maps')"
             " if 'backend_xnnpack' in l)"]  # fmt: skip
    for number, address in enumerate(chosen):
        lines += [f"python gdb.execute('break *%d' % (base + {address}))", f"ignore {number + 2} 1000000"]
    lines += ["continue", "info breakpoints"]
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    program = [runner, "--model_path", toy, "--num_executions", "2", "--cpu_threads", "1"]
    said = output("gdb", "-q", "-batch", "-x", script, "--args", *program)
    if "Could not trace the inferior" in said or "ptrace" in said:
        pytest.skip("the system forbids to trace processes, which no installation changes")
    hits = [int(n) for n in re.findall(r"breakpoint already hit (\d+) times?", said)]
    assert hits[-5:] == [2 * expected[address] for address in chosen], said[-2000:]


def test_too_many_runs_are_refused(worker: Any, toy: Path) -> None:
    process = worker()
    process.ask("load", model=str(toy))
    assert '"runs" must be at most 1000' in process.refused("watch", runs=100000)
