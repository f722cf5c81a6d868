"""Shapes of inputs: the option `--input-shape`, and the smallest and largest shapes of a dynamic program."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from etprof import errors
from etprof.errors import ExportError
from etprof.exporting.check import Case
from etprof.exporting.find import BuiltModel

if TYPE_CHECKING:
    import torch

    from etprof.exporting.manifest import Method

_REMEDY = "write --input-shape NAME=1x3x64..512x64..512, a number or LOW..HIGH for each dimension"
_DIMENSION = re.compile(r"(\d+)(?:\.\.(\d+))?")
_MAX_SIZE = 1 << 40  # elements of a dimension; a larger size is a typo


@dataclass(frozen=True)
class Bounds:
    """A parsed `[METHOD.]NAME=1x3x64..512`: the input's name or number, and the smallest and largest size per dimension."""

    text: str
    method: str  # empty: the model's only method
    name: str
    sizes: tuple[tuple[int, int], ...]


def parse_bounds(text: str) -> Bounds:
    """Parse a value of --input-shape.

    Raises:
        ValueError: The value does not have this form.
    """
    target, equals, shape = text.partition("=")
    method, _, name = target.rpartition(".")
    matches = [_DIMENSION.fullmatch(part) for part in shape.split("x")] if shape else []
    if not equals or not name or not matches or not all(matches):
        raise ValueError(f"{text!r} is not an input's shape; {_REMEDY}")
    sizes = []
    for match in matches:
        low = int(match[1])
        high = int(match[2]) if match[2] is not None else low
        if not 1 <= low <= high <= _MAX_SIZE:
            raise ValueError(
                f"{text!r}: {match[0]} is not a range of sizes: the smaller one comes first, and is at least 1"
            )
        sizes.append((low, high))
    return Bounds(text, method, name, tuple(sizes))


def with_bounds(model_name: str, methods: dict[str, BuiltModel], all_bounds: Sequence[Bounds]) -> dict[str, BuiltModel]:
    """Return the methods with example inputs resized to the bounds, and with dynamic dimensions where a range is given.

    A method with bounds loses its other dynamic shapes.

    Raises:
        ExportError: The method or input does not exist, or the input has another number of dimensions.
    """
    by_method: dict[str, list[Bounds]] = {}
    for bounds in all_bounds:
        name = bounds.method or next(iter(methods))
        if name not in methods or (not bounds.method and len(methods) > 1):
            raise ExportError(
                model_name,
                errors.EXAMPLE_INPUTS,
                f"--input-shape {bounds.text} names no method of the model",
                f"write it as METHOD.NAME=..., with a method of {', '.join(methods)}",
            )
        by_method.setdefault(name, []).append(bounds)
    return {
        name: _bounded(model_name, method, by_method[name]) if name in by_method else method
        for name, method in methods.items()
    }


def _bounded(model_name: str, method: BuiltModel, all_bounds: list[Bounds]) -> BuiltModel:
    from torch.export import Dim, ShapesCollection
    from torch.utils import _pytree

    leaves, structure = _pytree.tree_flatten((method.args, method.kwargs))
    dynamic = {}
    for bounds in all_bounds:
        position = _position(model_name, method, bounds)
        leaf = leaves[position]
        if not hasattr(leaf, "shape") or leaf.dim() != len(bounds.sizes):
            problem = f"has shape {list(leaf.shape)}" if hasattr(leaf, "shape") else "is not a tensor"
            reason = f"--input-shape {bounds.text}: the example input {bounds.name} {problem}"
            raise ExportError(model_name, errors.EXAMPLE_INPUTS, reason, "give as many dimensions as it has")
        sizes = [_clamp_size(size, *ends) for size, ends in zip(leaf.shape, bounds.sizes, strict=True)]
        # The tensor is cloned, because one tensor may be two inputs, and torch.export distinguishes inputs by identity.
        leaves[position] = resized(leaf, sizes).clone()
        ranges = {number: ends for number, ends in enumerate(bounds.sizes) if ends[0] < ends[1]}
        if ranges:
            dynamic[position] = {number: Dim.DYNAMIC(min=low, max=high) for number, (low, high) in ranges.items()}
    args, kwargs = _pytree.tree_unflatten(leaves, structure)
    collection = ShapesCollection()
    for position, dimensions in dynamic.items():
        collection[leaves[position]] = dimensions
    shapes = collection.dynamic_shapes(method.module, args, kwargs) if dynamic else None
    return dataclasses.replace(method, args=args, kwargs=kwargs, dynamic_shapes=shapes)


