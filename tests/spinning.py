"""A language model with known step times: its operators wait for `a + b * position` nanoseconds.

The kernel is tests/runner/spin_kernel.cc. Each further token of a step adds 1,000 ns to each operator.
"""

from __future__ import annotations

from pathlib import Path

import torch
from executorch.exir import to_edge
from torch import nn

CONTEXT, VOCABULARY, MAX_TOKENS, WIDTH = 4096, 50, 128, 8
# ns, and ns per token in the cache. All pairs differ, so that the kernel can distinguish the operators.
OPERATORS = [(100e3, 0), (200e3, 0), (300e3, 0), (50e3, 50), (100e3, 100), (150e3, 200), (200e3, 150), (50e3, 300)]


class Spinning(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("seen", torch.zeros(CONTEXT, 1))

    def forward(self, tokens: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        self.seen.index_copy_(0, position + torch.arange(tokens.shape[1]), x[0, :, :1])
        for a, b in OPERATORS:
            x = torch.ops.etprof_spin.spin(x, position, a, float(b))
        return self.head(x[:, -1]) + self.seen[0]


def declare() -> torch.library.Library:
    library = torch.library.Library("etprof_spin", "DEF")
    parameters = "Tensor x, Tensor position, float a, float b"
    library.define(f"spin({parameters}) -> Tensor")
    library.define(f"spin.out({parameters}, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("spin", lambda x, _position, _a, _b: x.clone(), "CompositeExplicitAutograd")
    library.impl("spin.out", lambda x, _position, _a, _b, out: out.copy_(x), "CompositeExplicitAutograd")
    torch.library.register_fake("etprof_spin::spin", lambda x, _position, _a, _b: torch.empty_like(x))
    return library


def export(path: Path) -> Path:
    declared = declare()
    torch.manual_seed(1)
    example = torch.zeros(1, 7, dtype=torch.long), torch.zeros(1, dtype=torch.long)
    shapes = {1: torch.export.Dim("tokens", min=1, max=MAX_TOKENS)}, None
    program = torch.export.export(Spinning().eval(), example, dynamic_shapes=shapes, strict=True)
    path.write_bytes(to_edge(program).to_executorch().buffer)
    del declared
    return path
