"""Locates the first operator of a .pte that differs from PyTorch: in wrong lowerings of the test, and in one of ExecuTorch."""

import re
from pathlib import Path

import pytest
from executorch.backends.xnnpack.operators import op_sigmoid
from executorch.backends.xnnpack.serialization.xnnpack_graph_schema import XNNTanh

from etprof.export import Export, Request, export_model
from etprof.exporting import locate, lowerings

NET = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, gate):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.gate = gate

    def forward(self, x):
        return self.linear(x) + self.gate(self.linear(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.blocks = nn.Sequential(*(Block(nn.{gates[0]}), Block(nn.{gates[1]}), Block(nn.{gates[2]})))

    def forward(self, x):
        return self.blocks(x) * (1.01 if {differs} and torch.compiler.is_exporting() else 1.0)

    def get_example_inputs(self):
        return (torch.linspace(-2, 2, 16).reshape(2, 8),)
"""


def export(folder: Path, *gates: str, differs: bool = False) -> Export:
    (folder / "net.py").write_text(NET.format(gates=gates, differs=differs))
    return export_model(Request(f"{folder / 'net.py'}:Net", outdir=folder / "out", min_sqnr_db=95))


def test_an_operator_that_is_lowered_as_another_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The wrong operator is in the second of three layers. The third has one, too, and no operator before it differs."""
    undamaged = export(tmp_path, "ReLU()", "Sigmoid()", "Sigmoid()")
    assert undamaged.check.verdict == "pass", undamaged.check.why
    monkeypatch.setattr(locate, "_MAX_OUTPUT_VALUES", 4)  # two lowerings are necessary
    monkeypatch.setattr(op_sigmoid, "XNNSigmoid", XNNTanh)
    wrong = export(tmp_path, "ReLU()", "Sigmoid()", "Sigmoid()")
    assert wrong.check.verdict == "fail"
    assert re.search(
        r"; the first operator that differs is aten\.sigmoid of blocks\.1\.gate \(.*, line 12\): SQNR ", wrong.check.why
    )


def test_executorchs_gelu_is_found_without_being_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    gates = ("Tanh()", "GELU('none')", "GELU('tanh')")
    assert "tanh approximation" in export(tmp_path, *gates).check.why
    monkeypatch.setattr(lowerings, "KNOWN", {})
    assert "the first operator that differs is aten.gelu of blocks.2.gate (" in export(tmp_path, *gates).check.why


def test_changes_of_torch_export_are_not_attributed_to_the_lowering(tmp_path: Path):
    why = export(tmp_path, "ReLU()", "ReLU()", "ReLU()", differs=True).check.why
    assert why.endswith("; torch.export's program differs in PyTorch, too: the lowering is not the cause")
