"""The noise budget of a quantized model: how much of its outputs' error comes from which quantized value.

A value's noise is the error power at the model's outputs if only that value is quantized, or rounded to fp16. The prepared
graph with all quantizations off is the fp32 model. The noises of single values nearly add up to the noise of all values
together. The remainder is the interaction, a row of the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from etprof.exporting import agreement, explain

if TYPE_CHECKING:
    import torch

# Noise is concentrated if at most this many values have half of it. So few values can be kept in float one by one.
MAX_CONCENTRATED_VALUES = 3


@dataclass(frozen=True)
class Site:
    """A quantized value: a weight or an activation."""

    name: str  # of the node that produces the value
    kind: str  # "weight", "activation"
    operator: str  # the operator that produces it: "add", "linear", "input"; for a weight, the operator that reads it
    module: str  # path of the module that produces it; "": the model itself, or not known
    source: str  # "model.py, line 42"; "": not known
    readers: tuple[str, ...]  # names of the nodes that read it
    low: float | None  # of the range; None: the range is computed in every run, or per channel
    high: float | None
    quantizer: Any = field(repr=False, compare=False)  # the node that quantizes the value


@dataclass
class Noise:
    """Powers at one output, summed over elements and inputs."""

    signal: float
    all_values: float  # noise of all values together
    alone: list[float]  # by site
    not_finite: set[int]  # sites that alone make elements NaN or infinite

    @property
    def interaction(self) -> float:
        """The noise of all values less the sum of the single noises, which may be negative."""
        return self.all_values - sum(self.alone)

    def share(self, site: int) -> float | None:
        """Return the share of a site in the noise of all values, or None without noise."""
        return self.alone[site] / self.all_values if self.all_values > 0 else None


@dataclass
class Budget:
    """The noise budget of one method on some inputs."""

    sites: list[Site]
    outputs: dict[int, Noise]  # floating-point outputs by number
    clipped: list[float | None]  # by site: share of its elements beyond its range; None: the range is not fixed

    @property
    def worst(self) -> int | None:
        """The output with the lowest signal-to-noise ratio; None: no output has noise."""
        noisy = {number: noise for number, noise in self.outputs.items() if noise.all_values > 0}
        return min(noisy, key=lambda number: noisy[number].signal / noisy[number].all_values, default=None)

    def by_share(self, output: int) -> list[int]:
        """Return the sites, those with the most noise first."""
        alone = self.outputs[output].alone
        return sorted(range(len(self.sites)), key=lambda site: -alone[site])

    def values_of_half(self, output: int) -> int:
        """Return the smallest number of values that together have half of the sum of the single noises."""
        alone = self.outputs[output].alone
        so_far, half = 0.0, sum(alone) / 2
        for count, site in enumerate(self.by_share(output), 1):
            so_far += alone[site]
            if so_far >= half:
                return count
        return len(alone)


Inputs = tuple[tuple[Any, ...], dict[str, Any]]


class Emulation:
    """A converted graph whose weights are not folded, in which each quantization can be on or off.

    Dynamic ranges are computed for each row, as XNNPACK does for matrix products. PyTorch's graph has one range per tensor.
    """

    def __init__(self, module: torch.fx.GraphModule) -> None:
        self.module = module
        self._nodes = list(module.graph.nodes)
        self.sites = [_site(node) for node in self._nodes if _is_quantizer(node)]
        self._mutates = any(_writes(node) for node in self._nodes)
        self._readers = {id(site.quantizer): site for site in self.sites}

    def drop_exact(self, inputs: Sequence[Inputs]) -> None:
        """Remove sites that change nothing if all others are on: views, and values that the type represents exactly."""
        import torch

        changed: set[str] = set()
        for args, kwargs in inputs:
            values = self._values(args, kwargs, self.sites)
            for site in self.sites:
                if not torch.equal(values[site.quantizer], values[site.quantizer.args[0]]):
                    changed.add(site.name)
        self.sites = [site for site in self.sites if site.name in changed]

    def budget(self, inputs: Sequence[Inputs]) -> Budget:
        """Compute the noise budget with one pass per site and input. A pass computes only the values that depend on its site."""
        outputs: dict[int, Noise] = {}
        clipped: list[list[float]] = [[] for _ in self.sites]
        for args, kwargs in inputs:
            exact = self._values(args, kwargs, ())
            reference = _floats(exact[self._nodes[-1]])
            runs = [self._changed(exact, args, kwargs, [site]) for site in self.sites]
            runs.append(self._changed(exact, args, kwargs, self.sites))
            for number, expected in reference.items():
                noise = outputs.setdefault(number, Noise(0.0, 0.0, [0.0] * len(self.sites), set()))
                noise.signal += _signal(expected)
                errors = [_power(run.get(number), expected) for run in runs]
                noise.not_finite |= {
                    site for site, run in enumerate(runs[:-1]) if _mismatches(run.get(number), expected)
                }
                noise.alone = [total + error for total, error in zip(noise.alone, errors, strict=False)]
                noise.all_values += errors[-1]
            for site, shares in zip(self.sites, clipped, strict=True):
                if site.low is not None and site.high is not None:
                    shares.append(_share_beyond(exact[site.quantizer.args[0]], site.low, site.high))
        means = [sum(shares) / len(shares) if shares else None for shares in clipped]
        return Budget(self.sites, outputs, means)

    def sqnr_db(self, inputs: Sequence[Inputs], off: Collection[str]) -> dict[int, float | None]:
        """Return the SQNR of each output if the sites with the names in `off` stay in float; None: nothing differs."""
        powers: dict[int, tuple[float, float]] = {}
        on = [site for site in self.sites if site.name not in off]
        for args, kwargs in inputs:
            exact = self._values(args, kwargs, ())
            run = self._changed(exact, args, kwargs, on)
            for number, expected in _floats(exact[self._nodes[-1]]).items():
                signal, noise = powers.get(number, (0.0, 0.0))
                signal += _signal(expected)
                powers[number] = (signal, noise + _power(run.get(number), expected))
        return {number: agreement.decibels(*power) for number, power in powers.items()}

    def works(self) -> tuple[dict[str, float], float]:
        """Return the work of each operator by node, and the total: multiply-accumulates, or elements of the value."""
        works = {node.name: _work(node) for node in self._nodes if node.op == "call_function" and computes(node)}
        return works, sum(works.values()) or 1.0

    def _changed(
        self, exact: dict[torch.fx.Node, Any], args: tuple[Any, ...], kwargs: dict[str, Any], on: Sequence[Site]
    ) -> dict[int, torch.Tensor]:
        values = self._values(args, kwargs, on, None if self._mutates else exact)
        return _floats(values[self._nodes[-1]])

    def _values(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        on: Sequence[Site],
        exact: dict[torch.fx.Node, Any] | None = None,
    ) -> dict[torch.fx.Node, Any]:
        """Return the values of all nodes. Values that the sites in `on` do not change are taken from `exact`, if given."""
        import torch
        from torch.fx.node import map_arg
        from torch.utils import _pytree

        active = {site.quantizer for site in on}
        flat = iter(_pytree.tree_leaves((args, kwargs)))
        values: dict[torch.fx.Node, Any] = {}
        changed: set[torch.fx.Node] = set()
        with torch.no_grad(), preserve_state(self.module):
            for node in self._nodes:
                if (
                    exact is not None
                    and node not in active
                    and not any(source in changed for source in node.all_input_nodes)
                ):
                    values[node] = exact[node]
                    continue
                changed.add(node)
                node_args, node_kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
                if node.op == "placeholder":
                    leaf = next(flat)
                    values[node] = leaf.clone() if isinstance(leaf, torch.Tensor) else leaf
                elif node.op == "output":
                    values[node] = node_args[0]
                elif node.op == "get_attr":
                    values[node] = _attribute(self.module, node.target)
                elif _is_quantizer(node):
                    # The quantizer node quantizes and dequantizes. The dequantizer node passes the value on. A quantizer
                    # that is off clones its input, because a reader may write in place.
                    is_on = node in active
                    values[node] = _quantized(node, node_args, node_kwargs) if is_on else node_args[0].clone()
                elif _is_dequantizer(node):
                    values[node] = node_args[0]
                elif node.op == "call_module":
                    values[node] = self.module.get_submodule(node.target)(*node_args, **node_kwargs)
                else:
                    values[node] = node.target(*node_args, **node_kwargs)
        return values


@contextmanager
def preserve_state(module: torch.nn.Module) -> Iterator[None]:
    """Restore the module's buffers at the end of this context."""
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    try:
        yield
    finally:
        for name, buffer in module.named_buffers():
            buffer.copy_(before[name])


