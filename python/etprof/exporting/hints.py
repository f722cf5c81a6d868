"""What to write otherwise in a model so that a delegate takes more of it: named only where it applies to this model.

The operators that no backend took lead to the calls of torch.export's program that they were made of (`node.meta["from_node"]`),
and those to the model's modules. What a substitute of etprof.wrappers does not take, by trying, is not advised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from etprof.exporting import explain

if TYPE_CHECKING:
    import torch

    from etprof.exporting.find import BuiltModel

_GUIDE = "docs/guides/models.md#wrappers"
_NUMBERED = ("aten.add", "aten.sub", "aten.mul", "aten.div")
_PARTS_OF_NORMS = (
    *_NUMBERED,
    *("aten.mean", "aten.pow", "aten.rsqrt", "aten.sqrt", "aten.to", "aten._to_copy", "aten.rms_norm"),
)


@dataclass(frozen=True)
class _Left:
    """A call of torch.export's program, and what of it no backend took."""

    call: torch.fx.Node
    nodes: tuple[torch.fx.Node, ...]
    module: torch.nn.Module | None  # the innermost one that it is in
    path: str  # of that
    model: torch.nn.Module
    program: torch.export.ExportedProgram

    @property
    def name(self) -> str:
        """`aten.gelu` of aten.gelu.default, of its form in place, too."""
        return ".".join(str(self.call.target).split(".")[:2]).removesuffix("_")

    @property
    def where(self) -> str:
        return explain.place(None, self.call.meta.get("stack_trace") or "")

    def alike(self) -> Iterator[_Left]:
        """All calls of the same function in the program, this one among them."""
        for node in self.call.graph.nodes:
            if node.op == "call_function" and str(node.target) == str(self.call.target):
                yield _left_of(node, (), self.model, self.program)

    def depends_on_inputs(self) -> bool:
        """Whether it is not the same in every run, as of positions."""
        inputs, seen, open_nodes = set(self.program.graph_signature.user_inputs), set(), [self.call]
        while open_nodes:
            node = open_nodes.pop()
            if node.name in inputs:
                return True
            open_nodes += [one for one in node.all_input_nodes if one not in seen]
            seen.update(node.all_input_nodes)
        return False

    def value(self, argument: Any) -> Any:
        """An argument as torch.export saw it: without numbers, of a tensor."""
        return getattr(argument, "meta", {}).get("val", argument)

    def is_floating(self, argument: Any) -> bool:
        """Whether it is a tensor of floating-point numbers."""
        value = self.value(argument)
        return hasattr(value, "is_floating_point") and value.is_floating_point()


class Hint(TypedDict):
    """What to write otherwise."""

    text: Annotated[str, "the advice, as an imperative"]
    place: Annotated[str, "the first line of the model that it concerns, in brackets; empty: not known"]
    operators: Annotated[int, "that it concerns, of those that are not delegated", {"minimum": 1}]
    debug_handles: Annotated[list[int], "of these operators, in the edge program (.etrecord)"]


def of(
    lowered: Mapping[str, torch.export.ExportedProgram],
    exported: Mapping[str, torch.export.ExportedProgram],
    methods: Mapping[str, BuiltModel],
) -> dict[str, list[Hint]]:
    """By method: what to write otherwise, what concerns most operators first."""
    return {
        name: _of_method(program, exported[name], methods[name].module)
        for name, program in lowered.items()
        if any("delegate" in str(node.target) for node in program.graph.nodes)
    }


def _of_method(
    program: torch.export.ExportedProgram, exported: torch.export.ExportedProgram, module: torch.nn.Module
) -> list[Hint]:
    found: dict[str, Hint] = {}
    for left in _left(program, exported, module):
        if (remedy := _remedy(left)) is None:
            continue
        hint = found.setdefault(remedy, Hint(text=remedy, place=left.where.strip(), operators=0, debug_handles=[]))
        hint["operators"] += len(left.nodes)
        handles = (node.meta.get("debug_handle") for node in left.nodes)  # of what a pass has put in there is none
        hint["debug_handles"] += [handle for handle in handles if handle is not None]
    return sorted(found.values(), key=lambda hint: -hint["operators"])


def _left(
    program: torch.export.ExportedProgram, exported: torch.export.ExportedProgram, module: torch.nn.Module
) -> list[_Left]:
    calls = {node.name: node for node in exported.graph.nodes if node.op == "call_function"}
    left: dict[torch.fx.Node, list[torch.fx.Node]] = {}
    for node in program.graph.nodes:
        if node.op != "call_function" or not hasattr(node.target, "_schema") or "delegate" in str(node.target):
            continue
        for origin in _origins(node):
            call = calls.get(origin.name)
            if call is not None and str(call.target) == str(origin.target):
                left.setdefault(call, []).append(node)
                break
    return [_left_of(call, tuple(nodes), module, exported) for call, nodes in left.items()]


def _origins(node: torch.fx.Node) -> list[Any]:
    """What the node was made of, the first program's first."""
    found = []
    sources = list(node.meta.get("from_node") or [])
    while sources:
        found.append(sources[0])
        sources = list(sources[0].from_node or [])
    return found[::-1]


def _left_of(
    call: torch.fx.Node,
    nodes: tuple[torch.fx.Node, ...],
    model: torch.nn.Module,
    program: torch.export.ExportedProgram,
) -> _Left:
    stack = list((call.meta.get("nn_module_stack") or {}).values())
    path = stack[-1][0].removeprefix("L['self']").removeprefix(".") if stack else ""
    try:
        module = model.get_submodule(path) if stack else None
    except AttributeError:
        module = None
    return _Left(call, nodes, module, path, model, program)


