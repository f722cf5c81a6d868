"""Methods that only return constants (`get_max_seq_len`): etprof shows and compares their values, and applies no limits."""

import json
import subprocess
from pathlib import Path
from typing import Any

import program
import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower

pytestmark = pytest.mark.usefixtures("needs_build")


def write(path: Path, constants: dict[str, Any], *, segments: bool = True) -> Path:
    exported = torch.export.export(torch.nn.Linear(64, 64).eval(), (torch.ones(1, 64),))
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()], constant_methods=constants)
    config = ExecutorchBackendConfig(extract_delegate_segments=segments)
    path.write_bytes(edge.to_executorch(config).buffer)
    return path


def etprof(*arguments: object) -> str:
    command = [program.etprof(), *map(str, arguments)]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def test_values_are_shown_and_compared(tmp_path: Path):
    constants = {"get_max_seq_len": 128, "use_kv_cache": True, "get_scale": 0.5}
    a = write(tmp_path / "a.pte", constants)
    b = write(tmp_path / "b.pte", {**constants, "get_max_seq_len": 512})
    screen = etprof("inspect", b)
    lines = [line.split() for line in screen.splitlines()]
    for row in (["get_max_seq_len", "512", "int"], ["use_kv_cache", "true", "bool"], ["get_scale", "0.5", "double"]):
        assert row in lines, screen
    methods = {method["name"]: method for method in json.loads(etprof("inspect", b, "--json"))["methods"]}
    assert methods["get_max_seq_len"]["outputs"][0]["constant"] == "512"
    assert methods["forward"]["outputs"][0]["constant"] is None
    compared = etprof("diff", a, b)
    assert "int 128" in compared and "int 512" in compared, compared
    for line in ("get_max_seq_len: 1 property differs", "use_kv_cache: no difference"):
        assert line in compared.splitlines(), compared
    gate = json.loads(etprof("check", "--static", a, b, "--json"))
    assert not {item["method"] for item in gate["checks"]} & constants.keys()
    assert "`get_max_seq_len` changed from 128 to 512" in gate["notes"]
    assert not any("get_scale" in note for note in gate["notes"])


def test_each_byte_counts_once(tmp_path: Path):
    for segments in (True, False):
        path = write(tmp_path / f"{segments}.pte", {}, segments=segments)
        table = etprof("inspect", path, "--csv", "sizes").splitlines()
        header, rows = table[0].split(","), [line.split(",") for line in table[1:]]
        sizes = {row[header.index("part")]: int(row[header.index("size")]) for row in rows}
        assert 0 < sizes["program"] < 10_000, sizes  # without the 16 kB of weights
        assert sum(sizes.values()) <= path.stat().st_size, sizes
