"""Inputs on which a quantized model was not calibrated: the check on those of calibration alone is too kind."""

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
    """The example inputs drawn again from other seeds; none where they come out the same or cannot be drawn.

    torch.manual_seed and the generator that it seeds decide what is drawn, also where the model seeds it by itself.
    """
    example = inputs.flatten(built.args, built.kwargs)
    drawn: list[list[Any]] = []
    for seed in range(1, count + 1):
        if (leaves := _draw(built, example, seed)) is None or any(same(leaves, other) for other in (example, *drawn)):
            return []
        drawn.append(leaves)
    return cases_of(method, built, drawn)


def cases_of(method: str, built: BuiltModel, samples: Sequence[list[Any]]) -> list[Case]:
    """The samples, flat inputs each, as held-out inputs."""
    return [_case(method, f"{HELD_OUT} {number}", built, leaves) for number, leaves in enumerate(samples, 1)]


def same(leaves: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two flat inputs hold the same numbers."""
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
    with _seeded_from(seed):
        try:
            leaves = inputs.flatten(*built.draw())
        except Exception:
            return None
    if len(leaves) != len(example):
        return None
    fitted = []
    for leaf, other in zip(leaves, example, strict=True):
        if not isinstance(other, torch.Tensor):
            fitted.append(other)  # fixed at export
        elif isinstance(leaf, torch.Tensor) and leaf.dim() == other.dim() and 0 not in leaf.shape:
            fitted.append(resized(leaf.to(other.dtype), other.shape))
        else:
            return None
    return fitted


@contextmanager
def _seeded_from(seed: int) -> Iterator[None]:
    """Within, torch's generator starts from `seed`, and every seed that the model's own code sets is another one."""
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


def _case(method: str, name: str, built: BuiltModel, leaves: list[Any]) -> Case:
    from torch.utils import _pytree

    args, kwargs = _pytree.tree_unflatten(leaves, _pytree.tree_structure((built.args, built.kwargs)))
    return Case(method, name, args, kwargs)
