"""Bundled programs (.bpte) from ExecuTorch's serializer: all commands read them, and measurements use their test cases."""

import json
import subprocess
from pathlib import Path

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program,
    serialize_from_bundled_program_to_flatbuffer,
)
from executorch.exir import to_edge_transform_and_lower

ROOT = Path(__file__).parents[3]
ETPROF = ROOT / "build" / "etprof"
WRONG_BY = 0.25

pytestmark = pytest.mark.usefixtures("needs_build")


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with right.bpte, wrong.bpte (whose expected output differs by WRONG_BY), and their program as net.pte."""
    bundles = tmp_path_factory.mktemp("bundled")
    torch.manual_seed(0)
    net = Net().eval()
    x = torch.randn(1, 3, 24, 24).to(memory_format=torch.channels_last)
    program = to_edge_transform_and_lower(
        torch.export.export(net, (x,), strict=True), partitioner=[XnnpackPartitioner()]
    ).to_executorch()
    for name, error in (("right", 0.0), ("wrong", WRONG_BY)):
        case = MethodTestCase(inputs=(x,), expected_outputs=[net(x).detach() + error])
        bundle = BundledProgram(program, [MethodTestSuite(method_name="forward", test_cases=[case])])
        (bundles / f"{name}.bpte").write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
    read = deserialize_from_flatbuffer_to_bundled_program((bundles / "right.bpte").read_bytes())
    (bundles / "net.pte").write_bytes(read.program)
    return bundles


def etprof(*arguments: object, code: int = 0) -> str:
    completed = subprocess.run([ETPROF, *map(str, arguments)], check=False, capture_output=True, text=True)
    assert completed.returncode == code, completed.stderr
    return completed.stdout


def test_inspect_shows_the_program_within(folder: Path):
    bundled, unbundled = (json.loads(etprof("inspect", folder / name, "--json")) for name in ("right.bpte", "net.pte"))
    assert bundled.pop("test_cases") == [{"method": "forward", "count": 1}]
    assert unbundled.pop("test_cases") == []
    del bundled["file"], unbundled["file"]
    assert bundled == unbundled
    assert "1 test case of forward" in etprof("inspect", folder / "right.bpte")


def test_programs_are_compared_without_the_bundle(folder: Path):
    text = etprof("diff", folder / "right.bpte", folder / "net.pte")
    assert "No difference" in text
    etprof("check", "--static", folder / "right.bpte", folder / "net.pte")


def measured(model: Path, out: Path, *options: str) -> dict:
    limits = ["--launches", 2, "--runs", 3, "--max-seconds", 3, "--no-peaks"]
    text = etprof("profile", model, *limits, *options, "--output-root", out)
    manifest = json.loads((out / "manifest.json").read_text())
    assert "the bundled program expects" in text
    # The run keeps no copy of the program, which is in the .bpte.
    assert not list(out.rglob("*.pte")) and not list(out.rglob("*.expected")) and not list(out.rglob("*.inputs"))
    etprof("validate", out)
    return manifest


def test_the_test_case_is_measured_and_its_outputs_are_compared(folder: Path, tmp_path: Path):
    manifest = measured(folder / "right.bpte", tmp_path / "right")
    (result,) = manifest["results"]
    assert result["inputs_from"] == f"the first test case of {folder / 'right.bpte'}"
    assert result["from_expected"]["comparable"]
    assert result["from_expected"]["equal"] or result["from_expected"]["largest_absolute"] < 1e-5


def test_unexpected_outputs_are_reported(folder: Path, tmp_path: Path):
    (result,) = measured(folder / "wrong.bpte", tmp_path / "wrong")["results"]
    assert result["from_expected"]["largest_absolute"] == pytest.approx(WRONG_BY, abs=1e-5)


def test_each_variant_is_compared(folder: Path, tmp_path: Path):
    manifest = measured(folder / "right.bpte", tmp_path / "both", "--vs", "threads=2")
    assert [result["from_expected"]["comparable"] for result in manifest["results"]] == [True, True]


def test_its_trace_belongs_to_it(folder: Path, tmp_path: Path):
    measured(folder / "right.bpte", tmp_path / "run")
    (etdump,) = (tmp_path / "run").rglob("*.etdump")
    document = json.loads(etprof("analyze", etdump, "--model", folder / "right.bpte", "--json"))
    assert document["experiments"][0]["program"]["problem"] is None
    etprof("analyze", tmp_path / "run")
