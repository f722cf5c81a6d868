"""The runner reports the ExecuTorch libraries that the process has mapped, not those that it was built with."""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from runner_bench import Run, library

WHEEL = Path(importlib.util.find_spec("executorch").submodule_search_locations[0])


def read_isa_info(runner: Path, **env: str) -> dict:
    run = Run(runner, "--isa-info", env=env)
    assert run.code == 0, run.err
    return json.loads(run.out)


def build_id(path: Path) -> str:
    command = ["readelf", "--notes", path]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return next(line.split()[-1] for line in output.splitlines() if "Build ID:" in line)


@pytest.fixture
def copied_libraries(tmp_path: Path) -> Path:
    """Copies the wheel's libraries into a folder outside of a wheel."""
    folder = tmp_path / "copied" / "lib"
    shutil.copytree(WHEEL / "lib", folder, ignore=shutil.ignore_patterns("cmake"))
    return folder


def test_libraries_are_those_that_the_loader_mapped(runner: Path) -> None:
    info = read_isa_info(runner)
    assert info["executorch_version"] == importlib.import_module("executorch.version").__version__
    names = {Path(entry["path"]).name for entry in info["libraries"]}
    assert {"libexecutorch.so", "libexecutorch_backend_xnnpack.so", "libexecutorch_etdump.so"} <= names
    assert len(names) == len(info["libraries"])
    for entry in info["libraries"]:
        assert entry["build_id"] == build_id(Path(entry["path"]))


def test_a_version_is_that_of_the_mapped_library(runner: Path, copied_libraries: Path) -> None:
    built_with = read_isa_info(runner)["executorch_version"]
    info = read_isa_info(runner, LD_LIBRARY_PATH=str(copied_libraries))
    assert {Path(entry["path"]).parent for entry in info["libraries"]} == {copied_libraries}, "the backend's, too"
    assert info["executorch_version"] == built_with, "a copy of the build's own library"

    runtime = copied_libraries / "libexecutorch.so"
    build_id_bytes = bytes.fromhex(build_id(runtime))
    changed = runtime.read_bytes().replace(build_id_bytes, build_id_bytes[::-1])
    runtime.write_bytes(changed)
    info = read_isa_info(runner, LD_LIBRARY_PATH=str(copied_libraries))
    assert info["executorch_version"] == "", "another library, in no wheel"
    (copied_libraries.parent / "version.py").write_text('from typing import Optional\n__version__ = "1.4.9+test"\n')
    assert read_isa_info(runner, LD_LIBRARY_PATH=str(copied_libraries))["executorch_version"] == "1.4.9+test"
    for text in ("", "__version__", '\n__version__ = "1.4', "\n__version__ = "):
        (copied_libraries.parent / "version.py").write_text(text)
        assert read_isa_info(runner, LD_LIBRARY_PATH=str(copied_libraries))["executorch_version"] == ""


def test_two_xnnpacks_are_refused(runner: Path, tmp_path: Path) -> None:
    second = library(tmp_path, "second_xnnpack.cc")
    message = Run(runner, "--isa-info", f"--load={second}").error_line(4)
    assert "2 XNNPACKs are loaded" in message
    assert str(second) in message
    assert "libexecutorch_backend_xnnpack.so" in message
