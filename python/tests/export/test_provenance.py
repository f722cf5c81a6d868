"""Notes of where nodes come from may be shared: an export with copies of them is the same."""

import contextlib
import re

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from torch.fx.traceback import NodeSource

from etprof.exporting import find, lower, provenance


def export() -> tuple[bytes, str]:
    """A quantized program, and all notes of its graph before it was lowered but for ids, which are addresses."""
    (model,) = find.build_methods(find.find_model("transformer_layer")).values()
    program = lower.quantize(
        lower.trace(model), model, "static", [torch.utils._pytree.tree_leaves((model.args, model.kwargs))]
    )
    edge = lower.to_edge({"forward": program}, [XnnpackPartitioner()], quantized=True)
    made = lower.to_executorch(edge, quantized=True)
    before = made.get_etrecord().edge_dialect_program
    before = before["forward"] if isinstance(before, dict) else before
    notes = [note.to_dict() for node in before.graph.nodes for note in node.meta.get("from_node", [])]
    return made.buffer, re.sub(r"'graph_id': \d+", "", str(notes))


def test_an_export_is_the_same(monkeypatch: pytest.MonkeyPatch):
    shared, shared_notes = export()
    assert "__deepcopy__" not in vars(NodeSource)
    monkeypatch.setattr(provenance, "shared", contextlib.nullcontext)
    copied, copied_notes = export()
    assert copied == shared
    assert copied_notes == shared_notes and shared_notes.count("from_node") > 100
