"""The worker's protocol (src/protocol/messages.h)."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from runner_bench import TIMEOUT, Run, events


def page_faults(process: int) -> int:
    """Minor and major page faults: fields 10 and 12 of proc(5)'s stat."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[7]) + int(fields[9])


def test_a_launch(worker: Any, toy: Path, tmp_path: Path) -> None:
    process = worker("--cpu_threads", 1)
    ready = process.ready
    assert ready["protocol"] == 2
    assert ready["pid"] == process.process.pid
    assert ready["threads"] == 1
    assert ready["executorch_version"]
    assert ready["clocks"]["monotonic_ns"] > 0
    load = process.ask("load", model=toy)
    assert load["inputs"] == [{"dtype": "Float", "shape": [1, 3, 224, 224]}]
    assert load["outputs"] == [{"dtype": "Float", "shape": [1, 10]}]
    assert load["backends"] == ["XnnpackBackend"]
    assert load["inputs_from"] == "random, seed 0"
    assert 0 < load["load_ns"] < 60e9
    faults = page_faults(process.process.pid)
    first = process.ask("burst", min_opening=4, min_runs=3, target_ns=0, traced_runs=2)
    assert 0 < first["page_faults"] <= page_faults(process.process.pid) - faults, "the first run meets pages"
    assert first["first_run_traced"]
    assert len(first["opening_ns"]) >= 4
    assert len(first["untraced_ns"]) == 3
    assert len(first["traced_ns"]) == 2
    assert first["start_ns"] < first["end_ns"]
    total = sum(first["opening_ns"] + first["untraced_ns"] + first["traced_ns"])
    assert total <= first["end_ns"] - first["start_ns"]
    assert first["cpu_time_ns"] > 0
    second = process.ask("burst", min_runs=1, target_ns=30_000_000)
    assert not second["first_run_traced"]
    assert second["end_ns"] - second["start_ns"] >= 30_000_000
    assert sum(second["untraced_ns"][:-1]) < 30_000_000
    assert second["traced_ns"] == []
    assert second["start_ns"] >= first["end_ns"]
    outputs = process.ask("outputs", save_to=tmp_path / "o")["outputs"]
    assert outputs[0]["nan_count"] == 0
    assert abs(outputs[0]["mean"] - 0.1) < 1e-6
    # The ETDump has the load, the launch's first run, and the traced runs. The next ETDump does not repeat them.
    assert process.ask("etdump", path=tmp_path / "1.etdump")["blocks"] == 4
    assert [name for name, _ in events(tmp_path / "1.etdump")] == ["Default", "Execute", "Execute", "Execute"]
    assert "nothing was traced" in process.expect_error("etdump", path=tmp_path / "2.etdump")
    third = process.ask("burst", traced_runs=3)
    written = process.ask("etdump", path=tmp_path / "2.etdump")
    assert written["blocks"] == 3
    assert written["bytes"] == (tmp_path / "2.etdump").stat().st_size
    for (name, spans), traced in zip(events(tmp_path / "2.etdump"), third["traced_ns"], strict=True):
        assert name == "Execute"
        start, end = next((s, e) for n, s, e in spans if n == "Method::execute")
        assert third["start_ns"] <= start < end <= third["end_ns"]  # one clock for all
        assert end - start <= traced
    memory = process.ask("memory")
    assert 0 < memory["rss_bytes"] <= memory["peak_rss_bytes"] < 1 << 31
    assert process.ask("quit") == {"reply": "quit"}
    assert process.process.wait(TIMEOUT) == 0


def test_closed_stdin_ends_it(worker: Any, toy: Path) -> None:
    assert worker().close() == 0
    process = worker()
    process.ask("load", model=toy)
    assert process.close() == 0


def test_closed_stdin_ends_a_long_burst(worker: Any, toy: Path) -> None:
    process = worker("--cpu_threads", 1)
    process.ask("load", model=toy)
    process.send_raw(b'{"cmd": "burst", "target_ns": 3600000000000, "max_runs": 10000000}\n')
    time.sleep(0.5)
    assert process.close() == 0  # within seconds, not an hour


def test_no_reader_ends_it(worker: Any) -> None:
    process = worker()
    process.process.stdout.close()
    process.send_raw(b'{"cmd": "memory"}\n')
    assert process.process.wait(TIMEOUT) == 0


