"""What fp16 and 8da4w round, as nodes in the graph of the fp32 model, for the noise budget (noise.Emulation)."""

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

GROUP = 32  # weights with a scale of their own, in 8da4w


def in_fp16(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The fp32 graph with a rounding after each value but those that a batch normalization reads, which is fused."""
    for node in list(module.graph.nodes):
        value = node.meta.get("val")
        is_number = hasattr(value, "is_floating_point") and value.is_floating_point()
        fused = node.users and all("batch_norm" in str(user.target) for user in node.users) and node.op != "get_attr"
        if node.op not in ("placeholder", "get_attr") and not (node.op == "call_function" and noise.computes(node)):
            continue
        if is_number and node.users and not fused:
            _insert(node, noise.to_fp16, [*node.users])
    module.recompile()
    return module


def in_8da4w(
    module: torch.fx.GraphModule, quantized: torch.nn.Module, layers: dict[str, torch.fx.Node]
) -> torch.fx.GraphModule:
    """The fp32 graph with a rounding of the weight of each of these layers, by path, and of what they read."""
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
    # Placeholders stay together, before all else.
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
    """The model with weights of 4 bits in groups, and inputs of 8 bits for each row, in linear layers, by torchao.

    Raises:
        ExportError: No layer can be quantized, or a pattern of `--keep` keeps none of them.
    """
    import torch
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup, quantize_

    module = program.module()
    layers = _linear_layers(module, model.module)
    if not layers:
        why = f"it has no nn.Linear whose input features are a multiple of {GROUP}"
        raise ExportError(
            name, errors.QUANTIZE, why, "8da4w quantizes nothing else: use --quantize or --quantize dynamic"
        )
    kept = {path for pattern in patterns for path in _kept(name, module, pattern, layers)}
    wanted = {path: node for path, node in layers.items() if path not in kept}
    quantized = copy.deepcopy(model.module)
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(GROUP))
    quantize_(quantized, config, lambda _module, path: path in wanted)
    if study is not None:
        readers: dict[str, set[str]] = {}
        for node in wanted.values():
            for value in node.args[:2]:
                readers.setdefault(value.name, set()).add(node.name)

        def freed(nodes: frozenset[str]) -> frozenset[str]:
            return frozenset(value for value, names in readers.items() if names <= nodes)

        study(in_8da4w(module, quantized, wanted), freed)
    return dataclasses.replace(model, module=quantized)


def _linear_layers(module: torch.fx.GraphModule, model: torch.nn.Module) -> dict[str, torch.fx.Node]:
    """Those that can be quantized, by path. torchao quantizes a layer wherever it is called; its first call stands here."""
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


def _kept(name: str, module: torch.fx.GraphModule, pattern: str, layers: dict[str, torch.fx.Node]) -> set[str]:
    nodes = keep.chosen(name, module, [pattern])
    kept = {path for path, node in layers.items() if node.name in nodes}
    if not kept:
        why = f"--keep {pattern} changes nothing: 8da4w quantizes linear layers alone"
        raise ExportError(name, errors.QUANTIZE, why, "keep a linear layer: `etprof accuracy` names them")
    return kept
