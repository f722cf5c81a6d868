"""The worker's protocol (src/protocol/messages.h)."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from runner_bench import TIMEOUT, Run, events


def page_faults(process: int) -> int:
    """Minor and major ones, fields 10 and 12 of proc(5)'s stat."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[7]) + int(fields[9])


def test_a_launch(worker: Any, toy: Path, tmp_path: Path) -> None:
    one = worker("--cpu_threads", 1)
    ready = one.ready
    assert ready["protocol"] == 2
    assert ready["pid"] == one.process.pid
    assert ready["threads"] == 1
    assert ready["executorch_version"]
    assert ready["clocks"]["monotonic_ns"] > 0
    load = one.ask("load", model=toy)
    assert load["inputs"] == [{"dtype": "Float", "shape": [1, 3, 224, 224]}]
    assert load["outputs"] == [{"dtype": "Float", "shape": [1, 10]}]
    assert load["backends"] == ["XnnpackBackend"]
    assert load["inputs_from"] == "random, seed 0"
    assert 0 < load["load_ns"] < 60e9
    faults = page_faults(one.process.pid)
    first = one.ask("burst", min_opening=4, min_runs=3, target_ns=0, traced_runs=2)
    assert 0 < first["page_faults"] <= page_faults(one.process.pid) - faults, "the first run meets pages"
    assert first["first_run_traced"]
    assert len(first["opening_ns"]) >= 4
    assert len(first["untraced_ns"]) == 3
    assert len(first["traced_ns"]) == 2
    assert first["start_ns"] < first["end_ns"]
    total = sum(first["opening_ns"] + first["untraced_ns"] + first["traced_ns"])
    assert total <= first["end_ns"] - first["start_ns"]
    assert first["cpu_time_ns"] > 0
    second = one.ask("burst", min_runs=1, target_ns=30_000_000)
    assert not second["first_run_traced"]
    assert second["end_ns"] - second["start_ns"] >= 30_000_000
    assert sum(second["untraced_ns"][:-1]) < 30_000_000
    assert second["traced_ns"] == []
    assert second["start_ns"] >= first["end_ns"]
    outputs = one.ask("outputs", save_to=tmp_path / "o")["outputs"]
    assert outputs[0]["nan_count"] == 0
    assert abs(outputs[0]["mean"] - 0.1) < 1e-6
    # The ETDump: the load, the launch's first run, the traced runs; then it begins anew.
    assert one.ask("etdump", path=tmp_path / "1.etdump")["blocks"] == 4
    assert [name for name, _ in events(tmp_path / "1.etdump")] == ["Default", "Execute", "Execute", "Execute"]
    assert "nothing was traced" in one.refused("etdump", path=tmp_path / "2.etdump")
    third = one.ask("burst", traced_runs=3)
    written = one.ask("etdump", path=tmp_path / "2.etdump")
    assert written["blocks"] == 3
    assert written["bytes"] == (tmp_path / "2.etdump").stat().st_size
    for (name, spans), traced in zip(events(tmp_path / "2.etdump"), third["traced_ns"], strict=True):
        assert name == "Execute"
        start, end = next((s, e) for n, s, e in spans if n == "Method::execute")
        assert third["start_ns"] <= start < end <= third["end_ns"]  # one clock for all
        assert end - start <= traced
    memory = one.ask("memory")
    assert 0 < memory["rss_bytes"] <= memory["peak_rss_bytes"] < 1 << 31
    assert one.ask("quit") == {"reply": "quit"}
    assert one.process.wait(TIMEOUT) == 0


def test_closed_stdin_ends_it(worker: Any, toy: Path) -> None:
    assert worker().close() == 0
    one = worker()
    one.ask("load", model=toy)
    assert one.close() == 0


def test_closed_stdin_ends_a_long_burst(worker: Any, toy: Path) -> None:
    one = worker("--cpu_threads", 1)
    one.ask("load", model=toy)
    one.send_raw(b'{"cmd": "burst", "target_ns": 3600000000000, "max_runs": 10000000}\n')
    time.sleep(0.5)
    assert one.close() == 0  # within seconds, not an hour


def test_no_reader_ends_it(worker: Any) -> None:
    one = worker()
    one.process.stdout.close()
    one.send_raw(b'{"cmd": "memory"}\n')
    assert one.process.wait(TIMEOUT) == 0


