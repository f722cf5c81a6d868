"""Fixtures of the runner's tests: the binary, its models, and workers."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import program
import pytest
from runner_bench import DATA, RUNNER, Worker, skip


@pytest.fixture(scope="session")
def runner() -> Path:
    """The runner: $ETPROF_RUNNER, or build/etprof-runner."""
    if not RUNNER.exists():
        skip(f"{RUNNER} is not built")
    return RUNNER


@pytest.fixture(scope="session")
def etprof() -> Path:
    """The program: $ETPROF, or build/etprof."""
    return program.etprof()


@pytest.fixture(scope="session")
def toy() -> Path:
    """A small CNN that is completely delegated to XNNPACK."""
    return DATA / "toy_cnn.pte"


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all models of models.py."""
    folder = tmp_path_factory.mktemp("models")
    completed = subprocess.run(
        [sys.executable, Path(__file__).with_name("models.py"), folder],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if "ModuleNotFoundError" in completed.stderr:
        skip("torch or executorch is not installed: no models can be exported")
    assert completed.returncode == 0, completed.stderr[-3000:]
    return folder


@pytest.fixture(scope="session")
def token_model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function that returns the path of a model of token_models.py by its name. Exports each model once."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    token_models = pytest.importorskip("token_models")
    folder = tmp_path_factory.mktemp("token_models")
    return cache(lambda name: token_models.export(name, folder / f"{name}.pte"))


@pytest.fixture
def worker(runner: Path) -> Any:
    """Starts workers, and ends those that are still running after the test."""
    workers: list[Worker] = []

    def make(*args: object) -> Worker:
        workers.append(Worker(runner, *args))
        return workers[-1]

    yield make
    for process in workers:
        if process.process.poll() is None:
            process.close()
