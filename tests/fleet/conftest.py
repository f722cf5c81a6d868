"""Tests of Arrow tables and of `etprof fleet`, with the libraries that people read them with."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items):
    if list((ROOT / "build/release/python/native").glob("_native.*")):
        return
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.skip("etprof_native is not built: run script/bootstrap"))
