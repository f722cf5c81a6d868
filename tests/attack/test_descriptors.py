"""With closed or full standard descriptors, a measurement continues without messages, and the exit code reports the failure."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

MODEL = program.DATA / "toy_cnn.pte"
ETDUMP = program.DATA / "toy_cnn.t1.etdump"


def shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Runs a shell command with etprof as $E in `folder`."""
    environment = {**os.environ, "E": str(program.etprof()), "NO_COLOR": "1"}
    return subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def measure(folder: Path, redirection: str) -> subprocess.CompletedProcess[str]:
    """Measures two short launches of the small model."""
    config = {
        "model": str(MODEL),
        "output_root": "out",
        "launches": 2,
        "rounds": 1,
        "peaks": False,
        "experiments": [{"name": "only", "runs": 4}],
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return shell(folder, f'"$E" run config.json {redirection}')


def launches(folder: Path) -> int:
    manifest = json.loads((folder / "out" / "manifest.json").read_text(encoding="utf-8"))
    return len(manifest["results"][0]["launches"])


def needs_full() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this machine has no /dev/full")


def test_a_measurement_outlives_its_messages(tmp_path: Path):
    needs_full()
    completed = measure(tmp_path, "2>/dev/full")
    assert completed.returncode == 4, completed.stdout
    assert launches(tmp_path) == 2
    assert "Latency, " in completed.stdout  # fast runs are shown in µs


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_descriptors_do_not_end_a_measurement(tmp_path: Path, closed: str):
    completed = measure(tmp_path, closed)
    assert completed.returncode == 0, completed.stderr
    assert launches(tmp_path) == 2
    validated = shell(tmp_path, '"$E" validate out')
    assert validated.returncode == 0, validated.stdout


def test_no_file_of_ours_gets_a_standard_number(tmp_path: Path):
    # Output that is printed after all three are closed must not end up in the files.
    completed = shell(tmp_path, f'"$E" analyze {shlex.quote(str(ETDUMP))} -o out 0<&- 1>&- 2>&-')
    assert completed.returncode == 0
    expected = shell(tmp_path, f'"$E" analyze {shlex.quote(str(ETDUMP))} -o usual')
    assert expected.returncode == 0, expected.stderr
    for file in (tmp_path / "usual").glob("*.csv"):
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes(), file.name


@pytest.mark.parametrize(
    "command",
    [
        f"analyze {shlex.quote(str(ETDUMP))}",
        f"analyze {shlex.quote(str(ETDUMP))} --json",
        f"inspect {shlex.quote(str(MODEL))}",
        "isa",
        "doctor",
        "reference",
        "completion bash",
        "--help",
        "--version",
        "run --help",
    ],
)
def test_a_full_stdout_is_one_message(tmp_path: Path, command: str):
    needs_full()
    completed = shell(tmp_path, f'"$E" {command} >/dev/full')
    assert completed.returncode == 4, completed.stderr
    assert (
        completed.stderr == "error: Could not write to the standard output\nhint: Check the free space where it goes.\n"
    )


@pytest.mark.parametrize(
    ("command", "code"), [("analyze /no/such.etdump", 3), ("no-such-command", 2), ("run --nope", 2)]
)
def test_an_error_that_cannot_be_printed_keeps_its_code(tmp_path: Path, command: str, code: int):
    needs_full()
    assert shell(tmp_path, f'"$E" {command} 2>/dev/full').returncode == code


def test_the_runner_starts_with_closed_descriptors(tmp_path: Path):
    runner = program.etprof().with_name("etprof-runner")
    if not runner.exists():
        pytest.skip("etprof-runner is not next to etprof")
    completed = shell(
        tmp_path,
        f"{shlex.quote(str(runner))} --model_path={shlex.quote(str(MODEL))} --num_executions=2"
        " --etdump_path=out.etdump 0<&- 1>&- 2>&-",
    )
    assert completed.returncode == 0
    assert shell(tmp_path, '"$E" analyze out.etdump').returncode == 0
