"""`etprof doctor`: what commands need, on machines that lack some of it."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from program import ROOT, etprof, parse_with_schema

GROUPS = ["measure", "export", "build-target", "build-executorch", "adb", "ssh", "emulated", "instructions"]


def doctor(code: int = 0, **environment: str) -> dict[str, Any]:
    """Runs `etprof doctor --json`, and returns its groups by name, each with its checks by name."""
    completed = subprocess.run(
        [etprof(), "doctor", "--json"], env={**os.environ, **environment}, capture_output=True, text=True, timeout=600
    )
    assert completed.returncode == code, completed.stdout + completed.stderr
    assert completed.stderr == ""
    result = parse_with_schema("doctor", completed.stdout)
    assert result["ready"] == (code == 0)
    assert [group["name"] for group in result["groups"]] == GROUPS
    for group in result["groups"]:
        assert group["checks"]
        assert group["ready"] == all(check["state"] != "missing" for check in group["checks"])
        for check in group["checks"]:
            assert check["found"]
            if check["state"] == "missing":
                assert check["remedy"]
    return {group["name"]: {check["name"]: check for check in group["checks"]} for group in result["groups"]}


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder for PATH that contains only a shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sh").symlink_to("/bin/sh")
    return folder


def make_program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_here_the_tests_can_measure() -> None:
    runner = doctor()["measure"]["etprof-runner"]
    assert runner["state"] == "ok"
    version = subprocess.run([etprof(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert runner["found"].startswith(f"{version} (ExecuTorch ")
    assert runner["found"].endswith(str(etprof().parent / "etprof-runner"))


def test_the_versions_are_those_of_the_environment() -> None:
    python = ROOT / ".venv" / "bin" / "python"
    if not python.exists():
        pytest.skip(".venv is not there: run script/bootstrap")
    python_output = subprocess.run(
        [python, "-c", "import importlib.metadata as m; print(m.version('executorch'))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    groups = doctor()
    assert groups["export"]["executorch wheel"]["found"].startswith(f"executorch {python_output.stdout.strip()}, ")
    assert groups["build-target"]["executorch wheel"]["state"] == "ok"


def test_the_python_that_was_chosen_is_looked_at(bare: Path) -> None:
    """doctor checks the Python in $ETPROF_PYTHON, as export uses it, instead of the checkout's."""
    python = make_program(bare, "chosen", "echo python 3.99.0")
    found = doctor(ETPROF_PYTHON=str(python))["export"]
    assert found["Python"]["found"] == f"3.99.0, {python}"
    assert found["PyTorch"]["state"] == "missing"


def test_each_model_library_is_there_and_can_be_imported_or_why_not(bare: Path) -> None:
    """doctor lists the libraries that script/bootstrap --models installs. They are optional."""
    lines = (ROOT / "requirements" / "models.txt").read_text().splitlines()
    libraries = sorted({line.partition("==")[0] for line in lines if line and not line.startswith("#")})
    versions = "\n".join(["python 3.99.0", *(f"{name} 1.0" for name in libraries[1:])])
    imports = f"{libraries[1]} operator torchvision::nms does not exist\n{libraries[2]}"
    answers = f"""case "$2" in *import_module*) printf '{imports}\n';; *) printf '{versions}\n';; esac"""
    python = make_program(bare, "chosen", answers.replace("\n", "\\n"))
    rows = doctor(ETPROF_PYTHON=str(python))["export"]
    missing, failing, working = (rows[name] for name in libraries)
    assert (missing["state"], missing["remedy"]) == ("warning", "run script/bootstrap --models")
    assert missing["found"].startswith("not installed")
    assert failing["state"] == "warning" and failing["remedy"].startswith("`import etprof` before it")
    assert failing["found"].endswith(f"; `import {libraries[1]}` fails: operator torchvision::nms does not exist")
    assert (working["state"], working["found"], working["remedy"]) == ("ok", f"{libraries[2]} 1.0, of {python}", None)


def test_an_environment_that_cannot_be_looked_into_is_none(tmp_path: Path) -> None:
    """The .venv of a checkout is a symbolic link to itself. doctor and export skip the unreadable folder."""
    (tmp_path / "python" / "etprof").mkdir(parents=True)
    (tmp_path / "python" / "etprof" / "export.py").write_text("print('exported')\n")
    (tmp_path / ".venv").symlink_to(".venv")
    copy = tmp_path / "etprof"
    shutil.copy(etprof(), copy)
    environment = {name: value for name, value in os.environ.items() if name != "ETPROF_PYTHON"}
    # The checkout's Python, which other tests put into PATH, has the package of the checkout.
    folders = environment["PATH"].split(os.pathsep)
    environment["PATH"] = os.pathsep.join(folder for folder in folders if not Path(folder).is_relative_to(ROOT))
    result = subprocess.run([copy, "doctor", "--json"], env=environment, capture_output=True, text=True, timeout=600)
    assert result.stderr == ""
    export = next(group for group in json.loads(result.stdout)["groups"] if group["name"] == "export")
    assert export["checks"][0]["found"].endswith(", python3")
    completed = subprocess.run([copy, "export"], env=environment, capture_output=True, text=True, timeout=600)
    assert (completed.returncode, completed.stdout, completed.stderr) == (0, "exported\n", "")


def test_a_client_that_prints_without_end(tmp_path: Path) -> None:
    make_program(tmp_path, "adb", "while :; do echo on; done")
    started = time.monotonic()
    assert doctor(PATH=f"{tmp_path}:{os.environ['PATH']}")["adb"]["adb"]["state"] == "missing"
    assert time.monotonic() - started < 60


