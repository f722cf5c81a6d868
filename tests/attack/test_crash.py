"""Lets each write, rename, and removal of a measurement fail, one per test, and checks that no result is lost or duplicated.

fault.c counts the calls that etprof itself makes below the results directory. By default the kinds of failure alternate,
and every third call of a complete measurement fails. With ETPROF_TEST_ALL=1, each call fails in each way.
"""

import csv
import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

KINDS = ("kill", "full", "eio", "edquot")
ALL = os.environ.get("ETPROF_TEST_ALL") == "1"


@pytest.fixture(scope="module")
def fault(preloaded) -> Path:
    return preloaded("fault")


class Crash:
    """A measurement whose calls can be made to fail."""

    def __init__(self, bench, fault: Path):
        self.bench = bench
        self.fault = fault
        self.config = bench.write([bench.experiment("a"), bench.experiment("b")], launches=2, rounds=2, peaks=False)
        self.canary = bench.folder / "canary"
        self.canary.mkdir()
        (self.canary / "thesis.txt").write_text("precious")

    def run(self, *arguments, **faults) -> subprocess.CompletedProcess:
        environment = dict(os.environ, LD_PRELOAD=str(self.fault), FAULT_PROGRAM=self.bench.etprof.name)
        environment["FAULT_UNDER"] = str(self.bench.out)
        environment |= {f"FAULT_{key.upper()}": str(value) for key, value in faults.items()}
        return self.bench.run(*arguments, env=environment)

    def calls(self, *arguments) -> list[str]:
        """Runs the command without a fault, and returns its calls."""
        log = self.bench.folder / "calls"
        log.unlink(missing_ok=True)
        completed = self.run(*arguments, log=log)
        assert completed.returncode == 0, completed.stderr
        return log.read_text().splitlines() if log.exists() else []

    def reset(self) -> None:
        shutil.rmtree(self.bench.out, ignore_errors=True)
        for state in self.bench.folder.glob("state_*"):
            shutil.rmtree(state)

    def launches(self) -> dict:
        """Returns the manifest's entries by experiment and launch, without the part of the ETDump, which is merged."""
        manifest = self.bench.out / "manifest.json"
        if not manifest.exists():
            return {}
        by_launch = {}
        for result in json.loads(manifest.read_text())["results"]:
            for launch in result["launches"]:
                fields = {key: value for key, value in launch.items() if key not in ("etdump_part", "traced_runs")}
                by_launch[result["experiment"], launch["index"]] = fields
        return by_launch

    def rows(self) -> dict:
        """Returns the rows of each experiment's latency file."""
        files = self.bench.out.glob("*/*_latency.csv")
        return {file.parent.name: list(csv.DictReader(file.open())) for file in files if "e2e" not in file.name}

    def check(self, before: dict) -> None:
        """Checks that all results exist exactly once."""
        valid = self.bench.run("validate", self.bench.out)
        assert valid.returncode == 0, valid.stdout + valid.stderr
        after = self.launches()
        assert {key: after.get(key) for key in before} == before
        manifest = self.bench.manifest()
        for result in manifest["results"]:
            rows = self.rows()[result["experiment"]]
            places = [(r["launch"], r["round"], r["order"], r["position"]) for r in rows]
            assert len(set(places)) == len(places), "a row stands there twice"
            recorded = sum(burst["recorded_runs"] for launch in result["launches"] for burst in launch["bursts"])
            assert sum(row["phase"] == "recorded" for row in rows) == recorded
            assert {int(row["launch"]) for row in rows} == {launch["index"] for launch in result["launches"]}
        assert not list(self.bench.out.rglob("*.tmp"))
        assert not list(self.bench.out.rglob("launches/*"))
        assert [path.name for path in self.canary.iterdir()] == ["thesis.txt"]
        assert (self.canary / "thesis.txt").read_text() == "precious"


