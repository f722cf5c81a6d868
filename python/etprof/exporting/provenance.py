"""PyTorch's notes of what each node of a graph was made from (`node.meta["from_node"]`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """What is exported meanwhile shares these notes instead of copying them.

    PyTorch copies all notes of a node for each node that is made of it, and every pass makes each node anew: a tenth of the
    time that quantizing and lowering take. Nobody changes a note once it is made.
    """
    from torch.fx import traceback

    note = getattr(traceback, "NodeSource", None)
    if note is None or "__deepcopy__" in vars(note):
        yield  # another version, which does as it does
        return
    note.__deepcopy__ = lambda self, _memo: self
    try:
        yield
    finally:
        del note.__deepcopy__
