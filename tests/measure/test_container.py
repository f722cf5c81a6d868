"""Measurements in a cgroup with limits. The tests create the cgroup in the version that this machine has."""

import contextlib
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

MODEL = program.DATA / "toy_cnn.pte"


class Group:
    """A control group below the root of its controller's hierarchy."""

    def __init__(self, controller: str) -> None:
        self.folder = None
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            before, after = line.split(" - ")
            kind, _, options = after.split()[:3]
            mounted = Path(before.split()[4])
            if kind == "cgroup" and controller in options.split(","):
                self.version, parent = 1, mounted
                break
            if kind == "cgroup2" and controller in (mounted / "cgroup.subtree_control").read_text().split():
                self.version, parent = 2, mounted
        else:
            if not hasattr(self, "version"):
                pytest.skip(f"no hierarchy of control groups has the controller {controller}")
        self.folder = parent / f"etprof-test-{uuid.uuid4().hex}"
        try:
            self.folder.mkdir()
        except OSError as error:
            pytest.skip(f"control groups cannot be made here: {error}")

    def write(self, key: str, value: object) -> None:
        (self.folder / key).write_text(str(value))

    def run(self, argv: list[object]) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-c", f'echo $$ >{self.folder}/cgroup.procs && exec "$@"', "sh", *map(str, argv)]
        return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture
def group():
    groups = []

    def make(controller: str) -> Group:
        if os.geteuid() != 0:
            pytest.skip("root is needed to make a control group")
        groups.append(Group(controller))
        return groups[-1]

    yield make
    for cgroup in groups:
        with contextlib.suppress(OSError):
            cgroup.folder.rmdir()


@pytest.fixture
def quota(group):
    """A group that may use a tenth of a CPU."""
    limited = group("cpu")
    if limited.version == 1:
        limited.write("cpu.cfs_quota_us", 10000)
    else:
        limited.write("cpu.max", "10000 100000")
    return limited


def test_doctor_reports_a_quota(quota):
    completed = quota.run([program.etprof(), "doctor"])
    shown = " ".join(completed.stdout.split())  # ignores line breaks
    assert "this container may use 0.10 CPUs (cpu." in shown
    assert "affinity 0" in shown


def test_a_quota_is_reported_before_and_after_a_measurement(quota, tmp_path):
    folder = tmp_path / "run"
    arguments = ["profile", MODEL, "--launches", "2", "--max-seconds", "8", "--no-peaks"]
    completed = quota.run([program.etprof(), *arguments, "--output-root", folder])
    assert completed.returncode == 0, completed.stderr
    assert "warning: this container may use 0.10 CPUs (cpu." in completed.stderr
    manifest = json.loads((folder / "manifest.json").read_text())
    before, after = manifest["device"]["limits"], manifest["limits_after"]
    assert before["quota_cpus"] == pytest.approx(0.1)
    assert after["throttled_ns"] > before["throttled_ns"]
    [warning] = [text for text in manifest["warnings"] if "this container may use" in text]
    assert "it was stopped for " in warning
    assert "% of the quota's periods" in warning


def test_a_worker_that_the_memory_limit_kills_says_so(group, tmp_path):
    limited = group("memory")
    limit = 150 << 20
    limited.write("memory.limit_in_bytes" if limited.version == 1 else "memory.max", limit)
    runner = tmp_path / "etprof-runner"
    real = program.etprof().parent / "etprof-runner"
    # As a worker, this runner allocates more memory than the limit of the cgroup.
    runner.write_text(
        f'#!/bin/sh\ncase " $* " in *" --cpu_threads"*) exec {sys.executable} -c '
        f'"a = bytearray(500 << 20); a[::4096] = bytes(len(a[::4096]))";; esac\nexec {real} "$@"\n'
    )
    runner.chmod(0o755)
    arguments = ["profile", MODEL, "--launches", "2", "--max-seconds", "8", "--no-peaks", "--runner", runner]
    completed = limited.run([program.etprof(), *arguments, "--output-root", tmp_path / "run"])
    assert completed.returncode != 0
    assert "was killed: the container's memory limit of 157 MB is used up" in completed.stderr
