"""Make an ExecuTorch program of a module and its inputs: precision, torch.export, quantization, lowering."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from etprof.exporting import explain, patterns, provenance, rounding
from etprof.exporting.find import BuiltModel
from etprof.exporting.keep import find_effect, find_observed, find_unquantized, verify_effect
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
    """Return the methods with floating-point weights and inputs in "fp32", "fp16" or "bf16". Other types are unchanged.

    For a lower precision than fp32 the modules are copied. Weights that methods share are also shared by the copies.
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
        # ExecuTorch cannot share memory between elements (expand()); XNNPACK needs contiguous or channels-last inputs.
        if isinstance(leaf, torch.Tensor) and not leaf.is_contiguous(memory_format=torch.channels_last):
            leaf = leaf.contiguous()
        return convert(leaf)

    converted = {}
    for name, method in methods.items():
        module = modules[name]
        # Unlike module.to(), this changes tensors in place, so that another object with the same buffer (a cache) keeps it.
        for tensor in [*module.parameters(), *module.buffers()]:
            # ExecuTorch stores the memory of a permuted tensor, and reads it as if it were not permuted.
            tensor.data = convert(tensor.data).contiguous()
        args, kwargs = _pytree.tree_map(convert_input, (method.args, method.kwargs))
        converted[name] = dataclasses.replace(method, module=module, args=args, kwargs=kwargs)
    return converted


def trace(model: BuiltModel) -> torch.export.ExportedProgram:
    """Return torch.export's program of the method."""
    import torch

    def export(strict: bool) -> torch.export.ExportedProgram:
        return torch.export.export(
            model.module, model.args, model.kwargs, dynamic_shapes=model.dynamic_shapes, strict=strict
        )

    with torch.no_grad(), provenance.with_all_functions():
        program = export(strict=False)
        # Only TorchDynamo (strict) recognizes that both references are the same buffer.
        return export(strict=True) if _writes_buffer_alias(program) else program


def _writes_buffer_alias(program: torch.export.ExportedProgram) -> bool:
    """Return whether a program changes a buffer through another reference, which torch.export took for a constant.

    Hugging Face's static cache is an example: the module registers the tensors that the cache object owns and changes.
    """
    import torch

    signature = program.graph_signature
    buffers = (initial_value(program, name) for name in signature.buffers)
    storages = {buffer.untyped_storage().data_ptr() for buffer in buffers if isinstance(buffer, torch.Tensor)}
    constants = {
        placeholder
        for placeholder, name in signature.inputs_to_lifted_tensor_constants.items()
        if program.constants[name].untyped_storage().data_ptr() in storages
    }
    return any(explain.written_placeholder(node) in constants for node in program.graph.nodes) if constants else False


def initial_value(program: torch.export.ExportedProgram, name: str) -> Any:
    """Return the value of a parameter, buffer, or constant. Buffers that are not persistent are constants."""
    return program.state_dict.get(name, program.constants.get(name))


def _quantizer(kind: str, skipped: frozenset[str] = frozenset()) -> Any:
    """Return XNNPACK's quantizer, which skips values that are not floating-point numbers, and the nodes with these names."""
    import torch
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )

    class Quantizer(XNNPACKQuantizer):
        def transform_for_annotation(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
            """Call the original, which also converts an index (`arange + 1`) to floating point, and restore such integers."""
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
            """Call the original, and remove annotations of skipped nodes, since its annotation of cat ignores the filter."""
            model = super()._annotate_for_quantization_config(model)
            for node in model.graph.nodes:
                if node.name in skipped:
                    node.meta.pop("quantization_annotation", None)
            return model

    quantizer = Quantizer()
    if skipped:
        quantizer.set_filter_function(lambda node: node.name not in skipped)
    return quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=kind == "dynamic"))


@dataclasses.dataclass(frozen=True)
class Keep:
    """The patterns of `--keep`, and the model's name for messages."""

    model: str
    patterns: Sequence[str]


# Called with the converted module, whose weights are not folded, and with a function that returns the values that stay in
# float if the nodes with the given names do.
Study = Callable[["torch.fx.GraphModule", Callable[[frozenset[str]], frozenset[str]]], None]


