"""Nodes may share notes of their origin: an export with copied notes is equal. Traces contain the lines of the operators."""

import contextlib
import re
from pathlib import Path

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from torch.fx.proxy import TracerBase
from torch.fx.traceback import NodeSource

from etprof.exporting import explain, find, lower, places, provenance


def export() -> tuple[bytes, str]:
    """Returns a quantized program, and the notes of its graph before lowering, without ids, which are addresses."""
    (model,) = find.build_methods(find.find_model("transformer_layer")).values()
    program = lower.quantize(
        lower.trace(model), model, "static", [torch.utils._pytree.tree_leaves((model.args, model.kwargs))]
    )
    edge = lower.to_edge({"forward": program}, [XnnpackPartitioner()], quantized=True)
    program_manager = lower.to_executorch(edge, quantized=True)
    before = program_manager.get_etrecord().edge_dialect_program
    before = before["forward"] if isinstance(before, dict) else before
    notes = [note.to_dict() for node in before.graph.nodes for note in node.meta.get("from_node", [])]
    return program_manager.buffer, re.sub(r"'graph_id': \d+", "", str(notes))


def test_an_export_is_the_same(monkeypatch: pytest.MonkeyPatch):
    shared, shared_notes = export()
    assert "__deepcopy__" not in vars(NodeSource)
    monkeypatch.setattr(provenance, "shared", contextlib.nullcontext)
    copied, copied_notes = export()
    assert copied == shared
    assert copied_notes == shared_notes and shared_notes.count("from_node") > 100


def shifted(x: torch.Tensor) -> torch.Tensor:
    return torch.cumsum(x, -1)  # innermost


class Sub(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(self.linear(x))  # layer

    def inner(self, x: torch.Tensor) -> torch.Tensor:
        return shifted(x) * 2  # caller


def test_the_line_is_the_operators_and_not_its_callers():
    lines = {
        text.rpartition("  # ")[2]: number for number, text in enumerate(Path(__file__).read_text().split("\n"), 1)
    }
    before = TracerBase._filter_traceback_frames
    exported = lower.trace(find.BuiltModel(torch.nn.Sequential(Sub()), (torch.ones(3),), {}, None))
    assert TracerBase._filter_traceback_frames is before
    found = {
        str(node.target): (
            explain.place(None, node.meta["stack_trace"]),
            [*node.meta["nn_module_stack"].values()][-1][0],
        )
        for node in exported.graph.nodes
        if node.op == "call_function"
    }
    assert {name: (int(re.search(r", line (\d+)\)", place)[1]), path) for name, (place, path) in found.items()} == {
        "aten.linear.default": (lines["layer"], "0.linear"),
        "aten.cumsum.default": (lines["innermost"], "0"),
        "aten.mul.Tensor": (lines["caller"], "0"),
    }
    # All lines of a module in one file count as one place. Lines with most operators come first.
    display_path = explain.display_path(__file__)
    lines_of_module = f"{lines['innermost']}, {lines['caller']}"
    assert set(places.locate_operators({"forward": exported})["forward"]) == {
        f"* ({display_path}, lines {lines_of_module}): 1 cumsum, 1 mul",
        f"*.linear ({display_path}, line {lines['layer']}): 1 linear",
    }
    # Traces contain only forward() of PyTorch's own code, as without sharing, and nothing of pytest.
    trace = "".join(node.meta.get("stack_trace", "") for node in exported.graph.nodes)
    assert re.search(r"torch/nn/modules/linear.py", trace)
    assert {name for file, name in re.findall(r'File "(.+?)", line \d+, in (\w+)', trace) if "/torch/" in file} == {
        "forward"
    }
    assert "pytest" not in trace
