"""Which ExecuTorch runs: the libraries that the process has mapped, whatever it was built with."""

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


def state(runner: Path, **env: str) -> dict:
    run = Run(runner, "--isa-info", env=env)
    assert run.code == 0, run.err
    return json.loads(run.out)


def build_id(path: Path) -> str:
    words = ["readelf", "--notes", path]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return next(line.split()[-1] for line in said.splitlines() if "Build ID:" in line)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The wheel's libraries in a folder of no wheel."""
    folder = tmp_path / "copied" / "lib"
    shutil.copytree(WHEEL / "lib", folder, ignore=shutil.ignore_patterns("cmake"))
    return folder


def test_libraries_are_those_that_the_loader_mapped(runner: Path) -> None:
    said = state(runner)
    assert said["executorch_version"] == importlib.import_module("executorch.version").__version__
    names = {Path(each["path"]).name for each in said["libraries"]}
    assert {"libexecutorch.so", "libexecutorch_backend_xnnpack.so", "libexecutorch_etdump.so"} <= names
    assert len(names) == len(said["libraries"])
    for each in said["libraries"]:
        assert each["build_id"] == build_id(Path(each["path"]))


def test_a_version_is_that_of_the_mapped_library(runner: Path, copied: Path) -> None:
    built_with = state(runner)["executorch_version"]
    said = state(runner, LD_LIBRARY_PATH=str(copied))
    assert {Path(each["path"]).parent for each in said["libraries"]} == {copied}, "the backend's, too"
    assert said["executorch_version"] == built_with, "a copy of the build's own library"

    runtime = copied / "libexecutorch.so"
    own = bytes.fromhex(build_id(runtime))
    changed = runtime.read_bytes().replace(own, own[::-1])
    runtime.write_bytes(changed)
    said = state(runner, LD_LIBRARY_PATH=str(copied))
    assert said["executorch_version"] == "", "another library, in no wheel"
    (copied.parent / "version.py").write_text('from typing import Optional\n__version__ = "1.4.9+test"\n')
    assert state(runner, LD_LIBRARY_PATH=str(copied))["executorch_version"] == "1.4.9+test"
    for cut in ("", "__version__", '\n__version__ = "1.4', "\n__version__ = "):
        (copied.parent / "version.py").write_text(cut)
        assert state(runner, LD_LIBRARY_PATH=str(copied))["executorch_version"] == ""


def test_two_xnnpacks_are_refused(runner: Path, tmp_path: Path) -> None:
    second = library(tmp_path, "second_xnnpack.cc")
    said = Run(runner, "--isa-info", f"--load={second}").complaint(4)
    assert "2 XNNPACKs are loaded" in said
    assert str(second) in said
    assert "libexecutorch_backend_xnnpack.so" in said
