"""Load of other processes during a measurement: the warning before it, the stored values, and the report."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_CORES = 0.25  # cores, as in src/device/conditions/other_load.h


@pytest.fixture
def busy() -> Iterator[None]:
    """A process that keeps a core busy. If other processes take the core from it, they are other load themselves."""
    work = "print('up', flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", work], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            yield
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="what /proc tells is Linux's")
@pytest.mark.usefixtures("busy")
def test_other_load_is_reported_and_stored(bench):
    config = bench.write(
        [bench.experiment("a")], launches=20, peaks=False
    )  # in less than 0.05 s, load cannot be measured
    completed = bench.run("run", config)
    assert completed.returncode == 0, completed.stderr
    manifest = bench.manifest()
    before, during = manifest["other_load"]
    assert (before["at"], during["at"]) == ("before", "during")
    for load in before, during:
        assert max(load["machine_cores"] or 0, load["process_cores"] or 0) >= MIN_CORES
        assert load["seconds"] > 0
        assert 1 <= len(load["processes"]) <= 5
        cores = [process["cores"] for process in load["processes"]]
        assert cores == sorted(cores, reverse=True)
    warning_lines = [line for line in completed.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warning_lines) == 1
    assert f"of {before['cores']} core" in warning_lines[0]
    assert len([text for text in manifest["warnings"] if "during the measurement" in text]) == 1
    assert "during the measurement" in (bench.out / "report.md").read_text()
    validated = bench.run("validate", bench.out)
    assert validated.returncode == 0, validated.stdout

    # A resumed measurement measures the load again, and keeps both entries.
    resumed = bench.run("run", config, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert [load["at"] for load in bench.manifest()["other_load"]] == ["before", "during"]


def test_a_machine_that_does_not_tell(bench, tmp_path):
    empty = tmp_path / "proc"
    empty.mkdir()
    config = bench.write([bench.experiment("a")], launches=2, peaks=False)
    completed = bench.run("run", config, env={**os.environ, "ETPROF_PROC_ROOT": str(empty)})
    assert completed.returncode == 0, completed.stderr
    assert "warning: " not in completed.stderr
    assert bench.manifest()["other_load"] == []
