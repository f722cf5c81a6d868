"""Explain in one line why PyTorch or ExecuTorch refused a model: the cause, the line of the user's code, and the remedy.

docs/guides/export-errors.md has a section for each explanation, with a model that fails and a model that does not. Its test
compares the texts here with the texts in the guide.
"""

from __future__ import annotations

import functools
import importlib.util
import linecache
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etprof.errors import truncated

if TYPE_CHECKING:
    import torch

    from etprof.exporting.find import BuiltModel

GUIDE = "docs/guides/export-errors.md"

Explanation = tuple[str, str]  # reason, and remedy

_MAX_CODE_LENGTH = 80  # characters of the user's code that are quoted


def place(error: BaseException | None, message: str = "", with_code: bool = False) -> str:
    """Return ` (model.py, line 5)`: the innermost line of the user's code in a traceback, or "".

    The traceback is the error's or, without an error, the one in the text `message`. `with_code` quotes the line, too.
    """
    frames = (
        [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)] if error else []
    )
    quoted = [(name, int(line)) for name, line in re.findall(r'File "([^"]+)", line (\d+)', message)]
    for name, line in [*reversed(frames), *reversed(quoted)]:
        if is_users(name):
            code = " ".join(linecache.getline(name, line).split())
            code = truncated("".join(letter for letter in code if letter.isprintable()), _MAX_CODE_LENGTH)
            return f" ({display_path(name)}, line {line}{f': {code}' if with_code and code else ''})"
    return ""


def display_path(name: str) -> str:
    """Return a path for messages: relative to the current folder or to site-packages if it is inside, else absolute."""
    path = Path(name)
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return re.sub(r"^.*/(?:site|dist)-packages/", "", name)


def is_users(name: str) -> bool:
    """Return whether a file may be the user's: not part of Python's standard library, PyTorch, ExecuTorch, or etprof."""
    path = Path(name)
    if not path.is_file() or any(path.is_relative_to(folder) for folder in _libraries()):
        return False
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return bool(installed) or not path.is_relative_to(sysconfig.get_path("stdlib"))


@functools.cache
def _libraries() -> list[str]:
    found = [importlib.util.find_spec(name) for name in ("torch", "torchao", "executorch", "etprof")]
    return [folder for spec in found if spec for folder in spec.submodule_search_locations or []]


def _remedy(text: str, section: str) -> str:
    return f"{text}. See {GUIDE}#{section}"


# --- torch.export ---


def not_traced(
    error: BaseException, methods: Mapping[str, BuiltModel], input_shapes: Sequence[str] = ()
) -> Explanation | None:
    """Explain an error of torch.export. `input_shapes` are the values of --input-shape, which the example inputs have."""
    message = str(error)
    line = _first_line(message)
    location = place(error, message, with_code=True)
    for pattern, explain in _TRACE_RULES:
        if found := re.search(pattern, f"{type(error).__name__}: {message}", re.S):
            if input_shapes and explain is _constrained:
                return _shape_not_free(found, input_shapes)
            return explain(found, location, methods)
    if (failed := _eager_error(methods)) is not None:
        location = place(failed, with_code=True)
        if input_shapes:
            reason = f"with {_shape_options(input_shapes)} the model does not run in PyTorch either: {_first_line(str(failed))}"
            return reason + location, _remedy(
                "give sizes that the model takes, and the same to inputs that belong together", "shapes-that-do-not-fit"
            )
        reason = f"the model does not run on its example inputs in PyTorch either: {_first_line(str(failed))}"
        return reason + location, _remedy(
            "make get_example_inputs() return what forward() takes", "wrong-example-inputs"
        )
    return (
        f"{type(error).__name__}: {line}{location}",
        _remedy("see the traceback with --verbose", "fix-export-errors"),
    )


def _first_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return truncated(lines[0] if lines else "no reason was given", 200)


def _eager_error(methods: Mapping[str, BuiltModel]) -> BaseException | None:
    """Run the methods in PyTorch on their inputs, and return the exception that this raises, or None."""
    from etprof.exporting import check

    try:
        for method in methods.values():
            check.eager_outputs(method.module, method.args, method.kwargs)
    except Exception as error:
        return error
    return None


