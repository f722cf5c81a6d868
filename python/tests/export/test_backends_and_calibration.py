"""--backend with an import path, --calibrate, --save-graph."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from etprof import backends
from etprof.export import main
from etprof.exporting import inputs

NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.linear(x)

    def get_example_inputs(self):
        return (torch.linspace(-1, 1, 16).reshape(2, 8),)
"""
XNNPACK = "executorch.backends.xnnpack.partition.xnnpack_partitioner:XnnpackPartitioner"


def export(folder: Path, *arguments: str, net: str = NET) -> int:
    (folder / "net.py").write_text(net)
    return main([f"{folder / 'net.py'}:Net", "--outdir", str(folder), *arguments])


def read_error(capfd: pytest.CaptureFixture) -> str:
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith(("error: ", "hint: "))]
    assert len(lines) == 2
    return lines[0]


def test_a_partitioner_by_its_import_path(tmp_path: Path):
    assert export(tmp_path, "--backend", XNNPACK, "--save-graph") == 0
    pte = tmp_path / "net_xnnpack_fp32.pte"
    assert json.loads(pte.with_name(f"{pte.name}.json").read_text())["delegate_calls"] == {"XnnpackBackend": 1}
    text = pte.with_name(f"{pte.name}.graph.txt").read_text()
    exported, edge, lowered = (text.index(f"# forward: {stage}\n") for stage in ("exported", "edge", "lowered"))
    assert exported < edge < lowered
    assert "torch.ops.aten.linear.default" in text[exported:edge]
    assert "executorch_call_delegate" not in text[:lowered]
    assert "edge__ops_aten" in text[edge:lowered] or "edge_ops" in text[edge:lowered] or "exir" in text[edge:lowered]
    assert "executorch_call_delegate" in text[lowered:]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_package.module:Class", "there is no module no_such_package"),
        ("executorch.backends.no_such:Class", "there is no module executorch.backends.no_such"),
        (XNNPACK.replace(":Xnnpack", ":Xnnpakc"), "did you mean"),
        ("collections:OrderedDict", "is no ExecuTorch Partitioner"),
        ("json:loads", "TypeError"),
    ],
)
def test_a_wrong_partitioner_is_one_message(tmp_path: Path, capfd: pytest.CaptureFixture, path: str, message: str):
    assert export(tmp_path, "--backend", path) == 3
    assert message in read_error(capfd)


def test_openvino_that_is_not_installed(tmp_path: Path, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "openvino" else real(name))
    assert export(tmp_path, "--backend", "openvino") == 3
    stderr = capfd.readouterr().err
    assert "the Python package openvino is not installed" in stderr
    assert "hint: Run `script/bootstrap --openvino`" in stderr


@pytest.mark.parametrize("refused", [["--quantize"], ["--dtype", "fp32,int8"], ["--dtype", "bf16"]])
def test_openvino_refuses_what_it_cannot_take(tmp_path: Path, capfd: pytest.CaptureFixture, refused: list[str]):
    with pytest.raises(SystemExit):
        export(tmp_path, "--backend", "openvino", *refused)
    assert "--backend openvino takes" in read_error(capfd)
    assert not list(tmp_path.glob("*.pte"))


def test_backends_in_file_names():
    names = {
        "xnnpack": "xnnpack",
        "portable": "portable",
        XNNPACK: "xnnpack",
        "a.b:CoreMLPartitioner": "coreml",
        "a:_": "custom",
    }
    assert {backend: backends.file_part(backend) for backend in names} == names
    assert backends.find_problem("a.b:C") is None
    for bad in ("cuda", "a:b:c", ":C", "a b:C", "a/b.py:C"):
        assert backends.find_problem(bad) is not None


def int8_scale(pte: Path) -> set[float]:
    """Returns the scales of the quantization nodes in the exported graph."""
    text = pte.with_name(f"{pte.name}.graph.txt").read_text()
    text = text[: text.index("# forward: edge")]
    return {float(found) for found in re.findall(r"quantize_per_tensor\.default\([^,]+, ([0-9.e-]+)", text)}


def test_calibration_decides_the_ranges(tmp_path: Path):
    pte = tmp_path / "net_xnnpack_int8.pte"
    assert export(tmp_path, "--quantize", "--save-graph") == 0
    assert max(int8_scale(pte)) < 2.5 / 255
    wide = torch.linspace(-50, 50, 16).reshape(2, 8)
    torch.save(wide, tmp_path / "one.pt")
    torch.save([(wide,), (wide / 2,)], tmp_path / "list.pt")
    np.savez(tmp_path / "named.npz", x=wide.numpy())
    np.savez(tmp_path / "many.npz", np.stack([wide.numpy() / 3, wide.numpy()]))
    (tmp_path / "saved.inputs").write_bytes(inputs.encode({"forward": [wide]}))
    scales = []
    for name in ("one.pt", "list.pt", "named.npz", "many.npz", "saved.inputs"):
        export(tmp_path, "--quantize", "--save-graph", "--no-check", "--calibrate", str(tmp_path / name))
        scales.append(max(int8_scale(pte)))
    assert scales == pytest.approx([100 / 255] * 5, rel=0.01)
    manifest = json.loads(pte.with_name(f"{pte.name}.json").read_text())
    assert manifest["calibration"] == [str(tmp_path / "saved.inputs")]


