"""Many inputs at once, results directories in the kit's flat layout, and clocks that are not nanoseconds."""

import csv
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

FILE = program.DATA / "toy_cnn.t1.etdump"


def test_hundreds_of_files_are_a_line_each(tmp_path):
    files = [tmp_path / f"model{i:03}.etdump" for i in range(200)]
    for file in files:
        shutil.copy(FILE, file)
    completed = program.run("analyze", *files)
    assert completed.returncode == 0, completed.stderr
    lines = [line for line in completed.stdout.splitlines() if re.match(r" +model\d{3} ", line)]
    assert len(lines) == len(files)
    assert len(completed.stdout.splitlines()) <= len(files) + 4
    assert len({line.split(maxsplit=1)[1] for line in lines}) == 1, "the same file 200 times"
    assert max(map(len, completed.stdout.splitlines()[:-1])) <= 80


def test_run_directories_are_a_line_an_experiment(tmp_path):
    folders = []
    for i in range(3):
        folder = tmp_path / f"run{i}"
        folder.mkdir()
        for variant in ("off", "on"):
            etdump = program.DATA / "sme2_emulated" / f"toy_cnn.sme2_{variant}.etdump"
            shutil.copy(etdump, folder / f"toy_cnn_sme2_{variant}_t1.etdump")
        folders.append(folder)
    completed = program.run("analyze", *folders, width=200)
    assert completed.returncode == 0, completed.stderr
    assert len([line for line in completed.stdout.splitlines() if re.search(r"run\d: sme2_(off|on) ", line)]) == 6
    assert all((folder / "analysis_summary.json").exists() for folder in folders)


def test_two_files_keep_their_screens():
    completed = program.run("analyze", FILE, FILE)
    (heading,) = [line for line in completed.stdout.splitlines() if "Self time" in line]
    assert heading.count(FILE.stem) == 2, "a column each"


def test_the_kits_latency_log_is_the_headline(tmp_path):
    for variant, ms in (("off", 4.0), ("on", 2.0)):
        stem = tmp_path / f"toy_cnn_mac_sme2_{variant}_t1"
        shutil.copy(program.DATA / "sme2_emulated" / f"toy_cnn.sme2_{variant}.etdump", f"{stem}.etdump")
        lines = [f"Iteration {i + 1} of 40: {ms * (3 if i == 0 else 1) + i % 5 * 0.01:.6f} ms" for i in range(40)]
        Path(f"{stem}_latency.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    completed = program.run("analyze", tmp_path, "--json")
    assert completed.returncode == 0, completed.stderr
    summary = json.loads(completed.stdout)
    assert summary["model_id"] == "toy_cnn"
    off, on = summary["experiments"]
    assert [off["name"], on["name"]] == ["mac_sme2_off", "mac_sme2_on"]
    for experiment, first in ((off, 12.0), (on, 6.0)):
        assert experiment["latency_from"] == "untraced"
        assert experiment["tracer_always_on"] is True
        assert experiment["first_run_ms"] == first
    (comparison,) = summary["comparisons"]
    assert comparison["pairing"] == "unpaired"
    assert comparison["latency"]["ratio"] == pytest.approx(2, rel=0.01)
    assert comparison["latency"]["verdict"] == "faster"


@pytest.mark.parametrize(
    ("scale", "factor"), [("ns", 1), ("us", 1e3), ("ms", 1e6), ("2.5", 2.5), ("100MHz", 10), ("1GHz", 1)]
)
def test_ticks_are_scaled(scale, factor):
    def median(*arguments: str) -> float:
        completed = program.run("analyze", FILE, "--json", *arguments)
        assert completed.returncode == 0, completed.stderr
        return json.loads(completed.stdout)["experiments"][0]["latency_ms"]["max"]

    # Both ends of a span are rounded to a nanosecond.
    assert median("--time-scale", scale) == pytest.approx(median() * factor, abs=1e-6)


@pytest.mark.parametrize("name", ["NS", "US"])
def test_the_scales_are_those_of_inspector(name, tmp_path):
    from executorch.devtools import Inspector
    from executorch.devtools.inspector import TimeScale

    scale = TimeScale[name]
    inspector = Inspector(etdump_path=str(FILE), source_time_scale=scale, target_time_scale=TimeScale.MS)
    events = [event for block in inspector.event_blocks for event in block.events]
    (execute,) = [event.perf_data.raw for event in events if event.name == "Method::execute"]
    completed = program.run("analyze", FILE, "--time-scale", scale.value, "-o", tmp_path, "--quiet")
    assert completed.returncode == 0, completed.stderr
    with (tmp_path / "toy_cnn.t1_exec_all_runs_timeline.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] == "Method::execute"]
    assert [float(row["duration_ms"]) for row in rows] == pytest.approx(execute, rel=1e-12)


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ("cycles", "Give the frequency"),
        ("0", "is not a unit of time"),
        ("-1", "is not a unit of time"),
        ("1e-300", "is not a unit of time"),
        ("nan", "is not a unit of time"),
        ("hz", "is not a unit of time"),
    ],
)
def test_invalid_units_are_reported(scale, message):
    completed = program.run("analyze", FILE, f"--time-scale={scale}")
    assert completed.returncode == 2
    assert message in completed.stderr


