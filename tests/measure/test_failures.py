"""A failure has one clear message and the documented exit code, and keeps measured results."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import time

import program
import pytest
from measure_bench import FAKE_RUNNER, MODEL, held_worker, skip
from program import wait_until

DONE, USAGE, BAD_INPUT, DEVICE, INTERRUPTED = 0, 2, 3, 4, 130
HANGS = 6  # seconds; on a busy machine a worker may take some to answer


def read_launches(bench, name: str) -> list:
    return bench.result(name)["launches"]


def alive(pid: int) -> bool:
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # the process has ended, or ends meanwhile
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def workers(bench) -> list:
    return [int(p.name.partition(".")[2]) for p in bench.folder.glob("state_*/*")]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b'{"versions": {"executorch": 5}, "methods": 7}',
        b'{"versions": [], "methods": {"forward": 1, "encode": "\\u001b[31m"}}',
        b'{"versions": {"executorch": "\\ud800"}}',
        b'{"versions": {"executorch": "\xff\xfe"}}',
        b"[" * 1_000_000,
        b'{"methods": {"forward"',
    ],
    ids=range(9),
)
def test_a_damaged_pte_json_next_to_the_model(bench, text):
    model = bench.folder / "net.pte"
    shutil.copy(MODEL, model)
    (bench.folder / "net.pte.json").write_bytes(text)
    config = bench.write([bench.experiment("a")], launches=2, rounds=1, peaks=False, model=str(model))
    result = bench.run("run", config)
    assert result.returncode == DONE, result.stderr
    assert "\x1b[31m" not in result.stdout
    assert bench.run("report", bench.out).returncode == DONE
    assert bench.run("validate", bench.out).returncode == DONE


def test_a_worker_that_dies_once_is_tried_again(bench):
    experiments = [bench.experiment("a"), bench.experiment("b", env={"FAKE_FAIL": "die@burst:3"})]
    config = bench.write(experiments, max_seconds=600)  # enough time for ten launches on a slow machine
    result = bench.run("run", config)
    assert result.returncode == DONE, result.stderr
    states = [launch["status"] for launch in read_launches(bench, "b")]
    assert states.count("failed") == 1
    assert states.count("complete") >= 10
    assert "killed by signal 9" in next(
        launch["problem"] for launch in read_launches(bench, "b") if "problem" in launch
    )
    assert any("was tried again" in warning for warning in bench.result("b")["warnings"])
    assert bench.manifest()["status"] == "complete"


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("die@burst", "killed by signal 9"),
        ("die@load", "killed by signal 9"),
        ("garbage@burst", "not a JSON object"),
        ("refuse@load", "no such operator: demo::missing"),
        ("silent@load", "something broke"),
        ("hang@burst", f"did not answer within {HANGS} s"),
        ("die@etdump", "killed by signal 9"),
    ],
)
def test_an_experiment_that_always_fails_is_given_up_and_the_others_go_on(bench, fault, message):
    config = bench.write(
        [bench.experiment("good"), bench.experiment("bad", env={"FAKE_FAIL": fault})],
        timeout_seconds=HANGS if "hang" in fault else 600,  # also for the good experiment
        launches=3,
    )
    result = bench.run("run", config)
    assert result.returncode == DEVICE
    assert message in bench.last_error(result)
    assert "Experiment `bad` failed" in bench.last_error(result)
    assert len([launch for launch in read_launches(bench, "good") if launch["status"] == "complete"]) >= 3
    assert bench.result("good")["median_ms"] == pytest.approx(1, rel=1e-4)  # the fake adds a few ns to every run
    assert message in bench.result("bad")["error"]
    assert (bench.out / bench.result("good")["etdump"]).stat().st_size > 0
    assert not any(alive(pid) for pid in workers(bench))


def test_a_third_party_runner_that_fails_once_after_complete_launches_is_tried_again(bench):
    environment = {"FAKE_FAIL_ONCE": f"{bench.folder / 'processes'}:4"}
    experiment = bench.experiment("a", runner_path=str(FAKE_RUNNER), env=environment)
    result = bench.run("run", bench.write([experiment], launches=4))
    assert result.returncode == DONE, result.stderr
    states = [launch["status"] for launch in read_launches(bench, "a")]
    assert states.count("failed") == 1 and states.count("complete") == 4, states
    assert any("out of memory" in warning for warning in bench.result("a")["warnings"])


def test_all_experiments_fail(bench):
    config = bench.write([bench.experiment("a", env={"FAKE_FAIL": "refuse@load"})])
    result = bench.run("run", config)
    assert result.returncode == DEVICE
    assert bench.manifest()["status"] == "failed"


def test_ctrl_c_keeps_what_was_measured_and_resume_goes_on(bench):
    bench.out = bench.folder / "a run"  # the command that shows it can be pasted into a shell
    with held_worker(bench) as hold:
        config = bench.write([bench.experiment("a", env=hold), bench.experiment("b")], launches=6)
        config = config.rename(bench.folder / "a config.json")
        process = bench.start("run", config)
        wait_until(lambda: (bench.out / "manifest.json").exists() and len(read_launches(bench, "a")) >= 2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=240)
    assert process.returncode == INTERRUPTED
    assert "\nInterrupted. Partial results are in " in f"\n{err}"
    commands = [shlex.split(command) for command in re.findall("^  (?:View|Resume): +(.*)", err, re.MULTILINE)]
    view, resume = ([pathlib.Path(word).name for word in command] for command in commands)
    assert view == ["etprof", "analyze", "a run"]
    assert resume == ["etprof", "run", "a config.json", "--resume"]
    assert bench.manifest()["status"] == "interrupted"
    assert not any(alive(pid) for pid in workers(bench))
    before = read_launches(bench, "a")
    assert bench.run("analyze", bench.out).returncode == DONE

    assert bench.run("run", config, "--resume").returncode == DONE
    after = read_launches(bench, "a")
    assert bench.manifest()["status"] == "complete"
    assert after[: len(before)] == before
    assert sum(launch["status"] == "complete" for launch in after) == 6
    assert len({launch["index"] for launch in after}) == len(after)


@pytest.mark.parametrize("changed", [False, True])
def test_a_model_that_is_replaced_during_the_measurement(bench, changed):
    model = bench.folder / "net.pte"
    shutil.copy(MODEL, model)
    with held_worker(bench) as hold:
        experiments = [bench.experiment("a", env=hold), bench.experiment("b")]
        process = bench.start("run", bench.write(experiments, launches=6, model=str(model)))
        wait_until(lambda: (bench.out / "manifest.json").exists() and len(read_launches(bench, "a")) >= 2)
        copy = bench.folder / "copy.pte"
        copy.write_bytes(MODEL.read_bytes() + bytes(changed))
        copy.replace(model)
    out, err = process.communicate(timeout=240)
    assert process.returncode == (BAD_INPUT if changed else DONE), err
    assert ("was replaced during the measurement" in err) == changed
    assert bench.manifest()["status"] == ("failed" if changed else "complete")
    assert changed == any("was replaced" in warning for warning in bench.manifest()["warnings"])
    assert not (changed and out)


@pytest.mark.parametrize("moved", [False, True])
def test_a_results_directory_that_vanishes_during_the_measurement(bench, moved):
    """Only the last launches would be stored, and reported as if they were all."""
    with held_worker(bench) as hold:
        process = bench.start("run", bench.write([bench.experiment("a", env=hold), bench.experiment("b")], launches=6))
        wait_until(lambda: (bench.out / "manifest.json").exists() and len(read_launches(bench, "a")) >= 2)
        bench.out.rename(bench.folder / "moved") if moved else shutil.rmtree(bench.out)
    out, err = process.communicate(timeout=240)
    assert (process.returncode, out) == (DEVICE, ""), err
    assert "was removed during the measurement" in err
    assert not moved or bench.run("analyze", bench.folder / "moved").returncode == DONE


def test_a_resumed_kernel_log_run_restarts_its_log(bench):
    hold = bench.folder / "hold"
    hold.touch()
    environment = {"FAKE_XNNPACK": "1", "FAKE_HOLD": str(hold)}
    trace = bench.experiment("trace", runner_path=str(FAKE_RUNNER), warmup=9, runs=10, env=environment, mode="xnntrace")
    config = bench.write([trace])
    log = bench.out / "trace" / "toy_cnn_trace_t1_xnntrace.log"
    process = bench.start("run", config)
    wait_until(lambda: log.exists() and "Using igemm microkernel" in log.read_text())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=240)
    assert process.returncode == INTERRUPTED
    hold.unlink()
    assert bench.run("run", config, "--resume").returncode == DONE
    for name in (log, log.with_name(log.name.replace("_xnntrace", ""))):
        assert name.read_text().count("Iteration 1 of 20: ") == 1


@pytest.mark.parametrize(("command", "launch"), [("ready", 1), ("burst", 4), ("etdump", 4)])
def test_a_worker_that_the_signal_reaches_first_is_no_failure(bench, command, launch):
    """`pkill -INT etprof` and service managers signal etprof and its workers. The first launch only reports the runner's
    properties."""
    config = bench.write([bench.experiment("a", env={"FAKE_FAIL": f"interrupt@{command}:{launch}"})], launches=6)
    result = bench.run("run", config)
    assert result.returncode == INTERRUPTED, result.stderr
    if command == "ready":  # the measurement has not begun, so no results exist
        assert not (bench.out / "manifest.json").exists()
        return
    assert bench.manifest()["status"] == "interrupted"
    assert [entry["status"] for entry in read_launches(bench, "a")] == ["complete"] * (launch - 2) + ["partial"]
    assert not any("tried again" in warning for warning in bench.result("a")["warnings"])


def test_a_second_ctrl_c_ends_it_at_once(bench):
    config = bench.write([bench.experiment("a", env={"FAKE_FAIL": "hang@burst"})])
    process = bench.start("run", config)
    wait_until(lambda: len(workers(bench)) >= 2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=240) == INTERRUPTED
    process.communicate()
    wait_until(lambda: not any(alive(pid) for pid in workers(bench)))


def test_etprof_itself_is_killed(bench):
    with held_worker(bench) as hold:
        config = bench.write([bench.experiment("a", env=hold)], launches=8)
        process = bench.start("run", config)
        wait_until(lambda: (bench.out / "manifest.json").exists() and len(read_launches(bench, "a")) >= 2)
        process.kill()
        process.communicate()
        wait_until(lambda: not any(alive(pid) for pid in workers(bench)))
    assert bench.manifest()["status"] == "running"
    assert bench.run("run", config, "--resume").returncode == DONE
    assert bench.result("a")["launches"][-1]["status"] == "complete"
    assert not list(bench.out.glob("a/launches"))


def test_resume_without_more_launches_keeps_facts_of_the_earlier_ones(bench):
    """Only a launch reads which libraries are mapped, and only the first one compares outputs with expected ones."""
    config = bench.write([bench.experiment("a")], launches=2)
    assert bench.run("run", config).returncode == DONE
    manifest = bench.manifest()
    facts = {
        "executorch_libraries": [{"path": "/lib/libexecutorch.so", "build_id": "0a1b"}],
        "from_expected": {
            "comparable": True,
            "equal": True,
            "largest_absolute": None,
            "largest_relative": None,
            "note": "outputs are equal, bit for bit",
        },
    }
    manifest["results"][0].update(facts)
    (bench.out / "manifest.json").write_text(json.dumps(manifest))
    assert bench.run("run", config, "--resume").returncode == DONE
    assert {key: bench.result("a")[key] for key in facts} == facts


def test_resume_refuses_another_configuration(bench):
    bench.run("run", bench.write([bench.experiment("a")], launches=2))
    result = bench.run("run", bench.write([bench.experiment("a", runs=11)], launches=2), "--resume")
    assert result.returncode == BAD_INPUT
    assert "cannot be resumed" in bench.last_error(result)
    assert bench.manifest()["status"] == "complete"


def test_a_finished_run_moves_to_previous(bench):
    config = bench.write([bench.experiment("a")], launches=2)
    bench.run("run", config)
    first = bench.manifest()
    (bench.out / "notes.txt").write_text("mine")
    assert bench.run("run", config).returncode == DONE
    moved = list((bench.out / "previous").iterdir())
    assert len(moved) == 1
    assert '"config_hash"' in (moved[0] / "manifest.json").read_text()
    assert (moved[0] / first["results"][0]["etdump"]).exists()
    assert (bench.out / "notes.txt").exists()


def test_a_second_etprof_on_the_same_directory(bench):
    with held_worker(bench) as hold:
        config = bench.write([bench.experiment("a", env=hold)])
        process = bench.start("run", config)
        wait_until(lambda: (bench.out / "manifest.json").exists())
        result = bench.run("run", config)
        assert result.returncode == DEVICE
        assert f"another etprof (process {process.pid})" in bench.last_error(result)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=240)


def test_a_full_disk(bench, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = [shutil.which("mount"), "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        skip("mounting a small disk needs root")
    try:
        bench.out = disk / "out"
        config = bench.write([bench.experiment("a"), bench.experiment("b")], launches=60)
        result = bench.run("run", config)
        assert result.returncode == DEVICE, result.stderr
        assert "cannot be written" in bench.last_error(result)
        assert len(read_launches(bench, "a")) >= 1
        assert (bench.out / "a").is_dir()
    finally:
        subprocess.run([shutil.which("umount"), str(disk)], check=True)


def test_bad_files(bench, tmp_path):
    def one_line(*arguments, code=BAD_INPUT):
        result = bench.run(*arguments)
        assert result.returncode == code, result.stderr
        return program.one_error(result.stderr)

    assert "no such file" in one_line("run", tmp_path / "none.json")
    (tmp_path / "cut.json").write_text('{"model": "x", ')
    assert "is not JSON" in one_line("run", tmp_path / "cut.json")
    config = bench.write([bench.experiment("a", model=str(tmp_path / "none.pte"))])
    assert "no such file" in one_line("run", config)
    (tmp_path / "cut.pte").write_bytes(MODEL.read_bytes()[:1000])
    assert "is cut short" in one_line("run", bench.write([bench.experiment("a", model=str(tmp_path / "cut.pte"))]))
    (tmp_path / "plain").write_text("text")
    config = bench.write([bench.experiment("a", runner_path=str(tmp_path / "plain"))])
    assert "is not executable" in one_line("run", config)
    (tmp_path / "plain").chmod(0o755)
    assert "is not a program" in one_line("run", config)
    assert "Did you mean" in one_line("run", bench.write([bench.experiment("a", runz=1)]))
    assert "isa mask" in one_line(
        "run", bench.write([bench.experiment("a", runner_path=str(FAKE_RUNNER), isa="-avx2")])
    )