def _data_dependent(found: re.Match[str], location: str, _methods: Any) -> Explanation:
    expression = truncated(found[1], _MAX_CODE_LENGTH)
    reason = f"what it does depends on the values in a tensor: data-dependent expression {expression}{location}"
    if re.search(r"torchvision/(ops|models/detection)/", location):
        return reason, _remedy("export backbone and head; post-processing cannot be exported", "branches-on-values")
    return reason, _remedy("compute both ways and choose with torch.where", "branches-on-values")


def _not_fitting(match: re.Match[str], _where: str, methods: Mapping[str, BuiltModel]) -> Explanation:
    from etprof.exporting import shapes

    method = next(iter(methods.values()))
    input_count = len(method.args) + len(method.kwargs)
    reason = f"forward({', '.join(shapes.parameters(method.module))}) does not take the {input_count} of get_example_inputs(): {match[0]}"
    return reason, _remedy("return one input for each parameter of forward()", "too-few-or-too-many-inputs")


def _output_type(found: re.Match[str], _where: str, _methods: Any) -> Explanation:
    name = found[1].rpartition(".")[2]
    reason = f"forward() returns a {name}, of which torch.export does not know the parts"
    return reason, _remedy(
        "return tensors: etprof.wrappers.Select(module, 'name') takes them out",
        "outputs-that-are-not-tensors",
    )


def _input_type(found: re.Match[str], _where: str, _methods: Any) -> Explanation:
    reason = f"forward() takes a {found[1].rpartition('.')[2]}, of which torch.export does not know the parts"
    return reason, _remedy("take tensors, in a module around it", "inputs-that-are-not-tensors")


def _left_pytorch(_found: re.Match[str], location: str, _methods: Any) -> Explanation:
    reason = f"forward() leaves PyTorch for NumPy{location}"
    return reason, _remedy("write it with torch's functions", "leaving-pytorch")


def _constrained(found: re.Match[str], _where: str, _methods: Any) -> Explanation:
    def name_dimensions(text: str) -> str:
        return re.sub(r"L\['(\w+)'\]\.size\(\)\[(\d+)\]", r"dimension \2 of \1", text)

    name = name_dimensions(found[1])
    size = re.search(r"specialized it to be a constant \((\d+)\)", found[0])
    guard = re.search(r"satisfy the generated guard (.+?)\.?$", found[0], re.MULTILINE)
    if guard and not size:
        reason = f"not every size in the range of {name} fits this model, which requires {name_dimensions(guard[1])}"
        return reason, _remedy("narrow the range, or leave the size fixed", "a-dynamic-size-that-is-not-dynamic")
    reason = f"the size that was to be dynamic, {name}, is " + (
        f"always {size[1]} in this model" if size else "not free in this model"
    )
    return reason, _remedy(
        "leave it fixed, or take the size from the input's shape", "a-dynamic-size-that-is-not-dynamic"
    )


def _shape_options(input_shapes: Sequence[str]) -> str:
    return " ".join(f"--input-shape {text}" for text in input_shapes)


def _shape_not_free(found: re.Match[str], input_shapes: Sequence[str]) -> Explanation:
    """Explain the error of _constrained for sizes from --input-shape."""
    reason, _ = _constrained(found, "", None)
    size = re.search(r"is always (\d+)", reason)
    others = f"the other inputs of that size, {size[1]}" if size else "the other inputs of that size"
    remedy = f"give the same range to {others}, or leave the size fixed"
    return f"with {_shape_options(input_shapes)}: {reason}", _remedy(remedy, "shapes-that-do-not-fit")


_Rule = tuple[str, Callable[[re.Match[str], str, Any], Explanation]]
_TRACE_RULES: list[_Rule] = [
    (
        r"Could not (?:guard on|extract specialized integer from) data-dependent expression (.+?) \(unhinted",
        _data_dependent,
    ),
    (
        r"missing a required (?:keyword-only )?argument: '\w+'|too many positional arguments|got an unexpected keyword argument '\w+'",
        _not_fitting,
    ),
    (r"Found <class '([\w.<>]+)'> in output, which is not a known type", _output_type),
    (r"Unsupported input type <class '([\w.<>]+)'>", _input_type),
    (r"\.numpy\(\) is not supported", _left_pytorch),
    (r"Constraints violated \((.+?)\)!.*", _constrained),
]


