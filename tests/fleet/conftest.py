"""Tests of Arrow tables and of `etprof fleet`, with the libraries that users read them with."""

from pathlib import Path

import pytest
from program import measure_two

ROOT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items):
    if list((ROOT / "build/release/python/native").glob("_native.*")):
        return
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.skip("etprof_native is not built: run script/bootstrap"))


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """A results directory from the real runner: two experiments, two launches."""
    return measure_two(tmp_path_factory.mktemp("measured"), ("one", "two:2"), 2, 3, "--no-peaks")
