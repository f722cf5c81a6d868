"""Skip ExecuTorch's XNNPACK pattern searches in graphs that cannot contain the pattern, because patterns are slow to make."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

_PASSES = "executorch.backends.xnnpack._passes"
# The passes that search for patterns: the pass's module and class; the module, function, and return type that provide its
# patterns; and regular expressions for names of operators, each of which a graph with the pattern must contain.
SEARCHES = (
    ("convert_to_sdpa", "ConvertToSDPAPass", "sdpa", "get_graphs", list, ("softmax", "mm|matmul")),
    # Some versions decompose the operator, which then gathers rows and columns by index.
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
    """Return whether each expression matches the name of an operator in the graph."""
    targets = [str(node.target) for node in graph.nodes if node.op == "call_function"]
    return all(any(re.search(name, target) for target in targets) for name in names)


@contextlib.contextmanager
def skip_unneeded() -> Iterator[None]:
    """Inside this context, lowering makes only the patterns that its graphs may contain.

    ExecuTorch makes all patterns for the first model of a process by exporting some small models. This takes 4 s, a third of
    the time for a small model. Inside this context, those passes search a graph without candidates for no pattern.
    """
    with contextlib.ExitStack() as restored:
        for file, name, maker, getter, empty, names in SEARCHES:
            try:
                module = import_module(f"{_PASSES}.{file}")
                kind = getattr(module, name)
                getattr(getattr(module, maker), getter)
            except (ImportError, AttributeError):
                continue  # this version of ExecuTorch differs, and is left unchanged
            restored.callback(setattr, kind, "call", kind.call)
            kind.call = _make_search(module, kind.call, maker, SimpleNamespace(**{getter: empty}), names)
        yield


def _make_search(module: Any, call: Any, maker: str, no_patterns: SimpleNamespace, names: tuple[str, ...]) -> Any:
    def search(self: Any, graph_module: Any) -> Any:
        if may_have(graph_module.graph, names):
            return call(self, graph_module)
        patterns = getattr(module, maker)
        setattr(module, maker, no_patterns)
        try:
            return call(self, graph_module)
        finally:
            setattr(module, maker, patterns)

    return search