def _clamp_size(size: int, low: int, high: int) -> int:
    """Return the size in the range nearest to `size`. Avoid 1 if possible, because torch.export makes it a constant."""
    nearest = min(max(size, low), high)
    return min(2, high) if nearest == 1 and low < high else nearest


def _position(model_name: str, method: BuiltModel, bounds: Bounds) -> int:
    """Return the position of the input among the flat inputs, from its number or from the parameter's name."""
    names = input_names(method)
    if bounds.name in names:
        return names.index(bounds.name)
    if bounds.name.isdecimal() and int(bounds.name) < len(names):
        return int(bounds.name)
    known = ", ".join(name or str(number) for number, name in enumerate(names))
    reason = f"--input-shape {bounds.text}: there is no input {bounds.name}"
    raise ExportError(model_name, errors.EXAMPLE_INPUTS, reason, f"the inputs are {known}, or their numbers from 0")


def input_names(method: BuiltModel) -> list[str]:
    """Return the parameter of forward() for each flat input, or "" if the input is only a part of one (tuple, dict)."""
    from torch.utils import _pytree

    try:
        bound = _signature(method.module).bind(*method.args, **method.kwargs)
        names = [name for name in bound.arguments if name not in ("args", "kwargs")][: len(method.args)]
    except (TypeError, ValueError):
        names = []
    names += [""] * (len(method.args) - len(names))
    result: list[str] = []
    for name, value in [*zip(names, method.args, strict=True), *method.kwargs.items()]:
        leaves = len(_pytree.tree_leaves(value))
        result += [name] if leaves == 1 else [""] * leaves
    return result


def output_names(program: torch.export.ExportedProgram) -> list[str]:
    """Return for each flat output its key in a dict or a dataclass, or "" if it has only a position."""
    from torch.utils import _pytree

    structure = program.call_spec.out_spec
    if structure is None:
        return []
    tree = _pytree.tree_unflatten(list(range(structure.num_leaves)), structure)
    keys = (path[-1] if path else None for path, _ in _pytree.tree_flatten_with_path(tree)[0])
    names = (getattr(key, "key", getattr(key, "name", "")) for key in keys)
    return [name if isinstance(name, str) else "" for name in names]


def narrowed(
    methods: Mapping[str, BuiltModel],
    programs: Mapping[str, torch.export.ExportedProgram],
    lowered: Mapping[str, Method],
    requested: Sequence[Bounds],
) -> list[str]:
    """Return notes on inputs whose sizes vary less than --input-shape says, because of the model or the lowering."""
    notes = []
    for bounds in requested:
        method = bounds.method or next(iter(methods))
        position = input_names(methods[method]).index(bounds.name) if not bounds.name.isdecimal() else int(bounds.name)
        ends = [_shapes_at(programs[method], end)[position] or [] for end in (0, 1)]
        accepted = "x".join(str(low) if low == high else f"{low}..{high}" for low, high in zip(*ends, strict=True))
        if tuple(zip(*ends, strict=True)) != bounds.sizes:
            notes.append(f"--input-shape {bounds.text}: the model takes {accepted}")
    for name, program in programs.items():
        for number, (shape, value) in enumerate(zip(_shapes_at(program, 1), lowered[name].inputs, strict=True)):
            max_shape = value.get("shape")
            if (
                shape is not None
                and max_shape is not None
                and any(a > b for a, b in zip(shape, max_shape, strict=True))
            ):
                notes.append(
                    f"input {number} of {name} has a largest shape of {list(shape)}, and of {max_shape} after ExecuTorch's lowering"
                )
    return notes


