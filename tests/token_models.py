"""Tiny language models with a cache, as in exports of ExecuTorch and optimum, and the tokens that PyTorch generates.

decoder   tokens [1, n <= 64] and the position of the first; logits of the last token (ExecuTorch's export)
each      a position of each token, logits of each token (optimum's export)
shared    two methods, prefill of 8 tokens and decode of 1, with one cache
apart     the same, exported without sharing: each method has a cache of its own
recurrent a state that every step changes
random    logits that are drawn
nan       a decoder whose logits are NaN from position 20 on
multimodal vision_encoder, token_embedding, and text_decoder, which takes the embeddings of both (optimum's layout)
whisper   encoder and text_decoder, which takes one token and what the encoder gave (optimum's layout)
"""

from __future__ import annotations

from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from safetensors.torch import save_file
from torch import nn

WIDTH, CONTEXT, VOCABULARY, MAX_TOKENS, CHUNK = 16, 128, 100, 64, 8
PATCHES, FRAMES = 4, 24  # outputs of the encoders


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
        return self.decode(self.embedding(tokens), position)

    def decode(self, embeddings: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        at = position if self.of_each else position + torch.arange(embeddings.shape[1])
        x = embeddings[0] + torch.sin(at[:, None] * torch.arange(1, WIDTH + 1)[None] * 0.1)
        self.keys.index_copy_(0, at, self.key(x))
        self.values.index_copy_(0, at, self.value(x))
        scores = self.query(x) @ self.keys.T
        scores = scores.masked_fill(torch.arange(CONTEXT)[None] > at[:, None], -1e9)
        x = x + self.out(torch.softmax(scores, -1) @ self.values)
        logits = self.head(x)[None]
        return logits if self.of_each else logits[:, -1]


class Recurrent(nn.Module):
    """A model to whose state every step adds."""

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


class Nan(Decoder):
    def forward(self, tokens: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        last = position + tokens.shape[1] - 1
        return super().forward(tokens, position) + torch.where(last >= 20, float("nan"), 0.0)


class Multimodal(Decoder):
    """A model whose text_decoder is `decode` and whose token_embedding is `embedding`."""

    def __init__(self) -> None:
        super().__init__(of_each=True)
        self.patches = nn.Linear(3 * 16, WIDTH)

    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.patches(pixels.reshape(1, PATCHES, -1))


class Whisper(Decoder):
    """A model whose steps compute and store the keys and values of the encoder's outputs."""

    def __init__(self) -> None:
        super().__init__(of_each=True)
        self.frames = nn.Linear(10, WIDTH)
        self.cross_key, self.cross_value, self.cross_out = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.register_buffer("cross_keys", torch.zeros(FRAMES, WIDTH))
        self.register_buffer("cross_values", torch.zeros(FRAMES, WIDTH))

    def encode(self, mel: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.frames(mel.transpose(1, 2)))

    def forward(self, tokens: torch.Tensor, encoded: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        self.cross_keys.index_copy_(0, torch.arange(FRAMES), self.cross_key(encoded[0]))
        self.cross_values.index_copy_(0, torch.arange(FRAMES), self.cross_value(encoded[0]))
        seen = torch.softmax(x[0] @ self.cross_keys.T, -1) @ self.cross_values
        return self.decode(x + self.cross_out(seen)[None], position)


class Call(nn.Module):
    """Makes a function of a module a separate module."""

    def __init__(self, model: nn.Module, name: str) -> None:
        super().__init__()
        self.model, self.name = model, name

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return getattr(self.model, self.name)(*inputs)


# Inputs of the encoders, standard normal numbers.
ENCODED = {"multimodal": ("vision_encoder", (1, 3, 8, 8)), "whisper": ("encoder", (1, 10, FRAMES))}


def encoder_input(name: str) -> torch.Tensor:
    return torch.randn(ENCODED[name][1], generator=torch.Generator().manual_seed(5))


def make(name: str) -> nn.Module:
    torch.manual_seed(3)
    others = {"recurrent": Recurrent, "random": Random, "multimodal": Multimodal, "whisper": Whisper}
    if name == "nan":
        return Nan(of_each=False).eval()
    return (others[name]() if name in others else Decoder(name == "each")).eval()


def logits(name: str, steps: list[tuple[list[int], int]]) -> torch.Tensor:
    """Returns the logits of the last of some steps, each with tokens and a position, from the eager model."""
    model = make(name)

    def positions(tokens: list[int], at: int) -> torch.Tensor:
        return torch.arange(at, at + len(tokens)) if getattr(model, "of_each", False) else torch.tensor([at])

    with torch.no_grad():
        return [model(torch.tensor([tokens]), positions(tokens, at)) for tokens, at in steps][-1]


def several_methods(name: str) -> dict[str, torch.export.ExportedProgram]:
    model, sizes = make(name), torch.export.Dim("tokens", min=1, max=MAX_TOKENS)
    encoder, ids = ENCODED[name][0], torch.zeros(1, 7, dtype=torch.long)
    calls = {encoder: (Call(model, "encode"), (encoder_input(name),), None)}
    if name == "whisper":
        encoded = torch.zeros(1, FRAMES, WIDTH)
        calls["text_decoder"] = (model, (ids[:, :1], encoded, torch.zeros(1, dtype=torch.long)), None)
    else:
        embeddings = torch.zeros(1, 7, WIDTH)
        calls["token_embedding"] = (Call(model, "embedding"), (ids,), (({1: sizes},),))
        calls["text_decoder"] = (Call(model, "decode"), (embeddings, torch.arange(7)), (({1: sizes}, {0: sizes}),))
    return {
        method: torch.export.export(module, example, dynamic_shapes=shapes, strict=True)
        for method, (module, example, shapes) in calls.items()
    }


def export(name: str, path: Path, constants: dict[str, int] | None = None) -> Path:
    model = make(name)

    def program(tokens: int, dynamic: bool) -> torch.export.ExportedProgram:
        example = torch.zeros(1, tokens, dtype=torch.long), torch.arange(tokens if name == "each" else 1)
        sizes = torch.export.Dim("tokens", min=1, max=MAX_TOKENS)
        shapes = ({1: sizes}, {0: sizes} if name == "each" else None) if dynamic else None
        return torch.export.export(model, example, dynamic_shapes=shapes, strict=True)

    if name in ENCODED:
        methods = several_methods(name)
        save_file(
            {f"{ENCODED[name][0]}/0": encoder_input(name)}, f"{path}.inputs", metadata={"format": "etprof-inputs-1"}
        )
    else:
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
    """Returns the tokens that the eager model generates greedily after a prompt."""
    model, tokens, start = make(name), [], 0
    with torch.no_grad():
        encoded = model.encode(encoder_input(name)) if name in ENCODED else None
        if name == "multimodal":
            model.decode(encoded, torch.arange(PATCHES))
            start = PATCHES

        def step(step_tokens: list[int], at: int) -> int:
            at += start
            if name == "whisper":
                for i, token in enumerate(step_tokens):
                    logits = model(torch.tensor([[token]]), encoded, torch.tensor([at + i]))
                return int(logits.argmax())
            positions = (
                torch.arange(at, at + len(step_tokens)) if getattr(model, "of_each", False) else torch.tensor([at])
            )
            return int(model(torch.tensor([step_tokens]), positions).reshape(-1, VOCABULARY)[-1].argmax())

        tokens.append(step(prompt, 0))
        if not decode_sees_prompt:
            model.keys.zero_()
            model.values.zero_()
        for i in range(1, count):
            tokens.append(step(tokens[-1:], len(prompt) + i - 1))
    return tokens
