"""Random weights and inputs that are the same on every export."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SEED = 20240607


@contextmanager
def seeded(seed: int = SEED) -> Iterator[None]:
    """Seed torch's CPU generator inside this context, and restore its state afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