def parameters(module: torch.nn.Module) -> list[str]:
    """Return the names of forward()'s parameters."""
    return list(_signature(module).parameters)


def _signature(module: torch.nn.Module) -> inspect.Signature:
    """Return the signature of forward(), of the module inside of wrappers that pass all inputs on."""
    from etprof import wrappers

    while isinstance(module, wrappers.Select | wrappers.Substitute):
        module = module.module
    return inspect.signature(module.forward)


def resized(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Cut or repeat the tensor to a shape with the same number of dimensions, which keeps realistic values."""
    for dimension, size in enumerate(shape):
        if (current := tensor.shape[dimension]) < size:
            repeats = [1] * tensor.dim()
            repeats[dimension] = math.ceil(size / max(current, 1))
            tensor = tensor.repeat(repeats)
        tensor = tensor.narrow(dimension, 0, size)
    return tensor.contiguous()


def cases(
    name: str, method: BuiltModel, program: torch.export.ExportedProgram, lowered: Method | None = None
) -> list[Case]:
    """Return the inputs for the check: the example, and for dynamic shapes also the smallest and the largest inputs.

    `lowered` has the largest sizes that the .pte takes, if they are smaller.
    """
    example = Case(name, "example", method.args, method.kwargs)
    if not program.range_constraints:
        return [example]
    ends = {"smallest": _shapes_at(program, 0), "largest": _shapes_at(program, 1)}
    if lowered is not None:
        max_shapes = [value.get("shape") for value in lowered.inputs]
        ends["largest"] = [
            shape if shape is None or limit is None else [min(pair) for pair in zip(shape, limit, strict=True)]
            for shape, limit in zip(ends["largest"], max_shapes, strict=True)
        ]
    return [example, *(_resized_case(case, example, shapes) for case, shapes in ends.items())]


def _resized_case(name: str, example: Case, shapes: list[list[int] | None]) -> Case:
    from torch.utils import _pytree

    leaves, structure = _pytree.tree_flatten((example.args, example.kwargs))
    resized_leaves = [
        leaf if shape is None else resized(leaf, shape) for leaf, shape in zip(leaves, shapes, strict=True)
    ]
    args, kwargs = _pytree.tree_unflatten(resized_leaves, structure)
    return Case(example.method, name, args, kwargs)


def _shapes_at(program: torch.export.ExportedProgram, end: int) -> list[list[int] | None]:
    """Return each flat input's shape with all sizes at the lower (0) or upper (1) bound, or as traced without a bound."""
    import torch

    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    inputs = [
        spec
        for spec in program.graph_signature.input_specs
        if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT
    ]
    shapes: list[list[int] | None] = []
    for spec in inputs:
        value = values.get(getattr(spec.arg, "name", ""))
        is_tensor = isinstance(value, torch.Tensor)
        shapes.append([_size_at(program, size, end) for size in value.shape] if is_tensor else None)
    return shapes


def _size_at(program: torch.export.ExportedProgram, size: int | torch.SymInt, end: int) -> int:
    if isinstance(size, int):
        return size
    expression = size.node.expr
    values = {}
    for symbol in expression.free_symbols:
        found = program.range_constraints.get(symbol)
        bound = (found.lower, found.upper)[end] if found is not None else None
        try:
            values[symbol] = max(1, int(bound))
        except (TypeError, OverflowError, ValueError):  # the symbol has no bound
            values[symbol] = int(size.node.hint)
        if values[symbol] > _MAX_SIZE:
            values[symbol] = int(size.node.hint)
    return int(expression.subs(values))
