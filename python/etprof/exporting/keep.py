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

# The values that the quantizer asks for where the nodes of these names are left in float.
Quantized = Callable[[frozenset[str]], frozenset[str]]

NODE = "node:"
_REMEDY = (
    "give a module's path (features.0, *.attention), an operator (add), or a node (node:add_1). `etprof accuracy` names "
    "them"
)


def split(texts: Sequence[str]) -> list[str]:
    """The patterns of what was typed: several are separated by commas, too."""
    return list(dict.fromkeys(pattern for text in texts for pattern in text.split(",") if pattern))


@dataclass(frozen=True)
class Kept:
    """What the patterns choose in one method, and the values that are not quantized because of it."""

    nodes: frozenset[str]
    freed: frozenset[str]


def matches(pattern: str, node: torch.fx.Node) -> bool:
    """Whether a pattern is of the node: `node:` and its name, its operator, or the path of a module that it is in."""
    if node.op != "call_function":
        return False
    if pattern.startswith(NODE):
        return fnmatch.fnmatchcase(node.name, pattern.removeprefix(NODE))
    paths = [""]
    for part in filter(None, noise.module_of(node).split(".")):
        paths.append(f"{paths[-1]}.{part}".removeprefix("."))
    return any(fnmatch.fnmatchcase(one, pattern) for one in (noise.operator_of(node), *paths[1:]))


def chosen(model: str, module: torch.fx.GraphModule, patterns: Sequence[str]) -> frozenset[str]:
    """The names of the nodes that any pattern chooses.

    Raises:
        ExportError: A pattern chooses none.
    """
    names: set[str] = set()
    for pattern in patterns:
        found = {node.name for node in module.graph.nodes if matches(pattern, node)}
        if not found:
            raise ExportError(model, errors.QUANTIZE, f"--keep {pattern} matches no operator of the model", _REMEDY)
        names |= found
    return frozenset(names)


def patterns_of(nodes: frozenset[str], module: torch.fx.GraphModule) -> list[str]:
    """The shortest patterns that choose exactly these nodes: operators, modules, else node by node."""
    patterns: list[str] = []
    left = set(nodes)
    calls = [node for node in module.graph.nodes if node.op == "call_function" and noise.computes(node)]
    for name_of in (noise.operator_of, noise.module_of):
        for node in calls:
            pattern = name_of(node)
            found = {one.name for one in calls if matches(pattern, one)} if pattern and node.name in left else set()
            if found and found <= nodes:
                patterns.append(pattern)
                left -= found
    return patterns + [f"{NODE}{name}" for name in sorted(left)]


def freed_by(quantized: Quantized, nodes: frozenset[str]) -> frozenset[str]:
    """The values that are no longer quantized where these nodes are left in float.

    A value is free if what makes it and all that read it are: else the quantizer still asks for it.
    """
    return quantized(frozenset()) - quantized(nodes)


def effect(model: str, module: torch.fx.GraphModule, patterns: Sequence[str], quantized: Quantized) -> Kept:
    """Find what the patterns choose, and which values they free: those that are observed without them only.

    Raises:
        ExportError: A pattern chooses nothing, or frees nothing.
    """
    nodes = chosen(model, module, patterns)
    freed = freed_by(quantized, nodes)
    for pattern in patterns:
        others = [one for one in patterns if one != pattern]
        if freed == (freed_by(quantized, chosen(model, module, others)) if others else frozenset()):
            why = (
                f"--keep {pattern} changes nothing: its values are quantized for the operators around it, or not at all"
            )
            remedy = "keep these operators, too: a value is in float only if all that make and read it are"
            raise ExportError(model, errors.QUANTIZE, why, remedy)
    return Kept(nodes, freed)


def verify(model: str, module: torch.fx.GraphModule, kept: Kept) -> None:
    """That no freed value of the converted graph is quantized.

    Raises:
        ExportError: One is.
    """
    for site in noise.quantized_values(module):
        if site.args[0].name in kept.freed:
            why = f"--keep left the value {site.args[0].name} quantized"
            raise ExportError(model, errors.QUANTIZE, why, "report this as a defect of etprof")


def observed(prepared: torch.fx.GraphModule) -> frozenset[str]:
    """The values that have an observer."""
    return frozenset(
        node.args[0].name
        for node in prepared.graph.nodes
        if node.op == "call_module" and str(node.target).startswith("activation_post_process")
    )
