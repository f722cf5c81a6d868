"""An attention layer with caches of keys and values, computed by ExecuTorch's LLM kernels: one step of a tiny decoder."""

from __future__ import annotations

import torch
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  it registers llama::*
from torch import nn

WIDTH, HEADS, CONTEXT, VOCABULARY = 64, 4, 128, 100


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.head = nn.Linear(WIDTH, VOCABULARY)
        shape = 1, CONTEXT, HEADS, WIDTH // HEADS
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, tokens: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        query, key, value = (
            projection(x).view(1, -1, HEADS, WIDTH // HEADS) for projection in (self.query, self.key, self.value)
        )
        at = position[0].item()
        torch._check(at >= 0)
        torch._check(at < CONTEXT)
        torch.ops.llama.update_cache(key, self.keys, at)
        torch.ops.llama.update_cache(value, self.values, at)
        attended = torch.ops.llama.custom_sdpa(query, self.keys, self.values, at, None, 0, True, None)
        return self.head(self.out(attended.reshape(1, -1, WIDTH)))[:, -1]


class CachedAttention:
    """The model, for `etprof export --model FILE:Class`."""

    def get_eager_model(self) -> nn.Module:
        torch.manual_seed(1)
        return Layer().eval()

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        return torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]]), torch.tensor([0])

    def get_dynamic_shapes(self) -> tuple[object, ...]:
        return {1: torch.export.Dim("tokens", max=64)}, None
