"""Suggest changes of a model with which a delegate takes more of it. Only changes that apply to this model are suggested.

Each operator that no backend took leads to the call of torch.export's program that it was made of (`node.meta["from_node"]`),
and the call leads to the model's module. A substitute of etprof.wrappers is suggested only if it was tried successfully.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from etprof.exporting import explain, noise

if TYPE_CHECKING:
    import torch

    from etprof.exporting.find import BuiltModel

_GUIDE = "docs/guides/models.md#wrappers"
_ARITHMETIC = ("aten.add", "aten.sub", "aten.mul", "aten.div")
_PARTS_OF_NORMS = (
    *_ARITHMETIC,
    *("aten.mean", "aten.pow", "aten.rsqrt", "aten.sqrt", "aten.to", "aten._to_copy", "aten.rms_norm"),
)


@dataclass(frozen=True)
class _UndelegatedCall:
    """A call in torch.export's program, with its operators that no backend took."""

    node: torch.fx.Node
    lowered_nodes: tuple[torch.fx.Node, ...]  # the operators that the call became and that no backend took
    module: torch.nn.Module | None  # the innermost module that contains the call
    path: str  # path of the module
    model: torch.nn.Module
    program: torch.export.ExportedProgram

    @property
    def name(self) -> str:
        """The operator without its overload, `aten.gelu` for aten.gelu.default. An in-place operator has the same name."""
        return ".".join(str(self.node.target).split(".")[:2]).removesuffix("_")

    @property
    def place(self) -> str:
        return explain.place(None, self.node.meta.get("stack_trace") or "")

    def similar_calls(self) -> Iterator[_UndelegatedCall]:
        """Yield all calls of the same function in the program, including this call."""
        for node in self.node.graph.nodes:
            if node.op == "call_function" and str(node.target) == str(self.node.target):
                yield _make_call(node, (), self.model, self.program)

    def depends_on_inputs(self) -> bool:
        """Return whether the value depends on the inputs. Position embeddings, for example, do not."""
        inputs, seen, pending = set(self.program.graph_signature.user_inputs), set(), [self.node]
        while pending:
            node = pending.pop()
            if node.name in inputs:
                return True
            pending += [input_node for input_node in node.all_input_nodes if input_node not in seen]
            seen.update(node.all_input_nodes)
        return False

    def value(self, argument: Any) -> Any:
        """Return an argument as torch.export traced it. A tensor has no values."""
        return getattr(argument, "meta", {}).get("val", argument)

    def is_floating(self, argument: Any) -> bool:
        """Return whether an argument is a floating-point tensor."""
        value = self.value(argument)
        return hasattr(value, "is_floating_point") and value.is_floating_point()


class Hint(TypedDict):
    """A suggested change of the model."""

    text: Annotated[str, "the advice, as an imperative"]
    place: Annotated[str, "the first line of the model that it concerns, in brackets; empty: not known"]
    operators: Annotated[int, "that it concerns, of those that are not delegated", {"minimum": 1}]
    debug_handles: Annotated[list[int], "of these operators, in the edge program (.etrecord)"]


def find_hints(
    lowered: Mapping[str, torch.export.ExportedProgram],
    exported: Mapping[str, torch.export.ExportedProgram],
    methods: Mapping[str, BuiltModel],
) -> dict[str, list[Hint]]:
    """Return the hints of each method. Hints that concern the most operators come first."""
    return {
        name: _method_hints(program, exported[name], methods[name].module)
        for name, program in lowered.items()
        if any("delegate" in str(node.target) for node in program.graph.nodes)
    }


def _method_hints(
    program: torch.export.ExportedProgram, exported: torch.export.ExportedProgram, module: torch.nn.Module
) -> list[Hint]:
    found: dict[str, Hint] = {}
    for call in _find_undelegated(program, exported, module):
        if (remedy := _remedy(call)) is None:
            continue
        hint = found.setdefault(remedy, Hint(text=remedy, place=call.place.strip(), operators=0, debug_handles=[]))
        hint["operators"] += len(call.lowered_nodes)
        handles = (node.meta.get("debug_handle") for node in call.lowered_nodes)  # None: a pass added the node
        hint["debug_handles"] += [handle for handle in handles if handle is not None]
    return sorted(found.values(), key=lambda hint: -hint["operators"])


