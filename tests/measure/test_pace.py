"""`--period`: runs that start at the rate of a camera, with the real runner."""

import csv
import json

from measure_bench import FAKE_RUNNER, MODEL, program

PERIOD = 20_000_000


def bursts(result: dict) -> list[dict]:
    return [burst for launch in result["launches"] for burst in launch["bursts"]]


def runs(burst: dict) -> int:
    return burst["opening_runs"] + burst["recorded_runs"] + burst["traced_runs"]


def bursts_by_key(result: dict) -> dict[tuple[int, int, int], dict]:
    return {
        (launch["index"], burst["round"], burst["order"]): burst
        for launch in result["launches"]
        for burst in launch["bursts"]
    }


def idle_between_runs(bench, result: dict) -> dict[tuple[int, int, int], int]:
    """Returns the idle time of each burst in ns: no run was active, and no thread waited for a processor."""
    idle_ns = {key: burst["end_ns"] - burst["start_ns"] for key, burst in bursts_by_key(result).items()}
    with (bench.out / result["latency_csv"]).open() as file:
        for row in csv.DictReader(file):
            if row["round"]:
                idle_ns[int(row["launch"]), int(row["round"]), int(row["order"])] -= int(row["latency_ns"]) + int(
                    row["wait_ns"] or 0
                )
    return idle_ns


def test_paced_against_back_to_back(bench):
    program("etprof-runner", "ETPROF_RUNNER")
    arguments = ["--vs", "period=20ms", "--launches", "2", "--max-seconds", "600", "--output-root", bench.out]
    completed = bench.run("profile", MODEL, *arguments)
    assert completed.returncode == 0, completed.stderr
    assert "a run every 20ms" in completed.stdout
    by_period = {result["period_ns"]: result for result in bench.manifest()["results"]}
    assert set(by_period) == {0, PERIOD}
    for burst in bursts(by_period[PERIOD]):
        assert runs(burst) >= 11
        # If a run is late, the next ones are late, too, and never early.
        assert burst["end_ns"] - burst["start_ns"] >= (runs(burst) - 1) * PERIOD
    # Next to other processes a burst takes longer, because they use the processor meanwhile.
    idle = idle_between_runs(bench, by_period[0])
    assert any(idle[key] < (runs(burst) - 1) * PERIOD / 2 for key, burst in bursts_by_key(by_period[0]).items())
    (pair,) = bench.manifest()["pairs"]
    assert (pair["baseline"]["label"], pair["candidate"]["label"]) == ("back to back", "every 20ms")
    summary = json.loads((bench.out / "analysis_summary.json").read_text())
    paced = next(e for e in summary["experiments"] if e["period_ms"] is not None)
    assert paced["period_ms"] == PERIOD / 1e6
    assert 0 <= paced["late_runs"] <= paced["all_runs"]
    assert f"of {paced['all_runs']} took longer" in " ".join(completed.stdout.split())


def test_runs_that_take_longer_than_the_period_are_counted(bench):
    # The scripted worker takes 1 ms for a run, whatever the request.
    config = bench.write([bench.experiment("late", period="900us"), bench.experiment("fine", period="2ms")], launches=2)
    completed = bench.run("run", config)
    assert completed.returncode == 0, completed.stderr
    summary = json.loads((bench.out / "analysis_summary.json").read_text())
    late = {e["name"]: (e["late_runs"], e["all_runs"]) for e in summary["experiments"]}
    assert late["fine"][0] == 0
    assert late["late"][0] == late["late"][1] > 0
    assert "a run every 900us" in completed.stdout
    assert "took longer (100%)" in " ".join(completed.stdout.split())


def test_invalid_periods_and_unsuitable_runners(bench):
    for text in ("33", "fast", "-1ms", "2min"):
        result = bench.run("profile", MODEL, f"--period={text}")
        assert result.returncode == 2
        assert "is not a duration" in bench.last_error(result) and "33ms" in bench.last_error(result)
        result = bench.run("profile", MODEL, "--vs", f"period={text}")
        assert result.returncode == 2
    result = bench.run("run", bench.write([bench.experiment("a", period="soon")]))
    assert result.returncode == 3
    assert "experiments[0].period" in bench.last_error(result)
    foreign = bench.experiment("a", period="33ms") | {"runner_path": str(FAKE_RUNNER)}
    result = bench.run("run", bench.write([foreign]))
    assert result.returncode == 3
    assert "which only etprof-runner can do" in bench.last_error(result)
