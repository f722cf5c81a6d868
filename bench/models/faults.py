"""Prints bench/results/models/faults.md: whether the noise budget names what was broken by construction.

    PYTHONPATH=python python bench/models/faults.py [MODEL...] > bench/results/models/faults.md

Nothing is lowered or run: the budget is PyTorch's.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch

from etprof.exporting import find, held_out, inputs, lower, noise
from etprof.exporting.find import BuiltModel

SCALE = 300.0  # factor of one channel
WEIGHT = 50.0  # weights of an input that is always 0
_RANGES = (0.3, 0.1, 0.03, 0.01, 0.003)  # fractions of the range that an activation needs
_WORSE = 10.0  # factor of the output's noise if a range is broken


@dataclass(frozen=True)
class Layers:
    """Paths of a layer, of a normalization that it is fused with, and of the layer that reads it."""

    maker: str
    reader: str
    norm: str = ""
    first: int = 0  # channel of the maker that is the reader's first


SCALED = {
    "toy_cnn": Layers("conv2", "conv3"),
    "mobilenet_v3_small": Layers("features.2.block.0.0", "features.2.block.1.0", "features.2.block.0.1"),
    "transformer_layer": Layers("attention.value", "attention.out"),
    "vit_block": Layers("block.attn.qkv", "block.attn.proj", first=384),
    "image_encoder": Layers("trunk.stages.1.0.spatial", "trunk.stages.1.0.channel"),
}
DEAD = {
    "toy_cnn": Layers("conv2", "conv3"),
    "mobilenet_v3_small": Layers("features.12.0", "classifier.0", "features.12.1"),
    "transformer_layer": Layers("feed_forward.0", "feed_forward.2"),
    "vit_block": Layers("block.mlp.0", "block.mlp.2"),
    "image_encoder": Layers("trunk.stages.1.0.ffn.0", "trunk.stages.1.0.ffn.2"),
}
_CHANNEL = 5
_TEXT = """# Faults by construction, and what the noise budget names

Static int8 of five models, broken in three ways that leave what fp32 computes alone, or make it
another model that fp32 computes as well:

- *channel*: one channel of a layer's output is 300 times as large, and the weights that read it a
  300th. Its quantized value has no steps left for the other channels.
- *weight*: one input of a layer is always 0, and its weights are 50.
- *range*: the range of one activation in the middle is cut to a part of what calibration found, so
  that the output's noise is ten times what it was.

*First* is the value with the most noise in `etprof accuracy`'s budget: for a channel it must lie
between the two layers, else it must be the one that was broken. The last column is the place of the
same value if values are ranked by their own error, as ExecuTorch's and other tools do. A share of
more than 100%: the value makes less noise together with the others than alone, since their ranges
clip what it does.

