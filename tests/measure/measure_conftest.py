"""Fixtures of the tests that measure."""

import pathlib

import pytest
from measure_bench import Bench, program


@pytest.fixture(scope="session")
def etprof() -> pathlib.Path:
    return program("etprof", "ETPROF")


@pytest.fixture(scope="session")
def runner() -> pathlib.Path:
    return program("etprof-runner", "ETPROF_RUNNER")


@pytest.fixture
def bench(tmp_path: pathlib.Path, etprof: pathlib.Path) -> Bench:
    return Bench(tmp_path, etprof)
