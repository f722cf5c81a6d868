"""Attacks on the files that etprof writes, deletes, and reads. Each test is a fault that occurred or could occur."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "measure"))

from measure_conftest import bench, etprof, runner  # noqa: F401


@pytest.fixture(scope="session")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """preloaded("fault") returns the library of fault.c, for LD_PRELOAD."""

    def library(name: str) -> Path:
        library_file = tmp_path_factory.mktemp(name) / f"{name}.so"
        source = Path(__file__).with_name(f"{name}.c")
        subprocess.run(["/usr/bin/cc", "-shared", "-fPIC", "-O1", "-o", library_file, source, "-ldl"], check=True)
        return library_file

    return library
