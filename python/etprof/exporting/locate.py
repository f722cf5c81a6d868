"""Where in a program the outputs of a .pte leave PyTorch's: by making values between operators outputs, too, and running that.

Two lowerings, three of a large program: with values all over it, then with every one between the last that agrees and the first
that does not.
"""

from __future__ import annotations

import dataclasses
import operator
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from etprof.exporting import agreement, check, explain, inputs, lower
from etprof.exporting.find import BuiltModel

_VALUES = 48  # that a program has as outputs at once


class _Tapped(torch.nn.Module):
    """A program of torch.export that gives values between its operators."""

    def __init__(self, program: torch.export.ExportedProgram, values: Sequence[torch.fx.Node]) -> None:
        super().__init__()
        self.graph_module = program.graph_module
        self.kept: list[Any] = []  # of each placeholder the value; None: it is an input
        for number, spec in enumerate(program.graph_signature.input_specs):
            value = None
            if spec.kind != torch.export.graph_signature.InputKind.USER_INPUT:
                value = program.state_dict.get(spec.target, program.constants.get(spec.target))
            self.register_buffer(f"kept_{number}", value.detach() if isinstance(value, torch.Tensor) else None)
            self.kept.append(value)
        self.values = [node.name for node in values]

    def forward(self, *given: Any) -> tuple[torch.Tensor, ...]:
        """The values, for flat inputs."""
        rest = iter(given)
        arguments = [
            next(rest) if value is None else getattr(self, f"kept_{number}") for number, value in enumerate(self.kept)
        ]
        taken: dict[str, torch.Tensor] = {}
        names = set(self.values)

        class Interpreter(torch.fx.Interpreter):
            def run_node(self, n: torch.fx.Node) -> Any:
                result = super().run_node(n)
                if n.name in names:
                    taken[n.name] = result
                return result

        Interpreter(self.graph_module).run(*arguments)
        # A value that is an input, or two that are one, would be no outputs of their own.
        return tuple(taken[name].clone() for name in self.values)


def first_wrong(
    program: torch.export.ExportedProgram,
    case: check.Case,
    least: float,
    partitioners: Callable[[], list[Any]],
    runner: Path,
) -> str:
    """What to say of the first operator whose value in the .pte is not PyTorch's, on the inputs of a case.

    "" where a program with values as outputs cannot be made or run.
    """
    nodes = [node for node in program.graph.nodes if node.op == "call_function" and _is_number(node.meta.get("val"))]
    begin, end = 0, len(nodes)
    known_wrong = None
    while begin < end:
        chosen = _spread(begin, end)
        try:
            found = _disagreements(program, case, [nodes[i] for i in chosen], least, partitioners(), runner)
        except Exception:  # whatever a library says of such a program: it is not the user's
            return ""
        wrong = next((at for at, why in enumerate(found) if why is not None), None)
        if wrong is None:
            break
        known_wrong = (nodes[chosen[wrong]], found[wrong])
        begin, end = (chosen[wrong - 1] + 1 if wrong > 0 else begin), chosen[wrong]
    if known_wrong is None:
        return "with the values between its operators as outputs, the program agrees with PyTorch"
    node, why = known_wrong
    first = "the first operator that differs is" if begin == end else "values differ from here on:"
    return f"{first} {_described(node)}: {why}"


def _spread(begin: int, end: int) -> list[int]:
    """At most _VALUES of the numbers in between, the last one among them."""
    count = min(_VALUES, end - begin)
    return [begin + (end - begin) * (step + 1) // count - 1 for step in range(count)]


def _is_number(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 0


def _disagreements(
    program: torch.export.ExportedProgram,
    case: check.Case,
    values: Sequence[torch.fx.Node],
    least: float,
    partitioners: list[Any],
    runner: Path,
) -> list[str | None]:
    """Of each value why it is not near enough; None: it is."""
    flat = tuple(inputs.flatten(case.args, case.kwargs))
    module = _Tapped(program, values).eval()
    with torch.no_grad():
        expected = module(*flat)
    traced = lower.trace(BuiltModel(module, flat, {}, None))
    edge = lower.to_edge({case.method: traced}, partitioners, False)
    with tempfile.TemporaryDirectory(prefix="etprof-locate-") as folder:
        pte = Path(folder) / "values.pte"
        with pte.open("wb") as file:
            lower.to_executorch(edge, False).write_to_file(file)
        actual = check.runner_of(pte, runner)(dataclasses.replace(case, args=flat, kwargs={}))
    pairs = zip(actual, expected, strict=True)
    return [agreement.compare(*pair).why_not(least, exact=True) for pair in pairs]


def _described(node: torch.fx.Node) -> str:
    """`aten.gelu of layers.3.mlp (net.py, line 12)`; of one of several results the operator that has them."""
    while node.target is operator.getitem:
        node = node.args[0]
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = stack[-1][0].removeprefix("L['self']").removeprefix(".") if stack else ""
    name = str(node.target).removesuffix(".default")
    return name + (f" of {path}" if path else "") + explain.place(None, node.meta.get("stack_trace") or "")
