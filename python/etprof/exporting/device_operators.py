"""Compare the value of each operator of a .pte on this CPU with PyTorch's value of the same node in the same type.

`etprof run --values` reads the values during a run, and the .etrecord has the nodes, in the edge program that was lowered.
"""

from __future__ import annotations

import dataclasses
import json
import operator
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etprof import programs
from etprof.exporting import agreement, explain, inputs, lower, noise

if TYPE_CHECKING:
    import torch

_MAX_STORED_ELEMENTS = 65_536  # per value, as in src/protocol/values.h
_SIZE_DIFFERS = "PyTorch has no value of this size at its node"
_FUSED_ACTIVATIONS = tuple(f"<EdgeOpOverload: aten.{name}." for name in ("relu", "hardtanh", "clamp"))


class NotComparedError(Exception):
    """No operator can be compared. The message is a clause with the reason."""


@dataclass(frozen=True)
class DeviceOperator:
    """A row of the .accuracy.json's `operators`."""

    method: str
    key: str
    operator: str
    module: str = ""
    source: str = ""
    sqnr_db: float | None = None
    leaves: bool = False
    note: str = ""


@dataclass(frozen=True)
class _Reference:
    node: torch.fx.Node
    values: list[torch.Tensor]  # of the node, and of an activation that XNNPACK's exporter may fuse with it


def compare(
    pte: Path, method: str, min_sqnr_db: float, config: Mapping[str, Any] | None = None, *, exact: bool = False
) -> list[DeviceOperator]:
    """Compare the operators of a method on the example inputs, in the order of execution.

    `config` has keys of a configuration (docs/reference/config.md). `exact`: PyTorch computes fp16 values in fp32.

    Raises:
        NotComparedError: Nothing can be compared.
    """
    record = pte.with_name(f"{pte.name}.etrecord")
    if not record.is_file():
        raise NotComparedError("the export has no .etrecord")
    with tempfile.TemporaryDirectory(prefix="etprof-values-") as folder:
        values, tensors = _read(pte, method, Path(folder), config or {})
    references, handles = _references(record, method, pte.with_name(f"{pte.name}.inputs"), exact=exact)
    # If a node became several operators, the last one has its value. A quantization after it has the same handle.
    last_keys = {value["debug_handle"]: value["key"] for value in values if not _is_conversion(value)}
    kernels = _Kernels(values, handles, references)
    rows = []
    for value in values:
        key = value["key"]
        is_kernel = "/kernel/" in key
        nodes = kernels.nodes(key) if is_kernel else references.get(value["debug_handle"], [])
        row = _with_source(DeviceOperator(method, key, value["name"]), nodes)
        if value["tensor"] not in tensors:
            row = dataclasses.replace(row, note=value["note"])
        elif "/chain" in key or "/again" in key:
            row = dataclasses.replace(row, note="it runs in a branch or a loop")
        elif not nodes or not (is_kernel or _is_conversion(value) or last_keys[value["debug_handle"]] == key):
            row = dataclasses.replace(row, note="it is no whole node of the edge program")
        elif is_kernel:
            row = _compare_value(row, value, tensors[value["tensor"]], kernels.next_output(value), min_sqnr_db)
        elif len(_producers(nodes)) > 1:
            row = dataclasses.replace(row, note="several nodes of the edge program have its handle")
        else:
            row = _compare_value(row, value, tensors[value["tensor"]], nodes[::-1], min_sqnr_db)
        rows.append(row)
    return rows


def _producers(nodes: Sequence[_Reference]) -> list[torch.fx.Node]:
    """Return the operators that produced the values, without quantizations."""
    return list(dict.fromkeys(maker for maker in map(_producer, nodes) if "quantize" not in str(maker.target)))


