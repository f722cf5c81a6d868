"""Find the model that `--model` names, and build it with its example inputs."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etprof import errors, models
from etprof.errors import ExportError, failing_as
from etprof.exporting import explain, local

if TYPE_CHECKING:
    from types import ModuleType

    import torch

METHOD = "forward"  # the name of the method of a model with a single method

_INTERFACE = "get_eager_model() and get_example_inputs()"


@dataclass(frozen=True)
class FoundModel:
    """A model class with its name and its source (a registry's module or a file)."""

    name: str
    source: str
    model_class: type


@dataclass(frozen=True)
class BuiltModel:
    """A module in inference mode, with the inputs for tracing."""

    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dynamic_shapes: Any | None
    # Draws example inputs again, which differ if the generator has another seed. None: the model has several methods.
    draw: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]] | None = None


def split_file_spec(spec: str) -> tuple[Path, str] | None:
    """Split `path/to/model.py:Class` into path and class, which may be empty. Return None if `spec` is a name."""
    path, colon, class_name = spec.rpartition(":")
    if colon and path.endswith(".py"):
        return Path(path), class_name
    return (Path(spec), "") if spec.endswith(".py") else None


def split_package_spec(spec: str) -> tuple[Path, str] | None:
    """Split `path/to/package` or `package:name` into path and name, which may be empty. Return None if `spec` names no folder."""
    if os.sep in spec and Path(spec).is_dir():
        return Path(spec), ""
    path, colon, name = spec.rpartition(":")
    return (Path(path), name) if colon and Path(path).is_dir() else None


def default_name(spec: str) -> str:
    """Return the model's name in file names: the registered name, or the class in a file in snake case (ToyNet: toy_net)."""
    file_spec = split_file_spec(spec)
    if file_spec is None:
        package = split_package_spec(spec)
        return spec if package is None else package[1] or package[0].resolve().name
    path, class_name = file_spec
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", class_name or path.stem)
    return words.lower()


def find_model(spec: str) -> FoundModel:
    """Find the class of a model.

    The model is in a file (`path/to/model.py:Class`), in a package (`path/to/package`), registered by a package in the current
    folder, in etprof's registry, or among ExecuTorch's examples.

    Raises:
        ExportError: There is no such model, two models have its name, or its code cannot be imported.
    """
    if (file_spec := split_file_spec(spec)) is not None:
        return _find_in_file(spec, *file_spec)
    if (package_spec := split_package_spec(spec)) is not None:
        return _find_in_package(default_name(spec), *package_spec)
    examples = executorch_examples()
    local_models = local.registered(Path.cwd())
    if inits := local_models.get(spec):
        if spec in models.EXAMPLES or len(inits) > 1:
            local_paths = " and ".join(map(str, inits))
            sources = (
                f"etprof's example and the one of {local_paths}"
                if spec in models.EXAMPLES
                else f"those of {local_paths}"
            )
            reason = f"two models have the name {spec}: {sources}"
            raise ExportError(
                spec, errors.FIND_MODEL, reason, f"say which: {explain.display_path(str(inits[0].parent))}:{spec}"
            )
        return _find_registered(spec, inits[0])
    if spec in models.EXAMPLES:
        with failing_as(spec, errors.FIND_MODEL, "run script/bootstrap"):
            return FoundModel(spec, "etprof.models", models.registered_class(spec))
    if spec in examples:
        return _find_in_executorch(spec, *examples[spec])
    if (init := Path(spec) / "__init__.py").is_file():
        raise _not_registered(spec, init)
    raise _unknown_model(spec, [*models.EXAMPLES, *examples, *local_models], local.computing(Path.cwd()))


def own_models() -> list[str]:
    """Return the names that packages in the current folder register, sorted."""
    return sorted(local.registered(Path.cwd()))


