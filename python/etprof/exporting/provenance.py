"""PyTorch's provenance notes, which record the nodes from which a node was made (`node.meta["from_node"]`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """Inside this context, exports share provenance notes instead of copying them.

    PyTorch copies all notes of a node for each node made from it, and every pass makes all nodes anew. This takes a tenth of
    the time of quantizing and lowering. Notes can be shared because no code changes a note after it is made.
    """
    from torch.fx import traceback

    note = getattr(traceback, "NodeSource", None)
    if note is None or "__deepcopy__" in vars(note):
        yield  # this version of PyTorch differs, and is left unchanged
        return
    note.__deepcopy__ = lambda self, _memo: self
    try:
        yield
    finally:
        del note.__deepcopy__
