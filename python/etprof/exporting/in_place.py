"""What each operator of a .pte computes on this CPU, against PyTorch's value of the same node in the same type.

`etprof profile --values` reads the operators in place, and the .etrecord has the nodes, in the edge program that was lowered.
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
from etprof.exporting import agreement, explain, inputs, noise

if TYPE_CHECKING:
    import torch

_MOST_KEPT = 65_536  # elements of a value: src/protocol/values.h
_ANOTHER = "PyTorch has no value of this size at its node"
_FUSED = tuple(f"<EdgeOpOverload: aten.{name}." for name in ("relu", "hardtanh", "clamp"))


class NotComparedError(Exception):
    """Why no operator can be compared, as a clause."""


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
    values: list[torch.Tensor]  # the node's, and that of an activation that XNNPACK's exporter may have fused with it


def operators(
    pte: Path, method: str, least: float, config: Mapping[str, Any] | None = None, *, exact: bool = False
) -> list[DeviceOperator]:
    """The operators of a method on the example inputs, in the order of execution.

    `config` has keys of a configuration (docs/reference/config.md). `exact`: PyTorch computes in fp32 what is in fp16.

    Raises:
        NotComparedError: Nothing can be compared.
    """
    record = pte.with_name(f"{pte.name}.etrecord")
    if not record.is_file():
        raise NotComparedError("the export has no .etrecord")
    with tempfile.TemporaryDirectory(prefix="etprof-values-") as folder:
        saved, tensors = _read(pte, method, Path(folder), config or {})
    references, handles = _references(record, method, pte.with_name(f"{pte.name}.inputs"), exact=exact)
    # Of several operators of a node the last has its value; a quantization after it has the same handle.
    last = {value["debug_handle"]: value["key"] for value in saved if not _converts(value)}
    kernels = _Kernels(saved, handles, references)
    found = []
    for value in saved:
        key = value["key"]
        of_kernel = "/kernel/" in key
        nodes = kernels.nodes(key) if of_kernel else references.get(value["debug_handle"], [])
        place = _placed(DeviceOperator(method, key, value["name"]), nodes)
        if value["tensor"] not in tensors:
            place = dataclasses.replace(place, note=value["note"])
        elif "/chain" in key or "/again" in key:
            place = dataclasses.replace(place, note="it runs in a branch or a loop")
        elif not nodes or not (of_kernel or _converts(value) or last[value["debug_handle"]] == key):
            place = dataclasses.replace(place, note="it is no whole node of the edge program")
        elif of_kernel:
            place = _compared(place, value, tensors[value["tensor"]], kernels.of_output(value), least)
        elif len(_makers(nodes)) > 1:
            place = dataclasses.replace(place, note="several nodes of the edge program have its handle")
        else:
            place = _compared(place, value, tensors[value["tensor"]], nodes[::-1], least)
        found.append(place)
    return found


def _makers(nodes: Sequence[_Reference]) -> list[torch.fx.Node]:
    """The operators that made the values, without quantizations of them."""
    return list(dict.fromkeys(maker for maker in map(_maker, nodes) if "quantize" not in str(maker.target)))


class _Kernels:
    """The node of each kernel: the only one with its operator among those of its instruction's handles.

    An operator that PyTorch decomposes has one handle for all of its parts, whose order may change.
    """

    def __init__(
        self, saved: list[dict[str, Any]], handles: dict[str, list[int]], references: dict[int, list[_Reference]]
    ) -> None:
        self._nodes: dict[str, list[_Reference]] = {}  # by key
        self._outputs: dict[str, int] = {}  # of a kernel, so far
        for value in saved:
            key, kind = value["key"], value["name"].removeprefix("native_call_").partition(".")[0]
            known = handles.get(key.split("/")[1], []) if "/kernel/" in key else []
            nodes = [one for handle in known for one in references.get(handle, []) if _kind(_maker(one)) == kind]
            if len({_maker(one) for one in nodes}) == 1:
                self._nodes[key] = nodes

    def nodes(self, key: str) -> list[_Reference]:
        """Of a kernel; empty: which is not known."""
        return self._nodes.get(key, [])

    def of_output(self, value: dict[str, Any]) -> list[_Reference]:
        """From its next output on."""
        first = self._outputs[value["key"]] = self._outputs.get(value["key"], -1) + 1
        return self.nodes(value["key"])[first:]


def _maker(known: _Reference) -> torch.fx.Node:
    return known.node.args[0] if known.node.target is operator.getitem else known.node


def _kind(node: torch.fx.Node) -> str:
    """`expand_copy` of `<EdgeOpOverload: aten.expand_copy.default>...`."""
    found = re.search(r"\w+\.(\w+)\.\w+>", str(node.target))
    return found[1] if found else ""


def _converts(value: dict[str, Any]) -> bool:
    return value["name"].startswith("Convert ")


def _placed(one: DeviceOperator, nodes: Sequence[_Reference]) -> DeviceOperator:
    if not nodes:
        return one
    # Quantizations have the handle of what they quantize, and no module.
    node = next((known.node for known in nodes if known.node.meta.get("nn_module_stack")), nodes[-1].node)
    source = explain.place(None, node.meta.get("stack_trace") or "").strip().strip("()")
    return dataclasses.replace(one, module=noise.module_of(node), source=source)


def _read(
    pte: Path, method: str, folder: Path, keys: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, torch.Tensor]]:
    """What the runner read: a description of each value, and their tensors."""
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
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - our own program
    if done.returncode != 0:
        why = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise NotComparedError(f"the .pte could not be run: {why}")
    files = list((folder / "run").rglob("*_values.safetensors"))
    if not files:
        results = json.loads((folder / "run" / "manifest.json").read_text())["results"]
        warnings = [text for result in results for text in result["warnings"] if text.startswith("values: ")]
        raise NotComparedError(warnings[0].removeprefix("values: ") if warnings else "the runner read no values")
    with safetensors.safe_open(files[0], "pt") as file:
        described = json.loads(file.metadata()["values"])
    return described, safetensors.torch.load(files[0].read_bytes())


def _references(
    record: Path, method: str, example: Path, *, exact: bool
) -> tuple[dict[int, list[_Reference]], dict[str, list[int]]]:
    """PyTorch's values by debug handle, in the order of execution, and the handles of instructions."""
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
        next(leaves)
        if spec.kind == kinds.USER_INPUT
        else edge.state_dict.get(spec.target, edge.constants.get(spec.target))
        for spec in edge.graph_signature.input_specs
    ]
    if exact:
        arguments = [one.float() if getattr(one, "dtype", None) == torch.float16 else one for one in arguments]
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
                    str(n.target).startswith(_FUSED)
                    and (before := by_node.get(n.args[0]))
                    and len(n.args[0].users) == 1
                ):
                    before.values.append(by_node[n].values[0])
            return result

    with torch.no_grad():
        Interpreter(edge.graph_module).run(*arguments)
    by_instruction = (parsed._debug_handle_map or {}).get(method, {})
    handles = {key: of if isinstance(of, list) else [of] for key, of in by_instruction.items()}
    return values, handles


