"""From a module and its inputs to an ExecuTorch program: precision, torch.export, quantization, lowering."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etprof.find import BuiltModel

if TYPE_CHECKING:
    import torch
    from executorch.exir import EdgeProgramManager, ExecutorchProgramManager

METHOD = "forward"

_SCALAR_TYPES = {
    "FLOAT": "float32",
    "HALF": "float16",
    "DOUBLE": "float64",
    "LONG": "int64",
    "INT": "int32",
    "SHORT": "int16",
    "CHAR": "int8",
    "BYTE": "uint8",
}


@dataclass(frozen=True)
class ProgramSummary:
    """What a program is made of: inputs and outputs as ExecuTorch sees them, delegate calls and kernel calls."""

    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    delegate_calls: dict[str, int]  # backend to number of calls
    kernel_calls: dict[str, int]  # operator that no backend took, "aten::gelu.out", to number of calls


def with_precision(model: BuiltModel, dtype: str) -> BuiltModel:
    """The model with its floating-point weights and inputs in "fp32" or "fp16"; other types stay."""
    import torch
    from torch.utils import _pytree

    target = torch.float16 if dtype == "fp16" else torch.float32

    def convert(leaf: Any) -> Any:
        return leaf.to(target) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf

    args, kwargs = _pytree.tree_map(convert, (model.args, model.kwargs))
    return dataclasses.replace(model, module=model.module.to(target), args=args, kwargs=kwargs)


def trace(model: BuiltModel) -> torch.export.ExportedProgram:
    """torch.export's program of the model."""
    import torch

    with torch.no_grad():
        return torch.export.export(model.module, model.args, model.kwargs, dynamic_shapes=model.dynamic_shapes)


def quantize(program: torch.export.ExportedProgram, model: BuiltModel) -> torch.export.ExportedProgram:
    """The program in static int8 (weights per channel), its ranges calibrated on the example inputs."""
    import torch
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    with torch.no_grad():
        observed = prepare_pt2e(program.module(), quantizer)
        observed(*model.args, **model.kwargs)
        return trace(dataclasses.replace(model, module=convert_pt2e(observed)))


def to_edge(program: torch.export.ExportedProgram, backend: str) -> EdgeProgramManager:
    """The program in ExecuTorch's edge dialect, with what "xnnpack" takes delegated, or all of it "portable"."""
    from executorch.exir import to_edge_transform_and_lower

    return to_edge_transform_and_lower(program, partitioner=_partitioners(backend), generate_etrecord=True)


def to_executorch(edge: EdgeProgramManager, quantized: bool) -> ExecutorchProgramManager:
    """The program with its memory planned, ready to be written."""
    if quantized:
        # On import it registers the kernels for those quantization operators that no backend took.
        import executorch.kernels.quantized  # noqa: F401
    return edge.to_executorch()


def _partitioners(backend: str) -> list[Any]:
    if backend == "portable":
        return []
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return [XnnpackPartitioner()]


def summarize(program: ExecutorchProgramManager) -> ProgramSummary:
    """Count what is in the program's method."""
    plan = next(plan for plan in program.executorch_program.execution_plan if plan.name == METHOD)
    delegate_calls: dict[str, int] = {}
    kernel_calls: dict[str, int] = {}
    for call in (instruction.instr_args for chain in plan.chains for instruction in chain.instructions):
        if hasattr(call, "delegate_index"):
            backend = plan.delegates[call.delegate_index].id
            delegate_calls[backend] = delegate_calls.get(backend, 0) + 1
        elif hasattr(call, "op_index"):
            operator = plan.operators[call.op_index]
            name = f"{operator.name}.{operator.overload}" if operator.overload else operator.name
            kernel_calls[name] = kernel_calls.get(name, 0) + 1
    return ProgramSummary(
        inputs=[_describe(plan.values[index].val) for index in plan.inputs],
        outputs=[_describe(plan.values[index].val) for index in plan.outputs],
        delegate_calls=delegate_calls,
        kernel_calls=kernel_calls,
    )


def _describe(value: Any) -> dict[str, Any]:
    """A program's value: its type and, of a tensor, dtype and shape (upper bounds where the shape is dynamic)."""
    kind = type(value).__name__.lower()
    if kind != "tensor":
        return {"type": "none" if kind == "null" else kind}
    scalar_type = value.scalar_type.name
    return {
        "type": "tensor",
        "dtype": _SCALAR_TYPES.get(scalar_type, scalar_type.lower()),
        "shape": list(value.sizes),
        "dynamic": value.shape_dynamism.name != "STATIC",
    }