def test_a_runner_that_is_not_there() -> None:
    check = doctor(4, ETPROF_RUNNER="/nowhere/etprof-runner")["measure"]["etprof-runner"]
    assert check["state"] == "missing"
    assert "/nowhere/etprof-runner" in check["found"]


def test_a_runner_that_does_not_start(tmp_path: Path) -> None:
    broken = make_program(
        tmp_path, "etprof-runner", "echo 'libexecutorch.so: cannot open shared object file' >&2; exit 127"
    )
    check = doctor(4, ETPROF_RUNNER=str(broken))["measure"]["etprof-runner"]
    assert check["state"] == "missing"
    assert "cannot open shared object file" in check["found"]


def test_a_runner_that_is_none(tmp_path: Path) -> None:
    other = make_program(tmp_path, "etprof-runner", "echo hello")
    check = doctor(4, ETPROF_RUNNER=str(other))["measure"]["etprof-runner"]
    assert (check["state"], "is not an etprof-runner of this version" in check["found"]) == ("missing", True)


ISA = '{"isa": {"detected": [], "masked": [], "enabled": [], "can_mask": %s, "why_not": "%s"}}'


def test_a_runner_of_another_version_that_cannot_mask(tmp_path: Path) -> None:
    isa = ISA % ("false", "another cpuinfo")
    old = make_program(tmp_path, "etprof-runner", f"[ $1 = --version ] && echo '0.0.1 (ExecuTorch 1)' || echo '{isa}'")
    measure = doctor(ETPROF_RUNNER=str(old))["measure"]
    assert measure["etprof-runner"]["state"] == "warning"
    assert "0.0.1" in measure["etprof-runner"]["found"]
    assert measure["instruction sets"]["state"] == "warning"
    assert "another cpuinfo" in measure["instruction sets"]["found"]


def test_without_programs_measuring_still_works(bare: Path) -> None:
    groups = doctor(PATH=str(bare), ETPROF_SSH="", ETPROF_ADB="")
    assert groups["adb"]["adb"]["state"] == "missing"
    assert "apt-get install adb" in groups["adb"]["adb"]["remedy"]
    assert groups["ssh"]["ssh"]["state"] == "missing"
    assert "openssh-client" in groups["ssh"]["ssh"]["remedy"]
    assert groups["build-executorch"]["git"]["state"] == "missing"
    cross = groups["build-target"]["cross compiler"]
    assert cross["state"] == "missing"
    assert "g++-aarch64-linux-gnu" in cross["remedy"]


def test_programs_are_found_with_version_and_place(bare: Path) -> None:
    adb = make_program(bare, "adb", "printf 'Android Debug Bridge version 1.0.41\\nVersion 34.0.4-debian\\n'")
    ssh = make_program(bare, "ssh", "echo 'OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.19' >&2")
    cross = make_program(bare, "aarch64-linux-gnu-g++", "echo 'aarch64-linux-gnu-g++ (Debian 12.2.0-14) 12.2.0'")
    groups = doctor(PATH=str(bare), ETPROF_SSH="", ETPROF_ADB="")
    assert groups["adb"]["adb"]["found"] == f"34.0.4, {adb}"
    assert groups["ssh"]["ssh"]["found"] == f"9.2, {ssh}"
    found = groups["build-target"]["cross compiler"]
    assert found["found"] == f"12.2.0, {cross}"


@pytest.mark.parametrize(("version", "state"), [("7.2.15", "missing"), ("10.0.9", "missing"), ("10.1.0", "ok")])
def test_an_emulator_has_to_be_new_enough(bare: Path, version: str, state: str) -> None:
    make_program(bare, "qemu-aarch64", f"echo 'qemu-aarch64 version {version} (Debian 1:{version})'")
    check = doctor(PATH=str(bare))["emulated"]["qemu-aarch64"]
    fetched = ROOT / "build" / "tools" / "qemu-aarch64"
    if state == "missing" and fetched.exists():  # an old one on PATH does not hide it
        assert check["state"] == "ok"
        assert check["found"].endswith(str(fetched))
    else:
        assert check["state"] == state
        assert check["found"].startswith(version)
        assert state == "ok" or "script/fetch-qemu" in check["remedy"]


def test_the_ndk(tmp_path: Path) -> None:
    name = "Android NDK"
    unset = {"ANDROID_NDK": "", "ANDROID_NDK_HOME": "", "ANDROID_NDK_ROOT": ""}
    check = doctor(**unset)["build-executorch"][name]
    assert (check["state"], check["found"]) == ("warning", "ANDROID_NDK is not set, which the android presets need")
    check = doctor(**{**unset, "ANDROID_NDK": str(tmp_path)})["build-executorch"][name]
    assert "android.toolchain.cmake" in check["found"]
    toolchain = tmp_path / "build" / "cmake" / "android.toolchain.cmake"
    toolchain.parent.mkdir(parents=True)
    toolchain.touch()
    for revision, state in (("26.1.10909125", "warning"), ("27.0.12077973", "ok")):
        (tmp_path / "source.properties").write_text(f"Pkg.Desc = Android NDK\nPkg.Revision = {revision}\n")
        check = doctor(**{**unset, "ANDROID_NDK": str(tmp_path)})["build-executorch"][name]
        assert check["state"] == state
        assert revision in check["found"]


def test_people_see_the_same() -> None:
    groups = doctor()
    screen = subprocess.run([etprof(), "doctor"], capture_output=True, text=True, check=True, timeout=600).stdout
    screen_text = " ".join(screen.split())  # whatever the lines
    for checks in groups.values():
        for check in checks.values():
            if check["name"] not in (
                "disk space",
                "steadiness",
                "other processes",
            ):  # changes while the test runs; several of a name
                assert check["found"] in screen_text
                assert (check["remedy"] or "") in screen_text
