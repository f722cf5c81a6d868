"""Operators that a backend computes differently from PyTorch, which may explain a difference of outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etprof.exporting import explain

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Lowering:
    """A known difference: the calls that it affects, and the arguments with which PyTorch computes the backend's result."""

    operator: str  # name in the exported graph
    arguments: dict[str, Any]
    computed_with: dict[str, Any]
    difference: str
    remedy: str
    versions: tuple[str, ...]  # of ExecuTorch in which it was seen, in order


# Known differences by backend. These versions' op_gelu.py writes a GELU node without its approximation. Later ones do not:
# https://github.com/pytorch/executorch/pull/22851
KNOWN = {
    "xnnpack": [
        Lowering(
            "aten.gelu.default",
            {"approximate": "tanh"},
            {"approximate": "none"},
            "XNNPACK computes the tanh approximation of GELU as the exact function",
            "train or configure the model with the exact one, or ask for less with --min-sqnr",
            ("1.3.1", "1.4.1", "1.5.1"),
        )
    ]
}


def as_lowered(exported: torch.export.ExportedProgram, backend: str) -> tuple[torch.nn.Module, str] | None:
    """Return a PyTorch module that computes like the backend, and the differences, or None without known differences."""
    module = exported.module()
    differences = []
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
        place = explain.place(None, calls[0].meta.get("stack_trace") or "")
        repetitions = f", {len(calls)} times" if len(calls) > 1 else ""
        versions = f"seen in ExecuTorch {', '.join(lowering.versions)}"
        differences.append(f"{lowering.difference}{repetitions}{place}, {versions}: {lowering.remedy}")
    module.recompile()
    return (module, "; ".join(differences)) if differences else None
