"""Inputs on which a quantized model was not calibrated. A check on the calibration inputs alone is too optimistic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from etprof.exporting import inputs
from etprof.exporting.check import HELD_OUT, Case
from etprof.exporting.shapes import resized

if TYPE_CHECKING:
    from etprof.exporting.find import BuiltModel

DRAWS = 4


def cases(method: str, built: BuiltModel, count: int = DRAWS) -> list[Case]:
    """Return example inputs drawn again from other seeds. The list is empty if they are equal or cannot be drawn.

    The seed also changes the inputs of models that call torch.manual_seed themselves.
    """
    example = inputs.flatten(built.args, built.kwargs)
    drawn: list[list[Any]] = []
    for seed in range(1, count + 1):
        if (leaves := _draw(built, example, seed)) is None or any(
            equal_inputs(leaves, other) for other in (example, *drawn)
        ):
            return []
        drawn.append(leaves)
    return make_cases(method, built, drawn)


def make_cases(method: str, built: BuiltModel, samples: Sequence[list[Any]]) -> list[Case]:
    """Return the samples, each a list of flat inputs, as held-out cases."""
    from torch.utils import _pytree

    structure = _pytree.tree_structure((built.args, built.kwargs))
    return [
        Case(method, f"{HELD_OUT} {number}", *_pytree.tree_unflatten(leaves, structure))
        for number, leaves in enumerate(samples, 1)
    ]


def equal_inputs(leaves: Sequence[Any], others: Sequence[Any]) -> bool:
    """Return whether two lists of flat inputs have equal values."""
    import torch

    return len(leaves) == len(others) and all(
        torch.equal(leaf, other)
        if isinstance(leaf, torch.Tensor) and isinstance(other, torch.Tensor)
        else leaf == other
        for leaf, other in zip(leaves, others, strict=True)
    )


def _draw(built: BuiltModel, example: Sequence[Any], seed: int) -> list[Any] | None:
    import torch

    if built.draw is None:
        return None
    with _shift_seeds(seed):
        try:
            leaves = inputs.flatten(*built.draw())
        except Exception:
            return None
    if len(leaves) != len(example):
        return None
    resized_leaves = []
    for leaf, example_leaf in zip(leaves, example, strict=True):
        if not isinstance(example_leaf, torch.Tensor):
            resized_leaves.append(example_leaf)  # fixed at export
        elif isinstance(leaf, torch.Tensor) and leaf.dim() == example_leaf.dim() and 0 not in leaf.shape:
            resized_leaves.append(resized(leaf.to(example_leaf.dtype), example_leaf.shape))
        else:
            return None
    return resized_leaves


@contextmanager
def _shift_seeds(seed: int) -> Iterator[None]:
    """Inside this context, torch's generator starts from `seed`, and seeds that the model's code sets are shifted by it."""
    import torch

    original = torch.manual_seed

    def manual_seed(value: int) -> torch.Generator:
        return original(int(value) + seed)

    with torch.random.fork_rng(devices=[]):
        original(seed)
        torch.manual_seed = manual_seed
        try:
            yield
        finally:
            torch.manual_seed = original