def test_malformed_lines_are_answered(worker: Any, toy: Path) -> None:
    one = worker()
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
        one.send_raw(line + b"\n")
        assert one.read()["error"], line[:60]
    one.send_raw(b"\n \r\n")  # an empty line is nothing
    one.ask("load", model=toy)
    for field in ("min_opening", "max_opening", "min_runs", "max_runs", "traced_runs"):
        assert field.split("_")[1] in one.refused("burst", **{field: 2_000_000_000})
    assert "target_ns" in one.refused("burst", target_ns=1 << 62)
    assert "period_ns" in one.refused("burst", period_ns=1 << 62)
    assert "min_runs" in one.refused("burst", min_runs=5, max_runs=4)
    assert "has not run" in one.refused("outputs")
    one.ask("burst")
    assert one.close() == 0


def test_a_failed_load_leaves_no_model(worker: Any, toy: Path, tmp_path: Path) -> None:
    one = worker()
    one.ask("load", model=toy)
    assert "no such file" in one.refused("load", model=tmp_path / "none.pte")
    assert "no model is loaded" in one.refused("burst")
    assert "no method" in one.refused("load", model=toy, method="backward")
    one.ask("load", model=toy, inputs={"kind": "ones"})
    assert "kind of inputs" in one.refused("load", model=toy, inputs={"kind": "wishes"})
    one.ask("load", model=toy, inputs={"kind": "random", "seed": 7})
    assert one.ask("burst")["first_run_traced"]


def test_opening_is_bounded(worker: Any, toy: Path) -> None:
    one = worker("--cpu_threads", 1)
    one.ask("load", model=toy)
    burst = one.ask("burst", min_opening=1, max_opening=2)
    assert len(burst["opening_ns"]) == 2
    assert not burst["level"]  # two runs prove nothing
    assert one.ask("burst", min_opening=0, max_opening=0)["opening_ns"] == []


def test_runs_that_are_too_short_share_a_reading(worker: Any, models: Path) -> None:
    one = worker("--cpu_threads", 1)
    one.ask("load", model=models / "portable_add.pte")
    burst = one.ask("burst", min_runs=10_000, max_runs=10_000, target_ns=0)
    together = burst["runs_per_reading"]
    waits = burst["untraced_wait_ns"]
    assert together > 1 and len(waits) == len(burst["untraced_ns"]) == 10_000
    for start in range(0, 10_000, together):
        assert len(set(waits[start : start + together])) == 1
    assert burst["untraced_cpu_ns"] == []


def test_pace(worker: Any, toy: Path) -> None:
    one = worker("--cpu_threads", 1)
    one.ask("load", model=toy)
    period = 100_000_000
    burst = one.ask("burst", min_opening=0, max_opening=0, min_runs=5, target_ns=0, period_ns=period)
    runs = len(burst["opening_ns"]) + len(burst["untraced_ns"])
    assert burst["end_ns"] - burst["start_ns"] >= (runs - 1) * period


def test_two_workers_do_not_know_each_other(worker: Any, toy: Path, tmp_path: Path) -> None:
    both = [worker("--cpu_threads", 1), worker("--cpu_threads", 1, "--isa=none")]
    for one in both:
        one.ask("load", model=toy)
    for _ in range(3):
        for one in both:
            one.ask("burst", traced_runs=1)
    digests = []
    for number, one in enumerate(both):
        digests.append(one.ask("outputs")["outputs"][0])
        assert one.ask("etdump", path=tmp_path / f"{number}")["blocks"] == 5
    assert both[1].ready["isa"]["enabled"] == []
    assert abs(digests[0]["max"] - digests[1]["max"]) < 1e-5


def test_interrupt_is_the_orchestrators(worker: Any, toy: Path) -> None:
    one = worker()
    one.ask("load", model=toy)
    os.kill(one.process.pid, signal.SIGINT)
    one.ask("burst")
    assert one.close() == 0


def test_errors_before_it_is_ready(runner: Path) -> None:
    for args, code in ((["--isa=-nonsense"], 2), (["--load", "/no.so"], 3), (["--bad"], 2)):
        run = Run(runner, "--worker", *args)
        run.complaint(code)
        assert run.out == ""


def test_threads(worker: Any, toy: Path) -> None:
    one = worker("--cpu_threads", 2)
    assert one.ready["threads"] == 2
    one.ask("load", model=toy)
    assert one.ask("burst")["untraced_ns"]
