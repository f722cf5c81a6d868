"""stateful_decoder: llm_decoder's block with a KV cache that the program keeps: `prefill` and `decode` in one program.

The cache is a buffer of the module, as in Hugging Face's static cache: a run writes its tokens' keys and values at their
positions, and attends to the whole cache. ExecuTorch copies the changed cache back in every run, and gives each method a
separate cache. Its initial content is that of the memory: zeros in etprof-runner and in ExecuTorch's Module.
"""

from __future__ import annotations

import torch
from torch import nn

from etprof.models import llm_decoder
from etprof.models.llm_decoder import CACHE, HEAD, KV_HEADS, MASKED, PROMPT, WIDTH
from etprof.models.seeded import seeded


class Cache(nn.Module):
    """The keys and values of all previous tokens."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, KV_HEADS, CACHE, HEAD))

    def forward(
        self, positions: torch.Tensor, key: torch.Tensor, value: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write new keys and values (1, KV heads, tokens, head) at `positions` (tokens), and return the whole cache."""
        self.keys.index_copy_(2, positions, key)
        self.values.index_copy_(2, positions, value)
        return self.keys, self.values


class Step(nn.Module):
    """Processes some tokens, which attend to the cached previous tokens and to themselves."""

    def __init__(self, block: nn.Module, cache: Cache) -> None:
        super().__init__()
        self.block = block
        self.cache = cache

    def forward(
        self, tokens: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """(1, tokens, width), (tokens, head) twice, (tokens, cache), int64 (tokens) to (1, tokens, width)."""
        out, _, _ = self.block(tokens, cos, sin, mask, lambda key, value: self.cache(positions, key, value))
        return out


def inputs(tokens: torch.Tensor, begin: int) -> tuple[torch.Tensor, ...]:
    """Return the inputs of a Step for tokens (1, count, width) at the positions from `begin` on."""
    positions = torch.arange(begin, begin + tokens.shape[1])
    later = torch.arange(CACHE)[None] > positions[:, None]
    return tokens, *llm_decoder.rotary(positions), torch.where(later, MASKED, 0.0), positions


class StatefulDecoderModel:
    """`stateful_decoder` in the registry."""

    def get_methods(self) -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
        """Return `prefill` with a seeded prompt of 32 tokens, and `decode` with one more token."""
        with seeded():
            step = Step(llm_decoder.DecoderBlock(), Cache()).eval()
            prompt, token = torch.randn(1, PROMPT, WIDTH), torch.randn(1, 1, WIDTH)
        return {"prefill": (step, inputs(prompt, 0)), "decode": (step, inputs(token, PROMPT))}
