"""Find the user's packages that register models in a folder, without importing them."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from etprof import models

if TYPE_CHECKING:
    from types import ModuleType

_MAX_INIT_BYTES = 1 << 20  # bytes; larger __init__.py files are not read


def registered(folder: Path) -> dict[str, list[Path]]:
    """Return the models that packages in `folder` and `folder`/models register, each with the __init__.py files.

    A package registers a model by a call in its __init__.py whose first argument is the name: register_model("my_net", ...).
    """
    found: dict[str, list[Path]] = {}
    for init in _packages(folder):
        for name in registered_by(init):
            found.setdefault(name, []).append(init)
    return found


def computing(folder: Path) -> list[Path]:
    """Return the __init__.py files that compute a model's name when they run."""
    return [init for init in _packages(folder) if computes_names(init)]


def _packages(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*/__init__.py"), *folder.glob("models/*/__init__.py")])


def registered_by(init: Path) -> list[str]:
    """Return the models that one file registers, in order. A file that cannot be parsed registers none."""
    return list(dict.fromkeys(name for name in _names(init) if name is not None))


def computes_names(init: Path) -> bool:
    """Return whether the file registers a model whose name is computed when it runs, for example in a loop."""
    return None in _names(init)


def _names(init: Path) -> list[str | None]:
    """Return the first argument of each call of register_model; None: the argument is not a constant."""
    etprof_init = Path(models.__file__)
    try:
        if init.stat().st_size > _MAX_INIT_BYTES or (etprof_init.exists() and init.samefile(etprof_init)):
            return []
        source = init.read_bytes()
        tree = ast.parse(source) if b"register_model" in source else None
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [_name(node.args[0]) for node in ast.walk(tree) if _is_registration(node)] if tree else []


def _is_registration(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="register_model") | ast.Attribute(attr="register_model"), args=[_, *_]):
            return True
    return False


def _name(argument: ast.expr) -> str | None:
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None


def import_package(init: Path) -> ModuleType:
    """Import the package of an __init__.py, as part of its parent packages, so that it registers its models.

    Raises:
        ImportError: Another module has the package's name.
        Exception: The package's code raises.
    """
    init = init.resolve()
    parts = [init.parent.name]
    root = init.parent.parent
    while (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    name = ".".join(parts)
    sys.path.insert(0, str(root))
    try:
        module = importlib.import_module(name)
    finally:
        sys.path.remove(str(root))
    module_file = getattr(module, "__file__", None)
    if module_file is None or Path(module_file).resolve() != init:
        raise ImportError(
            f"the name of the package {name} is taken by {module_file or 'a module of Python itself'}: rename it"
        )
    return module
