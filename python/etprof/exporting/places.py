"""Locate the operators in the model that no backend took."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from etprof.exporting import explain, noise

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

_MAX_PLACES = 5  # places per method
_MAX_LINES = 3  # lines per place


def locate_operators(programs: Mapping[str, torch.export.ExportedProgram]) -> dict[str, list[str]]:
    """Return texts by method, such as `layers.*.attention (model.py, lines 30, 34): 4 expand_copy`, most operators first.

    The programs are lowered and contain their delegates. Modules whose paths differ only in a number count as one, and so do
    the lines of a file that a module runs. The lines with most operators are named.
    """
    return {name: _describe_method(program) for name, program in programs.items()}


def _describe_method(program: torch.export.ExportedProgram) -> list[str]:
    places: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
    for node in program.graph.nodes:
        # Calls of delegates, and reads of their results, are not operators with a schema.
        if node.op == "call_function" and hasattr(node.target, "_schema") and "delegate" not in str(node.target):
            file, _, line = explain.place(None, node.meta.get("stack_trace") or "").rpartition(", line ")
            operator = node.target._schema.name.rpartition("::")[2]
            places.setdefault((_module(node), file), Counter())[operator, line.rstrip(")")] += 1
    largest = sorted(places.items(), key=lambda item: -item[1].total())
    texts = [f"{module}{_lines(file, found)}: {_operators(found)}" for (module, file), found in largest[:_MAX_PLACES]]
    rest = sum(found.total() for _, found in largest[_MAX_PLACES:])
    return texts + ([f"elsewhere: {rest} more"] if rest else [])


def _module(node: torch.fx.Node) -> str:
    return re.sub(r"(?<![^.])\d+(?![^.])", "*", noise.module_of(node)) or "the model itself"


def _sums(found: Counter[tuple[str, str]], part: int) -> list[tuple[str, int]]:
    sums: Counter[str] = Counter()
    for key, count in found.items():
        sums[key[part]] += count
    return sums.most_common()


def _operators(found: Counter[tuple[str, str]]) -> str:
    return ", ".join(f"{count} {name}" for name, count in _sums(found, 0))


def _lines(file: str, found: Counter[tuple[str, str]]) -> str:
    if not file:
        return ""
    lines = [line for line, _ in _sums(found, 1)]
    shown = ", ".join(lines[:_MAX_LINES]) + (", ..." if len(lines) > _MAX_LINES else "")
    return f"{file}, line{'s' if len(lines) > 1 else ''} {shown})"
