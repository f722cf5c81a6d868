"""A runner that is older than the ExecuTorch checkout in which it was built."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest
from measure_bench import FAKE_RUNNER, MODEL, skip


def git(folder: pathlib.Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],  # noqa: S607 (the system's git)
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path) -> pathlib.Path:
    """A repository that looks like ExecuTorch, with a runner that was built an hour after its commit."""
    if subprocess.run(["git", "--version"], capture_output=True, check=False).returncode != 0:  # noqa: S607
        skip("git is not installed")
    folder = tmp_path / "executorch"
    preset = folder / "cmake-out" / "native"
    preset.mkdir(parents=True)
    (folder / "CMakeLists.txt").write_text("project(executorch)\n")
    git(folder, "init", "--quiet")
    git(folder, "add", "CMakeLists.txt")
    git(folder, "commit", "--quiet", "-m", "first")
    runner = preset / "executor_runner"
    runner.write_text(f'#!/bin/sh\nexec "{FAKE_RUNNER}" "$@"\n')
    runner.chmod(0o755)
    built = time.time() + 3600
    os.utime(runner, (built, built))
    return folder


def record(folder: pathlib.Path, commit: str, dirty: bool = False) -> None:
    runner = folder / "cmake-out" / "native" / "executor_runner"
    digest = hashlib.sha256(runner.read_bytes()).hexdigest()
    text = json.dumps({"commit": commit, "dirty": dirty, "runner_sha256": digest})
    (runner.parent / "etprof-build.json").write_text(text)


def measure(bench, folder: pathlib.Path) -> tuple[list[str], dict]:
    """Returns the warnings about the checkout and the manifest's entry of it."""
    runner = folder / "cmake-out" / "native" / "executor_runner"
    experiment = bench.experiment("a") | {"runner_path": str(runner)}
    completed = bench.run("run", bench.write([experiment], launches=2, runs=2))
    assert completed.returncode == 0, completed.stderr
    manifest = bench.manifest()
    warnings = [w for w in manifest["results"][0]["warnings"] if "older than its checkout" in w]
    assert all("etprof build --executorch" in warning for warning in warnings)
    return warnings, manifest["executorch"]


def test_the_commit_it_was_built_from(bench, checkout):
    head = git(checkout, "rev-parse", "HEAD")
    assert measure(bench, checkout) == ([], {"sha": None, "dirty": None})  # without a record, the commit is unknown
    record(checkout, head)
    assert measure(bench, checkout) == ([], {"sha": head, "dirty": False})
    record(checkout, "0123456789abcdef" * 2, dirty=True)
    (warning,), recorded = measure(bench, checkout)
    assert f"from commit 0123456789ab, the checkout is at {head[:12]}" in warning
    assert recorded == {"sha": "0123456789abcdef" * 2, "dirty": True}
    # The record of another build does not apply to this file.
    runner = checkout / "cmake-out" / "native" / "executor_runner"
    runner.write_text(runner.read_text() + "# built again by hand\n")
    os.utime(runner, (time.time() + 3600,) * 2)
    assert measure(bench, checkout) == ([], {"sha": None, "dirty": None})


def test_a_checkout_that_went_on(bench, checkout):
    (checkout / "more.cc").write_text("int x;\n")
    git(checkout, "add", "more.cc")
    git(checkout, "commit", "--quiet", "-m", "second")
    runner = checkout / "cmake-out" / "native" / "executor_runner"
    os.utime(runner, (time.time() - 3600,) * 2)
    (warning,), _ = measure(bench, checkout)
    assert f"the checkout went to commit {git(checkout, 'rev-parse', 'HEAD')[:12]} since" in warning


def test_files_that_were_changed_since(bench, checkout):
    record(checkout, git(checkout, "rev-parse", "HEAD"))
    path = checkout / "CMakeLists.txt"
    path.write_text(path.read_text() + "# mine\n")
    assert measure(bench, checkout)[0] == []  # changed before it was built
    later = time.time() + 7200
    os.utime(path, (later, later))
    (warning,), _ = measure(bench, checkout)
    assert "CMakeLists.txt changed since" in warning


def test_the_record_says_what_the_runner_is_of(bench, checkout):
    """etprof compares the runner's ExecuTorch with that of the export, and shows its version, compiler, and preset."""
    runner = checkout / "cmake-out" / "native" / "executor_runner"
    record(checkout, git(checkout, "rev-parse", "HEAD"))
    file = runner.parent / "etprof-build.json"
    build = {"executorch_version": "1.5.0a0", "preset": "native", "compiler": "GCC 12.2.0"}
    file.write_text(json.dumps(json.loads(file.read_text()) | build))
    model = bench.folder / "toy_cnn.pte"
    shutil.copy(MODEL, model)
    model.with_name("toy_cnn.pte.json").write_text('{"versions": {"executorch": "1.5.1"}}')
    experiments = [bench.experiment("theirs") | {"runner_path": str(runner)}, bench.experiment("ours")]
    completed = bench.run("run", bench.write(experiments, model=str(model), launches=2, runs=2))
    assert completed.returncode == 0, completed.stderr
    result = bench.result("theirs")
    assert result["executorch_version"] == "1.5.0a0"
    assert result["runner_built"] == {"preset": "native", "compiler": "GCC 12.2.0", "sme": None}
    assert "runner_built" not in bench.result("ours")
    warning = "the model was exported with ExecuTorch 1.5.1, the runner has 1.5.0a0"
    assert warning in result["warnings"]
    assert warning in completed.stderr + completed.stdout + (bench.out / "report.md").read_text()
    summary = json.loads((bench.out / "analysis_summary.json").read_text())
    (finding,) = [insight for insight in summary["insights"] if insight["kind"] == "compilers"]
    assert "theirs is built with GCC 12.2.0, ours with an unknown compiler." in finding["text"]
    assert "1.5.0a0" in (bench.out / "report.md").read_text()
    assert bench.run("validate", bench.out).returncode == 0
    # A build suffix does not make another version.
    model.with_name("toy_cnn.pte.json").write_text('{"versions": {"executorch": "1.5.0a0+cpu"}}')
    assert bench.run("run", bench.write(experiments, model=str(model), launches=2, runs=2)).returncode == 0
    assert not any("was exported with" in warning for warning in bench.result("theirs")["warnings"])
