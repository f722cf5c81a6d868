"""Insert the roundings of fp16 and 8da4w as nodes into the graph of the fp32 model, for the noise budget (noise.Emulation)."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from etprof import errors
from etprof.errors import ExportError
from etprof.exporting import keep, noise

if TYPE_CHECKING:
    import torch

    from etprof.exporting.find import BuiltModel

GROUP = 32  # number of weights with the same scale in 8da4w


def in_fp16(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """Round each value of the fp32 graph, except those that only a batch normalization reads, since it is fused."""
    for node in list(module.graph.nodes):
        value = node.meta.get("val")
        is_number = hasattr(value, "is_floating_point") and value.is_floating_point()
        is_fused = node.users and all("batch_norm" in str(user.target) for user in node.users) and node.op != "get_attr"
        if node.op not in ("placeholder", "get_attr") and not (node.op == "call_function" and noise.computes(node)):
            continue
        if is_number and node.users and not is_fused:
            _insert(node, noise.to_fp16, [*node.users])
    module.recompile()
    return module


def in_8da4w(
    module: torch.fx.GraphModule, quantized: torch.nn.Module, layers: dict[str, torch.fx.Node]
) -> torch.fx.GraphModule:
    """Round the weights and inputs of these layers (path to node) in the fp32 graph."""
    inputs: dict[torch.fx.Node, list[torch.fx.Node]] = {}
    for number, (path, node) in enumerate(layers.items()):
        name = f"etprof_rounded_{number}"
        module.register_buffer(name, quantized.get_submodule(path).weight.dequantize().detach())
        with module.graph.inserting_before(node):
            rounded = module.graph.get_attr(name)
        _insert(node.args[1], noise.replaced, [node], rounded)
        inputs.setdefault(node.args[0], []).append(node)
    for value, readers in inputs.items():
        _insert(value, noise.row_by_row, readers)
    module.recompile()
    return module


def _insert(
    value: torch.fx.Node, function: Callable[..., Any], readers: list[torch.fx.Node], *others: torch.fx.Node
) -> None:
    graph = value.graph
    # Placeholders stay together at the beginning.
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    after = inputs[-1] if value.op == "placeholder" else value
    with graph.inserting_before(readers[0]) if others else graph.inserting_after(after):
        node = graph.call_function(function, (value, *others))
    for reader in readers:
        reader.replace_input_with(value, node)


def quantize_8da4w(
    program: torch.export.ExportedProgram,
    model: BuiltModel,
    name: str,
    patterns: Sequence[str],
    study: Callable[..., None] | None,
) -> BuiltModel:
    """Quantize linear layers with torchao: weights to 4 bits in groups, and inputs to 8 bits for each row.

    Raises:
        ExportError: No layer can be quantized, or a pattern of `--keep` matches no such layer.
    """
    import torch
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup, quantize_

    module = program.module()
    layers = _linear_layers(module, model.module)
    if not layers:
        reason = f"it has no nn.Linear whose input features are a multiple of {GROUP}"
        raise ExportError(
            name, errors.QUANTIZE, reason, "8da4w quantizes nothing else: use --quantize or --quantize dynamic"
        )
    kept_paths = {path for pattern in patterns for path in _match_layers(name, module, pattern, layers)}
    quantized_layers = {path: node for path, node in layers.items() if path not in kept_paths}
    quantized = copy.deepcopy(model.module)
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(GROUP))
    quantize_(quantized, config, lambda _module, path: path in quantized_layers)
    if study is not None:
        readers: dict[str, set[str]] = {}
        for node in quantized_layers.values():
            for value in node.args[:2]:
                readers.setdefault(value.name, set()).add(node.name)

        def find_unquantized(nodes: frozenset[str]) -> frozenset[str]:
            return frozenset(value for value, names in readers.items() if names <= nodes)

        study(in_8da4w(module, quantized, quantized_layers), find_unquantized)
    return dataclasses.replace(model, module=quantized)


def _linear_layers(module: torch.fx.GraphModule, model: torch.nn.Module) -> dict[str, torch.fx.Node]:
    """Return the first call of each layer that can be quantized, by path. torchao quantizes all calls of a layer."""
    import torch

    layers: dict[str, torch.fx.Node] = {}
    for node in module.graph.nodes:
        path = noise.module_of(node)
        if noise.operator_of(node) != "linear" or not path or node.args[1].op != "get_attr":
            continue
        layer = model.get_submodule(path)
        if type(layer) is torch.nn.Linear and layer.in_features % GROUP == 0:
            layers.setdefault(path, node)
    return layers


def _match_layers(name: str, module: torch.fx.GraphModule, pattern: str, layers: dict[str, torch.fx.Node]) -> set[str]:
    nodes = keep.select_nodes(name, module, [pattern])
    matching = {path for path, node in layers.items() if node.name in nodes}
    if not matching:
        reason = f"--keep {pattern} changes nothing: 8da4w quantizes linear layers alone"
        raise ExportError(name, errors.QUANTIZE, reason, "keep a linear layer: `etprof accuracy` names them")
    return matching
