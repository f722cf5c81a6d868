"""`--counters`: with the real runner the counters of this machine, with the scripted worker those of a better machine."""

import csv
import json

import pytest
from measure_bench import FAKE_RUNNER, program, skip

HARDWARE = ["cycles", "instructions", "cache_misses"]


def counters(bench, name: str) -> list[dict]:
    (path,) = bench.out.glob(f"{name}/*_counters.csv")
    return list(csv.DictReader(path.open()))


def warnings(bench, name: str) -> list[str]:
    return [w for w in bench.result(name)["warnings"] if w.startswith("counters: ")]


def test_counters_of_this_machine(bench):
    runner = program("etprof-runner", "ETPROF_RUNNER")
    experiments = [{"name": "one", "threads": [1]}, {"name": "two", "threads": [2]}]
    config = bench.write(experiments, launches=2, rounds=1, runs=4, runner_path=str(runner), peaks=False)
    completed = bench.run("run", config, "--counters")
    assert completed.returncode == 0, completed.stderr
    if not list(bench.out.glob("*/*_counters.csv")):
        (reason,) = warnings(bench, "one")
        assert "not counted" in reason
        skip(f"this CPU and kernel count nothing: {reason}")
    analyzed = json.loads((bench.out / "analysis_summary.json").read_text())["experiments"]
    for experiment in analyzed:
        rows = counters(bench, experiment["name"])
        by_key = {row["key"]: row for row in rows}
        assert len(by_key) == len(rows)
        # Each operator of the analysis has counters under its name.
        operators = {row["key"]: row["name"] for row in experiment["operators"]}
        assert {key: by_key[key]["name"] for key in operators} == operators
        (method,) = [row for row in rows if "/method/" in row["key"]]
        assert {row["runs"] for row in rows} == {"20"}
        parts = [float(row["task_clock_ns"]) for row in rows if "/backend/" in row["key"]]
        assert 0 < sum(parts) <= float(method["task_clock_ns"])
        for name in HARDWARE:
            # Counters that could not be opened are empty, and a warning gives the reason.
            assert (method[name] == "") == any(name in warning for warning in warnings(bench, experiment["name"]))
        reported = {row["key"]: row for row in experiment["counters"]}
        assert set(reported) == set(by_key)
        assert reported[method["key"]]["means"]["task_clock_ns"] == pytest.approx(float(method["task_clock_ns"]))
        assert not {name for name in HARDWARE if method[name] == ""} & set(reported[method["key"]]["means"])
    screen = bench.run("analyze", bench.out, "--by", "counters")
    assert screen.returncode == 0, screen.stderr
    assert "processor time" in screen.stdout and screen.stdout.count("Method::execute") == 2
    report = (bench.out / "report.md").read_text()
    assert "## Counters" in report and "processor time" in report
    validated = bench.run("validate", bench.out)
    assert validated.returncode == 0, validated.stdout
    # The reported runs do not include the counted runs.
    for result in bench.manifest()["results"]:
        assert sum(entry["runs"] for entry in result["etdump_runs"] if entry["phase"] in ("steady", "disturbed")) == 4


def test_counters_of_a_machine_that_has_them(bench):
    completed = bench.run("run", bench.write([bench.experiment("a")], launches=2), "--counters", "--no-peaks")
    assert completed.returncode == 0, completed.stderr
    row, method = counters(bench, "a")
    assert (row["key"], method["key"]) == ("forward/0/backend/0", "forward/-1/method/0")
    assert (row["cycles"], row["effective_ghz"], row["instructions_per_cycle"]) == ("3000", "3", "2")
    assert row["cache_misses_per_1000_instructions"] == "1.5"
    assert row["page_faults"] == ""
    assert warnings(bench, "a") == ["counters: not counted: page_faults: a setting"]
    report = (bench.out / "report.md").read_text()
    assert "| GHz |" in report and "counters: not counted: page\\_faults" in report.replace(
        "page_faults", "page\\_faults"
    )


def test_runners_without_counters(bench):
    broken = bench.experiment("old", env={"FAKE_FAIL": "refuse@counters"})
    foreign = {"name": "foreign", "runner_path": str(FAKE_RUNNER), "runs": 10}
    completed = bench.run("run", bench.write([broken, foreign], launches=2), "--counters", "--no-peaks")
    assert completed.returncode == 0, completed.stderr
    assert warnings(bench, "old") == ["counters: no such operator: demo::missing"]
    assert warnings(bench, "foreign") == ["counters: only etprof-runner reads them"]
    assert not list(bench.out.glob("*/*_counters.csv"))


def test_runners_without_instruction_counts(bench):
    foreign = {"name": "foreign", "runner_path": str(FAKE_RUNNER), "runs": 10}
    old = bench.experiment("old", env={"FAKE_FAIL": "refuse@counters"})
    completed = bench.run("run", bench.write([foreign, old], launches=2), "--instructions", "--no-peaks")
    assert completed.returncode == 0, completed.stderr
    assert "instructions: only etprof-runner counts them" in bench.result("foreign")["warnings"]
    assert "instructions: no such operator: demo::missing" in bench.result("old")["warnings"]
    assert not list(bench.out.glob("*/*_instructions.csv"))
