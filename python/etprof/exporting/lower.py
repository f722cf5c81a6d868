"""From a module and its inputs to an ExecuTorch program: precision, torch.export, quantization, lowering."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from etprof.exporting import explain, patterns, provenance, rounding
from etprof.exporting.find import BuiltModel
from etprof.exporting.keep import effect, freed_by, observed, verify
from etprof.exporting.manifest import Fixed, Method, Tensor

if TYPE_CHECKING:
    import torch
    from executorch.exir import EdgeProgramManager, ExecutorchProgramManager

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


def with_precision(methods: dict[str, BuiltModel], dtype: str) -> dict[str, BuiltModel]:
    """The methods with their floating-point weights and inputs in "fp32", "fp16" or "bf16"; other types stay.

    For a lower precision than fp32 the modules are copies; weights that methods share are shared by their copies.
    """
    import torch
    from torch.utils import _pytree

    target = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[dtype]
    modules = {name: method.module for name, method in methods.items()}
    if dtype != "fp32":
        modules = copy.deepcopy(modules)

    def convert(leaf: Any) -> Any:
        return leaf.to(target) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf

    def convert_input(leaf: Any) -> Any:
        # Of expand(), whose elements share memory, which ExecuTorch cannot have.
        is_shared = isinstance(leaf, torch.Tensor) and leaf.numel() > 0 and 0 in leaf.stride()
        return convert(leaf.contiguous() if is_shared else leaf)

    converted = {}
    for name, method in methods.items():
        module = modules[name]
        # In place, unlike module.to(): an object that holds a buffer beside the module's (a cache) keeps holding that one.
        for tensor in [*module.parameters(), *module.buffers()]:
            # ExecuTorch stores the memory of a permuted tensor, and reads it as if it were not.
            tensor.data = convert(tensor.data).contiguous()
        args, kwargs = _pytree.tree_map(convert_input, (method.args, method.kwargs))
        converted[name] = dataclasses.replace(method, module=module, args=args, kwargs=kwargs)
    return converted


def trace(model: BuiltModel) -> torch.export.ExportedProgram:
    """torch.export's program of the method."""
    import torch

    def export(strict: bool) -> torch.export.ExportedProgram:
        return torch.export.export(
            model.module, model.args, model.kwargs, dynamic_shapes=model.dynamic_shapes, strict=strict
        )

    with torch.no_grad(), provenance.with_all_functions():
        program = export(strict=False)
        # Only TorchDynamo (strict) sees that the two are one.
        return export(strict=True) if _writes_beside_a_buffer(program) else program


def _writes_beside_a_buffer(program: torch.export.ExportedProgram) -> bool:
    """Whether it changes a buffer through another reference, which it took for a constant of its own.

    Hugging Face's static cache is like that: the module registers the tensors that the cache object holds and changes.
    """
    import torch

    signature = program.graph_signature
    buffers = (_initial(program, name) for name in signature.buffers)
    places = {buffer.untyped_storage().data_ptr() for buffer in buffers if isinstance(buffer, torch.Tensor)}
    constants = {
        placeholder
        for placeholder, name in signature.inputs_to_lifted_tensor_constants.items()
        if program.constants[name].untyped_storage().data_ptr() in places
    }
    return any(explain.written(node) in constants for node in program.graph.nodes) if constants else False


def _initial(program: torch.export.ExportedProgram, buffer: str) -> Any:
    """A buffer's value; one that is not persistent is among the constants."""
    return program.state_dict.get(buffer, program.constants.get(buffer))


def _quantizer(kind: str, kept: frozenset[str] = frozenset()) -> Any:
    """XNNPACK's quantizer, kept from what is no floating-point number, and from the nodes of these names."""
    import torch
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )

    class Quantizer(XNNPACKQuantizer):
        def transform_for_annotation(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
            """As the original, which makes an index (`arange + 1`) a floating-point number, too: those stay as they are."""
            nodes = list(model.graph.nodes)
            integers = {
                node: node.args
                for node in nodes
                if isinstance(value := node.meta.get("val"), torch.Tensor) and not value.is_floating_point()
            }
            model = super().transform_for_annotation(model)
            for node, args in integers.items():
                node.args = args
            for node in set(model.graph.nodes) - set(nodes):
                if not node.users:
                    model.graph.erase_node(node)
            model.recompile()
            return model

        def _annotate_for_quantization_config(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
            """As the original, whose annotation of cat asks no filter."""
            model = super()._annotate_for_quantization_config(model)
            for node in model.graph.nodes:
                if node.name in kept:
                    node.meta.pop("quantization_annotation", None)
            return model

    quantizer = Quantizer()
    if kept:
        quantizer.set_filter_function(lambda node: node.name not in kept)
    return quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=kind == "dynamic"))


@dataclasses.dataclass(frozen=True)
class Keep:
    """What is left in float: patterns of `--keep`, and the model's name for messages."""

    model: str
    patterns: Sequence[str]


# Told of the converted module, with weights that are not folded, and of a function that says which values are free where
# the nodes of these names are left in float.
Study = Callable[["torch.fx.GraphModule", Callable[[frozenset[str]], frozenset[str]]], None]


