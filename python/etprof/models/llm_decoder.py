"""llm_decoder: a decoder block of a large language model with its KV cache: `prefill` and `decode` in one program.

Llama's block (Touvron et al., arXiv:2302.13971) with grouped-query attention (Ainslie et al., arXiv:2305.13245), written from
the papers: RMSNorm, rotary positions, SwiGLU. Both methods have the same weights.

The cache is an input, and the new keys and values are outputs, which the caller writes into the cache (stateful_decoder keeps its
own cache). So a run depends only on its inputs, runs can be repeated, and no method copies the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from etprof.models.seeded import seeded

WIDTH = 256
HEADS = 8
KV_HEADS = 2
HEAD = WIDTH // HEADS
HIDDEN = 688  # 8/3 of the width, rounded to a multiple of 16
PROMPT = 32  # tokens
CACHE = 128  # tokens

# Maps the new tokens' keys and values to the keys and values that they attend to, each (N, KV heads, tokens, head).
ExtendCache = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]

MASKED = -1e4  # added to scores of masked keys; fp16 can represent it


class RmsNorm(nn.Module):
    """RMS normalization: divides by the root mean square and multiplies by a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(N, tokens, width) to the same shape."""
        return tokens * torch.rsqrt(tokens.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


def rotary(positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the cosines and sines (tokens, head) of the rotary embedding at these positions."""
    frequencies = 10000.0 ** (-torch.arange(0, HEAD, 2) / HEAD)
    angles = torch.outer(positions.float(), frequencies).repeat(1, 2)
    return angles.cos(), angles.sin()


def rotated(heads: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate queries or keys (N, heads, tokens, head) by the angles of each token."""
    first, second = heads[..., : HEAD // 2], heads[..., HEAD // 2 :]
    return heads * cos + torch.cat([-second, first], dim=-1) * sin


class Attention(nn.Module):
    """Grouped-query attention over the cache and the new tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.wq = nn.Linear(WIDTH, WIDTH, bias=False)
        self.wk = nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.wv = nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.wo = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(
        self,
        tokens: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        mask: torch.Tensor,
        extend_cache: ExtendCache,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(N, tokens, width) to the same shape, and the tokens' keys and values (N, KV heads, tokens, head)."""
        query, key, value = (
            linear(tokens).unflatten(-1, (-1, HEAD)).transpose(1, 2) for linear in (self.wq, self.wk, self.wv)
        )
        query, key = rotated(query, cos, sin), rotated(key, cos, sin)
        keys, values = extend_cache(key, value)
        # Queries that share a key head become rows of one matrix, so that no key is copied.
        grouped = query.reshape(query.shape[0], KV_HEADS, -1, HEAD)
        scores = torch.matmul(grouped, keys.transpose(2, 3)) / math.sqrt(HEAD) + mask.repeat(HEADS // KV_HEADS, 1)
        mixed = torch.matmul(torch.softmax(scores, dim=-1), values).reshape(query.shape)
        return self.wo(mixed.transpose(1, 2).flatten(2)), key, value


class SwiGlu(nn.Module):
    """w2(silu(w1 x) * w3 x)."""

    def __init__(self) -> None:
        super().__init__()
        self.w1 = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.w3 = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.w2 = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(N, tokens, width) to the same shape."""
        return self.w2(functional.silu(self.w1(tokens)) * self.w3(tokens))


class DecoderBlock(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = RmsNorm()
        self.attention = Attention()
        self.ffn_norm = RmsNorm()
        self.feed_forward = SwiGlu()

    def forward(
        self,
        tokens: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        mask: torch.Tensor,
        extend_cache: ExtendCache = lambda key, value: (key, value),
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(N, tokens, width) to the same shape, and the tokens' keys and values."""
        mixed, key, value = self.attention(self.attention_norm(tokens), cos, sin, mask, extend_cache)
        tokens = tokens + mixed
        return tokens + self.feed_forward(self.ffn_norm(tokens)), key, value


class Prefill(nn.Module):
    """Processes the whole prompt, in which each token attends to itself and to the tokens before it."""

    def __init__(self, block: DecoderBlock) -> None:
        super().__init__()
        self.block = block

    def forward(
        self, tokens: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(1, prompt, width), (prompt, head) twice, (prompt, prompt) to (1, prompt, width) and the keys and values."""
        return self.block(tokens, cos, sin, mask)


class Decode(nn.Module):
    """Processes one token, which attends to the cache and to itself."""

    def __init__(self, block: DecoderBlock) -> None:
        super().__init__()
        self.block = block

    def forward(
        self,
        token: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        mask: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(1, 1, width), (1, head) twice, (1, cache + 1), the cache twice to (1, 1, width) and its key and value."""

        def extend_cache(key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)

        return self.block(token, cos, sin, mask, extend_cache)


def causal_mask(tokens: int) -> torch.Tensor:
    """Return a mask (tokens, tokens) to add to scores: each token attends to itself and to the tokens before it."""
    return torch.full((tokens, tokens), MASKED).triu(1)


def cache_mask(filled: int) -> torch.Tensor:
    """Return a mask (1, cache + 1) to add to scores: the first `filled` entries of the cache and the new token are visible."""
    mask = torch.full((1, CACHE + 1), MASKED)
    mask[:, :filled] = 0
    mask[:, -1] = 0
    return mask


class LlmDecoderModel:
    """`llm_decoder` in the registry."""

    def get_methods(self) -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
        """Return `prefill` with a seeded prompt of 32 tokens, and `decode` with one more token and the prompt's cache."""
        with seeded():
            block = DecoderBlock().eval()
            prompt, token = torch.randn(1, PROMPT, WIDTH), torch.randn(1, 1, WIDTH)
        prefill_inputs = (prompt, *rotary(torch.arange(PROMPT)), causal_mask(PROMPT))
        with torch.no_grad():
            _, key, value = block(*prefill_inputs)
        keys, values = (functional.pad(tensor, (0, 0, 0, CACHE - PROMPT)) for tensor in (key, value))
        decode_inputs = (token, *rotary(torch.tensor([PROMPT])), cache_mask(PROMPT), keys, values)
        return {"prefill": (Prefill(block), prefill_inputs), "decode": (Decode(block), decode_inputs)}
