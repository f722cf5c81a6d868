"""`etprof quick-test` takes a small model from export to report, and reports each step."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest
from measure_bench import FAKE_WORKER, MODEL, skip

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from program import one_error, parse_with_schema, wait_until

STEPS = ["export", "run", "analyze", "report", "validate"]


def quick_test(etprof, folder, *arguments, **environment) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(etprof), "quick-test", *map(str, arguments)],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )


def read_steps(completed: subprocess.CompletedProcess) -> list[list[str]]:
    """Returns the names and results of the steps."""
    lines = [line.split()[:2] for line in completed.stdout.splitlines()]
    return [line for line in lines if line and line[0] in STEPS]


def test_a_model_goes_the_whole_way(etprof, tmp_path):
    completed = quick_test(etprof, tmp_path, "--model", MODEL)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert read_steps(completed) == [[step, "ok"] for step in STEPS]
    assert "\npass: 5 steps in " in completed.stdout
    report = tmp_path / "out_quick_test" / "runs" / "quick_test" / "report.html"
    assert completed.stdout.endswith(f"the report: {report.relative_to(tmp_path)}\n")
    assert report.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")
    log = (tmp_path / "out_quick_test" / "quick_test.log").read_text(encoding="utf-8")
    assert [line.split()[2] for line in log.splitlines() if line.startswith("$ ")] == STEPS[1:]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out_quick_test"]


def test_it_exports(etprof, tmp_path):
    completed = quick_test(etprof, tmp_path, "--outdir", "here", "--json")
    document = parse_with_schema("quick_test", completed.stdout)
    if "not exported" in document["steps"][0]["said"]:
        skip(document["steps"][0]["said"])
    assert completed.returncode == 0, completed.stdout
    assert document["passed"] and not document["interrupted"]
    assert [(step["name"], step["state"]) for step in document["steps"]] == [(step, "passed") for step in STEPS]
    assert document["seconds"] == pytest.approx(sum(step["seconds"] for step in document["steps"]))
    assert (tmp_path / "here" / "artifacts" / "toy_cnn_xnnpack_fp32.pte.etrecord").stat().st_size > 0
    assert pathlib.Path(document["report"]).is_relative_to(tmp_path / "here")


def broken(folder: pathlib.Path, text: str) -> pathlib.Path:
    runner = folder / "broken_runner"
    runner.write_text(text)
    runner.chmod(0o755)
    return runner


def test_a_broken_runner_fails(etprof, tmp_path):
    runner = broken(tmp_path, "#!/bin/sh\necho 'cannot find my libraries' >&2\nexit 127\n")
    completed = quick_test(etprof, tmp_path, "--model", MODEL, ETPROF_RUNNER=str(runner))
    assert completed.returncode in (3, 4), completed.stdout
    assert read_steps(completed) == [["export", "ok"], ["run", "FAILED"], *[[step, "—"] for step in STEPS[2:]]]
    assert "\nfail: run (out_quick_test/quick_test.log has all messages)\n" in completed.stdout
    assert not (tmp_path / "out_quick_test" / "runs" / "quick_test" / "report.html").exists()
    second = quick_test(etprof, tmp_path, "--model", MODEL, "--json", ETPROF_RUNNER=str(runner))
    assert second.returncode == completed.returncode
    assert not parse_with_schema("quick_test", second.stdout)["passed"]
    assert second.stderr.splitlines()[-1].startswith("error: run: ")
    assert json.loads(second.stdout)["steps"][1]["said"] in second.stderr
    assert [step["state"] for step in json.loads(second.stdout)["steps"]] == ["passed", "failed"] + ["not tried"] * 3


def test_a_worker_that_dies_fails(etprof, tmp_path):
    completed = quick_test(etprof, tmp_path, "--model", MODEL, ETPROF_RUNNER=str(FAKE_WORKER), FAKE_FAIL="die@burst")
    assert completed.returncode == 4, completed.stdout
    assert ["run", "FAILED"] in read_steps(completed)


def test_a_board_is_no_phone(etprof, tmp_path):
    completed = quick_test(etprof, tmp_path, "--platform", "android", "--device", "ssh:board")
    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr == (
        "error: `--platform android` needs adb, but `--device ssh:board` does not use it\n"
        "hint: Give only one of the two.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_folder_is_one_message(etprof, tmp_path):
    (tmp_path / "file").touch()
    completed = quick_test(etprof, tmp_path, "--model", MODEL, "--outdir", "file/below")
    assert completed.returncode == 4
    assert completed.stdout == "" and "cannot be written" in one_error(completed.stderr)


@pytest.fixture
def etprof_without_checkout(etprof, runner, tmp_path) -> tuple[pathlib.Path, dict[str, str]]:
    """An etprof outside of a checkout, next to a Python without PyTorch."""
    program = tmp_path / "bin" / "etprof"
    program.parent.mkdir()
    shutil.copy(etprof, program)
    python = program.with_name("python3")
    python.write_text("#!/bin/sh\necho python 3.11.2\n")
    python.chmod(0o755)
    return program, {"PATH": f"{program.parent}:{os.environ['PATH']}", "ETPROF_RUNNER": str(runner)}


def test_without_pytorch_a_stored_model_does(etprof_without_checkout, tmp_path):
    program, environment = etprof_without_checkout
    none = quick_test(program, tmp_path, **environment)
    assert none.returncode == 3
    assert read_steps(none)[0] == ["export", "FAILED"] and "PyTorch is not installed" in none.stdout
    stored = tmp_path / "out_toy_cnn" / "artifacts" / "toy_cnn_xnnpack_fp32.pte"
    stored.parent.mkdir(parents=True)
    shutil.copy(MODEL, stored)
    completed = quick_test(program, tmp_path, **environment)
    assert completed.returncode == 0, completed.stdout
    assert "not exported, since PyTorch is not installed" in " ".join(completed.stdout.split())


def test_ctrl_c_leaves_nothing_running(etprof, tmp_path):
    state = tmp_path / "state"
    environment = os.environ | {"ETPROF_RUNNER": str(FAKE_WORKER), "FAKE_SLEEP": "30", "FAKE_STATE": str(state)}
    process = subprocess.Popen(
        [str(etprof), "quick-test", "--model", str(MODEL)],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    manifest_path = tmp_path / "out_quick_test" / "runs" / "quick_test" / "manifest.json"
    wait_until(lambda: manifest_path.exists() or process.poll() is not None)
    assert process.poll() is None, "no measurement began"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 130, out + err
    assert out.splitlines()[-1] == "interrupted: partial results are in out_quick_test"
    started = [int(path.suffix[1:]) for path in state.iterdir()] if state.exists() else []
    wait_until(lambda: not any(pathlib.Path("/proc", str(pid)).exists() for pid in started))
