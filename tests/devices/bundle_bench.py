"""Helpers of the device tests: runner bundles and their inspection by readelf."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from program import parse_with_schema

ROOT = Path(__file__).resolve().parents[2]
ETPROF = Path(os.environ.get("ETPROF", ROOT / "build" / "etprof"))
TIMEOUT = 1800  # seconds; a hang is a failure


def skip(reason: str) -> None:
    """Skips the test. In CI, where all dependencies must be installed, a skip is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"would be skipped, and CI allows that for CPU features only: {reason}")
    pytest.skip(reason)


def call(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    options = {"timeout": TIMEOUT, "check": False, "capture_output": True, "text": True} | options
    return subprocess.run([str(argument) for argument in arguments], **options)


@dataclass(frozen=True)
class Elf:
    """The parts of readelf's output for a file that the tests use."""

    machine: str
    needed: list[str]
    runpath: str


def read_elf(path: Path) -> Elf:
    completed = call("readelf", "--wide", "-h", "-d", path, env={**os.environ, "LC_ALL": "C"})
    assert completed.returncode == 0, completed.stderr
    machine = re.search(r"^\s*Machine:\s*(.*?)\s*$", completed.stdout, re.MULTILINE)
    runpath = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", completed.stdout)
    return Elf(
        machine.group(1) if machine else "",
        re.findall(r"\(NEEDED\).*\[(.*)\]", completed.stdout),
        runpath.group(1) if runpath else "",
    )


def missing_libraries(folder: Path) -> set[str]:
    """Returns the libraries that the ELF files of a folder need and the folder does not contain."""
    files = [path for path in folder.iterdir() if path.suffix != ".json"]
    return {name for path in files for name in read_elf(path).needed if not (folder / name).exists()}


@dataclass(frozen=True)
class Bundle:
    folder: Path
    manifest: dict[str, Any]

    def command(self) -> list[str]:
        """Returns the words of `start`, with paths relative to the folder made absolute."""
        names = {file["name"] for file in self.manifest["files"]}
        return [str(self.folder / word) if word == "." or word in names else word for word in self.manifest["start"]]


def run_masked(
    bundle: Bundle, qemu: list[str], pte: Path, folder: Path, masks: dict[str, str], option: str, **keys: Any
) -> dict[str, Any]:
    """Returns the summary of a short run on an emulated CPU, with one experiment per mask, named after it.

    `keys` are added to the configuration."""
    config = {
        "model": str(pte),
        "output_root": str(folder),
        "runner_path": str(bundle.folder / "etprof-runner"),
        "exec_wrapper": qemu,
        "launches": 2,
        "rounds": 1,
        "runs": 1,
        "warmup": 1,
        "experiments": [{"name": name, "threads": 1, "isa": isa} for name, isa in masks.items()],
        **keys,
    }
    path = folder / "config.json"
    folder.mkdir()
    path.write_text(json.dumps(config), encoding="utf-8")
    completed = call(ETPROF, "run", path, option, "--no-peaks")
    assert completed.returncode == 0, completed.stderr
    return json.loads((folder / "analysis_summary.json").read_text(encoding="utf-8"))


def build_bundle(*arguments: str | Path) -> dict[str, Any]:
    if not ETPROF.exists():
        skip(f"{ETPROF} is not built")
    completed = call(ETPROF, "build", "--json", "--jobs", "2", *arguments, timeout=1800)
    if "g++-aarch64-linux-gnu" in completed.stderr or "check pip and the network" in completed.stderr:
        skip(completed.stderr.strip())
    assert completed.returncode == 0, completed.stderr
    return parse_with_schema("build", completed.stdout)
