"""Clocks that jump, and a machine that stands still for a while."""

import os
import signal
import time
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def clock(preloaded) -> Path:
    return preloaded("clock")


def sound(bench) -> None:
    """The run is complete, and all of it is well."""
    assert bench.manifest()["status"] == "complete"
    assert all(
        launch["status"] == "complete" for result in bench.manifest()["results"] for launch in result["launches"]
    )
    done = bench.run("validate", bench.out)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("jump", [3600, -3600])
def test_the_wall_clock_jumps_by_an_hour(bench, clock, jump):
    config = bench.write([bench.experiment("a", env={"FAKE_SLEEP": "0.02"}), bench.experiment("b")], launches=4)
    environment = dict(os.environ, LD_PRELOAD=str(clock), CLOCK_AFTER="0.3", CLOCK_JUMP=str(jump))
    begin = time.monotonic()
    done = bench.run("run", config, env=environment)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begin < 60
    assert bench.manifest()["schedule"]["seconds"] < 60
    sound(bench)
    # The next one moves it away, whatever the hour.
    assert bench.run("run", config).returncode == 0
    assert len(list((bench.out / "previous").iterdir())) == 1
    sound(bench)


def test_a_machine_that_stands_still(bench):
    """Everything is stopped for some seconds, as a suspended machine is."""
    config = bench.write([bench.experiment("a", env={"FAKE_SLEEP": "0.02"}), bench.experiment("b")], launches=6)
    process = bench.start("run", config, start_new_session=True)
    manifest = bench.out / "manifest.json"
    end = time.monotonic() + 30
    while not (manifest.exists() and len(bench.manifest()["results"][0]["launches"]) >= 2):
        assert time.monotonic() < end
        time.sleep(0.01)

    def family(parent: int) -> list[int]:
        found = [parent]
        for task in Path(f"/proc/{parent}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += family(int(child))
        return found

    # Parents first: nobody starts what is not stopped.
    stopped: list[int] = []
    while more := [pid for pid in family(process.pid) if pid not in stopped]:
        for pid in more:
            os.kill(pid, signal.SIGSTOP)
        stopped += more
    time.sleep(float(os.environ.get("ETPROF_TEST_SUSPENDED_SECONDS", "3")))
    for pid in reversed(stopped):
        os.kill(pid, signal.SIGCONT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    sound(bench)