def _find_in_package(name: str, folder: Path, wanted: str) -> FoundModel:
    """Return the model that a package registers as `wanted`, or its only model if `wanted` is empty."""
    init = folder / "__init__.py"
    if not init.is_file():
        reason = f"{folder} is a folder without an __init__.py"
        raise ExportError(
            name, errors.FIND_MODEL, reason, "name a package, or a file and class: path/to/model.py:Class"
        )
    names = local.registered_by(init)
    computed = local.computes_names(init)
    if wanted in names or (wanted and computed) or (not wanted and not computed and len(names) == 1):
        return _find_registered(wanted or names[0], init)
    if computed:
        reason = f"{init} registers models by names that it computes"
        raise ExportError(name, errors.FIND_MODEL, reason, f"name the model: {folder}:NAME")
    if names:
        reason = f"{folder} registers no model {wanted}" if wanted else f"{folder} registers several models"
        raise ExportError(
            name, errors.FIND_MODEL, reason, f"name one: {', '.join(f'{folder}:{registered}' for registered in names)}"
        )
    raise _not_registered(name, init)


def _not_registered(name: str, init: Path) -> ExportError:
    remedy = (
        f'say there: from etprof.models import register_model; register_model("{name}", f"{{__name__}}.model:Class")'
    )
    return ExportError(name, errors.FIND_MODEL, f"{init} registers no model {name}", remedy)


def _find_registered(name: str, init: Path) -> FoundModel:
    """Import a package of the user, and return the model that it registers."""
    with _convert_import_errors(
        name, f"make `python -c 'import {init.resolve().parent.name}'` run beside it without an error"
    ):
        local.import_package(init)
        is_registered = name in models.model_names()
        model_class = models.registered_class(name) if is_registered else None
    if not is_registered and local.computes_names(init):
        raise _not_registered(name, init)
    if not inspect.isclass(model_class):
        reason = f"{init} names {name}, but what it registers there is no class"
        raise ExportError(name, errors.FIND_MODEL, reason, 'register_model takes a class, or "package.module:Class"')
    _check_interface(name, init, model_class)
    return FoundModel(name, str(init), model_class)


def executorch_examples() -> dict[str, tuple[str, str]]:
    """Return ExecuTorch's examples: name to (module below executorch.examples.models, class). Does not import torch.

    Without ExecuTorch the result is empty.
    """
    if importlib.util.find_spec("executorch") is None:
        return {}
    return dict(importlib.import_module("executorch.examples.models").MODEL_NAME_TO_MODEL)


def build_model(found: FoundModel) -> BuiltModel:
    """Make the module and its example inputs. torch's generator is seeded first, so that both are reproducible.

    Raises:
        ExportError: The class cannot be instantiated, or does not return a module and a tuple of inputs.
    """
    import torch

    torch.manual_seed(0)
    with _convert_build_errors(found):
        model = found.model_class()
        module = model.get_eager_model() if hasattr(model, "get_eager_model") else model
    if not isinstance(module, torch.nn.Module):
        reason = f"get_eager_model() gave a {type(module).__name__}, not a torch.nn.Module"
        raise ExportError(found.name, errors.BUILD_MODEL, reason, "return the module itself")
    with failing_as(found.name, errors.EXAMPLE_INPUTS, "make get_example_inputs() return a tuple of inputs"):
        args = model.get_example_inputs()
        kwargs = dict(_optional(model, "get_example_kwarg_inputs") or {})
        dynamic_shapes = _optional(model, "get_dynamic_shapes")
    if not isinstance(args, tuple | list):
        reason = f"get_example_inputs() gave a {type(args).__name__}, not a tuple"
        raise ExportError(found.name, errors.EXAMPLE_INPUTS, reason, "return a tuple, also for one input: (x,)")

    def draw() -> tuple[tuple[Any, ...], dict[str, Any]]:
        return tuple(model.get_example_inputs()), dict(_optional(model, "get_example_kwarg_inputs") or {})

    return BuiltModel(module.eval(), tuple(args), kwargs, dynamic_shapes, draw)


