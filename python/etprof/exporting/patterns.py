"""The patterns that ExecuTorch's XNNPACK backend looks for, made only where one may be found."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

_PASSES = "executorch.backends.xnnpack._passes"
# Its passes that look for patterns: the module and the class, where the class gets the patterns, and what names of operators
# in each pattern match.
SEARCHES = (
    ("convert_to_sdpa", "ConvertToSDPAPass", "sdpa", "get_graphs", list, ("softmax", "mm|matmul")),
    # (decomposed, as some versions have it, it takes rows and columns by their index)
    (
        "convert_to_upsample_bilinear2d",
        "ConvertToUpsampleBilinear2d",
        "bilinear_2d",
        "get_graphs_dict",
        dict,
        ("upsample|index",),
    ),
)


def may_have(graph: Any, names: tuple[str, ...]) -> bool:
    """Whether for each of the expressions the graph has an operator whose name matches it."""
    targets = [str(node.target) for node in graph.nodes if node.op == "call_function"]
    return all(any(re.search(name, target) for target in targets) for name in names)


@contextlib.contextmanager
def made_where_needed() -> Iterator[None]:
    """What is lowered meanwhile has only the patterns made that its graphs may have.

    Otherwise a process makes all of them for its first model: it exports some small models, for 4 s, which is a third of
    the time that a small model takes. Here those passes look for nothing in a graph in which nothing can be found.
    """
    with contextlib.ExitStack() as restored:
        for file, name, maker, getter, nothing, names in SEARCHES:
            try:
                module = import_module(f"{_PASSES}.{file}")
                kind = getattr(module, name)
                getattr(getattr(module, maker), getter)
            except (ImportError, AttributeError):
                continue  # another version, which does as it does
            restored.callback(setattr, kind, "call", kind.call)
            kind.call = _searching(module, kind.call, maker, SimpleNamespace(**{getter: nothing}), names)
        yield


def _searching(module: Any, call: Any, maker: str, none: SimpleNamespace, names: tuple[str, ...]) -> Any:
    def search(self: Any, graph_module: Any) -> Any:
        if may_have(graph_module.graph, names):
            return call(self, graph_module)
        patterns = getattr(module, maker)
        setattr(module, maker, none)
        try:
            return call(self, graph_module)
        finally:
            setattr(module, maker, patterns)

    return search