def _attribute(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _target(node: Any) -> str:
    return str(node.target) if node.op == "call_function" else ""


MAX_FP16 = 65504.0


def to_fp16(value: torch.Tensor) -> torch.Tensor:
    """Return the nearest finite fp16 numbers, because an infinity would have no share of the noise."""
    return value.clamp(-MAX_FP16, MAX_FP16).half().float()


def replaced(_value: torch.Tensor, rounded: torch.Tensor) -> torch.Tensor:
    """Return weights that were rounded before."""
    return rounded


def row_by_row(value: torch.Tensor) -> torch.Tensor:
    """Round to 8 bits of the range of each row, which includes 0, as XNNPACK's qd8 does."""
    import torch

    low = value.amin(-1, keepdim=True).clamp(max=0)
    high = value.amax(-1, keepdim=True).clamp(min=0)
    scale = torch.where(high > low, (high - low) / 255, torch.ones_like(high))
    zero = torch.round(-128 - low / scale).clamp(-128, 127)
    return (torch.clamp(torch.round(value / scale) + zero, -128, 127) - zero) * scale


_ROUNDINGS = (to_fp16, replaced, row_by_row)  # functions in graphs of exporting/rounding.py


def _is_rounding(node: Any) -> bool:
    return node.target in _ROUNDINGS


def _is_quantizer(node: Any) -> bool:
    names = ("quantized_decomposed.quantize_", "torchao.quantize_affine")
    return _is_rounding(node) or _target(node).startswith(names)


def quantized_values(module: torch.fx.GraphModule) -> list[Any]:
    """Return the nodes that quantize."""
    return [node for node in module.graph.nodes if _is_quantizer(node)]


def _is_dequantizer(node: Any) -> bool:
    return _target(node).startswith(("quantized_decomposed.dequantize_", "torchao.dequantize_affine"))


def computes(node: Any) -> bool:
    """Return whether a node is an operator of the model, not of its quantization."""
    return not _is_quantizer(node) and not _is_dequantizer(node) and hasattr(node.target, "_schema")


def _unquantized(node: Any) -> Any:
    while _is_quantizer(node) or _is_dequantizer(node):
        node = node.args[0]
    return node


def _work(node: Any) -> float:
    """Return the multiply-accumulates of a layer with weights or a matrix product, else the elements of the value."""
    value = node.meta.get("val")
    if not hasattr(value, "numel"):
        return 0.0
    elements = float(value.numel())
    operands = [val for source in node.all_input_nodes if hasattr(val := _unquantized(source).meta.get("val"), "shape")]
    operator = operator_of(node)
    if operator in ("linear", "matmul", "bmm", "mm", "addmm") and operands and operands[0].dim():
        return elements * float(operands[-1 if operator == "addmm" else 0].shape[-1])
    if operator.startswith("conv") and len(operands) > 1:
        weight = operands[1]
        return elements * float(weight.numel()) / max(1, float(weight.shape[0]))
    return elements


def _writes(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    return bool(schema is not None and schema.is_mutable)


def _dequantizer(node: Any) -> Callable[..., Any]:
    import torch

    name = _target(node).partition(".")[2].replace("quantize_", "dequantize_", 1)
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.quantized_decomposed, packet), overload)


