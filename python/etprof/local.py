"""The user's own packages that register models, found from the current folder without importing any."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from etprof import models

if TYPE_CHECKING:
    from types import ModuleType

_LARGEST = 1 << 20  # bytes of an __init__.py that is read


def registered(folder: Path) -> dict[str, list[Path]]:
    """The models that the packages in `folder` and in `folder`/models register, each with the __init__.py files that do.

    A package registers a model by a call in its __init__.py whose first argument is the name: register_model("my_net", ...).
    """
    found: dict[str, list[Path]] = {}
    for init in sorted([*folder.glob("*/__init__.py"), *folder.glob("models/*/__init__.py")]):
        for name in registered_by(init):
            found.setdefault(name, []).append(init)
    return found


def registered_by(init: Path) -> list[str]:
    """The models that one file registers, in its order. A file that cannot be read as Python registers none."""
    own = Path(models.__file__)
    try:
        if init.stat().st_size > _LARGEST or (own.exists() and init.samefile(own)):
            return []
        source = init.read_bytes()
        tree = ast.parse(source) if b"register_model" in source else None
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return list(dict.fromkeys(name for node in ast.walk(tree) if (name := _name(node)))) if tree else []


def _name(node: ast.AST) -> str | None:
    match node:
        case ast.Call(
            func=ast.Name(id="register_model") | ast.Attribute(attr="register_model"),
            args=[ast.Constant(value=str() as name), *_],
        ):
            return name
    return None


def import_package(init: Path) -> ModuleType:
    """Import the package of an __init__.py, within the packages around it, so that it registers its models.

    Raises:
        ImportError: Another module has its name.
        Exception: What its code raises.
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
    where = getattr(module, "__file__", None)
    if where is None or Path(where).resolve() != init:
        raise ImportError(
            f"the name of the package {name} is taken by {where or 'a module of Python itself'}: rename it"
        )
    return module