| model | fault | named first | as it must be | share of the noise | place by own error |
| --- | --- | --- | --- | --- | --- |"""


def scale_channel(model: torch.nn.Module, layers: Layers) -> None:
    """Scales a channel and the weights that read it, so that the outputs stay the same."""
    number = layers.first + _CHANNEL
    maker = model.get_submodule(layers.norm or layers.maker)
    maker.weight[number] *= SCALE
    maker.bias[number] *= SCALE
    reader = model.get_submodule(layers.reader)
    depthwise = getattr(reader, "groups", 1) > 1
    (reader.weight[_CHANNEL] if depthwise else reader.weight[:, _CHANNEL]).div_(SCALE)


def weight_dead_channel(model: torch.nn.Module, layers: Layers) -> None:
    """Sets a channel to 0, which the activations between the two layers keep, and sets large weights for it."""
    maker = model.get_submodule(layers.norm or layers.maker)
    maker.weight[_CHANNEL] = 0
    maker.bias[_CHANNEL] = 0
    model.get_submodule(layers.reader).weight[:, _CHANNEL] = WEIGHT


def emulate(built: BuiltModel) -> noise.Emulation:
    """Emulates the model in static int8, calibrated on the example inputs."""
    emulations: list[noise.Emulation] = []
    program = lower.trace(built)
    flat = inputs.flatten(built.args, built.kwargs)
    lower.quantize(
        program, built, "static", [flat], None, lambda module, _freed: emulations.append(noise.Emulation(module))
    )
    return emulations[0]


def held_out_inputs(built: BuiltModel) -> list[noise.Inputs]:
    """Returns inputs that are drawn from other seeds."""
    return [(case.args, case.kwargs) for case in held_out.cases("forward", built, 2)]


def between(emulation: noise.Emulation, layers: Layers) -> set[str]:
    """Returns the values that are computed from the maker and that the reader is computed from."""
    nodes = list(emulation.module.graph.nodes)
    after: set[torch.fx.Node] = set()
    for node in nodes:
        if is_operator_of(node, layers.maker) or any(source in after for source in node.all_input_nodes):
            after.add(node)
    before: set[torch.fx.Node] = set()
    for node in reversed(nodes):
        if any(is_operator_of(user, layers.reader) or user in before for user in node.users):
            before.add(node)
    return {node.name for node in after & before}


def is_operator_of(node: torch.fx.Node, path: str) -> bool:
    """Whether the node is the operator of a layer."""
    return noise.operator_of(node) in ("conv2d", "linear") and noise.module_of(node) == path


def rank_by_own_error(emulation: noise.Emulation, samples: list[noise.Inputs]) -> list[str]:
    """Returns the values by decreasing distance from those of fp32."""
    (args, kwargs), *_ = samples
    exact, quantized = (emulation._values(args, kwargs, on) for on in ((), emulation.sites))

    def ratio(site: noise.Site) -> float:
        expected, actual = exact[site.quantizer.args[0]].double(), quantized[site.quantizer].double()
        return float(expected.square().sum() / (expected - actual).square().sum().clamp(min=1e-300))

    return [site.name for site in sorted(emulation.sites, key=ratio)]


def row(model: str, fault: str, emulation: noise.Emulation, samples: list[noise.Inputs], truth: set[str]) -> str:
    """Returns a row of the table."""
    budget = emulation.budget(samples)
    output = budget.worst
    number = budget.by_share(output)[0]
    first = budget.sites[number]
    rank = rank_by_own_error(emulation, samples).index(first.name) + 1
    share = budget.outputs[output].share(number)
    named = f"{first.kind} {first.name}"
    return (
        f"| {model} | {fault} | {named} | {'yes' if first.name in truth else 'NO: ' + ' or '.join(sorted(truth))} | "
        f"{100 * share:.0f}% | {rank} of {len(budget.sites)} |"
    )


def rows(model: str) -> list[str]:
    """Returns the rows of a model."""
    build: Callable[[], BuiltModel] = functools.partial(find.build_model, find.find_model(model))
    lines = []
    model_copy, samples = build(), held_out_inputs(build())
    expected = model_copy.module(*samples[0][0])
    scale_channel(model_copy.module, SCALED[model])
    same = model_copy.module(*samples[0][0])
    pairs = zip(expected, same, strict=True) if isinstance(expected, tuple) else [(expected, same)]
    if not all(torch.allclose(a, b, rtol=1e-3, atol=1e-4 * float(a.abs().max())) for a, b in pairs):
        raise ValueError(f"{model}: its outputs changed")
    emulation = emulate(model_copy)
    lines.append(row(model, "channel", emulation, samples, between(emulation, SCALED[model])))
    model_copy = build()
    weight_dead_channel(model_copy.module, DEAD[model])
    emulation = emulate(model_copy)
    weights = {
        site.name
        for site in emulation.sites
        if site.kind == "weight"
        and any(is_operator_of(reader, DEAD[model].reader) for reader in noise._readers(site.quantizer))
    }
    lines.append(row(model, "weight", emulation, samples, weights))
    emulation = emulate(build())
    lines.append(row(model, "range", emulation, samples, {break_a_range(emulation, samples)}))
    return lines


def break_a_range(emulation: noise.Emulation, samples: list[noise.Inputs]) -> str:
    """Cuts the range of an activation so far that the output gets noisy, from the middle on; returns the activation."""
    clean = emulation.sqnr_db(samples, ())
    activations = [site for site in emulation.sites if site.kind == "activation" and site.low is not None]
    for broken in activations[len(activations) // 2 :]:
        scale = broken.quantizer.args[1]
        for fraction in _RANGES:
            broken.quantizer.update_arg(1, scale * fraction)
            worse = emulation.sqnr_db(samples, ())
            if any(clean[output] - worse[output] >= 10 * math.log10(_WORSE) for output in clean):
                return broken.name
        broken.quantizer.update_arg(1, scale)
    raise ValueError("no range matters")


def main() -> None:
    """Prints the page."""
    print(_TEXT)
    with torch.no_grad():
        for model in sys.argv[1:] or SCALED:
            print(*rows(model), sep="\n", flush=True)
    print("\nReproduce: `PYTHONPATH=python python bench/models/faults.py`")


if __name__ == "__main__":
    main()
