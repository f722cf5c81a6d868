"""Simulated fleets of devices with known effects, as tables, generated from a seed."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa

from etprof.fleet import ingest, schema

OPERATORS = 4
_NAMES = [f"Convolution (NHWC, F32) IGEMM #{i}" for i in range(OPERATORS - 1)] + ["Method::execute"]
_TYPES = ["Convolution (NHWC, F32) IGEMM"] * (OPERATORS - 1) + ["Method::execute"]


def batch(
    device_class: str,
    devices: int,
    effect: dict[str, float],
    seed: int,
    launches: int = 3,
    device_sd: float = 0.02,
    launch_sd: float = 0.01,
    tag: str = "",
) -> dict[str, pa.Table]:
    """Simulates a run per device and version. `effect` is the log of a version's latency, from which devices vary by `device_sd`."""
    rng = np.random.default_rng(seed)
    rows: dict[str, dict[str, list]] = {
        table.name: {column.name: [] for column in table.columns} for table in schema.TABLES
    }
    level = rng.normal(0, 0.3, devices)
    for version, shift in effect.items():
        device_effect = shift + rng.normal(0, device_sd, devices)
        for device in range(devices):
            common = {
                "run": f"{tag}{device_class}-{version}-{device:04}".ljust(32, "0"),
                "experiment": "main",
                "device": f"{device_class}/{device}",
                "device_class": device_class,
                "version": version,
                "emulated": False,
            }
            _append(rows["runs"], common | _run(launches))
            for launch in range(launches):
                mean = 5e6 * np.exp(level[device] + device_effect[device] + rng.normal(0, launch_sd))
                latencies = np.maximum(1, rng.lognormal(np.log(mean), 0.02, 20)).astype(np.int64)
                operators = rng.integers(0, 2_000_000, OPERATORS)
                row = {"launch": launch, "load_ns": None, "first_run_ns": 7, "peak_rss_bytes": 1 << 20}
                row |= {"configuration": "main t1"} | ingest.latency_columns(latencies)
                traced = {"traced_runs": 5, "traced_ns": int(operators.sum()), "disturbed": False}
                _append(rows["launches"], common | row | traced)
                for i, self_ns in enumerate(operators):
                    operator = {
                        "key": f"forward/0/backend/{i}",
                        "name": _NAMES[i],
                        "type": _TYPES[i],
                        "kind": "backend",
                    }
                    numbers = {
                        "category": "CONV_STANDARD",
                        "group_name": "Convolution",
                        "runs": 5,
                        "self_ns": int(self_ns),
                    }
                    _append(rows["operators"], common | operator | numbers | {"launch": launch})
    return {table.name: pa.table(rows[table.name], schema=schema.arrow_schema(table)) for table in schema.TABLES}


def _run(launches: int) -> dict:
    return {
        "label": "main",
        "measured_at": datetime.datetime(2026, 11, 1, tzinfo=datetime.timezone.utc),
        "platform": "android",
        "os": None,
        "executorch_version": "1.5.1",
        "etprof_version": "0.1.0",
        "model_sha256": None,
        "configuration_sha256": None,
        "threads": 1,
        "isa": "",
        "backends": "XnnpackBackend",
        "launches": launches,
        "path": "/nowhere",
    }


def _append(columns: dict[str, list], row: dict) -> None:
    for name, values in columns.items():
        values.append(row[name])