def quantize(
    program: torch.export.ExportedProgram,
    model: BuiltModel,
    kind: str,
    samples: list[list[Any]],
    keep: Keep | None = None,
    study: Study | None = None,
) -> torch.export.ExportedProgram:
    """The program in int8, weights per channel, by XNNPACK's quantizer.

    "static": the ranges of what flows between operators are those seen on the samples, flat inputs each. "dynamic": they are
    taken anew in every run, and only layers that multiply by weights compute in int8. "8da4w": rounding.py has it. Every sample begins with the state (a
    cache, say) with which the model was built, and so does the program. What `keep` chooses stays in float.
    """
    import torch
    from torch.utils import _pytree
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    if kind == "8da4w" and keep is not None:
        with torch.no_grad():
            return trace(rounding.quantize_8da4w(program, model, keep.model, keep.patterns, study))
    structure = _pytree.tree_structure((model.args, model.kwargs))
    with torch.no_grad(), provenance.shared():
        module = program.module()
        state = {name: buffer.clone() for name, buffer in module.named_buffers()}

        @functools.cache
        def quantized(names: frozenset[str]) -> frozenset[str]:
            return observed(prepare_pt2e(copy.deepcopy(pristine), _quantizer(kind, names)))

        pristine = copy.deepcopy(module) if keep is not None or study is not None else module
        kept = None if keep is None else effect(keep.model, pristine, keep.patterns, quantized)

        def observe(graph: torch.fx.GraphModule) -> torch.fx.GraphModule:
            prepared = prepare_pt2e(graph, _quantizer(kind, kept.nodes if kept else frozenset()))
            for sample in samples:
                args, kwargs = _pytree.tree_unflatten(sample, structure)
                prepared(*args, **kwargs)
                for name, buffer in prepared.named_buffers():  # observers have some, too
                    if name in state:
                        buffer.copy_(state[name])
            return prepared

        if study is not None:  # from the start: a copy of an observed graph cannot be converted
            converted = convert_pt2e(observe(copy.deepcopy(pristine)), fold_quantize=False)
            study(converted, functools.partial(freed_by, quantized))
        converted = convert_pt2e(observe(module))
        if keep is not None and kept is not None:
            verify(keep.model, converted, kept)
        return trace(dataclasses.replace(model, module=converted))


def to_edge(
    programs: dict[str, torch.export.ExportedProgram], partitioners: list[Any], quantized: bool
) -> EdgeProgramManager:
    """The programs in ExecuTorch's edge dialect, with what the partitioners take delegated."""
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    # The verifier knows no operator that computes the ranges of dynamic quantization.
    config = EdgeCompileConfig(_check_ir_validity=False) if quantized else None
    with patterns.made_where_needed(), provenance.shared():
        return to_edge_transform_and_lower(
            programs, partitioner=partitioners, compile_config=config, generate_etrecord=True
        )


def graphs(
    programs: dict[str, torch.export.ExportedProgram], edge: EdgeProgramManager, program: ExecutorchProgramManager
) -> str:
    """Each method's graph as text: as torch.export gave it, in the edge dialect, and with its delegates."""
    before = program.get_etrecord().edge_dialect_program
    stages = {
        "exported": lambda name: programs[name],
        "edge": lambda name: before[name] if isinstance(before, dict) else before,
        "lowered": edge.exported_program,
    }
    return "\n".join(f"# {name}: {stage}\n{get(name)}" for name in programs for stage, get in stages.items())


def to_executorch(edge: EdgeProgramManager, quantized: bool) -> ExecutorchProgramManager:
    """The program with its memory planned, ready to be written.

    ExecuTorch drops the initial values of buffers that a method changes; those that are not 0 are kept here.
    """
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    if quantized:
        # On import it registers the kernels for those quantization operators that no backend took.
        import executorch.kernels.quantized  # noqa: F401
    kept = sorted({name for method in edge.methods for name in _initialized(edge.exported_program(method))})
    passes = [InitializedMutableBufferPass(kept)] if kept else []
    return edge.to_executorch(ExecutorchBackendConfig(passes=passes) if passes else None)


def _initialized(program: torch.export.ExportedProgram) -> list[str]:
    """The placeholders of buffers that the program changes and that do not begin as zeros."""
    changed = set(program.graph_signature.buffers_to_mutate.values())
    return [
        placeholder
        for placeholder, buffer in program.graph_signature.inputs_to_buffers.items()
        if buffer in changed and bool(_initial(program, buffer).any())
    ]


def summarize(program: ExecutorchProgramManager) -> dict[str, Method]:
    """Count what is in each method, in the order in which the program has them (by name)."""
    return {plan.name: _summarize_method(plan) for plan in program.executorch_program.execution_plan}


def _summarize_method(plan: Any) -> Method:
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
    return Method(
        inputs=[_describe(plan.values[index].val) for index in plan.inputs],
        input_names=[],
        outputs=[_describe(plan.values[index].val) for index in plan.outputs],
        output_names=[],
        delegate_calls=delegate_calls,
        portable_operators=kernel_calls,
    )


def _describe(value: Any) -> Tensor | Fixed:
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
