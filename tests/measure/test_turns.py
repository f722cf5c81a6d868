"""Measurements on one device run one at a time, whichever commands start them."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from measure_bench import FAKE_WORKER, MODEL
from program import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

HOLDER = "1700000000-0123abcd"


class Queue:
    """This machine's queue, in a folder of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.runs = folder / "etprof" / "runs"
        self.environment = {**os.environ, "ETPROF_DEVICE_DIR": str(folder)}
        self.guard: subprocess.Popen | None = None

    def hold(self) -> None:
        """Locks the device for another user as long as `guard` lives."""
        run = self.runs / HOLDER
        run.mkdir(parents=True)
        self.guard = subprocess.Popen(["/bin/sleep", "300"])
        (run / "guard").write_text(f"{self.guard.pid}\n")
        (run / "turn").write_text("1 the test\n")

    def release(self) -> None:
        if self.guard is not None:
            self.guard.kill()
            self.guard.wait()

    def start(self, log: Path, *arguments: object) -> subprocess.Popen:
        """A command that says what it says on stderr into `log`."""
        with log.open("w") as file:
            return subprocess.Popen(
                [str(word) for word in arguments],
                cwd=log.parent,
                env=self.environment,
                stdout=subprocess.DEVNULL,
                stderr=file,
            )

    def names(self) -> list[str]:
        return sorted(path.name for path in self.runs.iterdir())


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    made = Queue(tmp_path / "queue")
    made.runs.parent.parent.mkdir()
    yield made
    made.release()


SHORT = ("--launches", "2", "--runs", "2", "--runner", FAKE_WORKER)


def command(bench, name: str) -> list:
    if name == "run":
        return ["run", bench.write([bench.experiment("a")], launches=2, rounds=1, peaks=False)]
    if name == "check":
        return ["check", MODEL, "threads=2", "--output-root", bench.out, *SHORT]
    if name == "peaks":
        return ["peaks"]
    return ["profile", MODEL, "--output-root", bench.out, "--no-peaks", *SHORT]


@pytest.mark.parametrize("name", ["profile", "run", "check", "peaks"])
def test_each_command_waits_and_ctrl_c_leaves_the_queue(bench, queue, name):
    queue.hold()
    log = bench.folder / "log"
    process = queue.start(log, bench.etprof, *command(bench, name))
    wait_until(lambda: "waiting for the test" in log.read_text() or process.poll() is not None)
    assert len(queue.names()) == 2, log.read_text()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert queue.names() == [HOLDER]
    assert not list(bench.folder.rglob("manifest.json"))


def test_two_at_once_are_measured_one_after_the_other(bench, queue):
    queue.hold()
    processes = []
    for who in ("one", "two"):
        alone = {"FAKE_ALONE": str(bench.folder / "at_work"), "FAKE_WHO": who}
        config = bench.write(
            [bench.experiment("a", env=alone)],
            output_root=str(bench.folder / who),
            launches=2,
            rounds=2,
            peaks=False,
        ).rename(bench.folder / f"{who}.json")
        processes.append(queue.start(bench.folder / f"{who}.log", bench.etprof, "run", config))
    logs = [bench.folder / f"{who}.log" for who in ("one", "two")]
    # Both commands must be waiting, because a command that comes later may find the device free.
    wait_until(lambda: all("waiting for the test" in log.read_text() for log in logs))
    turns = " ".join(path.read_text() for path in queue.runs.glob("*/turn"))
    assert ", run one (process" in turns and ", run two (process" in turns
    queue.release()
    codes = [process.wait(120) for process in processes]
    said = [log.read_text() for log in logs]
    assert codes == [0, 0], said
    met = bench.folder / "at_work" / "met"
    assert not met.exists(), met.read_text()
    assert queue.names() == []


def test_what_a_killed_one_left_is_passed_over(bench, queue):
    log = bench.folder / "state_a"
    config = bench.write([bench.experiment("a", env={"FAKE_SLEEP": "60"})], launches=2, rounds=1, peaks=False)
    # Once with the shell, which makes the folder, and once without.
    for _ in range(2):
        process = bench.start("run", config, env=queue.environment)
        wait_until(lambda: log.exists() and any(log.iterdir()))
        assert len(queue.names()) == 1
        process.kill()
        process.communicate()
        for file in log.iterdir():
            file.unlink()
    config = bench.write([bench.experiment("a")], launches=2, rounds=1, peaks=False)
    done = bench.run("run", config, env=queue.environment)
    assert done.returncode == 0, done.stderr
    assert "waiting" not in done.stderr
    assert queue.names() == []


def test_where_there_can_be_no_queue_it_is_measured_anyway(bench):
    file = bench.folder / "file"
    file.touch()
    config = bench.write([bench.experiment("a")], launches=2, rounds=1, peaks=False)
    done = bench.run("run", config, env={**os.environ, "ETPROF_DEVICE_DIR": str(file)})
    assert done.returncode == 0, done.stderr
    (warning,) = [line for line in done.stderr.splitlines() if "No turn is taken" in line]
    assert warning.startswith("warning: ") and "make a folder for etprof's files" in warning