def test_malformed_lines_are_answered(worker: Any, toy: Path) -> None:
    process = worker()
    hostile = [
        b"x",
        b"{",
        b"[]",
        b"null",
        b'"load"',
        b"{}",
        b'{"cmd": 3}',
        b'{"cmd": "fly"}',
        b"\xff\xfe\x00",
        b"\x00",
        b"[" * 100_000,
        b'{"cmd": "load"}',
        b'{"cmd": "load", "model": 3}',
        b'{"cmd": "load", "model": ""}',
        b'{"cmd": "load", "model": "a\\u0000b"}',
        b'{"cmd": "burst"}',
        b'{"cmd": "outputs"}',
        b'{"cmd": "etdump"}',
        b'{"cmd": "etdump", "path": "x"}',
        b'{"cmd": "burst", "min_runs": -1}',
        b'{"cmd": "burst", "min_runs": 99999999999999999999}',
        b'{"cmd": "burst", "min_runs": 1e9}',
        b'{"cmd": "load", "model": "nix", "inputs": []}',
        b"a" * 3_000_000,
    ]
    for line in hostile:
        process.send_raw(line + b"\n")
        assert process.read()["error"], line[:60]
    process.send_raw(b"\n \r\n")  # empty lines get no reply
    process.ask("load", model=toy)
    for field in ("min_opening", "max_opening", "min_runs", "max_runs", "traced_runs"):
        assert field.split("_")[1] in process.expect_error("burst", **{field: 2_000_000_000})
    assert "target_ns" in process.expect_error("burst", target_ns=1 << 62)
    assert "period_ns" in process.expect_error("burst", period_ns=1 << 62)
    assert "min_runs" in process.expect_error("burst", min_runs=5, max_runs=4)
    assert "has not run" in process.expect_error("outputs")
    process.ask("burst")
    assert process.close() == 0


def test_a_failed_load_leaves_no_model(worker: Any, toy: Path, tmp_path: Path) -> None:
    process = worker()
    process.ask("load", model=toy)
    assert "no such file" in process.expect_error("load", model=tmp_path / "none.pte")
    assert "no model is loaded" in process.expect_error("burst")
    assert "no method" in process.expect_error("load", model=toy, method="backward")
    process.ask("load", model=toy, inputs={"kind": "ones"})
    assert "kind of inputs" in process.expect_error("load", model=toy, inputs={"kind": "wishes"})
    process.ask("load", model=toy, inputs={"kind": "random", "seed": 7})
    assert process.ask("burst")["first_run_traced"]


def test_opening_is_bounded(worker: Any, toy: Path) -> None:
    process = worker("--cpu_threads", 1)
    process.ask("load", model=toy)
    burst = process.ask("burst", min_opening=1, max_opening=2)
    assert len(burst["opening_ns"]) == 2
    assert not burst["level"]  # two runs prove nothing
    assert process.ask("burst", min_opening=0, max_opening=0)["opening_ns"] == []


def test_runs_that_are_too_short_share_a_reading(worker: Any, models: Path) -> None:
    process = worker("--cpu_threads", 1)
    process.ask("load", model=models / "portable_add.pte")
    burst = process.ask("burst", min_runs=10_000, max_runs=10_000, target_ns=0)
    runs_per_reading = burst["runs_per_reading"]
    waits = burst["untraced_wait_ns"]
    assert runs_per_reading > 1 and len(waits) == len(burst["untraced_ns"]) == 10_000
    for start in range(0, 10_000, runs_per_reading):
        assert len(set(waits[start : start + runs_per_reading])) == 1
    assert burst["untraced_cpu_ns"] == []


def test_pace(worker: Any, toy: Path) -> None:
    process = worker("--cpu_threads", 1)
    process.ask("load", model=toy)
    period = 100_000_000
    burst = process.ask("burst", min_opening=0, max_opening=0, min_runs=5, target_ns=0, period_ns=period)
    runs = len(burst["opening_ns"]) + len(burst["untraced_ns"])
    assert burst["end_ns"] - burst["start_ns"] >= (runs - 1) * period


def test_two_workers_do_not_know_each_other(worker: Any, toy: Path, tmp_path: Path) -> None:
    workers = [worker("--cpu_threads", 1), worker("--cpu_threads", 1, "--isa=none")]
    for process in workers:
        process.ask("load", model=toy)
    for _ in range(3):
        for process in workers:
            process.ask("burst", traced_runs=1)
    digests = []
    for number, process in enumerate(workers):
        digests.append(process.ask("outputs")["outputs"][0])
        assert process.ask("etdump", path=tmp_path / f"{number}")["blocks"] == 5
    assert workers[1].ready["isa"]["enabled"] == []
    assert abs(digests[0]["max"] - digests[1]["max"]) < 1e-5


def test_interrupt_is_the_orchestrators(worker: Any, toy: Path) -> None:
    process = worker()
    process.ask("load", model=toy)
    os.kill(process.process.pid, signal.SIGINT)
    process.ask("burst")
    assert process.close() == 0


def test_errors_before_it_is_ready(runner: Path) -> None:
    for args, code in ((["--isa=-nonsense"], 2), (["--load", "/no.so"], 3), (["--bad"], 2)):
        run = Run(runner, "--worker", *args)
        run.error_line(code)
        assert run.out == ""


def test_threads(worker: Any, toy: Path) -> None:
    process = worker("--cpu_threads", 2)
    assert process.ready["threads"] == 2
    process.ask("load", model=toy)
    assert process.ask("burst")["untraced_ns"]
