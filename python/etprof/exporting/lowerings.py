"""Operators that a backend computes in another way than PyTorch, and whether that explains a difference of outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etprof.exporting import explain

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Lowering:
    """A known one: which calls it concerns, and with which arguments PyTorch computes what the backend does."""

    operator: str  # as the exported graph names it
    arguments: dict[str, Any]
    computed_with: dict[str, Any]
    what: str
    instead: str


# By backend. Seen with ExecuTorch 1.5.1, whose op_gelu.py writes a node without the approximation.
KNOWN = {
    "xnnpack": [
        Lowering(
            "aten.gelu.default",
            {"approximate": "tanh"},
            {"approximate": "none"},
            "XNNPACK computes the tanh approximation of GELU as the exact function",
            "train or configure the model with the exact one, or ask for less with --min-sqnr",
        )
    ]
}


def as_lowered(exported: torch.export.ExportedProgram, backend: str) -> tuple[torch.nn.Module, str] | None:
    """The program as the backend computes it, as a PyTorch module, and what differs; None: nothing known does."""
    module = exported.module()
    whats = []
    for lowering in KNOWN.get(backend, []):
        calls = [
            node
            for node in module.graph.nodes
            if str(node.target) == lowering.operator and lowering.arguments.items() <= node.kwargs.items()
        ]
        if not calls:
            continue
        for node in calls:
            node.kwargs = {**node.kwargs, **lowering.computed_with}
        where = explain.place(None, calls[0].meta.get("stack_trace") or "")
        often = f", {len(calls)} times" if len(calls) > 1 else ""
        whats.append(f"{lowering.what}{often}{where}: {lowering.instead}")
    module.recompile()
    return (module, "; ".join(whats)) if whats else None
