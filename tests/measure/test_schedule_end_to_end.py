"""End-to-end tests: configuration, schedule, workers, results directory."""

import csv
import json
import pathlib
import signal

import pytest
from measure_bench import FAKE_RUNNER, MODEL
from program import wait_until

DONE, USAGE, DEVICE, INTERRUPTED = 0, 2, 4, 130


def read_rows(bench, name: str) -> list:
    with (bench.out / bench.result(name)["latency_csv"]).open() as file:
        return list(csv.DictReader(file))


def test_rounds_have_every_experiment_once_in_changing_order(bench):
    experiments = [bench.experiment("a"), bench.experiment("b", env={"FAKE_LATENCY_NS": "2000000"})]
    config = bench.write(experiments, max_seconds=600)  # enough time for all rounds on a slow machine
    result = bench.run("run", config)
    assert result.returncode == DONE, result.stderr
    manifest = bench.manifest()
    assert manifest["schedule"]["launches"] == 10
    assert manifest["schedule"]["rounds"] == 7
    orders = []
    for a, b in zip(*(bench.result(name)["launches"] for name in "ab"), strict=True):
        assert [burst["round"] for burst in a["bursts"]] == list(range(7))
        for one, other in zip(a["bursts"], b["bursts"], strict=True):
            assert {one["order"], other["order"]} == {0, 1}
            orders.append(one["order"])
    assert 20 < sum(orders) < 50
    for name in "ab":
        rows = read_rows(bench, name)
        assert sum(row["phase"] == "traced" for row in rows) == 10
        assert sum(row["phase"] == "first" for row in rows) == 10
        assert {row["launch"] for row in rows} == {str(i) for i in range(10)}
        unrecorded = [row for row in rows if row["launch"] == "0" and row["phase"] in ("first", "warmup")]
        assert len(unrecorded) >= 10
    assert manifest["pairs"][0]["outputs"]["equal"] is True
    assert not list(bench.out.rglob("launches"))


def test_one_experiment_alone(bench):
    result = bench.run("run", bench.write([bench.experiment("a")], max_seconds=600))
    assert result.returncode == DONE, result.stderr
    assert bench.manifest()["schedule"]["launches"] == 10


def test_only_and_dry_run_and_analysis_only(bench):
    config = bench.write([bench.experiment("a"), bench.experiment("b")], launches=2)
    dry = bench.run("run", config, "--dry-run")
    assert dry.returncode == DONE
    assert not bench.out.exists()
    assert bench.run("run", config, "--only", "b").returncode == DONE
    assert [r["experiment"] for r in bench.manifest()["results"]] == ["b"]
    before = bench.manifest()
    assert bench.run("run", config, "--analysis-only").returncode == DONE
    assert bench.manifest() == before
    unknown = bench.run("run", config, "--only", "third")
    assert unknown.returncode == USAGE
    assert unknown.stderr.splitlines()[1] == "hint: Give one of a, b."


@pytest.mark.parametrize("option", [["--max-seconds", "3"], ["--threads", "2"], ["--resume"], ["--dry-run"]])
def test_analysis_only_takes_no_option_of_a_measurement(bench, option):
    refused = bench.run("run", bench.write([bench.experiment("a")]), "--analysis-only", *option)
    assert refused.returncode == USAGE
    assert refused.stderr.startswith("error: `--analysis-only` and ") and "do not go together" in refused.stderr


@pytest.mark.parametrize("stream", ["stderr", "stdout"])
def test_a_third_party_runner(bench, stream):
    """ExecuTorch's runner logs to stderr. The times are those of the log, to the nanosecond, and not those of the ETDump."""
    experiment = bench.experiment("a", runner_path=str(FAKE_RUNNER), warmup=4, env={"FAKE_LOG": stream})
    config = bench.write([experiment], launches=3)
    result = bench.run("run", config)
    assert result.returncode == DONE, result.stderr
    data = bench.result("a")
    assert data["foreign"] and data["tracer_always_on"]
    assert bench.manifest()["schedule"]["rounds"] == 1
    assert len(data["launches"]) >= 3  # a launch without a clean run is repeated
    rows = read_rows(bench, "a")
    assert sum(row["phase"] == "warmup" for row in rows) == len(data["launches"]) * 4
    assert rows[0]["phase"] == "first" and rows[0]["latency_ns"] == "2000000"
    assert {row["latency_ns"] for row in rows} <= {str(2_000_000 + 1000 * i) for i in range(len(rows))}
    assert "Iteration 1 of" in (bench.out / data["log"]).read_text()
    report = (bench.out / "report.md").read_text()
    assert "tracing overhead included" in report
    assert "tracer off" not in report


