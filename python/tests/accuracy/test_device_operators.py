"""The comparison joins the operators of a .pte with PyTorch's values, and reports a wrong kernel first."""

import itertools
import json
from pathlib import Path

import jsonschema
import pytest

from etprof import accuracy
from etprof.export import Request, export_model
from etprof.exporting import device_operators
from test_noise import SCHEMA

IMAGES = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first = torch.nn.Conv2d(3, 16, 3, stride=2)
        self.second = torch.nn.Conv2d(16, 8, 3)
        self.third = torch.nn.Linear(8, 8)

    def forward(self, x):
        y = torch.tanh(self.second(self.first(x).relu())).flatten(2).transpose(1, 2)
        return self.third(torch.nn.functional.scaled_dot_product_attention(y, y, y))

    def get_example_inputs(self):
        torch.manual_seed(0)
        return (torch.randn(2, 3, 19, 17),)
"""
# Layer normalization of (1, 128, 256) is wrong in ExecuTorch 1.5.1's optimized kernel (docs/reference/export.md).
NORMALIZED = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.before = torch.nn.Linear(256, 256)
        self.norm = torch.nn.LayerNorm(256)
        self.after = torch.nn.Linear(256, 8)

    def forward(self, x):
        return self.after(self.norm(self.before(x)))

    def get_example_inputs(self):
        torch.manual_seed(0)
        return (torch.randn(1, 128, 256),)
"""


@pytest.mark.parametrize(("options", "least"), [({}, 85.0), ({"dtype": "fp16"}, 30.0), ({"quantize": "static"}, 10.0)])
def test_the_operators_of_a_right_program_agree(tmp_path: Path, options: dict, least: float):
    """The convolutions have channels-last outputs and fused activations. Attention is decomposed into kernels with a common
    debug handle, in another order.
    """
    (tmp_path / "net.py").write_text(IMAGES)
    request = Request(f"{tmp_path / 'net.py'}:Net", outdir=tmp_path, check=False, **options)
    operators = device_operators.compare(export_model(request).paths[0], "forward", least)
    compared = [operator for operator in operators if not operator.note]
    assert not any(operator.leaves for operator in operators)
    modules = {operator.module for operator in compared}
    assert {"first", "second", "third"} <= modules, operators
    assert all(operator.sqnr_db is None or operator.sqnr_db > least + 10 for operator in compared)
    # The value of another node, or in another layout, would differ by about its own size.
    assert len(compared) >= 5
    if options.get("quantize"):
        assert sum(operator.sqnr_db is None for operator in compared) >= 1  # quantization of the input is exact


def test_a_wrong_kernel_is_named_first(tmp_path: Path, capfd: pytest.CaptureFixture):
    (tmp_path / "net.py").write_text(NORMALIZED)
    arguments = [f"{tmp_path / 'net.py'}:Net", "--outdir", str(tmp_path), "--dtype", "fp16"]
    assert accuracy.main(arguments) == 0
    lines = capfd.readouterr().out.splitlines()
    assert "the first operator of the .pte that leaves PyTorch's value in the same type: " in lines[-1]
    assert "native_layer_norm" in lines[-1] and "(norm)" in lines[-1]
    document = json.loads((tmp_path / "net_xnnpack_fp16.pte.accuracy.json").read_text())
    jsonschema.validate(document, SCHEMA)
    assert document["quantization"] == "fp16" and document["operators_why_not"] == ""
    before = list(itertools.takewhile(lambda row: not row["leaves"], document["operators"]))
    assert "before" in {row["module"] for row in before}
    # The emulation does not have this fault, so the data type is not the cause.
    (budget,) = document["budgets"]
    assert budget["sqnr_db"] > 50 > 20 > budget["device_sqnr_db"]


def test_missing_comparisons_have_a_reason(tmp_path: Path):
    with pytest.raises(device_operators.NotComparedError, match=r"no \.etrecord"):
        device_operators.compare(tmp_path / "net.pte", "forward", 30.0)
