"""Contexts that change how PyTorch records a node's origin (`node.meta["from_node"]`) and its stack trace."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from etprof.exporting import explain

if TYPE_CHECKING:
    import traceback


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


@contextlib.contextmanager
def with_all_functions() -> Iterator[None]:
    """Inside this context, stack traces that torch.export records contain all functions of the user, not only `forward`.

    Without this, an operator in a function that forward() calls has the line of the call.
    """
    from torch.fx.proxy import TracerBase

    original = getattr(TracerBase, "_filter_traceback_frames", None)
    if original is None:
        yield  # this version of PyTorch differs, and is left unchanged
        return
    is_users = functools.cache(explain.is_users)

    def filter_frames(self: TracerBase, summary: traceback.StackSummary) -> traceback.StackSummary:
        frames = original(self, summary)
        begin = next((i for i, frame in enumerate(summary) if frame in frames), len(summary))
        frames[:] = [frame for frame in summary[begin:] if frame in frames or is_users(frame.filename)]
        return frames

    TracerBase._filter_traceback_frames = filter_frames
    try:
        yield
    finally:
        TracerBase._filter_traceback_frames = original
