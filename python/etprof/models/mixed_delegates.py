"""mixed_delegates, for tests: portable operators split it into several delegates, and it takes token indices too."""

from __future__ import annotations

import torch
from torch import nn

from etprof.models.seeded import seeded

_VOCABULARY = 100
_WIDTH = 32


class MixedDelegates(nn.Module):
    """An image (1, 3, 32, 32) and eight token indices (1, 8) to (1, 8, 16) and to an argmax (1, 8).

    The cumulative sum, the flip, the embedding and the argmax are operators that XNNPACK does not take.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_VOCABULARY, _WIDTH)
        self.conv = nn.Conv2d(3, 8, kernel_size=3, stride=2, padding=1)
        self.image_linear = nn.Linear(16, _WIDTH)
        self.token_linear = nn.Linear(_WIDTH, _WIDTH)
        self.head = nn.Linear(_WIDTH, 16)

    def forward(self, image: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(1, 3, 32, 32) and int64 (1, 8) in [0, 100) to float (1, 8, 16) and int64 (1, 8)."""
        planes = torch.relu(self.conv(image)).cumsum(dim=-1)  # (1, 8, 16, 16)
        rows = self.image_linear(planes.mean(dim=2)).flip(1)  # (1, 8, 32)
        mixed = torch.sigmoid(self.token_linear(self.embedding(tokens))) * rows
        scores = self.head(mixed.cumsum(dim=1))
        return scores, scores.argmax(dim=-1)


class MixedDelegatesModel:
    """`mixed_delegates` in the registry."""

    def get_eager_model(self) -> nn.Module:
        """The network with seeded random weights."""
        with seeded():
            return MixedDelegates()

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        """One seeded random image (1, 3, 32, 32) and eight token indices (1, 8), int64."""
        with seeded():
            return (torch.randn(1, 3, 32, 32), torch.randint(0, _VOCABULARY, (1, 8)))