@contextmanager
def _convert_build_errors(found: FoundModel) -> Iterator[None]:
    """Convert exceptions raised inside to an ExportError with the line of the user's code."""
    name = found.model_class.__name__
    remedy = f"make the class {name} work by itself first"

    def explain_error(error: BaseException) -> tuple[str, str]:
        reason = f"{errors.one_line(error)}{explain.place(error, with_code=True)}"
        arguments = re.search(rf"\b{re.escape(name)}\.__init__\(\) missing .*?: (.+)", str(error))
        if arguments is None:
            return reason, remedy
        return reason, f"the class is made without arguments: give {arguments[1].replace(chr(39), '`')} a default"

    with failing_as(found.name, errors.BUILD_MODEL, remedy, explain_error):
        yield


def build_methods(found: FoundModel) -> dict[str, BuiltModel]:
    """Return the methods of the program by name: those of `get_methods()`, else `forward` alone.

    `get_methods()` returns {name: (module, (input, ...))}; the modules may share weights. The optional `get_dynamic_shapes()`
    then returns {name: shapes}.

    Raises:
        ExportError: As build_model, or get_methods() returns something else.
    """
    if not hasattr(found.model_class, "get_methods"):
        return {METHOD: build_model(found)}
    import torch

    torch.manual_seed(0)
    with _convert_build_errors(found):
        model = found.model_class()
        methods = model.get_methods()
        dynamic_shapes = dict(_optional(model, "get_dynamic_shapes") or {})
    return {
        name: _build_method(found.name, name, value, dynamic_shapes.get(name))
        for name, value in _check_methods(found, methods)
    }


def _check_methods(found: FoundModel, methods: Any) -> list[tuple[str, Any]]:
    if not isinstance(methods, dict) or not methods:
        reason = f"get_methods() gave {'nothing' if methods == {} else f'a {type(methods).__name__}'}"
        raise ExportError(found.name, errors.BUILD_MODEL, reason, "return {name: (module, (input, ...))}")
    for name in methods:
        if not isinstance(name, str) or not name.isidentifier():
            reason = f"get_methods() names a method {name!r}"
            raise ExportError(found.name, errors.BUILD_MODEL, reason, "name methods like Python's functions")
    return list(methods.items())


def _build_method(model: str, name: str, value: Any, dynamic_shapes: Any) -> BuiltModel:
    import torch

    match value:
        case (torch.nn.Module() as module, tuple() | list() as args):
            return BuiltModel(module.eval(), tuple(args), {}, dynamic_shapes)
        case _:
            reason = f"get_methods() gave no (module, inputs) for {name}"
            raise ExportError(model, errors.BUILD_MODEL, reason, "return {name: (module, (input, ...))}")


def _optional(model: object, method: str) -> Any:
    return getattr(model, method)() if hasattr(model, method) else None


def _find_in_file(spec: str, path: Path, class_name: str) -> FoundModel:
    name = default_name(spec)
    if not path.is_file():
        raise ExportError(name, errors.FIND_MODEL, f"no such file: {path}", "check the path")
    module = _import_file(name, path)
    candidates = [
        key for key, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module.__name__
    ]
    model_class = getattr(module, class_name, None) if class_name else None
    if not inspect.isclass(model_class):
        reason = f"{path} has no class {class_name}" if class_name else f"no class of {path} was named"
        raise ExportError(name, errors.FIND_MODEL, reason, _class_remedy(path, class_name, candidates))
    _check_interface(name, path, model_class)
    return FoundModel(name, str(path), model_class)


class _SourceLoader(SourceFileLoader):
    """Compiles the file at every import, and writes no bytecode.

    Python uses stored bytecode if the size and the modification time in seconds of the file are unchanged. It would miss an
    edit within the same second that keeps the size (`relu` to `gelu`).
    """

    def path_stats(self, path: str) -> dict:
        raise OSError(f"no bytecode of {path} is used")


