"""transformer_layer: one encoder layer with pre-normalization; XNNPACK takes it in several delegates."""

from __future__ import annotations

import math

import torch
from torch import nn

from etprof.models.seeded import seeded

_WIDTH = 256
_HEADS = 4
_SEQUENCE = 128


class SelfAttention(nn.Module):
    """Multi-head self-attention written out as matrix products, so that each of them is an operator of the profile."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(N, sequence, width) to the same shape."""
        query, key, value = (_split_heads(linear(tokens)) for linear in (self.query, self.key, self.value))
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.shape[-1])
        mixed = torch.matmul(torch.softmax(scores, dim=-1), value)
        return self.out(mixed.transpose(1, 2).flatten(2))


def _split_heads(tokens: torch.Tensor) -> torch.Tensor:
    """(N, sequence, width) to (N, heads, sequence, width / heads)."""
    return tokens.unflatten(-1, (_HEADS, tokens.shape[-1] // _HEADS)).transpose(1, 2)


class TransformerLayer(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x)), on (N, sequence, width)."""

    def __init__(self, width: int = _WIDTH) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = SelfAttention(width)
        self.norm2 = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(N, sequence, width) to the same shape."""
        tokens = tokens + self.attention(self.norm1(tokens))
        return tokens + self.feed_forward(self.norm2(tokens))


class TransformerLayerModel:
    """`transformer_layer` in the registry."""

    def get_eager_model(self) -> nn.Module:
        """The layer with seeded random weights."""
        with seeded():
            return TransformerLayer()

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        """One seeded random sequence (1, 128, 256)."""
        with seeded():
            return (torch.randn(1, _SEQUENCE, _WIDTH),)