def test_calibration_that_does_not_fit_the_inputs_is_caught_by_the_check(tmp_path: Path, capfd: pytest.CaptureFixture):
    """With ranges that are a thousand times too wide, the example inputs become 0."""
    torch.save(torch.linspace(-5000, 5000, 16).reshape(2, 8), tmp_path / "far.pt")
    assert export(tmp_path, "--quantize", "--calibrate", str(tmp_path / "far.pt")) == 1
    assert "the type or the quantization is the cause" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("missing.pt", None, "No such file"),
        ("shape.pt", torch.ones(2, 9), "has shape [2, 9], the model takes [2, 8]"),
        ("integers.pt", torch.ones(2, 8, dtype=torch.int64), "is torch.int64"),
        ("nan.pt", torch.full((2, 8), float("nan")), "NaN"),
        ("two.pt", (torch.ones(2, 8), torch.ones(2, 8)), "it has 2 inputs, the model takes 1"),
        ("name.pt", {"y": torch.ones(2, 8)}, "it has no x; it has y"),
        ("more.pt", {"x": torch.ones(2, 8), "y": torch.ones(2, 8)}, "no such input"),
    ],
)
def test_calibration_that_cannot_be_used_is_one_message(
    tmp_path: Path, capfd: pytest.CaptureFixture, name: str, value: object, message: str
):
    if value is not None:
        torch.save(value, tmp_path / name)
    assert export(tmp_path, "--quantize", "--calibrate", str(tmp_path / name)) == 3
    error = read_error(capfd)
    assert error.startswith("error: Calibrating `net` failed: ")
    assert message in error


@pytest.mark.parametrize("suffix", [".pt", ".npz", ".inputs"])
def test_a_damaged_file_is_one_message(tmp_path: Path, capfd: pytest.CaptureFixture, suffix: str):
    path = tmp_path / f"damaged{suffix}"
    path.write_bytes(b"no such thing")
    assert export(tmp_path, "--quantize", "--calibrate", str(path)) == 3
    assert str(path) in read_error(capfd)


def test_a_file_of_no_samples_is_named(tmp_path: Path, capfd: pytest.CaptureFixture):
    torch.save([], tmp_path / "none.pt")
    assert export(tmp_path, "--quantize", "--calibrate", str(tmp_path / "none.pt")) == 3
    assert "none.pt: it holds no samples" in read_error(capfd)


# The outputs depend on the sum of all inputs.
RUNNING = NET.replace(
    "Linear(8, 4)\n", 'Linear(8, 4)\n        self.register_buffer("sum", torch.zeros(2, 8))\n'
).replace("self.linear(x)", "self.linear(self.sum.add_(x))")


def test_calibration_leaves_the_state_as_it_was_built(tmp_path: Path):
    """A program that started with the sums of the calibration would be wrong from its first run on."""
    torch.save([(torch.ones(2, 8),), (-torch.ones(2, 8),), (torch.ones(2, 8),)], tmp_path / "samples.pt")
    assert export(tmp_path, "--quantize", net=RUNNING) == 0
    pte = tmp_path / "net_xnnpack_int8.pte"
    assert json.loads(pte.with_name(f"{pte.name}.json").read_text())["check"]["verdict"] == "pass"
    # Each of the three samples is at most 1. Their sum would reach 2 only if the state of the example remained.
    calibrate = ["--calibrate", str(tmp_path / "samples.pt")]
    assert export(tmp_path, "--quantize", "--save-graph", "--no-check", *calibrate, net=RUNNING) == 0
    assert max(int8_scale(pte)) < 2.5 / 255


def test_the_graph_of_an_earlier_export_does_not_stay(tmp_path: Path):
    graph = tmp_path / "net_xnnpack_fp32.pte.graph.txt"
    assert export(tmp_path, "--save-graph", "--no-check") == 0
    assert graph.exists()
    assert export(tmp_path, "--no-check") == 0
    assert not graph.exists()


def test_inputs_of_expand_are_written_whole(tmp_path: Path):
    example = "torch.linspace(-1, 1, 16).reshape(2, 8)"
    assert export(tmp_path, net=NET.replace(example, "torch.linspace(-1, 1, 8).unsqueeze(0).expand(2, -1)")) == 0


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
def test_weights_that_are_computed_in_every_run(tmp_path: Path, capfd: pytest.CaptureFixture):
    """The program does not lose such weights, and the message does not blame the example inputs if the model has no copy."""
    weight_normed = NET.replace("torch.nn.Linear(8, 4)", "torch.nn.utils.weight_norm(torch.nn.Linear(8, 4))")
    assert export(tmp_path, net=weight_normed) == 0
    assert "loses it" not in capfd.readouterr().err
    assert export(tmp_path, "--dtype", "fp16", net=weight_normed) == 3
    message = read_error(capfd)
    assert message.startswith("error: Building model `net` failed: it has weights that are computed from others")


def test_a_neighbor_may_be_imported_late(tmp_path: Path):
    (tmp_path / "part_of_late.py").write_text(NET)
    (tmp_path / "late.py").write_text(
        "class Late:\n"
        "    def get_eager_model(self):\n"
        "        from part_of_late import Net\n"
        "        self.net = Net()\n"
        "        return self.net\n"
        "    def get_example_inputs(self):\n"
        "        return self.net.get_example_inputs()\n"
    )
    assert main([f"{tmp_path / 'late.py'}:Late", "--outdir", str(tmp_path)]) == 0


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_a_model_of_which_nothing_is_quantized_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture, kind: str):
    layer = NET.replace("torch.nn.Linear(8, 4)", "torch.nn.GRU(8, 4)").replace("self.linear(x)", "self.linear(x)[0]")
    assert export(tmp_path, "--quantize", kind, net=layer) == 3
    assert "XNNPACK's quantizer quantizes none of its operators" in read_error(capfd)
    assert not list(tmp_path.glob("*.pte"))