def test_a_third_party_runner_without_an_etdump_has_the_times_of_its_log(bench):
    experiment = bench.experiment("a", runner_path=str(FAKE_RUNNER), env={"FAKE_ETDUMP": "0"})
    result = bench.run("run", bench.write([experiment], launches=2))
    assert result.returncode == DONE, result.stderr
    rows = read_rows(bench, "a")
    assert {row["latency_ns"] for row in rows} <= {str(2_000_000 + 1000 * i) for i in range(len(rows))}
    assert len(rows) >= 2 * 11


def test_a_third_party_runner_that_only_logs_to_stderr_is_not_ended(bench):
    """The command takes longer than timeout_seconds, but writes output all the time."""
    environment = {"FAKE_SECONDS": "0.7", "FAKE_ETDUMP": "0"}
    experiment = bench.experiment("a", runner_path=str(FAKE_RUNNER), runs=8, env=environment)
    result = bench.run("run", bench.write([experiment], launches=2, timeout_seconds=5))
    assert result.returncode == DONE, result.stderr


def test_a_silent_third_party_runner_is_ended(bench):
    environment = {"FAKE_SECONDS": "60", "FAKE_LOG": "0"}
    experiment = bench.experiment("a", runner_path=str(FAKE_RUNNER), env=environment)
    result = bench.run("run", bench.write([experiment], launches=2, timeout_seconds=5))
    assert result.returncode == DEVICE
    assert "said nothing for 5 s" in result.stderr


@pytest.mark.parametrize(("text", "timeout_seconds"), [("slow", 3), ("fast" * 10_000, 600)])
def test_a_third_party_runner_that_writes_without_end_is_ended(bench, text, timeout_seconds):
    """A runner that writes more than the log takes is ended at the time limit, others also have timeout_seconds."""
    experiment = bench.experiment("a", runner_path=str(FAKE_RUNNER), env={"FAKE_ENDLESS": text})
    result = bench.run("run", bench.write([experiment], max_seconds=2, timeout_seconds=timeout_seconds))
    assert result.returncode == DEVICE
    assert "s and did not end" in result.stderr
    assert bench.manifest()["schedule"]["seconds"] < 60


def test_a_kernel_log_run_that_writes_without_end_is_ended(bench):
    environment = {"FAKE_ENDLESS": "slow"}
    experiment = bench.experiment("a", runner_path=str(FAKE_RUNNER), env=environment, mode="xnntrace")
    result = bench.run("run", bench.write([experiment], timeout_seconds=3))
    assert result.returncode == DEVICE
    assert "s and did not end" in result.stderr


def test_ctrl_c_ends_a_third_party_runner_that_closed_its_output(bench):
    closed = bench.folder / "closed"
    experiment = bench.experiment("a", runner_path=str(FAKE_RUNNER), env={"FAKE_ENDLESS": str(closed)})
    process = bench.start("run", bench.write([experiment], max_seconds=2))
    wait_until(closed.exists)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"FAKE_NAN": "1"}, "NaN"),
        ({"FAKE_ETDUMP": "0"}, "no operators"),
    ],
)
def test_a_third_party_runner_with_unusual_output(bench, environment, message):
    experiment = bench.experiment("a", runner_path=str(FAKE_RUNNER), env=environment)
    result = bench.run("run", bench.write([experiment], launches=2))
    assert result.returncode == DONE, result.stderr
    assert any(message in warning for warning in bench.result("a")["warnings"])


def test_a_third_party_runner_that_crashes_after_its_etdump(bench):
    # Its ETDump has 20 runs: 1 first, 9 of warm-up, 10 recorded.
    experiment = bench.experiment(
        "a",
        runner_path=str(FAKE_RUNNER),
        warmup=9,
        runs=10,
        env={"FAKE_EXIT": "-11", "FAKE_XNNPACK": "1"},
        mode="xnntrace",
    )
    result = bench.run("run", bench.write([experiment]))
    assert result.returncode == DONE, result.stderr
    data = bench.result("a")
    assert any("complete by then" in warning for warning in data["warnings"])
    assert data["trace_enabled"] is True
    assert "Using igemm microkernel" in (bench.out / data["xnntrace_log"]).read_text()


