"""toy_cnn with a smaller image, because an emulated CPU is hundreds of times slower than a real one."""

from __future__ import annotations

import torch

from etprof.models.seeded import seeded
from etprof.models.toy_cnn import ToyCnnModel


class SmallToyCnn(ToyCnnModel):
    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        with seeded():
            return (torch.randn(1, 3, 24, 24),)
