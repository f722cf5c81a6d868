"""`--instructions` by Callgrind: counts that repeat, that Callgrind itself confirms, and gates that decide by them."""

import csv
import json
import os
import re
import shutil
import subprocess

import pytest
from program import ROOT
from runner_bench import RUNNER, skip

FAIL, INCONCLUSIVE = 1, 5
ETPROF = ROOT / "build" / "etprof"
MODEL = ROOT / "tests" / "fuzz" / "corpus" / "program" / "int8.pte"


@pytest.fixture(scope="module")
def valgrind() -> str:
    found = shutil.which("valgrind")
    if not found:
        skip("valgrind is not installed: script/bootstrap --dev")
    return found


def read_rows(folder) -> list[dict[str, str]]:
    (path,) = folder.glob("*_instructions.csv")
    return list(csv.DictReader(path.open()))


@pytest.fixture(scope="module")
def counted_run(valgrind, tmp_path_factory):  # noqa: ARG001
    """Counts two equal experiments while other processes keep all processors busy."""
    folder = tmp_path_factory.mktemp("counted")
    config = {
        "model": str(MODEL),
        "output_root": str(folder / "out"),
        "runner_path": str(RUNNER),
        "launches": 2,
        "rounds": 1,
        "runs": 2,
        "peaks": False,
        "experiments": [{"name": name, "threads": [threads]} for name, threads in (("one", 1), ("again", 2))],
    }
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    busy_processes = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        completed = subprocess.run([ETPROF, "run", path, "--instructions"], capture_output=True, text=True, timeout=600)
    finally:
        for process in busy_processes:
            process.kill()
            process.wait()
    assert completed.returncode == 0, completed.stderr
    if "processor's counters" in completed.stderr:
        skip(completed.stderr)
    return folder / "out"


def test_every_operator_is_counted_and_counts_repeat(counted_run):
    analyzed = json.loads((counted_run / "analysis_summary.json").read_text())["experiments"]
    totals, operators = [], []
    for experiment in analyzed:
        rows = read_rows(counted_run / experiment["name"])
        by_key = {row["key"]: row for row in rows}
        assert len(by_key) == len(rows)
        names = {row["key"]: row["name"] for row in experiment["operators"]}
        assert names
        assert {key: by_key[key]["name"] for key in names} == names
        (method,) = [row for row in rows if "/method/" in row["key"]]
        parts = [float(row["instructions"]) for row in rows if row is not method]
        assert 0.5 * float(method["instructions"]) < sum(parts) < float(method["instructions"])
        assert {row["source"] for row in rows} == {"callgrind"}
        assert {row["neon_instructions"] for row in rows} == {""}
        for row in rows:
            assert float(row["lowest"]) <= float(row["instructions"]) <= float(row["highest"])
        totals.append(float(method["instructions"]))
        operators.append({row["key"]: float(row["instructions"]) for row in rows if "/backend/" in row["key"]})
        summary_counts = {row["key"]: row["instructions"] for row in experiment["instructions"]}
        assert summary_counts == {key: float(row["instructions"]) for key, row in by_key.items()}
    # etprof counts with one thread for every experiment. The documented spread is 0.02%.
    assert totals[0] == pytest.approx(totals[1], rel=2e-4, abs=16)
    assert operators[0] == operators[1]
    assert not list(counted_run.glob("*/*.callgrind*"))


def test_what_the_screen_and_the_report_say(counted_run):
    completed = subprocess.run([ETPROF, "analyze", counted_run, "--by", "instructions"], capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.count("Method::execute") == 2
    assert "counted by Callgrind" in re.sub(r"\s+", " ", completed.stdout)
    assert "## Instructions" in (counted_run / "report.md").read_text()
    validated = subprocess.run([ETPROF, "validate", counted_run], capture_output=True, text=True)
    assert validated.returncode == 0, validated.stdout


def test_callgrind_itself_counts_as_many(counted_run, valgrind, tmp_path):
    """Runs the runner as a plain program, in which Callgrind counts only ExecuTorch's Method::execute. The difference between
    100 and 50 inferences is the count of 50 inferences."""

    def total(runs: int) -> int:
        profile = tmp_path / f"{runs}.callgrind"
        subprocess.run(
            [valgrind, "--tool=callgrind", "--toggle-collect=executorch::runtime::Method::execute()",
             f"--callgrind-out-file={profile}", RUNNER, f"--model_path={MODEL}",
             f"--num_executions={runs}", "--cpu_threads=1"],
            check=True, capture_output=True,
        )  # fmt: skip
        return int(re.search(r"^totals: (\d+)", profile.read_text(), re.MULTILINE)[1])

    (method,) = [row for row in read_rows(counted_run / "one") if "/method/" in row["key"]]
    ns_per_inference = (total(100) - total(50)) / 50
    assert ns_per_inference <= float(method["instructions"]) <= 1.01 * ns_per_inference  # what the runner adds to it


def run_check(tmp_path, *arguments, **environment):
    completed = subprocess.run(
        [ETPROF, "check", MODEL, "--instructions", "--output-root", tmp_path / "out", "--json",
         *arguments],
        capture_output=True, text=True, timeout=600, env={**os.environ, **environment},
    )  # fmt: skip
    return completed, json.loads(completed.stdout) if completed.stdout else None


def test_a_gate_decides_by_counts_alone(valgrind, tmp_path):  # noqa: ARG001
    completed, result = run_check(tmp_path, "--candidate", "isa=none")
    assert completed.returncode == FAIL, completed.stderr
    (pair,) = result["pairs"]
    (item,) = pair["checks"]  # latency is not checked
    assert (item["check"], item["unit"], item["result"]) == ("instructions", "instructions", "fail")
    assert item["growth"] == pytest.approx(item["candidate"] / item["baseline"] - 1)
    assert item["growth_low"] <= item["growth"] <= item["growth_high"]
    assert item["growth_high"] - item["growth_low"] < 1e-3
    # The operators are sorted by the instructions that they add.
    changes = [row["candidate"] - row["baseline"] for row in pair["counted_operators"]]
    assert any("Convolution" in row["name"] for row in pair["counted_operators"])
    assert changes == sorted(changes, key=abs, reverse=True)
    assert sum(changes) == pytest.approx(item["candidate"] - item["baseline"], rel=0.05)
    assert any("counted by Callgrind" in note for note in result["notes"])
    assert result["seconds"] < 60


def test_time_and_counts_in_one_command(valgrind, tmp_path):  # noqa: ARG001
    completed, result = run_check(
        tmp_path, "--candidate", "isa=none", "--max-slowdown", "100000%", "--max-instruction-growth", "100000%",
        "--launches", "3",
    )  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    (pair,) = result["pairs"]
    assert [item["check"] for item in pair["checks"]] == ["latency", "instructions"]
    assert {item["result"] for item in pair["checks"]} == {"pass"}


def test_equal_sides_are_not_counted(tmp_path):
    completed, result = run_check(tmp_path, "--candidate", MODEL)
    assert completed.returncode == 0, completed.stderr
    assert [item["result"] for item in result["pairs"][0]["checks"]] == ["pass"]
    assert not (tmp_path / "out").exists()


def test_without_anything_that_counts(tmp_path):
    completed, result = run_check(tmp_path, "--candidate", "isa=none", PATH="/nowhere")
    (item,) = result["pairs"][0]["checks"]
    if item["result"] != "inconclusive":
        skip("this processor's counters are open")
    assert completed.returncode == INCONCLUSIVE
    assert item["why_not"] == "they were not counted"
    assert item["growth"] is None
    assert any("apt-get install valgrind" in note for note in result["notes"])
