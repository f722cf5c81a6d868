"""`--sustained` runs the experiments one after another without pauses, and reports their times over the duration."""

import csv
import json
import signal

from measure_bench import FAKE_RUNNER, MODEL, held_worker, program
from program import wait_until


def summary(bench) -> dict:
    return json.loads((bench.out / "analysis_summary.json").read_text())


def test_the_real_runner_over_some_seconds(bench):
    program("etprof-runner", "ETPROF_RUNNER")
    completed = bench.run("profile", MODEL, "--vs", "threads=2", "--sustained", "3s", "--output-root", bench.out)
    assert completed.returncode == 0, completed.stderr
    manifest = bench.manifest()
    assert manifest["schedule"]["sustained_seconds"] == 3
    assert manifest["pairs"] == []
    spans = []
    for result in manifest["results"]:
        (launch,) = result["launches"]
        bursts = launch["bursts"]
        assert [burst["round"] for burst in bursts] == list(range(len(bursts)))
        assert all(burst["opening_runs"] == 0 for burst in bursts)
        assert len(bursts) > 1
        # Traced runs are spread over the duration. Next to other processes, the last ones may be too late.
        assert 0 < sum(burst["traced_runs"] for burst in bursts) <= 100
        spans.append((bursts[0]["start_ns"], bursts[-1]["end_ns"]))
    spans.sort()
    # Each experiment takes the requested time by etprof's clock. Next to other processes, the times that the worker reports
    # for its bursts differ from it.
    assert manifest["schedule"]["seconds"] >= 6
    assert all(end - start > 1.5e9 for start, end in spans)
    assert spans[0][1] < spans[1][0]  # the experiments ran one after the other
    for experiment in summary(bench)["experiments"]:
        sustained = experiment["sustained"]
        assert sustained["seconds"] > 1.5
        assert sustained["first_ms"] > 0 and sustained["last_ms"] > 0
        assert sum(point["runs"] for point in sustained["points"]) == experiment["all_runs"]
    (table,) = bench.out.glob("**/*_t2_sustained.csv")
    rows = list(csv.DictReader(table.open()))
    assert len(rows) == len(summary(bench)["experiments"][1]["sustained"]["points"])
    assert "sustained" in completed.stdout
    assert any(level in completed.stdout for level in "▁▂▃▄▅▆▇█")
    validated = bench.run("validate", bench.out)
    assert validated.returncode == 0, validated.stdout


def test_ctrl_c_keeps_what_there_is(bench):
    with held_worker(bench, launch=2, burst=4) as hold:
        config = bench.write([bench.experiment("one", env=hold), bench.experiment("two")], sustained="10min", runs=5)
        process = bench.start("run", config)
        wait_until((bench.folder / "hold.held").exists)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "View:" in errors and "--resume" not in errors
    (launch,) = bench.result("one")["launches"]
    assert launch["status"] == "partial"
    assert len(launch["bursts"]) > 1
    assert bench.result("two")["launches"] == []
    result = bench.run("run", config, "--resume")
    assert result.returncode == 2
    assert "cannot be resumed" in bench.last_error(result)


def test_a_worker_that_dies_keeps_its_bursts_and_the_next_experiment_runs(bench):
    config = bench.write(
        [bench.experiment("one", env={"FAKE_FAIL": "die@burst", "FAKE_FAIL_AFTER": "4"}), bench.experiment("two")],
        sustained="300ms",
        runs=3,
    )
    completed = bench.run("run", config)
    one, two = bench.result("one"), bench.result("two")
    assert one["launches"][0]["status"] == "partial", completed.stderr
    assert len(one["launches"][0]["bursts"]) >= 1
    assert "killed by signal 9" in one["launches"][0]["problem"]
    assert any("ended early" in warning for warning in one["warnings"])
    assert bench.manifest()["schedule"]["stopped"] == "a process ended early"
    assert completed.returncode == 4
    assert "The sustained run of `one` ended early: the worker was killed by signal 9" in bench.last_error(completed)
    assert "one" in completed.stdout and (bench.out / "report.html").exists()
    assert two["launches"][0]["status"] == "complete"


def test_invalid_durations_and_unsuitable_runners(bench):
    for text in ("0", "0s", "10", "long", "25h"):
        result = bench.run("profile", MODEL, f"--sustained={text}")
        assert result.returncode == 2
        assert "is not a duration" in bench.last_error(result)
    result = bench.run("run", bench.write([bench.experiment("a")], sustained="10"))
    assert result.returncode == 3
    for option in ("--max-seconds", "--launches"):
        result = bench.run("run", bench.write([bench.experiment("a")], sustained="1s"), option, "2")
        assert result.returncode == 2 and not bench.out.exists()
        assert f"`{option}` does not go with a sustained measurement" in bench.last_error(result)
    foreign = bench.experiment("a") | {"runner_path": str(FAKE_RUNNER)}
    result = bench.run("run", bench.write([foreign], sustained="1s"))
    assert result.returncode == 3
    assert "is to run sustained, which only etprof-runner can do" in bench.last_error(result)