def quantize(
    program: torch.export.ExportedProgram,
    model: BuiltModel,
    kind: str,
    samples: list[list[Any]],
    keep: Keep | None = None,
    study: Study | None = None,
) -> torch.export.ExportedProgram:
    """Quantize a program to int8 with XNNPACK's quantizer. Weights are quantized per channel.

    "static": ranges of activations come from the samples, each a list of flat inputs. "dynamic": ranges are computed in every
    run, and only layers that multiply by weights compute in int8. "8da4w": see rounding.py. Every sample and the program begin
    with the state (such as a cache) with which the model was built. Operators that match `keep` stay in float.
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
            return find_observed(prepare_pt2e(copy.deepcopy(original), _quantizer(kind, names)))

        original = copy.deepcopy(module) if keep is not None or study is not None else module
        keep_effect = None if keep is None else find_effect(keep.model, original, keep.patterns, quantized)

        def observe(graph: torch.fx.GraphModule) -> torch.fx.GraphModule:
            prepared = prepare_pt2e(graph, _quantizer(kind, keep_effect.nodes if keep_effect else frozenset()))
            for sample in samples:
                args, kwargs = _pytree.tree_unflatten(sample, structure)
                prepared(*args, **kwargs)
                for name, buffer in prepared.named_buffers():  # observers also have buffers
                    if name in state:
                        buffer.copy_(state[name])
            return prepared

        if study is not None:  # this repeats the observation, because a copy of an observed graph cannot be converted
            converted = convert_pt2e(observe(copy.deepcopy(original)), fold_quantize=False)
            study(converted, functools.partial(find_unquantized, quantized))
        converted = convert_pt2e(observe(module))
        if keep is not None and keep_effect is not None:
            verify_effect(keep.model, converted, keep_effect)
        return trace(dataclasses.replace(model, module=converted))


def to_edge(
    programs: dict[str, torch.export.ExportedProgram], partitioners: list[Any], quantized: bool
) -> EdgeProgramManager:
    """Lower the programs to ExecuTorch's edge dialect, and delegate the operators that the partitioners take."""
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    # The verifier knows no operator that computes the ranges of dynamic quantization.
    config = EdgeCompileConfig(_check_ir_validity=False) if quantized else None
    with patterns.skip_unneeded(), provenance.shared():
        return to_edge_transform_and_lower(
            programs, partitioner=partitioners, compile_config=config, generate_etrecord=True
        )


def graphs(
    programs: dict[str, torch.export.ExportedProgram], edge: EdgeProgramManager, program: ExecutorchProgramManager
) -> str:
    """Return each method's graphs as text: from torch.export, in the edge dialect, and with delegates."""
    edge_programs = program.get_etrecord().edge_dialect_program
    stages = {
        "exported": lambda name: programs[name],
        "edge": lambda name: edge_programs[name] if isinstance(edge_programs, dict) else edge_programs,
        "lowered": edge.exported_program,
    }
    return "\n".join(
        f"# {name}: {stage}\n{get_graph(name)}" for name in programs for stage, get_graph in stages.items()
    )


def to_executorch(edge: EdgeProgramManager, quantized: bool) -> ExecutorchProgramManager:
    """Plan the memory of the program, so that it can be written.

    ExecuTorch drops the initial values of buffers that a method changes. This function keeps those that are not 0.
    """
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    if quantized:
        # This import registers kernels for quantization operators that no backend took.
        import executorch.kernels.quantized  # noqa: F401
    placeholders = sorted(
        {name for method in edge.methods for name in _nonzero_changed_buffers(edge.exported_program(method))}
    )
    passes = [InitializedMutableBufferPass(placeholders)] if placeholders else []
    return edge.to_executorch(ExecutorchBackendConfig(passes=passes) if passes else None)


def _nonzero_changed_buffers(program: torch.export.ExportedProgram) -> list[str]:
    """Return the placeholders of buffers that the program changes and whose initial values are not zeros."""
    changed = set(program.graph_signature.buffers_to_mutate.values())
    return [
        placeholder
        for placeholder, buffer in program.graph_signature.inputs_to_buffers.items()
        if buffer in changed and bool(initial_value(program, buffer).any())
    ]


def summarize(program: ExecutorchProgramManager) -> dict[str, Method]:
    """Summarize each method, in the order of the program (by name)."""
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
    """Describe a value of a program: its type and, for a tensor, dtype and shape (upper bounds if the shape is dynamic)."""
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
