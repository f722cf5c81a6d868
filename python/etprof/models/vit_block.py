"""vit_block: the front of a vision transformer: patch embedding, one encoder block, a classifier on the class token.

From "An Image is Worth 16x16 Words" (Dosovitskiy et al., arXiv:2010.11929), in the proportions of ViT-Tiny (heads of 64, a
feed-forward part four times as wide) at a smaller image.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from etprof.models.seeded import seeded

_IMAGE = 96  # pixels a side
_PATCH = 16
_WIDTH = 192
_HEADS = 3
_CLASSES = 100


class Attention(nn.Module):
    """Multi-head self-attention by PyTorch's own scaled_dot_product_attention, as timm and torchvision call it."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(_WIDTH, 3 * _WIDTH)
        self.proj = nn.Linear(_WIDTH, _WIDTH)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(N, tokens, width) to the same shape."""
        heads = self.qkv(tokens).unflatten(-1, (3, _HEADS, _WIDTH // _HEADS)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2])
        return self.proj(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(_WIDTH, eps=1e-6)
        self.attn = Attention()
        self.norm2 = nn.LayerNorm(_WIDTH, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(_WIDTH, 4 * _WIDTH), nn.GELU(), nn.Linear(4 * _WIDTH, _WIDTH))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(N, tokens, width) to the same shape."""
        tokens = tokens + self.attn(self.norm1(tokens))
        return tokens + self.mlp(self.norm2(tokens))


class VitBlock(nn.Module):
    """An image (N, 3, 96, 96) to 100 logits, by 36 patches and a class token of 192 numbers each."""

    def __init__(self) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(3, _WIDTH, kernel_size=_PATCH, stride=_PATCH)
        self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, _WIDTH))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, 1 + (_IMAGE // _PATCH) ** 2, _WIDTH))
        self.block = Block()
        self.norm = nn.LayerNorm(_WIDTH, eps=1e-6)
        self.head = nn.Linear(_WIDTH, _CLASSES)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """(N, 3, 96, 96) to (N, 100)."""
        patches = self.patch_embed(image).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls_token.expand(image.shape[0], -1, -1), patches], dim=1)
        return self.head(self.norm(self.block(tokens + self.pos_embed))[:, 0])


class VitBlockModel:
    """`vit_block` in the registry."""

    def get_eager_model(self) -> nn.Module:
        """The network with seeded random weights."""
        with seeded():
            return VitBlock()

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        """One seeded random image (1, 3, 96, 96)."""
        with seeded():
            return (torch.randn(1, 3, _IMAGE, _IMAGE),)