def test_a_trace_enabled_run(bench):
    """The run keeps the log, the microkernels, and the view, and is valid. Its times are not compared."""
    trace = bench.experiment(
        "trace", runner_path=str(FAKE_RUNNER), warmup=9, runs=10, env={"FAKE_XNNPACK": "1"}, mode="xnntrace"
    )
    timed = bench.experiment("timed", runner_path=str(FAKE_RUNNER), warmup=9, runs=10)
    config = bench.write([timed, trace], launches=2)
    result = bench.run("run", config)
    assert result.returncode == DONE, result.stderr
    data = bench.result("trace")
    log = bench.out / data["xnntrace_log"]
    table = log.with_name(log.name.replace("_xnntrace.log", "_kernels.csv"))
    used = [row for row in table.read_text().splitlines() if ",used," in row]
    assert len(used) == 1 and "xnn_f32_igemm_minmax_ukernel_7x32__avx512f_broadcast" in used[0]
    assert "The ETDump has the same operators" in (bench.out / "kernel_view.md").read_text()
    assert "kernel_view.md" in (bench.out / "report.md").read_text().replace("\\", "")
    summary = json.loads((bench.out / "analysis_summary.json").read_text())
    assert summary["comparisons"] == []
    assert bench.run("validate", bench.out).returncode == DONE
    table.write_text(table.read_text().replace(",used,", ",registered,"))
    validated_damaged = bench.run("validate", bench.out)
    assert (
        validated_damaged.returncode != DONE and "_kernels.csv" in validated_damaged.stdout + validated_damaged.stderr
    )
    assert bench.run("analyze", bench.out, "-q").returncode == DONE
    assert bench.run("validate", bench.out).returncode == DONE
    # A check does not use its times as latencies, either.
    assert bench.run("check", bench.out / "timed", bench.out / "trace").returncode != DONE


def test_a_trace_enabled_runner_is_not_timed(bench):
    traced = bench.experiment("traced", runner_path=str(FAKE_RUNNER), env={"FAKE_XNNPACK": "1"})
    result = bench.run("run", bench.write([traced], launches=2))
    assert result.returncode == DEVICE
    assert "writes XNNPACK's log" in bench.last_error(result)
    assert '"mode": "xnntrace"' in bench.last_error(result)


def test_a_third_party_runner_that_crashes_before_its_etdump(bench):
    experiment = bench.experiment("a", runner_path=str(FAKE_RUNNER), env={"FAKE_EXIT": "3", "FAKE_ETDUMP": "0"})
    result = bench.run("run", bench.write([experiment]))
    assert result.returncode == DEVICE
    assert "exited with 3" in bench.last_error(result)


def test_the_real_runner(bench, runner):
    experiments = [
        {"name": "one", "runner_path": str(runner), "isa": "none"},
        {"name": "two", "runner_path": str(runner), "threads": [1, 2]},
    ]
    result = bench.run("run", bench.write(experiments, launches=3, rounds=2))
    assert result.returncode == DONE, result.stderr
    manifest = bench.manifest()
    assert [(r["experiment"], r["threads"]) for r in manifest["results"]] == [("one", 1), ("two", 1), ("two", 2)]
    for data in manifest["results"]:
        assert data["operator_clock"] == "exact"
        assert data["backends"] == ["XnnpackBackend"]
        assert data["output_digests"][0]["nan_count"] == 0
        phases = [(run["launch"], run["phase"]) for run in data["etdump_runs"]]
        assert phases.count((0, "first")) == 1
        # A burst that other processes disturbed is repeated, including its traced runs.
        traced = [run["runs"] for run in data["etdump_runs"] if run["phase"] in ("steady", "disturbed")]
        assert sum(traced) >= 100
        stem = f"toy_cnn_{data['experiment']}_t{data['threads']}"
        assert data["etdump"] == f"{data['experiment']}/{stem}.etdump"
    assert manifest["results"][0]["isa_state"]["masked"]
    assert manifest["pairs"][0]["outputs"]["comparable"]
    inspector = pytest.importorskip("executorch.devtools").Inspector
    etdump = bench.out / manifest["results"][0]["etdump"]
    blocks = [block for block in inspector(etdump_path=str(etdump)).event_blocks if block.name == "Execute"]
    runs = sum(run["runs"] for run in manifest["results"][0]["etdump_runs"])
    assert len(blocks[0].events[0].perf_data.raw) == runs


def test_profile(bench, runner, monkeypatch):
    monkeypatch.setenv("ETPROF_RUNNER", str(runner))
    result = bench.run("profile", MODEL, "--vs", "threads=2", "--launches", "2", "--runs", "10")
    assert result.returncode == DONE, result.stderr
    found = list(pathlib.Path(bench.folder).glob("out_toy_cnn/runs/*/manifest.json"))
    assert len(found) == 1
    bench.out = found[0].parent
    assert [r["label"] for r in bench.manifest()["results"]] == ["1 thread", "2 threads"]
    assert (bench.out / "report.md").exists()