def _find_undelegated(
    program: torch.export.ExportedProgram, exported: torch.export.ExportedProgram, module: torch.nn.Module
) -> list[_UndelegatedCall]:
    calls = {node.name: node for node in exported.graph.nodes if node.op == "call_function"}
    operators: dict[torch.fx.Node, list[torch.fx.Node]] = {}
    for node in program.graph.nodes:
        if node.op != "call_function" or not hasattr(node.target, "_schema") or "delegate" in str(node.target):
            continue
        for origin in _origins(node):
            call = calls.get(origin.name)
            if call is not None and str(call.target) == str(origin.target):
                operators.setdefault(call, []).append(node)
                break
    return [_make_call(call, tuple(nodes), module, exported) for call, nodes in operators.items()]


def _origins(node: torch.fx.Node) -> list[Any]:
    """Return the nodes from which a node was made, the node of the first program first."""
    found = []
    sources = list(node.meta.get("from_node") or [])
    while sources:
        found.append(sources[0])
        sources = list(sources[0].from_node or [])
    return found[::-1]


def _make_call(
    node: torch.fx.Node,
    lowered_nodes: tuple[torch.fx.Node, ...],
    model: torch.nn.Module,
    program: torch.export.ExportedProgram,
) -> _UndelegatedCall:
    path = noise.module_of(node)
    try:
        module = model.get_submodule(path) if node.meta.get("nn_module_stack") else None
    except AttributeError:
        module = None
    return _UndelegatedCall(node, lowered_nodes, module, path, model, program)


def _remedy(call: _UndelegatedCall) -> str | None:
    """Return the remedy for a call; None: no remedy is known, or the search for it failed."""
    try:
        return _apply_rule(call)
    except Exception:  # a module of the model may raise anything when it is inspected
        return None


def _apply_rule(call: _UndelegatedCall) -> str | None:
    if call.name in _PARTS_OF_NORMS and (norm := _advise_norm(call)) is not None:
        return norm
    if call.name in _ARITHMETIC:
        return _advise_number(call)
    rule = _RULES.get(call.name)
    return rule(call) if rule else None


def _class_text(module: torch.nn.Module) -> str:
    """Return a module's class as replace_modules takes it."""
    kind = type(module)
    return f"nn.{kind.__name__}" if kind.__module__.startswith("torch.nn.") else f'"{kind.__name__}"'


def _advise_replacement(call: _UndelegatedCall, factory: str) -> str | None:
    """Return the advice to replace all modules of the class, or None if a module cannot be replaced."""
    from etprof import wrappers

    kind, make = type(call.module), getattr(wrappers, factory).of
    modules = [module for module in call.model.modules() if type(module) is kind]
    if not _succeeds(lambda: [make(module) for module in modules]):
        return None
    return f"Use `wrappers.replace_modules(model, {{{_class_text(call.module)}: wrappers.{factory}.of}})` ({_GUIDE})"


def _succeeds(function: Callable[[], Any]) -> bool:
    try:
        function()
    except Exception:
        return False
    return True


def _advise_attention(call: _UndelegatedCall) -> str | None:
    from torch import nn

    in_modules = [other for other in call.similar_calls() if type(other.module) is nn.MultiheadAttention]
    if type(call.module) is nn.MultiheadAttention:
        # The call has an argument here only if the module is used with a mask.
        if any(len(other.node.args) > 3 and other.node.args[3] is not None for other in in_modules):
            return None
        return _advise_replacement(call, "MultiheadAttention")
    calls = [other for other in call.similar_calls() if type(other.module) is not nn.MultiheadAttention]
    if not all(_supports_attention(other) for other in calls):
        return None
    return (
        f"Use `wrappers.Substitute(model, {{functional.scaled_dot_product_attention: wrappers.attention}})` ({_GUIDE})"
    )


