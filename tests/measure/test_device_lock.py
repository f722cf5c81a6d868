"""Measurements on one device run one at a time, whichever commands start them."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import pytest
from measure_bench import FAKE_WORKER, MODEL
from program import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator


class Lock:
    """The lock of this machine, in a separate folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "etprof"
        self.environment = {**os.environ, "ETPROF_DEVICE_DIR": str(folder)}
        self.file: TextIO | None = None

    def hold(self) -> None:
        """Locks the device for another user."""
        self.folder.mkdir(parents=True)
        (self.folder / ".etprof").touch()
        (self.folder / "holder").write_text("the test\n")
        self.file = (self.folder / "lock").open("w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def release(self) -> None:
        if self.file is not None:
            self.file.close()

    def start(self, log: Path, *arguments: object) -> subprocess.Popen:
        """Starts a command whose stderr goes to `log`."""
        with log.open("w") as file:
            return subprocess.Popen(
                [str(word) for word in arguments],
                cwd=log.parent,
                env=self.environment,
                stdout=subprocess.DEVNULL,
                stderr=file,
            )

    def names(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "runs").iterdir())


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[Lock]:
    device_lock = Lock(tmp_path / "lock")
    device_lock.folder.parent.mkdir()
    yield device_lock
    device_lock.release()


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
def test_each_command_waits_and_ctrl_c_leaves_nothing(bench, lock, name):
    lock.hold()
    log = bench.folder / "log"
    process = lock.start(log, bench.etprof, *command(bench, name))
    wait_until(lambda: "waiting for the test" in log.read_text() or process.poll() is not None)
    assert len(lock.names()) == 1, log.read_text()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert lock.names() == []
    assert not list(bench.folder.rglob("manifest.json"))


def test_concurrent_measurements_run_one_after_the_other(bench, lock):
    lock.hold()
    processes = []
    hold_file = bench.folder / "held"
    hold_file.touch()
    for name in ("one", "two"):
        alone = {"FAKE_ALONE": str(bench.folder / "at_work"), "FAKE_WHO": name, "FAKE_HOLD": f"{hold_file}:1:1"}
        config = bench.write(
            [bench.experiment("a", env=alone)],
            output_root=str(bench.folder / name),
            launches=2,
            rounds=2,
            peaks=False,
        ).rename(bench.folder / f"{name}.json")
        processes.append(lock.start(bench.folder / f"{name}.log", bench.etprof, "run", config))
    logs = [bench.folder / f"{name}.log" for name in ("one", "two")]
    # Both commands must be waiting, because a command that comes later may find the device free.
    wait_until(lambda: all("waiting for the test" in log.read_text() for log in logs))
    lock.release()
    # The first measurement continues only after the other has printed for whom it waits.
    wait_until(lambda: ", run one (process" in logs[1].read_text() or ", run two (process" in logs[0].read_text())
    hold_file.unlink()
    codes = [process.wait(120) for process in processes]
    assert codes == [0, 0], [log.read_text() for log in logs]
    met = bench.folder / "at_work" / "met"
    assert not met.exists(), met.read_text()
    assert lock.names() == []


def test_the_entry_of_a_killed_measurement_is_ignored(bench, lock):
    log = bench.folder / "state_a"
    config = bench.write([bench.experiment("a", env={"FAKE_SLEEP": "60"})], launches=2, rounds=1, peaks=False)
    process = bench.start("run", config, env=lock.environment)
    wait_until(lambda: log.exists() and any(log.iterdir()))
    assert len(lock.names()) == 1
    process.kill()
    process.communicate()
    for file in log.iterdir():
        file.unlink()
    config = bench.write([bench.experiment("a")], launches=2, rounds=1, peaks=False)
    completed = bench.run("run", config, env=lock.environment)
    assert completed.returncode == 0, completed.stderr
    assert "waiting" not in completed.stderr
    assert lock.names() == []


def test_a_measurement_without_a_possible_lock(bench):
    file = bench.folder / "file"
    file.touch()
    config = bench.write([bench.experiment("a")], launches=2, rounds=1, peaks=False)
    completed = bench.run("run", config, env={**os.environ, "ETPROF_DEVICE_DIR": str(file)})
    assert completed.returncode == 0, completed.stderr
    (warning,) = [line for line in completed.stderr.splitlines() if "The device is not locked" in line]
    assert warning.startswith("warning: ") and "make a folder for etprof's files" in warning
