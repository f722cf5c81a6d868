"""Traces of programs whose runs have inputs of different sizes, recorded by tests/tools/record_run_classes.py.

Durations are compared with ExecuTorch's Inspector.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

FOLDER = Path(__file__).resolve().parent / "data" / "run_classes"


def durations(etdump: Path) -> np.ndarray:
    """Returns the milliseconds of each run, from ExecuTorch's own reader."""
    from executorch.devtools import Inspector
    from executorch.devtools.inspector import TimeScale

    inspector = Inspector(etdump_path=str(etdump), source_time_scale=TimeScale.NS, target_time_scale=TimeScale.NS)
    (raw,) = [
        event.perf_data.raw
        for block in inspector.event_blocks
        for event in block.events
        if event.name == "Method::execute"
    ]
    return np.array(raw) * 1e-6


def analyze_experiment(etdump: Path) -> dict:
    completed = program.run("analyze", etdump, "--json")
    assert completed.returncode == 0, completed.stderr
    (experiment,) = program.parse_with_schema("analysis_summary", completed.stdout)["experiments"]
    return experiment


def test_a_prefill_and_decode_steps_have_no_median_in_common():
    expected = durations(FOLDER / "prefill_decode.etdump")
    experiment = analyze_experiment(FOLDER / "prefill_decode.etdump")
    assert experiment["latency_ms"]["p50"] is None
    decode, prefill = experiment["run_classes"]
    assert decode["latency_ms"]["n"] + prefill["latency_ms"]["n"] == experiment["latency_ms"]["n"]
    sizes = np.array([128 if run % 4 == 0 else 1 for run in range(1, len(expected) + 1)])
    assert decode["latency_ms"]["p50"] == pytest.approx(np.median(expected[1:][sizes[1:] == 1]), rel=0.1)
    assert prefill["latency_ms"]["p50"] == pytest.approx(np.median(expected[1:][sizes[1:] > 1]), rel=0.1)


def test_a_growing_context_is_shown_by_stretches():
    expected = durations(FOLDER / "growing.etdump")
    experiment = analyze_experiment(FOLDER / "growing.etdump")
    assert experiment["latency_ms"]["p50"] is None
    classes = experiment["run_classes"]
    assert len(classes) in (2, 4)
    for run_class in classes:
        class_durations = expected[run_class["first_run"] - 1 : run_class["last_run"]]
        assert run_class["latency_ms"]["n"] == len(class_durations)
        assert run_class["latency_ms"]["p50"] == pytest.approx(np.median(class_durations), abs=1e-9)
    medians = [run_class["latency_ms"]["p50"] for run_class in classes]
    assert medians == sorted(medians)
    shown = program.run("analyze", FOLDER / "growing.etdump").stdout
    assert "thermal throttling" not in shown
    assert "work that differs between runs" in " ".join(shown.split())


@pytest.mark.parametrize("name", ["prefill_decode", "growing"])
def test_the_screen_has_a_row_for_each_class(name: str):
    shown = program.run("analyze", FOLDER / f"{name}.etdump").stdout
    assert "Median latency" not in shown
    for run_class in analyze_experiment(FOLDER / f"{name}.etdump")["run_classes"]:
        assert f"{name}, {run_class['name']}" in shown


def test_runs_of_one_size_have_a_median():
    experiment = analyze_experiment(program.DATA / "toy_cnn.t1.etdump")
    assert experiment["run_classes"] == []
    assert experiment["latency_ms"]["p50"] is not None


def test_runs_of_other_work_are_not_compared_as_one():
    variants = [FOLDER / "growing.etdump", FOLDER / "prefill_decode.etdump"]
    completed = program.run("compare", *variants, "--json")
    assert completed.returncode == 0, completed.stderr
    (comparison,) = program.parse_with_schema("analysis_summary", completed.stdout)["comparisons"]
    assert comparison["latency"]["ratio"] is None
    assert comparison["latency"]["verdict"] == "inconclusive"
    assert all(operator["ratio"] is None for operator in comparison["operators"])
    shown = program.run("compare", *variants, width=200).stdout
    for variant in variants:
        assert f"the runs of {variant.stem} do different work" in shown