# --- programs that torch.export accepts and a .pte cannot hold ---


def no_tensors(exported: Mapping[str, torch.export.ExportedProgram]) -> Explanation | None:
    """Explain programs that compute nothing. ExecuTorch plans no memory for outputs that are all constants or None."""
    from torch.export.graph_signature import ConstantArgument

    for method, program in exported.items():
        if all(isinstance(spec.arg, ConstantArgument) for spec in program.graph_signature.output_specs):
            reason = "forward() returns no tensor" + (f" (the method {method})" if len(exported) > 1 else "")
            return reason, _remedy("return the tensors that it computes", "outputs-that-are-not-tensors")
    return None


def changed_inputs(
    edge: Mapping[str, torch.export.ExportedProgram], exported: Mapping[str, torch.export.ExportedProgram]
) -> Explanation | None:
    """Explain programs that write into their inputs. ExecuTorch returns such an input as an additional output."""
    for method, program in edge.items():
        if changed := sorted(set(program.graph_signature.user_inputs_to_mutate.values())):
            writes = [node for node in exported[method].graph.nodes if written_placeholder(node) in changed]
            location = place(None, writes[0].meta.get("stack_trace") or "", with_code=True) if writes else ""
            reason = f"forward() changes its input {', '.join(changed)} in place{location}"
            return reason, _remedy("make a new tensor, or keep lasting state in a registered buffer", "changed-inputs")
    return None


def no_kernel(edge: Mapping[str, torch.export.ExportedProgram]) -> Explanation | None:
    """Explain programs with calls that no backend took and that ExecuTorch's kernels refuse at run time."""
    for program in edge.values():
        graphs = [module.graph for module in program.graph_module.modules() if hasattr(module, "graph")]
        for node in (node for graph in graphs for node in graph.nodes):
            for operator, is_refused, subject, replacement, section in _REFUSED_CALLS:
                if node.op == "call_function" and f"aten.{operator}." in str(node.target) and is_refused(node):
                    location = place(None, node.meta.get("stack_trace") or "", with_code=True)
                    return f"ExecuTorch has no kernel for {subject}{location}", _remedy(replacement, section)
    return None


def _has_negative_padding(call: torch.fx.Node) -> bool:
    sizes = [getattr(size, "meta", {}).get("val", size) for size in call.args[1]]  # type: ignore[union-attr]
    # A size that depends on an input's size has the value of the example.
    return any((size if isinstance(size, int) else size.node.hint or 0) < 0 for size in sizes)


# Calls for which ExecuTorch 1.5.1 has an operator but no kernel: operator, condition, name for messages, remedy, and the guide's
# section.
_REFUSED_CALLS: list[tuple[str, Callable[[torch.fx.Node], bool], str, str, str]] = [
    (
        "convolution",
        lambda call: call.meta["val"].dim() > 4,
        "a convolution in three dimensions",
        "write it with convolutions in two",
        "convolutions-in-three-dimensions",
    ),
    (
        "constant_pad_nd",
        _has_negative_padding,
        "negative padding",
        "slice the tensor, as in `x[..., 1:-1]`",
        "negative-padding",
    ),
    (
        "_embedding_bag",
        lambda _call: True,
        "nn.EmbeddingBag",
        "use nn.Embedding, and sum or average its rows",
        "embedding-bags",
    ),
]


def written_placeholder(node: torch.fx.Node) -> str | None:
    """Return the placeholder into which an operator writes, directly or through views."""
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or not schema.arguments:
        return None
    alias = schema.arguments[0].alias_info
    if alias is None or not alias.is_write:
        return None
    base = node.args[0]
    while getattr(base, "op", None) == "call_function" and base.args:
        base = base.args[0]
    return getattr(base, "name", None)