class _Kernels:
    """The node of each kernel: the only node with its operator among the nodes of its instruction's handles.

    All parts of an operator that PyTorch decomposes have the same handle, and their order may change.
    """

    def __init__(
        self, values: list[dict[str, Any]], handles: dict[str, list[int]], references: dict[int, list[_Reference]]
    ) -> None:
        self._nodes: dict[str, list[_Reference]] = {}  # by key
        self._outputs: dict[str, int] = {}  # number of outputs of a kernel so far
        for value in values:
            key, kind = value["key"], value["name"].removeprefix("native_call_").partition(".")[0]
            instruction_handles = handles.get(key.split("/")[1], []) if "/kernel/" in key else []
            nodes = [
                reference
                for handle in instruction_handles
                for reference in references.get(handle, [])
                if _operator_name(_producer(reference)) == kind
            ]
            if len({_producer(reference) for reference in nodes}) == 1:
                self._nodes[key] = nodes

    def nodes(self, key: str) -> list[_Reference]:
        """Return the references of a kernel; empty: the node is not known."""
        return self._nodes.get(key, [])

    def next_output(self, value: dict[str, Any]) -> list[_Reference]:
        """Return the references of a kernel from its next output on."""
        first = self._outputs[value["key"]] = self._outputs.get(value["key"], -1) + 1
        return self.nodes(value["key"])[first:]


def _producer(reference: _Reference) -> torch.fx.Node:
    return reference.node.args[0] if reference.node.target is operator.getitem else reference.node


def _operator_name(node: torch.fx.Node) -> str:
    """Return the operator's name: `expand_copy` for `<EdgeOpOverload: aten.expand_copy.default>...`."""
    match = re.search(r"\w+\.(\w+)\.\w+>", str(node.target))
    return match[1] if match else ""


def _is_conversion(value: dict[str, Any]) -> bool:
    return value["name"].startswith("Convert ")


def _with_source(row: DeviceOperator, nodes: Sequence[_Reference]) -> DeviceOperator:
    if not nodes:
        return row
    # A quantization has the handle of the quantized operator, and no module.
    node = next((reference.node for reference in nodes if reference.node.meta.get("nn_module_stack")), nodes[-1].node)
    source = explain.place(None, node.meta.get("stack_trace") or "").strip().strip("()")
    return dataclasses.replace(row, module=noise.module_of(node), source=source)


def _read(
    pte: Path, method: str, folder: Path, keys: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, torch.Tensor]]:
    """Run the .pte and return a description of each value, and the tensors."""
    import safetensors
    import safetensors.torch

    program = programs.etprof()
    if program is None:
        raise NotComparedError("there is no etprof to read them: build it, or name it in ETPROF")
    config = {
        "model": str(pte.resolve()),
        "method": method,
        "output_root": str(folder / "run"),
        "launches": 2,
        "rounds": 1,
        "runs": 2,
        "peaks": False,
        "experiments": [{"name": "device"}],
        **keys,
    }
    (folder / "config.json").write_text(json.dumps(config))
    command = [program, "run", folder / "config.json", "--values"]
    process = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - our own program
    if process.returncode != 0:
        reason = process.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise NotComparedError(f"the .pte could not be run: {reason}")
    files = list((folder / "run").rglob("*_values.safetensors"))
    if not files:
        results = json.loads((folder / "run" / "manifest.json").read_text())["results"]
        warnings = [text for result in results for text in result["warnings"] if text.startswith("values: ")]
        raise NotComparedError(warnings[0].removeprefix("values: ") if warnings else "the runner read no values")
    with safetensors.safe_open(files[0], "pt") as file:
        descriptions = json.loads(file.metadata()["values"])
    return descriptions, safetensors.torch.load(files[0].read_bytes())


