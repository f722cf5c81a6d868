"""`--keep PATTERN`: operators of a quantized model that stay in float."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from etprof import errors
from etprof.errors import ExportError
from etprof.exporting import noise

if TYPE_CHECKING:
    import torch

# Returns the values that the quantizer quantizes if the nodes with these names stay in float.
FindQuantized = Callable[[frozenset[str]], frozenset[str]]

NODE_PREFIX = "node:"
_REMEDY = (
    "give a module's path (features.0, *.attention), an operator (add), or a node (node:add_1). `etprof accuracy` names "
    "them"
)


def split(texts: Sequence[str]) -> list[str]:
    """Split the values of --keep into patterns, which may also be separated by commas."""
    return list(dict.fromkeys(pattern for text in texts for pattern in text.split(",") if pattern))


@dataclass(frozen=True)
class KeepEffect:
    """The nodes that the patterns select in one method, and the values that therefore stay in float."""

    nodes: frozenset[str]
    unquantized: frozenset[str]


def matches(pattern: str, node: torch.fx.Node) -> bool:
    """Return whether a pattern matches a node: by `node:` and its name, by its operator, or by the path of a module around it."""
    if node.op != "call_function":
        return False
    if pattern.startswith(NODE_PREFIX):
        return fnmatch.fnmatchcase(node.name, pattern.removeprefix(NODE_PREFIX))
    paths = [""]
    for part in filter(None, noise.module_of(node).split(".")):
        paths.append(f"{paths[-1]}.{part}".removeprefix("."))
    return any(fnmatch.fnmatchcase(candidate, pattern) for candidate in (noise.operator_of(node), *paths[1:]))


def select_nodes(model: str, module: torch.fx.GraphModule, patterns: Sequence[str]) -> frozenset[str]:
    """Return the names of the nodes that any pattern matches.

    Raises:
        ExportError: A pattern matches no node.
    """
    names: set[str] = set()
    for pattern in patterns:
        matching = {node.name for node in module.graph.nodes if matches(pattern, node)}
        if not matching:
            raise ExportError(model, errors.QUANTIZE, f"--keep {pattern} matches no operator of the model", _REMEDY)
        names |= matching
    return frozenset(names)


def shortest_patterns(nodes: frozenset[str], module: torch.fx.GraphModule) -> list[str]:
    """Return the shortest patterns that match exactly these nodes: operators, modules, else single nodes."""
    patterns: list[str] = []
    remaining = set(nodes)
    calls = [node for node in module.graph.nodes if node.op == "call_function" and noise.computes(node)]
    for get_name in (noise.operator_of, noise.module_of):
        for node in calls:
            pattern = get_name(node)
            found = (
                {call.name for call in calls if matches(pattern, call)} if pattern and node.name in remaining else set()
            )
            if found and found <= nodes:
                patterns.append(pattern)
                remaining -= found
    return patterns + [f"{NODE_PREFIX}{name}" for name in sorted(remaining)]


def find_unquantized(quantized: FindQuantized, nodes: frozenset[str]) -> frozenset[str]:
    """Return the values that are no longer quantized if these nodes stay in float.

    A value stays in float if its producer and all its readers do. Otherwise the quantizer still quantizes it.
    """
    return quantized(frozenset()) - quantized(nodes)


def find_effect(
    model: str, module: torch.fx.GraphModule, patterns: Sequence[str], quantized: FindQuantized
) -> KeepEffect:
    """Find the nodes that the patterns match, and the values that therefore stay in float.

    Raises:
        ExportError: A pattern matches no node, or changes nothing.
    """
    nodes = select_nodes(model, module, patterns)
    unquantized = find_unquantized(quantized, nodes)
    for pattern in patterns:
        others = [other for other in patterns if other != pattern]
        if unquantized == (find_unquantized(quantized, select_nodes(model, module, others)) if others else frozenset()):
            reason = (
                f"--keep {pattern} changes nothing: its values are quantized for the operators around it, or not at all"
            )
            remedy = "keep these operators, too: a value is in float only if all that make and read it are"
            raise ExportError(model, errors.QUANTIZE, reason, remedy)
    return KeepEffect(nodes, unquantized)


def verify_effect(model: str, module: torch.fx.GraphModule, keep_effect: KeepEffect) -> None:
    """Verify that the converted graph does not quantize the values that stay in float.

    Raises:
        ExportError: The graph quantizes such a value.
    """
    for node in noise.quantized_values(module):
        if node.args[0].name in keep_effect.unquantized:
            reason = f"--keep left the value {node.args[0].name} quantized"
            raise ExportError(model, errors.QUANTIZE, reason, "report this as a defect of etprof")


def find_observed(prepared: torch.fx.GraphModule) -> frozenset[str]:
    """Return the values that have an observer."""
    return frozenset(
        node.args[0].name
        for node in prepared.graph.nodes
        if node.op == "call_module" and str(node.target).startswith("activation_post_process")
    )
