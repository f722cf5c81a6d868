"""Clocks that jump, and a machine that is suspended for a while."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from measure_bench import held_worker
from program import wait_until


@pytest.fixture(scope="module")
def clock(preloaded) -> Path:
    return preloaded("clock")


def check_complete(bench) -> None:
    """Checks that the run is complete and valid."""
    assert bench.manifest()["status"] == "complete"
    assert all(
        launch["status"] == "complete" for result in bench.manifest()["results"] for launch in result["launches"]
    )
    completed = bench.run("validate", bench.out)
    assert completed.returncode == 0, completed.stdout


@pytest.mark.parametrize("jump", [3600, -3600])
def test_the_wall_clock_jumps_by_an_hour(bench, clock, jump):
    config = bench.write([bench.experiment("a", env={"FAKE_SLEEP": "0.02"}), bench.experiment("b")], launches=4)
    environment = dict(os.environ, LD_PRELOAD=str(clock), CLOCK_AFTER="0.3", CLOCK_JUMP=str(jump))
    begin = time.monotonic()
    completed = bench.run("run", config, env=environment)  # takes seconds; with the jump it would be an hour
    assert completed.returncode == 0, completed.stderr
    assert time.monotonic() - begin < 600
    assert 0 < bench.manifest()["schedule"]["seconds"] < 600
    check_complete(bench)
    # The next run moves the old results directory to `previous`, whatever the clock says.
    assert bench.run("run", config).returncode == 0
    assert len(list((bench.out / "previous").iterdir())) == 1
    check_complete(bench)


def test_a_suspended_machine(bench):
    """Stops all processes for some seconds, as a suspended machine would."""
    with held_worker(bench) as hold:
        config = bench.write([bench.experiment("a", env=hold), bench.experiment("b")], launches=6)
        process = bench.start("run", config, start_new_session=True)
        wait_until((bench.folder / "hold.held").exists)  # in the middle of a launch

        def process_tree(parent: int) -> list[int]:
            tree = [parent]
            with contextlib.suppress(OSError):  # it may end meanwhile
                for task in Path(f"/proc/{parent}/task").iterdir():
                    for child in (task / "children").read_text().split():
                        tree += process_tree(int(child))
            return tree

        def send_signal(number: int, pids: Iterable[int]) -> None:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

        # Parents are stopped first, so that no new process starts meanwhile.
        stopped: list[int] = []
        while more := [pid for pid in process_tree(process.pid) if pid not in stopped]:
            send_signal(signal.SIGSTOP, more)
            stopped += more
        time.sleep(float(os.environ.get("ETPROF_TEST_SUSPENDED_SECONDS", "3")))
        send_signal(signal.SIGCONT, reversed(stopped))
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    check_complete(bench)