def _references(
    record: Path, method: str, example: Path, *, exact: bool
) -> tuple[dict[int, list[_Reference]], dict[str, list[int]]]:
    """Return PyTorch's values by debug handle, in the order of execution, and the handles of instructions."""
    import executorch.kernels.quantized  # noqa: F401 - registers operators of quantized programs
    import torch
    from executorch.devtools.etrecord import parse_etrecord

    parsed = parse_etrecord(str(record))
    edge = parsed.edge_dialect_program
    edge = edge[method] if isinstance(edge, dict) else edge
    if edge.graph_signature.buffers_to_mutate:
        raise NotComparedError("the model keeps state between runs")
    leaves = iter(inputs.decode(example.read_bytes())[method])
    kinds = torch.export.graph_signature.InputKind
    arguments = [
        next(leaves) if spec.kind == kinds.USER_INPUT else lower.initial_value(edge, spec.target)
        for spec in edge.graph_signature.input_specs
    ]
    if exact:
        arguments = [
            argument.float() if getattr(argument, "dtype", None) == torch.float16 else argument
            for argument in arguments
        ]
    values: dict[int, list[_Reference]] = {}
    by_node: dict[torch.fx.Node, _Reference] = {}

    class Interpreter(torch.fx.Interpreter):
        def run_node(self, n: torch.fx.Node) -> Any:
            result = super().run_node(n)
            handle = n.meta.get("debug_handle")
            if isinstance(result, torch.Tensor) and handle is not None:
                by_node[n] = _Reference(n, [result.detach().clone()])
                values.setdefault(handle, []).append(by_node[n])
                if (
                    str(n.target).startswith(_FUSED_ACTIVATIONS)
                    and (before := by_node.get(n.args[0]))
                    and len(n.args[0].users) == 1
                ):
                    before.values.append(by_node[n].values[0])
            return result

    with torch.no_grad():
        Interpreter(edge.graph_module).run(*arguments)
    by_instruction = (parsed._debug_handle_map or {}).get(method, {})
    handles = {key: handle if isinstance(handle, list) else [handle] for key, handle in by_instruction.items()}
    return values, handles


def _compare_value(
    row: DeviceOperator, value: dict[str, Any], actual: torch.Tensor, nodes: Sequence[_Reference], min_sqnr_db: float
) -> DeviceOperator:
    """Compare a value with the nearest reference. XNNPACK's images may have their channels last."""
    scale, zero = value["scale"], value["zero_point"]
    numbers = (actual.double() - zero) * scale if scale is not None else actual.double()
    for reference in nodes:
        candidates = [
            candidate
            for expected in reference.values
            for layout in _layouts(_as_quantized(expected, actual, scale, zero))
            if ("/kernel/" in row.key or list(layout.shape) == value["shape"])
            and (candidate := _sample_elements(layout)).numel() == actual.numel()
        ]
        if candidates:
            nearest = min((agreement.compare(numbers, candidate) for candidate in candidates), key=_distance)
            has_mismatches = nearest.nonfinite_mismatches > 0
            message = (
                f"{nearest.nonfinite_mismatches} elements are finite in one of the two only" if has_mismatches else ""
            )
            leaves = has_mismatches or (nearest.sqnr_db is not None and nearest.sqnr_db < min_sqnr_db)
            return dataclasses.replace(row, sqnr_db=nearest.sqnr_db, leaves=leaves, note=message)
    return dataclasses.replace(row, note=_SIZE_DIFFERS)


def _as_quantized(expected: torch.Tensor, actual: torch.Tensor, scale: float | None, zero: int) -> torch.Tensor:
    """Return PyTorch's numbers, rounded to the quantization of the .pte."""
    if scale is None:
        return expected.double()
    if not expected.is_floating_point():
        return (expected.double() - zero) * scale
    low, high = (-128, 127) if actual.dtype.is_signed else (0, 255)
    return (((expected.double() / scale).round() + zero).clamp(low, high) - zero) * scale


def _layouts(value: torch.Tensor) -> list[torch.Tensor]:
    return [value, value.movedim(1, -1)] if value.dim() >= 3 else [value]


def _distance(comparison: agreement.Agreement) -> tuple[int, float]:
    return comparison.nonfinite_mismatches, -1e9 if comparison.sqnr_db is None else -comparison.sqnr_db


def _sample_elements(value: torch.Tensor) -> torch.Tensor:
    """Return the elements that the runner stores."""
    flat = value.reshape(-1)
    return flat[:: max(1, -(-flat.numel() // _MAX_STORED_ELEMENTS))]
