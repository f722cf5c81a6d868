"""Where in the model the operators are that no backend took."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from etprof.exporting import explain

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

_SHOWN = 5  # places of a method


def of(programs: Mapping[str, torch.export.ExportedProgram]) -> dict[str, list[str]]:
    """By method: `layers.*.attention (model.py, line 30): 4 expand_copy`, those with the most operators first.

    The programs are lowered, with their delegates. Modules that differ in a number alone count as one.
    """
    return {name: _of_method(program) for name, program in programs.items()}


def _of_method(program: torch.export.ExportedProgram) -> list[str]:
    places: dict[str, Counter[str]] = {}
    for node in program.graph.nodes:
        # Of delegates and their results the target is no operator of a schema.
        if node.op == "call_function" and hasattr(node.target, "_schema") and "delegate" not in str(node.target):
            places.setdefault(_place(node), Counter())[node.target._schema.name.rpartition("::")[2]] += 1
    largest = sorted(places.items(), key=lambda one: -one[1].total())
    said = [
        f"{place}: {', '.join(f'{n} {name}' for name, n in found.most_common())}" for place, found in largest[:_SHOWN]
    ]
    rest = sum(found.total() for _, found in largest[_SHOWN:])
    return said + ([f"elsewhere: {rest} more"] if rest else [])


def _place(node: torch.fx.Node) -> str:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = re.sub(r"(?<![^.])\d+(?![^.])", "*", stack[-1][0].removeprefix("L['self'].")) if stack else ""
    return (path or "the model itself") + explain.place(None, node.meta.get("stack_trace") or "")
