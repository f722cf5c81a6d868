"""Files that claim excessive sizes, invalid names, and the resource limits of a shell."""

import json
import os
import shlex
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

MODEL = program.DATA / "toy_cnn.pte"
ETDUMP = program.DATA / "toy_cnn.t1.etdump"
FAKE_WORKER = program.ROOT / "tests" / "measure" / "fake_worker.py"


def write_config(folder: Path, experiments: list[dict], **keys) -> Path:
    config = {"model": str(MODEL), "output_root": str(folder / "out"), "experiments": experiments}
    config |= {"launches": 2, "rounds": 1, "peaks": False} | keys
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def limited(folder: Path, limit: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs etprof in a shell with a limit, as "ulimit" takes it."""
    command = " ".join(shlex.quote(str(word)) for word in (program.etprof(), *arguments))
    completed = subprocess.run(
        ["/bin/bash", "-c", f"ulimit {limit} || exit 77; exec {command}"],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if completed.returncode == 77:
        pytest.skip(f"ulimit {limit} is not to be had here: {completed.stderr}")
    return completed


def check_error(completed: subprocess.CompletedProcess[str], code: int = 4) -> None:
    """Checks that the process ends with a documented exit code and a clear message, and not with an internal error."""
    assert completed.returncode == code, (completed.returncode, completed.stderr)
    assert "Internal error" not in completed.stderr
    assert "terminate called" not in completed.stderr
    assert completed.stderr.strip(), completed.stdout


def test_a_zip_bomb_names_the_limit(tmp_path: Path):
    record = tmp_path / "toy.etrecord"
    with (
        zipfile.ZipFile(record, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("edge_dialect_exported_program/forward", "w", force_zip64=True) as entry,
    ):
        for _ in range(300):
            entry.write(b" " * (1 << 20))
    completed = program.run("analyze", ETDUMP, "--model", MODEL, "--etrecord", record, "-o", tmp_path / "out")
    check_error(completed, 3)
    assert "beyond the limit of 256 MiB" in completed.stderr


def test_a_huge_configuration_is_refused(tmp_path: Path):
    path = tmp_path / "config.json"
    path.write_bytes(b"\n" * 50_000_000)
    completed = program.run("run", path)
    check_error(completed, 3)
    assert "4 MiB at most" in completed.stderr
    many = write_config(tmp_path, [{"name": f"e{i}"} for i in range(100_000)])
    check_error(program.run("run", many), 3)
    completed = program.run("run", write_config(tmp_path, [{"name": f"e{i}"} for i in range(1001)]))
    check_error(completed, 3)
    assert "1000 at most" in completed.stderr


@pytest.mark.parametrize("name", ["manifest.json", "config.json", ".lock", "previous", "launches", "report.html"])
def test_names_of_our_own_files_are_refused(tmp_path: Path, name: str):
    completed = program.run("run", write_config(tmp_path, [{"name": name}]))
    check_error(completed, 3)
    assert f'"{name}"' in completed.stderr
    assert not (tmp_path / "out").exists()


def test_names_too_long_for_the_file_system_are_refused_before_measuring(tmp_path: Path):
    model = tmp_path / f"{'m' * 240}.pte"
    model.write_bytes(MODEL.read_bytes())
    completed = program.run("run", write_config(tmp_path, [{"name": "a"}], model=str(model)))
    check_error(completed, 3)
    assert "too long" in completed.stderr
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_the_longest_names_that_are_taken_can_be_measured(tmp_path: Path):
    model = tmp_path / f"{'m' * 90}.pte"
    model.write_bytes(MODEL.read_bytes())
    names = ["a" * 44, "b" * 44]
    config = write_config(tmp_path, [{"name": name, "runs": 4} for name in names], model=str(model))
    completed = program.run("run", config)
    assert completed.returncode == 0, completed.stderr
    assert program.run("validate", tmp_path / "out").returncode == 0


def test_a_models_name_has_no_newline(tmp_path: Path):
    model = tmp_path / "two\nlines.pte"
    model.write_bytes(MODEL.read_bytes())
    completed = program.run("run", write_config(tmp_path, [{"name": "a"}], model=str(model)))
    check_error(completed, 3)
    assert "control character" in completed.stderr
    completed = program.run("profile", model, "--output-root", tmp_path / "out")
    check_error(completed, 3)
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_small_stack_is_an_error(tmp_path: Path):
    completed = limited(tmp_path, "-s 64", "analyze", ETDUMP)
    check_error(completed)
    assert "ulimit -s" in completed.stderr
    runner = program.etprof().with_name("etprof-runner")
    if runner.exists():
        quoted_runner = shlex.quote(str(runner))
        completed = subprocess.run(
            ["/bin/bash", "-c", f"ulimit -s 64; {quoted_runner} --isa-info"], capture_output=True, text=True
        )
        check_error(completed)


def test_the_least_stack_is_enough(tmp_path: Path):
    completed = limited(tmp_path, "-s 1024", "run", write_config(tmp_path, [{"name": "a", "runs": 4}]))
    assert completed.returncode == 0, completed.stderr


def test_a_limit_of_file_sizes_fails_the_write(tmp_path: Path):
    completed = limited(tmp_path, "-f 8", "analyze", ETDUMP, "-o", tmp_path / "out")
    check_error(completed)
    assert "File too large" in completed.stderr
    assert not list((tmp_path / "out").glob("*.tmp"))
    completed = limited(tmp_path, "-f 1", "run", write_config(tmp_path, [{"name": "a", "runs": 4}]))
    check_error(completed)


@pytest.mark.parametrize("descriptors", [4, 6, 8, 10, 12, 16])
def test_too_few_descriptors(tmp_path: Path, descriptors: int):
    config = write_config(tmp_path, [{"name": "a", "runs": 4}])
    completed = limited(tmp_path, f"-n {descriptors}", "run", config)
    # Programs with another loader may start with fewer. A sufficient number must work.
    assert completed.returncode in {0, 4, 127}, (completed.returncode, completed.stderr)
    if completed.returncode != 0:
        assert "Internal error" not in completed.stderr
        assert completed.stderr.strip()


@pytest.mark.parametrize("mebibytes", [24, 32, 48, 64, 96])
def test_too_little_address_space(tmp_path: Path, mebibytes: int):
    # A record needs more memory than this.
    record = tmp_path / "toy.etrecord"
    with zipfile.ZipFile(record, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("edge_dialect_exported_program/forward", " " * (100 << 20))
        archive.writestr("weights", os.urandom(1 << 20))  # not all zeros, as in a real record
    completed = limited(
        tmp_path,
        f"-v {mebibytes << 10}",
        "analyze",
        ETDUMP,
        "--model",
        MODEL,
        "--etrecord",
        record,
        "-o",
        tmp_path / "o",
    )
    if completed.returncode == 127:
        pytest.skip("the program is not loaded with so little")
    if "AddressSanitizer" in completed.stderr:
        pytest.skip("AddressSanitizer needs address space of its own")
    check_error(completed)


@pytest.mark.parametrize("mebibytes", [24, 32, 48, 64, 96, 128])
def test_too_little_address_space_for_a_measurement(tmp_path: Path, mebibytes: int):
    config = write_config(tmp_path, [{"name": "a", "runs": 4}])
    completed = limited(tmp_path, f"-v {mebibytes << 10}", "run", config)
    if "AddressSanitizer" in completed.stderr:
        pytest.skip("AddressSanitizer needs address space of its own")
    # 3: the worker had too little memory. 127: the program was not loaded.
    assert completed.returncode in {0, 3, 4, 127}, (completed.returncode, completed.stderr)
    if completed.returncode != 0:
        assert "Internal error" not in completed.stderr
        assert completed.stderr.strip()


@pytest.fixture(scope="module")
def without_threads(preloaded) -> Callable[..., subprocess.CompletedProcess[str]]:
    """without_threads(NAME, *ARGUMENTS) runs etprof while the program of that name can start no thread."""
    library = preloaded("no_threads")

    def run(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "NO_COLOR": "1", "LD_PRELOAD": str(library), "NO_THREADS_IN": name}
        command = [program.etprof(), *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)

    return run


def test_a_system_that_starts_no_more_threads(tmp_path: Path, without_threads):
    out = tmp_path / "out"
    refused = without_threads(
        "etprof", "profile", MODEL, "--device", "local", "--device", "ssh:x", "--output-root", out
    )
    check_error(refused)
    assert "The system starts no more threads" in refused.stderr
    assert not out.exists()
    # Without threads, work that can run sequentially is done sequentially.
    listed = without_threads("etprof", "devices", "--json")
    assert listed.returncode == 0, listed.stderr
    assert json.loads(listed.stdout)
    read = without_threads("etprof", "analyze", ETDUMP)
    assert read.returncode == 0, read.stderr


def test_a_runner_that_starts_no_more_threads(without_threads):
    refused = without_threads("etprof-runner", "peaks", "--threads", "2")
    check_error(refused, 3)
    assert "2 threads are more than the system starts" in refused.stderr


@pytest.mark.parametrize("command", ["ready", "load", "burst"])
def test_silent_workers_cost_their_timeout_and_no_more(tmp_path: Path, command: str):
    worker = {"name": "a", "runner_path": str(FAKE_WORKER), "runs": 4}
    worker["env"] = {"FAKE_STATE": str(tmp_path / "state"), "FAKE_FAIL": f"hang@{command}"}
    config = write_config(tmp_path, [worker], timeout_seconds=1)
    start = time.monotonic()
    completed = program.run("run", config)
    seconds = time.monotonic() - start
    assert completed.returncode == 4, completed.stderr
    assert "did not answer within 1 s" in completed.stderr
    assert seconds < 300  # the default timeout is 600 s