def _remedy(left: _Left) -> str | None:
    """What to do about it; None: nothing is known, also where looking for it fails."""
    try:
        return _rule_for(left)
    except Exception:  # whatever a module of the model does when it is looked at
        return None


def _rule_for(left: _Left) -> str | None:
    if left.name in _PARTS_OF_NORMS and (norm := _of_norm(left)) is not None:
        return norm
    if left.name in _NUMBERED:
        return _of_number(left)
    rule = _RULES.get(left.name)
    return rule(left) if rule else None


def _named(module: torch.nn.Module) -> str:
    """A class as replace_modules takes it."""
    kind = type(module)
    return f"nn.{kind.__name__}" if kind.__module__.startswith("torch.nn.") else f'"{kind.__name__}"'


def _replace(left: _Left, factory: str) -> str | None:
    """To replace all modules of the class, if all can be."""
    from etprof import wrappers

    kind, of = type(left.module), getattr(wrappers, factory).of
    every = [module for module in left.model.modules() if type(module) is kind]
    if not _is_tried(lambda: [of(module) for module in every]):
        return None
    return f"Use `wrappers.replace_modules(model, {{{_named(left.module)}: wrappers.{factory}.of}})` ({_GUIDE})"


def _is_tried(make: Callable[[], Any]) -> bool:
    try:
        make()
    except Exception:
        return False
    return True


def _of_attention(left: _Left) -> str | None:
    from torch import nn

    in_modules = [one for one in left.alike() if type(one.module) is nn.MultiheadAttention]
    if type(left.module) is nn.MultiheadAttention:
        # Only with a mask has its call one.
        if any(len(one.call.args) > 3 and one.call.args[3] is not None for one in in_modules):
            return None
        return _replace(left, "MultiheadAttention")
    calls = [one for one in left.alike() if type(one.module) is not nn.MultiheadAttention]
    if not all(_takes_attention(one) for one in calls):
        return None
    return (
        f"Use `wrappers.Substitute(model, {{functional.scaled_dot_product_attention: wrappers.attention}})` ({_GUIDE})"
    )


def _takes_attention(left: _Left) -> bool:
    """Whether wrappers.attention takes the arguments of a call, by calling it with what stands for them."""
    import torch

    from etprof import wrappers

    args, kwargs = torch.fx.node.map_arg((left.call.args, dict(left.call.kwargs)), left.value)

    def attend() -> None:
        with args[0].fake_mode:
            wrappers.attention(*args, **kwargs)

    return _is_tried(attend)


def _of_layer_norm(left: _Left) -> str | None:
    import torch
    from torch import nn

    from etprof import wrappers

    module = left.module
    if type(module).__name__ != "LayerNorm" or not isinstance(module, nn.LayerNorm):
        return _of_norm(left)
    if len(module.normalized_shape) != 1:
        return None
    # timm's is a class of its own, which may do more.
    size, dtype = module.normalized_shape[0], left.value(left.call.args[0]).dtype
    tokens = torch.linspace(-1, 2, 2 * size, dtype=dtype).reshape(2, size)
    apart = wrappers.largest_difference(module, wrappers.LayerNorm.of(module).to(dtype), tokens)
    return _replace(left, "LayerNorm") if apart < 20 * torch.finfo(dtype).eps else None


def _of_norm(left: _Left) -> str | None:
    """SAM's and timm's LayerNorm2d, over the channels of each pixel, and root mean squares."""
    if type(left.module).__name__ == "LayerNorm2d":
        return _replace(left, "LayerNorm2d")
    is_vector = getattr(getattr(left.module, "weight", None), "ndim", 0) == 1
    return _replace(left, "RMSNorm") if is_vector else None


def _alone(factory: str) -> Callable[[_Left], str | None]:
    """Of a module that is nothing but this call."""

    def rule(left: _Left) -> str | None:
        module = left.module
        if module is None or any(True for _ in module.children()) or any(True for _ in module.parameters()):
            return None
        return _replace(left, factory)

    return rule


def _of_pool(left: _Left) -> str | None:
    from torch import nn

    from etprof import wrappers

    height, width = left.value(left.call.args[0]).shape[-2:]
    if type(left.module) is not nn.AdaptiveAvgPool2d or not type(height) is type(width) is int:
        return None
    if not _is_tried(lambda: wrappers.fixed_pool(height, width)(left.module)):
        return None
    return f"Use `wrappers.fixed_pool({height}, {width})({left.path})` for {left.path} ({_GUIDE})"


def _of_mean(left: _Left) -> str | None:
    if not left.is_floating(left.call.args[0]):
        return None
    return (
        "Take a mean over the last two of four dimensions and keep them (keepdim=True), or multiply by a matrix of 1/n, as "
        "wrappers.LayerNorm does"
    )


def _of_number(left: _Left) -> str | None:
    """Arithmetic of a tensor and a number that is not a constant of the tensor's type."""
    if len(left.call.args) < 2 or not left.is_floating(left.call.args[0]) or not left.depends_on_inputs():
        return None
    number = left.call.args[1]
    converted = any("_to_dim_order_copy" in str(node.target) for node in left.nodes)
    if type(number) is int and converted:
        return "Write 3.0 for 3 in arithmetic: an integer is converted in every run"
    if type(number) in (int, float):
        return "Make numbers in arithmetic registered buffers, as wrappers.Hardsigmoid does"
    return None


_RULES: dict[str, Callable[[_Left], str | None]] = {
    "aten.scaled_dot_product_attention": _of_attention,
    "aten.layer_norm": _of_layer_norm,
    "aten.gelu": _alone("TanhGelu"),
    "aten.silu": _alone("Silu"),
    "aten.hardsigmoid": _alone("Hardsigmoid"),
    "aten.adaptive_avg_pool2d": _of_pool,
    "aten.mean": _of_mean,
}