def _quantized(node: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if _is_rounding(node):
        return node.target(*args)
    if _is_dynamic(node) and _is_read_by_products_only(node):
        return row_by_row(args[0])
    quantized = node.target(*args, **kwargs)
    return _dequantizer(node)(quantized, *args[1:], **kwargs)


def _is_dynamic(node: Any) -> bool:
    return any("choose_qparams" in _target(ancestor) for ancestor in _ancestors(node.args[1]))


def _ancestors(value: Any) -> Iterator[Any]:
    while hasattr(value, "all_input_nodes"):
        yield value
        value = value.args[0] if value.args and _target(value) == "<built-in function getitem>" else None


def _is_read_by_products_only(node: Any) -> bool:
    """Return whether only matrix products read the value."""
    products = ("aten.linear.", "aten.addmm.", "aten.mm.", "aten.matmul.", "aten.bmm.")
    return all(_target(reader).startswith(products) for reader in _readers(node))


def _readers(quantizer: Any) -> list[Any]:
    if _is_rounding(quantizer):
        return list(quantizer.users)
    return [reader for user in quantizer.users for reader in user.users if _is_dequantizer(user)]


def _site(quantizer: Any) -> Site:
    value = quantizer.args[0]
    is_weight = value.op == "get_attr"
    readers = _readers(quantizer)
    maker = readers[0] if is_weight and readers else value
    low, high = _range(quantizer)
    return Site(
        value.name,
        "weight" if is_weight else "activation",
        operator_of(maker),
        module_of(maker),
        explain.place(None, maker.meta.get("stack_trace") or "").strip().strip("()"),
        tuple(reader.name for reader in readers),
        low,
        high,
        quantizer,
    )


def operator_of(node: Any) -> str:
    """Return a node's operator: `add` for aten.add.Tensor, `input` for a placeholder."""
    if node.op == "placeholder":
        return "input"
    schema = getattr(node.target, "_schema", None)
    return schema.name.rpartition("::")[2] if schema is not None else node.name


def module_of(node: Any) -> str:
    """Return the path of a node's innermost module."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return stack[-1][0].removeprefix("L['self']").removeprefix(".") if stack else ""


def _range(quantizer: Any) -> tuple[float | None, float | None]:
    if quantizer.target is to_fp16:
        return -MAX_FP16, MAX_FP16
    scale, zero, low, high = (*quantizer.args[1:5], None, None, None, None)[:4]
    if not isinstance(scale, float) or not isinstance(zero, int):
        return None, None
    return (low - zero) * scale, (high - zero) * scale


def _floats(output: Any) -> dict[int, torch.Tensor]:
    import torch
    from torch.utils import _pytree

    leaves = _pytree.tree_leaves(output)
    return {
        number: leaf.detach().clone()
        for number, leaf in enumerate(leaves)
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
    }


def _signal(expected: torch.Tensor) -> float:
    return float(expected[expected.isfinite()].double().square().sum())


def _mismatches(actual: torch.Tensor | None, expected: torch.Tensor) -> int:
    """Return the mismatches of NaN and infinities; 0 without an output of the same shape."""
    if actual is None or actual.shape != expected.shape:
        return 0
    return agreement.count_nonfinite_mismatches(actual, expected)


def _power(actual: torch.Tensor | None, expected: torch.Tensor) -> float:
    """Return the power of the error. Elements of `_mismatches` count as off by the largest magnitude of the output."""
    if actual is None or actual.shape != expected.shape:
        return 0.0
    difference = actual.double() - expected.double()
    power = float(difference[difference.isfinite()].square().sum())
    if mismatches := _mismatches(actual, expected):
        magnitudes = expected[expected.isfinite()].double().abs()
        power += mismatches * ((float(magnitudes.max()) if magnitudes.numel() else 0.0) or 1.0) ** 2
    return power


def _share_beyond(value: torch.Tensor, low: float, high: float) -> float:
    # Values up to half of a step beyond the range round into it.
    half_step = 16.0 if high == MAX_FP16 else (high - low) / 510
    return float(((value < low - half_step) | (value > high + half_step)).double().mean())