def not_copied(error: BaseException) -> Explanation | None:
    """Explain an error in copying the model to another type."""
    if "deepcopy protocol" not in str(error):
        return None
    return (
        "it has weights that are computed from others, as by torch.nn.utils.weight_norm, so it has no copy in another type",
        "end get_eager_model() with torch.nn.utils.remove_weight_norm(layer) for each such layer",
    )


def unregistered_attributes(warning: str, modules: Sequence[torch.nn.Module]) -> str | None:
    """Return a message for torch.export's warning about attributes that a method assigns and that are not buffers.

    Attributes that hold parameters do not count: nn.LSTM and nn.GRU have lists of them, which torch.export assigns itself.
    Attributes that each run computes from parameters do not count either: the weights of weight_norm and spectral_norm.
    """
    if not (found := re.search(r"The tensor attributes? (.+?) (?:was|were) assigned during export", warning)):
        return None
    names = [name for name in found[1].split(", ") if not any(_is_parameter(module, name) for module in modules)]
    if not names:
        return None
    return f"forward() assigns {', '.join(names)}, which is not a buffer: the .pte loses it after each run ({GUIDE}#state-that-is-forgotten)"


def _is_parameter(module: torch.nn.Module, name: str) -> bool:
    """Return whether a name such as `self.rnn._flat_weights[0]` is a parameter, or is computed from parameters in every run."""
    path = name.removeprefix("self.")
    parameters = dict(module.named_parameters(remove_duplicate=False))
    if {f"{path}_g", f"{path}_orig"} & parameters.keys():
        return True
    value: Any = module
    try:
        for part in re.findall(r"\w+", path):
            value = value[int(part)] if isinstance(value, list | tuple) and part.isdecimal() else getattr(value, part)
    except (AttributeError, IndexError):
        return False
    return any(value is parameter for parameter in parameters.values())


# --- lowering ---


def not_lowered(
    error: BaseException, programs: Mapping[str, torch.export.ExportedProgram], dtype: str
) -> Explanation | None:
    """Explain an error of ExecuTorch's lowering."""
    message = str(error)
    if found := re.search(r"Operator torch\._ops\.([\w.]+?)(?:\.default)? is not in Core ATen opset", message):
        return _no_kernel([found[1]], programs)
    if found := re.search(r"Missing out variants: \{(.+?)\}", message):
        return _no_kernel(re.findall(r"'([\w:.]+)'", found[1]), programs)
    if found := re.search(r"No registered serialization name for <class '(torch\.return_types\.\w+)'>", message):
        reason = f"forward() returns a {found[1]}, which a program cannot hold"
        return reason, _remedy(
            "return the tensors in it, as in `values, indices = x.max(-1)`", "results-of-max-min-and-topk"
        )
    if "amax.default only supports keep_dim == True" in message:
        location = next((line for name in ("aten.max.dim", "aten.amax") if (line := _find_call(name, programs))), "")
        reason = f"XNNPACK takes a maximum along a dimension only where the dimension is kept{location}"
        return reason, _remedy("write keepdim=True, and .squeeze() behind it", "a-maximum-that-loses-its-dimension")
    if found := re.search(r"(cond|map|scan|while_loop)\w* might be aliasing the input or the output", message):
        reason = f"a branch of torch.{found[1]} returns its input, or a view of it{_branching_line(programs)}"
        return reason, _remedy("return a copy: x.clone()", "branches-that-return-their-input")
    location = place(error, message, with_code=True)
    if (refused := _refused_types(message, location, dtype)) is not None:
        return refused
    if found := re.search(
        r"op <EdgeOpOverload: ([\w.]+?)(?:\.default)?>.*was not decomposed or delegated", message, re.S
    ):
        return _not_delegated(found[1], programs)
    if found := re.search(r"Could not guard on data-dependent expression (.+?) \(unhinted", message):
        condition = re.sub(r"\bz?uf?\d+\b", "n", found[1])
        reason = f"a size n depends on the values in a tensor, and nothing says whether {condition}{location}"
        return reason, _remedy("state its bounds with torch._check", "sizes-from-values")
    return None


def _branching(programs: Mapping[str, torch.export.ExportedProgram]) -> list[torch.fx.Node]:
    return [
        node
        for program in programs.values()
        for node in program.graph.nodes
        if node.op == "call_function" and str(node.target) in ("cond", "map_impl", "scan", "while_loop")
    ]