def test_a_clock_that_makes_an_inference_too_long_is_refused(tmp_path):
    completed = program.run("analyze", FILE, "--time-scale", "s", "-o", tmp_path / "out")
    assert (completed.returncode, completed.stdout) == (3, "")
    assert program.one_error(completed.stderr)
    assert "toy_cnn.t1.etdump` holds a Method::execute" in completed.stderr and "(byte " in completed.stderr
    assert "holds a Method::execute" in completed.stderr
    assert "--time-scale" in completed.stderr


@pytest.mark.parametrize("scale", ["us", "24MHz", "ns"])
def test_the_clock_of_a_run_that_etprof_measured_is_known(scale, tmp_path):
    shutil.copy(FILE, tmp_path / FILE.name)

    def analyze():
        return program.run("analyze", tmp_path, "--time-scale", scale)

    assert analyze().returncode == 0  # no manifest names the tool that measured
    manifest = {"etprof_version": "0.0", "experiments": [{"name": "one", "etdump": FILE.name}]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    completed = analyze()
    if scale == "ns":
        assert completed.returncode == 0, completed.stderr
        return
    assert (completed.returncode, completed.stdout) == (2, "")
    assert program.one_error(completed.stderr)
    assert "Leave out `--time-scale`" in completed.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_thread_sweep_has_its_efficiency_and_its_warning(tmp_path):
    for threads, variant in ((1, "off"), (2, "on"), (4, "on")):
        etdump = program.DATA / "sme2_emulated" / f"toy_cnn.sme2_{variant}.etdump"
        folder = tmp_path / "run" / "mine"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(etdump, folder / f"toy_cnn_mine_t{threads}.etdump")
    completed = program.run("analyze", tmp_path / "run", "--json")
    assert completed.returncode == 0, completed.stderr
    summary = json.loads(completed.stdout)
    (matrix,) = summary["matrices"]
    assert matrix["kind"] == "threads"
    assert matrix["baseline"]["threads"] == 1
    assert [candidate["threads"] for candidate in matrix["candidates"]] == [2, 4]
    assert matrix["interleaved"] is False
    for row in [matrix["latency"], *matrix["groups"], *matrix["operators"]]:
        for cell, threads in zip(row["against"], (2, 4), strict=True):
            if cell["ratio"] is None and cell["baseline_ms"] and cell["candidate_ms"]:
                expected = cell["baseline_ms"] / cell["candidate_ms"] / threads
                assert cell["efficiency"] == pytest.approx(expected, rel=1e-9)
    two, four = matrix["latency"]["against"]
    assert two["efficiency"] == pytest.approx(2 * four["efficiency"]), "the same file"
    experiments = {experiment["threads"]: experiment for experiment in summary["experiments"]}
    assert two["baseline_ms"] == experiments[1]["latency_ms"]["p50"]
    assert {row["key"] for row in matrix["operators"]} == {row["key"] for row in experiments[1]["operators"]}
    report = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert "## Threads: mine" in report
    assert "Not all of these were interleaved" in report