def _import_file(name: str, path: Path) -> ModuleType:
    """Import a file that belongs to no package. The file can import its neighbors by their names.

    Its functions can import them later, too, but then installed modules have precedence.
    """
    module_name = f"etprof_user_model_{path.stem}"
    module_spec = importlib.util.spec_from_file_location(module_name, path)
    if module_spec is None or module_spec.loader is None:
        raise ExportError(name, errors.FIND_MODEL, f"Python cannot import {path}", "check the file")
    if isinstance(module_spec.loader, SourceFileLoader):
        module_spec.loader = _SourceLoader(module_name, module_spec.loader.path)  # absolute
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[module_name] = module  # dataclasses and torch.export look a class's module up there
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    try:
        with _convert_import_errors(name, f"make `python {path}` run without an error"):
            module_spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    if folder not in sys.path:
        sys.path.append(folder)
    return module


@contextmanager
def _convert_import_errors(name: str, remedy: str) -> Iterator[None]:
    """Convert exceptions raised inside to an ExportError with the line of the user's code."""
    with failing_as(name, errors.FIND_MODEL, remedy):
        try:
            yield
        except SyntaxError:
            raise
        except (Exception, SystemExit) as error:
            reason = errors.one_line(error)
            if isinstance(error, ModuleNotFoundError):
                # A part of an existing package is missing, so installing a package does not help.
                if (error.name or "").partition(".")[0] not in sys.modules:
                    raise
                reason = f"there is no module {error.name}"
            elif isinstance(error, ImportError):
                if "attempted relative import" not in str(error):
                    raise
                remedy = "give the package's folder, not the file: only in a package are there relative imports"
            elif isinstance(error.__cause__, ImportError):
                raise
            raise ExportError(name, errors.FIND_MODEL, f"{reason}{explain.place(error)}", remedy) from error


def _class_remedy(path: Path, class_name: str, candidates: list[str]) -> str:
    if not candidates:
        return f"define a class with {_INTERFACE} in {path}"
    close = difflib.get_close_matches(class_name, candidates, n=1)
    if close:
        return f"did you mean {path}:{close[0]}?"
    return f"name one of its classes: {', '.join(f'{path}:{candidate}' for candidate in candidates)}"


def _check_interface(name: str, path: Path, model_class: type) -> None:
    """Require both methods, or get_methods. A torch.nn.Module needs no get_eager_model, since it is itself the model."""
    import torch

    if callable(getattr(model_class, "get_methods", None)):
        return
    needed = ["get_example_inputs"]
    if not issubclass(model_class, torch.nn.Module):
        needed.append("get_eager_model")
    missing = [method for method in needed if not callable(getattr(model_class, method, None))]
    if missing:
        reason = f"the class {model_class.__name__} of {path} has no {' and no '.join(missing)}"
        remedy = f"give it {_INTERFACE}; the latter returns a tuple of inputs, as for torch.export"
        raise ExportError(name, errors.FIND_MODEL, reason, remedy)


def _find_in_executorch(name: str, module: str, class_name: str) -> FoundModel:
    full_name = f"executorch.examples.models.{module}"
    with failing_as(name, errors.FIND_MODEL, "this example of ExecuTorch does not work here; try another"):
        try:
            return FoundModel(name, full_name, getattr(importlib.import_module(full_name), class_name))
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("executorch."):
                raise
            reason = f"the installed executorch has no module {error.name}, which its own example {name} needs"
            raise ExportError(name, errors.FIND_MODEL, reason, "take the model from ExecuTorch's repository") from error


def _unknown_model(spec: str, known: list[str], computing: list[Path]) -> ExportError:
    close = difflib.get_close_matches(spec, known, n=1)
    remedy = f"did you mean {close[0]}? " if close else ""
    if computing and not close:
        init = Path(explain.display_path(str(computing[0])))
        remedy = (
            f"{init} registers models by names that it computes: if this is one of them, give {init.parent}:{spec}. "
        )
    remedy += "`etprof export --list-models` lists the models; one of your own is path/to/model.py:Class or a package (`etprof new-model`)"
    return ExportError(spec, errors.FIND_MODEL, f"there is no model named {spec}", remedy)
