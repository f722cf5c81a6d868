"""A narrower transformer_layer with eight tokens, because an emulated CPU is hundreds of times slower than a real one."""

from __future__ import annotations

import torch

from etprof.models.seeded import seeded
from etprof.models.transformer_layer import TransformerLayer

_WIDTH = 64


class SmallTransformer:
    def get_eager_model(self) -> torch.nn.Module:
        with seeded():
            return TransformerLayer(_WIDTH)

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        with seeded():
            return (torch.randn(1, 8, _WIDTH),)