def _supports_attention(call: _UndelegatedCall) -> bool:
    """Return whether wrappers.attention takes the arguments of a call. It is called with fake tensors."""
    import torch

    from etprof import wrappers

    args, kwargs = torch.fx.node.map_arg((call.node.args, dict(call.node.kwargs)), call.value)

    def attend() -> None:
        with args[0].fake_mode:
            wrappers.attention(*args, **kwargs)

    return _succeeds(attend)


def _advise_layer_norm(call: _UndelegatedCall) -> str | None:
    import torch
    from torch import nn

    from etprof import wrappers

    module = call.module
    if type(module).__name__ != "LayerNorm" or not isinstance(module, nn.LayerNorm):
        return _advise_norm(call)
    if len(module.normalized_shape) != 1:
        return None
    # timm has its own LayerNorm class, which may do more.
    size, dtype = module.normalized_shape[0], call.value(call.node.args[0]).dtype
    tokens = torch.linspace(-1, 2, 2 * size, dtype=dtype).reshape(2, size)
    difference = wrappers.largest_difference(module, wrappers.LayerNorm.of(module).to(dtype), tokens)
    return _advise_replacement(call, "LayerNorm") if difference < 20 * torch.finfo(dtype).eps else None


def _advise_norm(call: _UndelegatedCall) -> str | None:
    """Advise on SAM's and timm's LayerNorm2d (over the channels of each pixel), and on RMS normalization."""
    if type(call.module).__name__ == "LayerNorm2d":
        return _advise_replacement(call, "LayerNorm2d")
    is_vector = getattr(getattr(call.module, "weight", None), "ndim", 0) == 1
    return _advise_replacement(call, "RMSNorm") if is_vector else None


def _for_plain_module(factory: str) -> Callable[[_UndelegatedCall], str | None]:
    """Return a rule for modules that consist of only this call."""

    def rule(call: _UndelegatedCall) -> str | None:
        module = call.module
        if module is None or any(True for _ in module.children()) or any(True for _ in module.parameters()):
            return None
        return _advise_replacement(call, factory)

    return rule


def _advise_pool(call: _UndelegatedCall) -> str | None:
    from torch import nn

    from etprof import wrappers

    height, width = call.value(call.node.args[0]).shape[-2:]
    if type(call.module) is not nn.AdaptiveAvgPool2d or not type(height) is type(width) is int:
        return None
    if not _succeeds(lambda: wrappers.fixed_pool(height, width)(call.module)):
        return None
    return f"Use `wrappers.fixed_pool({height}, {width})({call.path})` for {call.path} ({_GUIDE})"


def _advise_mean(call: _UndelegatedCall) -> str | None:
    if not call.is_floating(call.node.args[0]):
        return None
    return (
        "Take a mean over the last two of four dimensions and keep them (keepdim=True), or multiply by a matrix of 1/n, as "
        "wrappers.LayerNorm does"
    )


def _advise_number(call: _UndelegatedCall) -> str | None:
    """Advise on arithmetic of a tensor and a number that is not a constant of the tensor's type."""
    if len(call.node.args) < 2 or not call.is_floating(call.node.args[0]) or not call.depends_on_inputs():
        return None
    number = call.node.args[1]
    is_converted = any("_to_dim_order_copy" in str(node.target) for node in call.lowered_nodes)
    if type(number) is int and is_converted:
        return "Write 3.0 for 3 in arithmetic: an integer is converted in every run"
    if type(number) in (int, float):
        return "Make numbers in arithmetic registered buffers, as wrappers.Hardsigmoid does"
    return None


_RULES: dict[str, Callable[[_UndelegatedCall], str | None]] = {
    "aten.scaled_dot_product_attention": _advise_attention,
    "aten.layer_norm": _advise_layer_norm,
    "aten.gelu": _for_plain_module("TanhGelu"),
    "aten.silu": _for_plain_module("Silu"),
    "aten.hardsigmoid": _for_plain_module("Hardsigmoid"),
    "aten.adaptive_avg_pool2d": _advise_pool,
    "aten.mean": _advise_mean,
}
