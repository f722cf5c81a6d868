"""Locate the first operator of a .pte whose value differs from PyTorch's, by making values between operators outputs.

This takes two lowerings, or three for a large program: first with values from the whole program, then with all values between
the last value that agrees and the first value that does not.
"""

from __future__ import annotations

import dataclasses
import operator
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from etprof.exporting import agreement, check, explain, inputs, lower, noise
from etprof.exporting.find import BuiltModel

_MAX_OUTPUT_VALUES = 48  # additional outputs of a program


class _ProgramWithValues(torch.nn.Module):
    """A program of torch.export whose outputs are values between its operators."""

    def __init__(self, program: torch.export.ExportedProgram, values: Sequence[torch.fx.Node]) -> None:
        super().__init__()
        self.graph_module = program.graph_module
        self.constants: list[Any] = []  # the value of each placeholder; None: the placeholder is an input
        for number, spec in enumerate(program.graph_signature.input_specs):
            value = None
            if spec.kind != torch.export.graph_signature.InputKind.USER_INPUT:
                value = lower.initial_value(program, spec.target)
            self.register_buffer(f"kept_{number}", value.detach() if isinstance(value, torch.Tensor) else None)
            self.constants.append(value)
        self.values = [node.name for node in values]

    def forward(self, *flat_inputs: Any) -> tuple[torch.Tensor, ...]:
        """Return the values for flat inputs."""
        remaining_inputs = iter(flat_inputs)
        arguments = [
            next(remaining_inputs) if value is None else getattr(self, f"kept_{number}")
            for number, value in enumerate(self.constants)
        ]
        results: dict[str, torch.Tensor] = {}
        names = set(self.values)

        class Interpreter(torch.fx.Interpreter):
            def run_node(self, n: torch.fx.Node) -> Any:
                result = super().run_node(n)
                if n.name in names:
                    results[n.name] = result
                return result

        Interpreter(self.graph_module).run(*arguments)
        # Cloned, because an output that is an input or another output would not be a separate output.
        return tuple(results[name].clone() for name in self.values)


def first_wrong(
    program: torch.export.ExportedProgram,
    case: check.Case,
    min_sqnr_db: float,
    partitioners: Callable[[], list[Any]],
    runner: Path,
) -> str:
    """Describe the first operator whose value in the .pte differs from PyTorch's, on the inputs of a case.

    Returns "" if a program with values as outputs cannot be made or run.
    """
    nodes = [node for node in program.graph.nodes if node.op == "call_function" and _is_number(node.meta.get("val"))]
    begin, end = 0, len(nodes)
    known_wrong = None
    while begin < end:
        indices = _spread(begin, end)
        try:
            reasons = _disagreements(program, case, [nodes[i] for i in indices], min_sqnr_db, partitioners(), runner)
        except Exception:  # a library refuses the modified program, which is not the user's
            return ""
        first_failed = next((index for index, reason in enumerate(reasons) if reason is not None), None)
        if first_failed is None:
            break
        known_wrong = (nodes[indices[first_failed]], reasons[first_failed])
        begin, end = (indices[first_failed - 1] + 1 if first_failed > 0 else begin), indices[first_failed]
    if known_wrong is None:
        return "with the values between its operators as outputs, the program agrees with PyTorch"
    node, reason = known_wrong
    first = "the first operator that differs is" if begin == end else "values differ from here on:"
    return f"{first} {_describe(node)}: {reason}"


def _spread(begin: int, end: int) -> list[int]:
    """Return at most _MAX_OUTPUT_VALUES evenly spread numbers from `begin` to `end`, including the last number."""
    count = min(_MAX_OUTPUT_VALUES, end - begin)
    return [begin + (end - begin) * (step + 1) // count - 1 for step in range(count)]


def _is_number(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 0


def _disagreements(
    program: torch.export.ExportedProgram,
    case: check.Case,
    values: Sequence[torch.fx.Node],
    min_sqnr_db: float,
    partitioners: list[Any],
    runner: Path,
) -> list[str | None]:
    """Return for each value why it disagrees, or None if it agrees."""
    flat = tuple(inputs.flatten(case.args, case.kwargs))
    module = _ProgramWithValues(program, values).eval()
    with torch.no_grad():
        expected = module(*flat)
    traced = lower.trace(BuiltModel(module, flat, {}, None))
    edge = lower.to_edge({case.method: traced}, partitioners, False)
    with tempfile.TemporaryDirectory(prefix="etprof-locate-") as folder:
        pte = Path(folder) / "values.pte"
        with pte.open("wb") as file:
            lower.to_executorch(edge, False).write_to_file(file)
        actual = check.make_run(pte, runner)(dataclasses.replace(case, args=flat, kwargs={}))
    pairs = zip(actual, expected, strict=True)
    return [agreement.compare(*pair).disagreement(min_sqnr_db, exact=True) for pair in pairs]


def _describe(node: torch.fx.Node) -> str:
    """Return a text such as `aten.gelu of layers.3.mlp (net.py, line 12)`. A result of several names the operator that has them."""
    while node.target is operator.getitem:
        node = node.args[0]
    path = noise.module_of(node)
    name = str(node.target).removesuffix(".default")
    return name + (f" of {path}" if path else "") + explain.place(None, node.meta.get("stack_trace") or "")
