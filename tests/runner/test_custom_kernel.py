"""An operator of the user's own, in a program that ExecuTorch runs: it has a row and the time that ExecuTorch wrote."""

from __future__ import annotations

import csv
from pathlib import Path

import program
import pytest
from runner_bench import Run, events, library

NAME = "etprof_test::nowhere.out"
MODEL = "missing_operator.pte"
RUNS = 20


def record(runner: Path, models: Path, folder: Path, **macros: str) -> Path:
    """Runs a program with an operator that only the loaded library has, and returns the path of the ETDump."""
    options = [f"--model_path={models / MODEL}", f"--load={library(folder, 'custom_kernel.cc', **macros)}"]
    run = Run(runner, *options, f"--num_executions={RUNS}", f"--etdump_path={folder / 'custom.etdump'}")
    assert run.code == 0, run.err
    return folder / "custom.etdump"


@pytest.fixture(scope="module")
def logged(runner: Path, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ETDump of a kernel library that was built with event tracing, as ExecuTorch's kernels are."""
    return record(runner, models, tmp_path_factory.mktemp("logged"), ET_EVENT_TRACER_ENABLED="1")


@pytest.fixture(scope="module")
def unlogged(runner: Path, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ETDump of a kernel library without event tracing: the only event of its kernel is the OPERATOR_CALL."""
    return record(runner, models, tmp_path_factory.mktemp("unlogged"))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def event_durations(etdump: Path, event: str) -> list[int]:
    """Reads the duration of each run's first event of that name with ExecuTorch's own reader, in nanoseconds."""
    runs = events(etdump)[1:]
    assert len(runs) == RUNS
    return [next(end - start for name, start, end in spans if name == event) for _, spans in runs]


@pytest.mark.parametrize(("kind", "event"), [("logged", NAME), ("unlogged", "OPERATOR_CALL")])
def test_a_custom_kernel_is_an_operator(
    kind: str, event: str, models: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    etdump = request.getfixturevalue(kind)
    expected = event_durations(etdump, event)
    assert sum(expected) > 0.9 * sum(event_durations(etdump, "Method::execute"))

    completed = program.run("analyze", etdump, "-o", tmp_path, "--model", models / MODEL)
    assert completed.returncode == 0, completed.stderr
    etprof_rows = [row for row in rows(tmp_path / "custom_exec_all_runs_timeline.csv") if row["type"] == NAME]
    assert [float(row["duration_ms"]) * 1e6 for row in etprof_rows] == pytest.approx(expected)
    (operator,) = [row for row in rows(tmp_path / "custom_exec_ops_stats.csv") if row["name"] == NAME]
    assert operator["group"] == "Other"
    min_ns, max_ns = (float(operator[column]) * 1e6 for column in ("min_ms", "max_ms"))
    for time in (min_ns, max_ns):  # six digits in the file
        assert any(duration == pytest.approx(time, rel=1e-5) for duration in expected)
    assert min_ns <= float(operator["self_avg_ms"]) * 1e6 <= max_ns
    assert float(operator["self_pct"]) > 90
    table = list(csv.DictReader(program.run("analyze", etdump, "--csv=operators").stdout.splitlines()))
    assert table[0]["name"] == (NAME if kind == "logged" else "kernel that logs no event")


@pytest.mark.parametrize(("kind", "name"), [("logged", NAME), ("unlogged", "kernel that logs no event")])
def test_a_custom_kernel_is_in_the_findings(kind: str, name: str, request: pytest.FixtureRequest) -> None:
    screen = " ".join(program.run("analyze", request.getfixturevalue(kind)).stdout.split())
    findings = screen.partition("Findings")[2]
    assert name in findings
    assert "Framework overhead" not in findings
