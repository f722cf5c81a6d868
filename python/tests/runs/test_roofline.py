"""The roofline of a real run, computed again from its own peaks.json."""

import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest

from exports import Exported

REPOSITORY = Path(__file__).parents[3]
ETPROF = REPOSITORY / "build" / "etprof"
SCHEMA = REPOSITORY / "docs" / "schema" / "analysis_summary.schema.json"


def etprof(*arguments: object) -> str:
    environment = {**os.environ, "COLUMNS": "120"}
    completed = subprocess.run(
        [ETPROF, *map(str, arguments)], check=False, capture_output=True, text=True, env=environment
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


@pytest.mark.parametrize(
    "options", [{"model": "toy_cnn"}, {"model": "toy_cnn", "quantize": "static"}], ids=["fp32", "int8"]
)
def test_rows_follow_from_the_work_and_the_peaks(exported: Exported, tmp_path: Path, options: dict):
    run = tmp_path / "run"
    etprof("profile", exported(**options), "--launches", 3, "--threads", 1, "--output-root", run)
    document = json.loads((run / "analysis_summary.json").read_text())
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    (experiment,) = document["experiments"]
    (roofs,) = json.loads((run / "peaks.json").read_text())["entries"]
    operators = {operator["key"]: operator for operator in experiment["operators"]}
    roofline = experiment["roofline"]
    rows = roofline["rows"]
    assert len(rows) >= 8
    dtypes = set()
    for row in rows:
        work = operators[row["key"]]["program"]
        assert (row["macs"], row["bytes"]) == (work["macs"], work["bytes"])
        compute = max(peak["macs_per_s"] for peak in roofs["compute"] if peak["dtype"] == row["roof_dtype"])
        capacities = sorted({peak["capacity_bytes"] or float("inf") for peak in roofs["memory"]})
        smallest_capacity = next(capacity for capacity in capacities if capacity >= row["bytes"])
        memory = max(
            peak["bytes_per_s"]
            for peak in roofs["memory"]
            if (peak["capacity_bytes"] or float("inf")) == smallest_capacity
        )
        seconds = {"compute": row["macs"] / compute, "memory": row["bytes"] / memory}
        assert row["roof_ms"] == pytest.approx(max(seconds.values()) * 1e3, rel=1e-9)
        assert seconds[row["bound"]] == max(seconds.values())
        assert row["share_of_roof"] == pytest.approx(row["roof_ms"] / row["time_ms"], rel=1e-9)
        assert row["would_save_ms"] == pytest.approx(row["time_ms"] - row["roof_ms"], rel=1e-9, abs=1e-12)
        # Next to other processes, only one launch may be clean, and then there is no interval.
        if row["time_low_ms"] is not None:
            assert row["time_low_ms"] <= row["time_ms"] <= row["time_high_ms"]
        assert row["macs_per_s"] == pytest.approx(row["macs"] / row["time_ms"] * 1e3, rel=1e-9)
        if row["macs"] > 0:
            dtypes.add(row["dtype"])
    # Times of a few tens of nanoseconds may be equal in all runs. Times of computing operators are not.
    computing = [row for row in rows if row["macs"] > 0 and row["time_low_ms"] is not None]
    assert not computing or any(row["time_low_ms"] < row["time_ms"] < row["time_high_ms"] for row in computing)
    assert dtypes == {"int8" if options.get("quantize") else "fp32"}
    gaps = [row["would_save_ms"] for row in rows]
    assert gaps == sorted(gaps, reverse=True)
    assert roofline["covered_ms"] == pytest.approx(sum(row["time_ms"] for row in rows), rel=1e-9)
    assert roofline["roof_ms"] == pytest.approx(sum(row["roof_ms"] for row in rows), rel=1e-9)

    screen = etprof("analyze", run, "--by", "roofline")
    assert f"{len(rows)} operators take" in screen
    lines = screen.splitlines()
    first = lines[next(at for at, line in enumerate(lines) if line.rstrip().endswith("potential saving")) + 1]
    assert f" {rows[0]['bound']} " in first
    assert operators[rows[0]["key"]]["program"]["layer"] in first
    assert "## Roofline" in (run / "report.md").read_text()
    # A trace alone does not describe the machine.
    trace_report = etprof("analyze", next((run).rglob("*.etdump")), "--by", "roofline")
    assert "nothing to show" in trace_report
    assert "compute" not in trace_report