def _compared(
    one: DeviceOperator, value: dict[str, Any], actual: torch.Tensor, nodes: Sequence[_Reference], least: float
) -> DeviceOperator:
    """With the nearest of what may lie there: XNNPACK's images have their channels last."""
    scale, zero = value["scale"], value["zero_point"]
    numbers = (actual.double() - zero) * scale if scale is not None else actual.double()
    for reference in nodes:
        fitting = [
            kept
            for expected in reference.values
            for layout in _layouts(_as_quantized(expected, actual, scale, zero))
            if ("/kernel/" in one.key or list(layout.shape) == value["shape"])
            and (kept := _kept(layout)).numel() == actual.numel()
        ]
        if fitting:
            found = min((agreement.compare(numbers, kept) for kept in fitting), key=_distance)
            broken = found.nonfinite_mismatches > 0
            said = f"{found.nonfinite_mismatches} elements are finite in one of the two only" if broken else ""
            leaves = broken or (found.sqnr_db is not None and found.sqnr_db < least)
            return dataclasses.replace(one, sqnr_db=found.sqnr_db, leaves=leaves, note=said)
    return dataclasses.replace(one, note=_ANOTHER)


def _as_quantized(expected: torch.Tensor, actual: torch.Tensor, scale: float | None, zero: int) -> torch.Tensor:
    """PyTorch's numbers, rounded as those of the .pte are."""
    if scale is None:
        return expected.double()
    if not expected.is_floating_point():
        return (expected.double() - zero) * scale
    low, high = (-128, 127) if actual.dtype.is_signed else (0, 255)
    return (((expected.double() / scale).round() + zero).clamp(low, high) - zero) * scale


def _layouts(value: torch.Tensor) -> list[torch.Tensor]:
    return [value, value.movedim(1, -1)] if value.dim() >= 3 else [value]


def _distance(found: agreement.Agreement) -> tuple[int, float]:
    return found.nonfinite_mismatches, -1e9 if found.sqnr_db is None else -found.sqnr_db


def _kept(value: torch.Tensor) -> torch.Tensor:
    """The elements that the runner keeps."""
    flat = value.reshape(-1)
    return flat[:: max(1, -(-flat.numel() // _MOST_KEPT))]
