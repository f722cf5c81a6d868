"""Tiny language models with a cache, as ExecuTorch's and optimum's exports have them, and what PyTorch generates with them.

decoder   tokens [1, n <= 64] and the position of the first; logits of the last token (ExecuTorch's export)
each      a position of each token, logits of each token (optimum's export)
shared    two methods, prefill of 8 tokens and decode of 1, with one cache
apart     the same, exported without sharing: each method has a cache of its own
recurrent a state that every step changes
random    logits that are drawn
"""

from __future__ import annotations

from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from torch import nn

WIDTH, CONTEXT, VOCABULARY, MOST, CHUNK = 16, 128, 100, 64, 8


class Decoder(nn.Module):
    """One layer of attention over a cache that is indexed by position."""

    def __init__(self, of_each: bool) -> None:
        super().__init__()
        self.of_each = of_each
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("keys", torch.zeros(CONTEXT, WIDTH))
        self.register_buffer("values", torch.zeros(CONTEXT, WIDTH))
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.6)

    def forward(self, tokens: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        at = position if self.of_each else position + torch.arange(tokens.shape[1])
        x = self.embedding(tokens)[0] + torch.sin(at[:, None] * torch.arange(1, WIDTH + 1)[None] * 0.1)
        self.keys.index_copy_(0, at, self.key(x))
        self.values.index_copy_(0, at, self.value(x))
        scores = self.query(x) @ self.keys.T
        scores = scores.masked_fill(torch.arange(CONTEXT)[None] > at[:, None], -1e9)
        x = x + self.out(torch.softmax(scores, -1) @ self.values)
        logits = self.head(x)[None]
        return logits if self.of_each else logits[:, -1]


class Recurrent(nn.Module):
    """Every step adds to its state."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.register_buffer("state", torch.zeros(CONTEXT, WIDTH))

    def forward(self, tokens: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.state.add_(self.embedding(tokens)[0].mean(0)[None] + position)
        return self.head(self.state.mean(0)[None])


class Random(Recurrent):
    def forward(self, tokens: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        return super().forward(tokens, position) + torch.rand(1, VOCABULARY)


def make(name: str) -> nn.Module:
    torch.manual_seed(3)
    others = {"recurrent": Recurrent, "random": Random}
    return (others[name]() if name in others else Decoder(name == "each")).eval()


def logits(name: str, steps: list[tuple[list[int], int]]) -> torch.Tensor:
    """Those of the last of some steps, tokens at a position each, by the eager model."""
    model = make(name)
    with torch.no_grad():
        return [model(torch.tensor([tokens]), torch.tensor([at])) for tokens, at in steps][-1]


def export(name: str, path: Path, constants: dict[str, int] | None = None) -> Path:
    model = make(name)

    def program(tokens: int, dynamic: bool) -> torch.export.ExportedProgram:
        example = torch.zeros(1, tokens, dtype=torch.long), torch.arange(tokens if name == "each" else 1)
        sizes = torch.export.Dim("tokens", min=1, max=MOST)
        shapes = ({1: sizes}, {0: sizes} if name == "each" else None) if dynamic else None
        return torch.export.export(model, example, dynamic_shapes=shapes, strict=True)

    methods = {"forward": program(7, True)}
    if name in ("shared", "apart"):
        methods = {"prefill": program(CHUNK, False), "decode": program(1, False)}
    with torch.no_grad():
        edge = to_edge_transform_and_lower(
            methods,
            partitioner=[XnnpackPartitioner()],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
            constant_methods=constants,
        )
    config = ExecutorchBackendConfig()
    if name == "shared":
        config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    path.write_bytes(edge.to_executorch(config).buffer)
    return path


def generate(name: str, prompt: list[int], count: int, *, decode_sees_prompt: bool = True) -> list[int]:
    """The greedy text after a prompt, by the eager model."""
    model, tokens = make(name), []
    with torch.no_grad():

        def step(given: list[int], at: int) -> int:
            positions = torch.arange(at, at + len(given)) if name == "each" else torch.tensor([at])
            return int(model(torch.tensor([given]), positions).reshape(-1, VOCABULARY)[-1].argmax())

        tokens.append(step(prompt, 0))
        if not decode_sees_prompt:
            model.keys.zero_()
            model.values.zero_()
        for i in range(1, count):
            tokens.append(step(tokens[-1:], len(prompt) + i - 1))
    return tokens
