"""Attacks on what etprof writes, deletes and reads: each test is something that once did harm, or could."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "measure"))

from measure_conftest import bench, etprof, runner  # noqa: F401
