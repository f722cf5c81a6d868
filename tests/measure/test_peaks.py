"""The machine's peaks next to a measurement: peaks.json, and `etprof peaks`."""

import json
import signal

from measure_bench import FAKE_RUNNER, FAKE_WORKER, has_child, program
from program import parse_with_schema, wait_until


def make_experiment(**keys) -> dict:
    """Returns the configuration of an experiment. Experiments differ only in `keys`."""
    return {"runner_path": str(FAKE_WORKER), "runs": 2, "env": {"FAKE_LATENCY_NS": "100000"}} | keys


def entries(bench) -> list[dict]:
    return json.loads((bench.out / "peaks.json").read_text())["entries"]


def measure(bench, experiments: list[dict], *options: str, **keys):
    completed = bench.run("run", bench.write(experiments, launches=2, rounds=1, **keys), *options)
    assert completed.returncode == 0, completed.stderr
    return completed


def test_experiments_with_equal_conditions_share_peaks(bench):
    measure(
        bench,
        [
            make_experiment(name="a", label="as it is"),
            make_experiment(name="b", warmup=1),
            make_experiment(name="c", cpu_affinity="0"),
            make_experiment(name="d", threads=[1, 2]),
        ],
    )
    found = [(e["experiments"], e["threads"], e["cpus"], e["isa"]) for e in entries(bench)]
    assert found == [(["as it is", "b", "d, 1 thread"], 1, "", ""), (["c"], 1, "0", ""), (["d, 2 threads"], 2, "", "")]
    validated = bench.run("validate", bench.out)
    assert validated.returncode == 0, validated.stdout


def test_no_peaks_if_disabled_or_meaningless(bench):
    emulator = bench.folder / "qemu-none"
    emulator.write_text('#!/bin/sh\nexec "$@"\n')
    emulator.chmod(0o755)
    foreign = make_experiment(name="foreign", runner_path=str(FAKE_RUNNER))
    measure(bench, [foreign, make_experiment(name="emulated", exec_wrapper=[str(emulator)])])
    assert not (bench.out / "peaks.json").exists()
    measure(bench, [make_experiment(name="a")], "--no-peaks")
    assert not (bench.out / "peaks.json").exists()
    measure(bench, [make_experiment(name="a")], peaks=False)
    assert not (bench.out / "peaks.json").exists()
    # The peaks of an earlier run move together with that run.
    measure(bench, [make_experiment(name="a")])
    assert len(entries(bench)) == 1
    measure(bench, [make_experiment(name="a")], "--no-peaks")
    assert not (bench.out / "peaks.json").exists()
    assert len(list(bench.out.glob("previous/*/peaks.json"))) == 1


def test_no_peaks_without_time_for_them(bench):
    left_out = "the time limit left no time to measure the machine's peaks"
    measure(bench, [make_experiment(name="a")], max_seconds=1)
    assert not (bench.out / "peaks.json").exists()
    manifest = json.loads((bench.out / "manifest.json").read_text())
    assert left_out in manifest["warnings"]
    measure(bench, [make_experiment(name="a")], max_seconds=600)
    assert len(entries(bench)) == 1
    assert left_out not in json.loads((bench.out / "manifest.json").read_text())["warnings"]


def test_a_runner_that_cannot_is_a_warning(bench):
    broken = make_experiment(name="broken", env={"FAKE_PEAKS": "etprof-runner: vfmadd231ps computes something else"})
    measure(bench, [broken, make_experiment(name="fine")])
    assert [e["experiments"] for e in entries(bench)] == [["fine"]]
    (warning,) = [w for w in bench.manifest()["warnings"] if "peaks were not" in w]
    assert warning == "the machine's peaks were not measured for broken: vfmadd231ps computes something else"
    assert warning in (bench.out / "report.md").read_text()


def test_etprof_peaks_shows_and_ends(bench):
    program("etprof-runner", "ETPROF_RUNNER")
    completed = bench.run("peaks", "--threads", "2", "--isa=none")
    assert completed.returncode == 0, completed.stderr
    assert "2 threads" in completed.stdout and "isa none" in completed.stdout
    assert "DRAM" in completed.stdout and "copy" in completed.stdout
    completed = bench.run("peaks", "--json")
    assert completed.returncode == 0, completed.stderr
    document = parse_with_schema("machine_peaks", completed.stdout)
    assert document["device"] == "local" and document["emulated"] is False
    assert {peak["dtype"] for peak in document["compute"]} >= {"fp32", "int8"}
    crowded = bench.run("peaks", "--threads", "2", "--cpus", "0")
    assert crowded.returncode == 0
    assert "warning: 2 threads on 1 CPU (CPU 0): they wait for each other" in crowded.stderr
    assert bench.run("peaks", "--isa=-nosuch").returncode == 3
    assert bench.run("peaks", "--cpus", "999").returncode == 3
    assert bench.run("peaks", "--cpus", "many").returncode == 2
    process = bench.start("peaks", "--threads", "2")
    wait_until(lambda: has_child("etprof-runner", process.pid) or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 130, errors


def test_peaks_of_another_runner(bench):
    completed = bench.run("peaks", "--runner", FAKE_RUNNER)
    assert completed.returncode == 3
    assert str(FAKE_RUNNER) in bench.last_error(completed)
