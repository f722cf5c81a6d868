"""`etprof inspect` of a .ptd, compared with ExecuTorch's own reader, and of a .pte that takes its weights from a .ptd."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.scalar_type import ScalarType
from executorch.extension.flat_tensor.serialize.serialize import FlatTensorHeader, _deserialize_to_flat_tensor

ROOT = Path(__file__).parents[3]
ETPROF = ROOT / "build" / "etprof"
SCHEMAS = ROOT / "docs" / "schema"
DTYPES = {ScalarType.FLOAT: "float32"}


class Net(torch.nn.Module):
    """One layer that XNNPACK takes, and one that runs on portable kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(16, 8)
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.linear(x))


class Other(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale


@pytest.fixture(scope="module", params=["portable", "xnnpack"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    program = torch.export.export(Net().eval(), (torch.randn(2, 16),), strict=True)
    partitioner = [XnnpackPartitioner()] if request.param == "xnnpack" else []
    edge = to_edge_transform_and_lower(program, partitioner=partitioner)
    program_manager = edge.to_executorch(ExecutorchBackendConfig(external_constants=True))
    pte = folder / "net.pte"
    pte.write_bytes(program_manager.buffer)
    program_manager.write_tensor_data_to_file(str(folder))
    (ptd,) = folder.glob("*.ptd")
    return pte, ptd


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ETPROF, "inspect", *map(str, arguments)], check=False, capture_output=True, text=True)


def document(schema: str, *arguments: object) -> dict:
    completed = run(*arguments, "--json")
    assert completed.returncode == 0, completed.stderr
    parsed = json.loads(completed.stdout)
    jsonschema.validate(parsed, json.loads((SCHEMAS / f"{schema}.schema.json").read_text()))
    return parsed


def test_inspect_agrees_with_executorch(files: tuple[Path, Path]):
    _, ptd = files
    raw = ptd.read_bytes()
    header = FlatTensorHeader.from_bytes(raw[8 : 8 + FlatTensorHeader.EXPECTED_LENGTH])
    expected = _deserialize_to_flat_tensor(raw[: header.flatbuffer_offset + header.flatbuffer_size])
    actual = document("inspect_data", ptd)
    assert actual["version"] == expected.version
    assert actual["file_bytes"] == len(raw)
    assert actual["flatbuffer_bytes"] == header.flatbuffer_offset + header.flatbuffer_size
    assert [(segment["offset"], segment["bytes"]) for segment in actual["segments"]] == [
        (header.segment_base_offset + segment.offset, segment.size) for segment in expected.segments
    ]
    assert len(actual["data"]) >= 2
    for actual_entry, expected_entry in zip(actual["data"], expected.named_data, strict=True):
        assert (actual_entry["key"], actual_entry["segment"]) == (expected_entry.key, expected_entry.segment_index)
        layout = expected_entry.tensor_layout
        if layout is None:
            assert actual_entry["dtype"] is None
            continue
        assert actual_entry["dtype"] == DTYPES[layout.scalar_type]
        assert (actual_entry["shape"], actual_entry["dim_order"]) == (layout.sizes, list(layout.dim_order))
    screen = run(ptd).stdout
    assert all(entry["key"][-15:] in screen for entry in actual["data"])


def test_the_program_says_what_it_expects(files: tuple[Path, Path]):
    pte, ptd = files
    external_data = document("inspect", pte)["external_data"]
    assert external_data["missing"] is None
    assert set(external_data["names"]) == {entry["key"] for entry in document("inspect_data", ptd)["data"]}
    assert document("inspect", pte, "--data", ptd)["external_data"] == {"names": external_data["names"], "missing": []}
    assert "all are there" in run(pte, "--data", ptd).stdout
    assert "--data FILE.ptd" in run(pte).stdout
    # This model needs no .ptd.
    other = ROOT / "tests" / "data" / "toy_cnn.pte"
    assert document("inspect", other)["external_data"] == {"names": [], "missing": None}
    assert ".ptd" not in run(other).stdout


def test_another_models_data_lacks_what_it_needs(files: tuple[Path, Path]):
    pte, _ = files
    small = ROOT / "tests" / "fuzz" / "corpus" / "data_file" / "two_tensors.ptd"
    missing = document("inspect", pte, "--data", small)["external_data"]["missing"]
    assert missing
    screen = run(pte, "--data", small, "--all").stdout
    assert f"{len(missing)} are missing" in screen
    assert all(f"\n    {name}\n" in screen for name in missing)


def test_truncated_data_files_are_refused_in_one_line(files: tuple[Path, Path], tmp_path: Path):
    pte, ptd = files
    raw = ptd.read_bytes()
    for size in (0, 4, 8, 40, 60, len(raw) - 1):
        truncated = tmp_path / "cut.ptd"
        truncated.write_bytes(raw[:size])
        completed = run(truncated)
        assert completed.returncode == 3, size
        assert [line.partition(": ")[0] for line in completed.stderr.splitlines()] in (["error"], ["error", "hint"])
    assert "is not a .ptd" in run(pte, "--data", pte).stderr
    completed = run(ptd, "--data", ptd)
    assert completed.returncode == 2
    assert "is external data, which `--data` does not go with" in completed.stderr


def measure(pte: Path, out: Path, *options: object) -> subprocess.CompletedProcess[str]:
    command = [ETPROF, "profile", pte, "--launches", "2", "--no-peaks", "--output-root", out, *options]
    return subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)


def test_measuring_names_the_ptd_that_is_missing(files: tuple[Path, Path], tmp_path: Path):
    pte, ptd = files
    completed = measure(pte, tmp_path / "out")
    assert completed.returncode == 3
    assert "outside of it, in a .ptd" in completed.stderr
    assert f"next to it is {ptd.name}" in completed.stderr
    assert not (tmp_path / "out" / "manifest.json").exists()
    other = tmp_path / "other.ptd"
    other_program = to_edge_transform_and_lower(torch.export.export(Other().eval(), (torch.randn(2, 3),), strict=True))
    other_program = other_program.to_executorch(ExecutorchBackendConfig(external_constants=True))
    other_program.write_tensor_data_to_file(str(tmp_path))
    next(path for path in tmp_path.glob("*.ptd") if path != other).rename(other)
    completed = measure(pte, tmp_path / "out", "--data", other)
    assert completed.returncode == 3 and "has not" in completed.stderr and pte.name in completed.stderr
    completed = measure(pte, tmp_path / "out", "--data", ptd)
    assert completed.returncode == 0, completed.stderr
