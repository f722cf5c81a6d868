"""`etprof new-model`: the new package exports, profiles, and passes its own test."""

import json
import os
import subprocess
import sys
from pathlib import Path

import program
import pytest

ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


def etprof(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program.etprof(), *arguments], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


@pytest.fixture
def work_folder(tmp_path: Path) -> Path:
    completed = etprof(tmp_path, "new-model", "my_net")
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.splitlines() == [
        f"my_net/{name}" for name in ("README.md", "__init__.py", "model.py", "test_my_net.py")
    ]
    assert completed.stderr == "next: etprof export my_net\n"
    return tmp_path


def test_the_new_package_exports_profiles_and_passes_its_test(work_folder: Path):
    # Its test needs pytest, the package etprof that registers models, and the program.
    environment = {**ENVIRONMENT, "ETPROF": str(program.etprof()), "PYTHONPATH": str(program.ROOT / "python")}
    completed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=kept", "my_net"],
        cwd=work_folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "1 passed" in completed.stdout
    (pte,) = (work_folder / "kept").rglob("my_net_xnnpack_fp32.pte")
    manifest = json.loads(pte.with_name(f"{pte.name}.json").read_text())
    assert (manifest["model"], manifest["source"]) == ("my_net", str(work_folder / "my_net" / "__init__.py"))
    assert manifest["delegation"][0]["not_delegated"] == []
    assert manifest["check"]["verdict"] == "pass"
    completed = etprof(
        work_folder,
        "profile",
        str(pte),
        "--launches=2",
        "--runs=3",
        "--no-peaks",
        "--max-seconds=2",
        "--output-root=run",
    )
    assert completed.returncode == 0, completed.stderr
    assert json.loads((work_folder / "run" / "manifest.json").read_text())["status"] == "complete"


FAKE = """#!/bin/bash
[ "$1 $2 $3 $4" = "export --model my_net --outdir" ] || exit 9
echo '{{"check": {{"verdict": "{verdict}", "why": "it is far off"}}, "delegate_calls": {calls}}}' >"$5/my_net_xnnpack_fp32.pte.json"
exit {code}
"""


@pytest.mark.parametrize(
    ("verdict", "calls", "code", "message"),
    [
        ("pass", '{"XnnpackBackend": 1}', 0, "passed"),
        ("fail", '{"XnnpackBackend": 1}', 1, "failed: "),
        ("undecided", '{"XnnpackBackend": 1}', 0, "failed: it is far off"),
        ("pass", "{}", 0, "failed: nothing of it is delegated"),
    ],
)
def test_its_test_runs_without_pytest_and_can_fail(
    work_folder: Path, verdict: str, calls: str, code: int, message: str
):
    """Runs the test of the package with a fake etprof that prints a given result."""
    fake = work_folder / "etprof"
    fake.write_text(FAKE.format(verdict=verdict, calls=calls, code=code))
    fake.chmod(0o755)
    completed = subprocess.run(
        [sys.executable, "-I", "my_net/test_my_net.py"],
        cwd=work_folder,
        env={**ENVIRONMENT, "ETPROF": str(fake)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == (0 if message == "passed" else 1)
    assert (completed.stdout + completed.stderr).startswith(message), completed.stderr


def test_invalid_arguments_are_refused_in_two_lines(work_folder: Path):
    for arguments, code, message in [
        (["my_net"], 3, "`my_net` exists"),
        (["--", "-x"], 2, "`-x` is not a Python identifier"),
        (["toy_cnn"], 2, "an example model of etprof"),
        (["other_net", "--output", "my_net/model.py"], 3, "File exists: my_net/model.py"),
    ]:
        completed = etprof(work_folder, "new-model", *arguments)
        assert (completed.returncode, completed.stdout) == (code, ""), completed.stderr
        assert len(completed.stderr.splitlines()) == 2
        assert message in completed.stderr
    assert etprof(work_folder, "new-model").returncode == 2
    completed = etprof(work_folder, "new-model", "a_net", "--outputs", "x")
    assert (completed.returncode, "--output" in completed.stderr) == (2, True)
    assert sorted(entry.name for entry in work_folder.iterdir()) == ["my_net"]
