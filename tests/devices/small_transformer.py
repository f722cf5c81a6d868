"""transformer_layer on eight tokens, since an emulated CPU is hundreds of times slower than a real one."""

from __future__ import annotations

import torch

from etprof.models.seeded import seeded
from etprof.models.transformer_layer import TransformerLayerModel


class SmallTransformer(TransformerLayerModel):
    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        with seeded():
            return (torch.randn(1, 8, 256),)
