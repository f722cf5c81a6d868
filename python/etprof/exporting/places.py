"""Locate the operators in the model that no backend took."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from etprof.exporting import explain

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

_MAX_PLACES = 5  # places per method


def of(programs: Mapping[str, torch.export.ExportedProgram]) -> dict[str, list[str]]:
    """Return texts by method, such as `layers.*.attention (model.py, line 30): 4 expand_copy`, most operators first.

    The programs are lowered and contain their delegates. Modules whose paths differ only in a number count as one.
    """
    return {name: _describe_method(program) for name, program in programs.items()}


def _describe_method(program: torch.export.ExportedProgram) -> list[str]:
    places: dict[str, Counter[str]] = {}
    for node in program.graph.nodes:
        # Calls of delegates, and reads of their results, are not operators with a schema.
        if node.op == "call_function" and hasattr(node.target, "_schema") and "delegate" not in str(node.target):
            places.setdefault(_place(node), Counter())[node.target._schema.name.rpartition("::")[2]] += 1
    largest = sorted(places.items(), key=lambda one: -one[1].total())
    texts = [
        f"{place}: {', '.join(f'{n} {name}' for name, n in found.most_common())}"
        for place, found in largest[:_MAX_PLACES]
    ]
    rest = sum(found.total() for _, found in largest[_MAX_PLACES:])
    return texts + ([f"elsewhere: {rest} more"] if rest else [])


def _place(node: torch.fx.Node) -> str:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = re.sub(r"(?<![^.])\d+(?![^.])", "*", stack[-1][0].removeprefix("L['self'].")) if stack else ""
    return (path or "the model itself") + explain.place(None, node.meta.get("stack_trace") or "")