def _branching_line(programs: Mapping[str, torch.export.ExportedProgram]) -> str:
    """Return the user's line with the first torch.cond, map, scan, or while_loop."""
    return next((place(None, node.meta.get("stack_trace") or "", with_code=True) for node in _branching(programs)), "")


def _not_delegated(operator: str, programs: Mapping[str, torch.export.ExportedProgram]) -> Explanation:
    """Explain an operator that a partitioner kept from being decomposed and then did not delegate."""
    branches = _branching(programs)
    if not branches:
        reason = (
            f"the backend's partitioner asked for {operator} whole, and did not take it{_find_call(operator, programs)}"
        )
        return reason, _remedy("try --backend portable, or write it with other operators", "modules-in-torchcond")
    location = _branching_line(programs)
    kind = str(branches[0].target).removesuffix("_impl")
    reason = f"the backend's partitioner does not look inside torch.{kind}, where {operator} is{location}"
    return reason, _remedy(
        "try --backend portable, or compute both ways and choose with torch.where", "modules-in-torchcond"
    )


# --- writing ---


def not_written(error: BaseException) -> Explanation | None:
    """Explain an error in writing that is not an OSError."""
    if isinstance(error, OSError):
        return None
    reason = f"the program cannot be written: {type(error).__name__}: {_first_line(str(error))}{place(error, str(error), with_code=True)}"
    return reason, _remedy("--verbose has the traceback; try --backend portable", "fix-export-errors")


def no_etrecord(error: BaseException) -> str:
    """Return a message for graphs of the .etrecord that PyTorch cannot serialize."""
    line = _first_line(str(error))
    node = re.search(r"Failed serializing node (\w+)", line)
    reason = f"PyTorch cannot serialize {node[1]}" if node else f"{type(error).__name__}: {line}"
    return f"there is no .etrecord, so layers and source lines will not be known: {reason}{place(error, str(error), with_code=True)}"


# --- types and operators ---


def _refused_types(message: str, location: str, dtype: str) -> Explanation | None:
    found = re.search(r"EdgeOpOverload: ([\w.]+?)(?:\.default)?>: schema", message)
    if found is None:
        return None
    if "torch.complex" in message:
        reason = f"ExecuTorch has no complex numbers: {found[1]}{location}"
        return reason, _remedy("write it in real numbers", "complex-numbers")
    kinds = sorted(set(re.findall(r"torch\.(float\d+|bfloat16|int\d+|uint8|bool)", message)))
    if len(kinds) > 1:
        reason = f"{found[1]} mixes {' and '.join(kinds)}{location}"
        return reason, _remedy(_types_to_do(dtype), "types-that-are-mixed")
    return None


def _types_to_do(dtype: str) -> str:
    if dtype == "fp32":
        return "convert one of them with .to()"
    return f"--dtype {dtype} converts weights, buffers and inputs: make a constant a registered buffer"


def _no_kernel(operators: Iterable[str], programs: Mapping[str, torch.export.ExportedProgram]) -> Explanation:
    names = sorted({name.replace("::", ".") for name in operators})
    location = next((found for name in names if (found := _find_call(name, programs))), "")
    return (
        f"ExecuTorch has no kernel for {', '.join(names)}{location}",
        _remedy("write it with other operators", "operators-that-executorch-lacks"),
    )


def _find_call(operator: str, programs: Mapping[str, torch.export.ExportedProgram]) -> str:
    """Return the user's line that calls an operator, directly or through a decomposition."""
    for program in _with_decompositions(programs):
        for node in program.graph.nodes:
            if node.op == "call_function" and str(node.target).removesuffix(".default") == operator:
                return place(None, node.meta.get("stack_trace") or "", with_code=True)
    return ""


def _with_decompositions(
    programs: Mapping[str, torch.export.ExportedProgram],
) -> Iterator[torch.export.ExportedProgram]:
    for program in programs.values():
        yield program
        try:
            yield program.run_decompositions()
        except Exception:  # noqa: S112  this is only to find a line
            continue