@pytest.fixture
def crash(bench, fault) -> Crash:
    return Crash(bench, fault)


def failure_points(calls: list[str]) -> list[tuple[int, str]]:
    """Returns the calls to fail, each with the kind of failure."""
    numbers = range(1, len(calls) + 1)
    if ALL:
        return list(itertools.product(numbers, KINDS))
    return [(number, KINDS[number % len(KINDS)]) for number in numbers]


def test_a_measurement_survives_failed_calls(crash):
    calls = crash.calls("run", crash.config)
    assert {line.split()[1] for line in calls} >= {"open", "write", "rename", "mkdir", "unlinkat"}
    # Each launch repeats the same calls, and a resumed measurement repeats those of the reports. test_recovery_survives_failed_calls lets
    # each of these calls fail, so here a third of them is enough.
    assert len(KINDS) % 3 != 0  # thus every third call still has all kinds
    attempts = [point for point in failure_points(calls) if ALL or point[0] % 3 == 0]
    assert {calls[number - 1].split()[1] for number, _ in attempts} >= {"open", "write", "rename"}
    for number, kind in attempts:
        crash.reset()
        failed = crash.run("run", crash.config, at=number, kind=kind)
        assert "Traceback" not in failed.stderr and "terminate called" not in failed.stderr, failed.stderr
        before = crash.launches()
        resumed = crash.bench.run("run", crash.config, "--resume")
        assert resumed.returncode == 0, (number, kind, calls[number - 1], resumed.stderr)
        try:
            crash.check(before)
        except AssertionError as error:
            raise AssertionError(f"call {calls[number - 1]!r}, {kind}: {error}") from error
    print(f"{len(attempts)} points of a measurement")


def measure_and_kill(crash) -> None:
    """Measures, and kills the measurement before it merges any part."""
    crash.reset()
    calls = crash.calls("run", crash.config)
    merge = next(n for n, line in enumerate(calls, 1) if "rename" in line and line.endswith(".etdump"))
    crash.reset()
    crash.run("run", crash.config, at=merge, kind="kill")
    assert list(crash.bench.out.rglob("launches/*"))


@pytest.mark.parametrize("command", ["resume", "recover"])
def test_recovery_survives_failed_calls(crash, command):
    measure_and_kill(crash)
    start = crash.bench.folder / "start"
    shutil.copytree(crash.bench.out, start)
    arguments = ("run", crash.config, "--resume") if command == "resume" else ("recover", crash.bench.out)
    calls = crash.calls(*arguments)
    assert calls
    attempts = failure_points(calls)
    for number, kind in attempts:
        crash.reset()
        shutil.copytree(start, crash.bench.out)
        before = crash.launches()
        crash.run(*arguments, at=number, kind=kind)
        completed = crash.bench.run(*arguments)
        assert completed.returncode == 0, (number, kind, calls[number - 1], completed.stderr)
        try:
            crash.check(before)
        except AssertionError as error:
            raise AssertionError(f"call {calls[number - 1]!r}, {kind}: {error}") from error
    print(f"{len(attempts)} points of {command}")


def test_reports_survive_failed_calls(crash):
    """A report that cannot be written loses no measured results, and the next report is complete."""
    assert crash.bench.run("run", crash.config).returncode == 0
    contents = {
        path: path.read_bytes()
        for path in crash.bench.out.rglob("*")
        if (path.is_file() and path.name in ("manifest.json", "metrics.json", "config.json"))
        or path.suffix == ".etdump"
    }
    for command in ("analyze", "report"):
        calls = crash.calls(command, crash.bench.out)
        for number, kind in failure_points(calls):
            crash.run(command, crash.bench.out, at=number, kind=kind)
            assert {path: path.read_bytes() for path in contents} == contents, (command, calls[number - 1], kind)
        assert crash.bench.run(command, crash.bench.out).returncode == 0
    assert crash.bench.run("validate", crash.bench.out).returncode == 0
