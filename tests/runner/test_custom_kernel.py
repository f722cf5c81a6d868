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
    """The ETDump of a program whose operator nobody but the loaded library has."""
    words = [f"--model_path={models / MODEL}", f"--load={library(folder, 'custom_kernel.cc', **macros)}"]
    run = Run(runner, *words, f"--num_executions={RUNS}", f"--etdump_path={folder / 'custom.etdump'}")
    assert run.code == 0, run.err
    return folder / "custom.etdump"


@pytest.fixture(scope="module")
def logged(runner: Path, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a library that was built as ExecuTorch's are where they write ETDumps."""
    return record(runner, models, tmp_path_factory.mktemp("logged"), ET_EVENT_TRACER_ENABLED="1")


@pytest.fixture(scope="module")
def unlogged(runner: Path, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a library that was built without: of its kernel there is only the OPERATOR_CALL."""
    return record(runner, models, tmp_path_factory.mktemp("unlogged"))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def times_of(recorded: Path, event: str) -> list[int]:
    """The durations of a run's first event of that name, by ExecuTorch's own reader, in nanoseconds."""
    runs = events(recorded)[1:]
    assert len(runs) == RUNS
    return [next(end - start for name, start, end in spans if name == event) for _, spans in runs]


@pytest.mark.parametrize(("kind", "event"), [("logged", NAME), ("unlogged", "OPERATOR_CALL")])
def test_a_custom_kernel_is_an_operator(
    kind: str, event: str, models: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    recorded = request.getfixturevalue(kind)
    theirs = times_of(recorded, event)
    assert sum(theirs) > 0.9 * sum(times_of(recorded, "Method::execute"))

    done = program.run("analyze", recorded, "-o", tmp_path, "--model", models / MODEL)
    assert done.returncode == 0, done.stderr
    ours = [row for row in rows(tmp_path / "custom_exec_all_runs_timeline.csv") if row["type"] == NAME]
    assert [float(row["duration_ms"]) * 1e6 for row in ours] == pytest.approx(theirs)
    (operator,) = [row for row in rows(tmp_path / "custom_exec_ops_stats.csv") if row["name"] == NAME]
    assert operator["group"] == "Other"
    least, most = (float(operator[column]) * 1e6 for column in ("min_ms", "max_ms"))
    for time in (least, most):  # six digits in the file
        assert any(one == pytest.approx(time, rel=1e-5) for one in theirs)
    assert least <= float(operator["self_avg_ms"]) * 1e6 <= most
    assert float(operator["self_pct"]) > 90
    table = list(csv.DictReader(program.run("analyze", recorded, "--csv=operators").stdout.splitlines()))
    assert table[0]["name"] == (NAME if kind == "logged" else "kernel that logs no event")


@pytest.mark.parametrize(("kind", "name"), [("logged", NAME), ("unlogged", "kernel that logs no event")])
def test_a_custom_kernel_is_in_the_findings(kind: str, name: str, request: pytest.FixtureRequest) -> None:
    shown = " ".join(program.run("analyze", request.getfixturevalue(kind)).stdout.split())
    findings = shown.partition("Findings")[2]
    assert name in findings
    assert "Framework overhead" not in findings
