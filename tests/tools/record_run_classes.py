"""Records tests/report/data/run_classes: programs with dynamic shapes that ExecuTorch runs with inputs of several sizes.

    .venv/bin/python tests/tools/record_run_classes.py

prefill_decode: every fourth run has 128 tokens, the others have one. growing: an attention over a context that grows by
64 tokens per run, and a layer of constant size.
"""

from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings.portable_lib import _load_for_executorch

FOLDER = Path(__file__).resolve().parents[1] / "report" / "data" / "run_classes"
WIDTH = 128
RUNS = 100


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.down(torch.relu(self.up(x))), -1)


class Step(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8 * WIDTH, 8 * WIDTH)

    def forward(self, token: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(token[:, :WIDTH] @ context.transpose(0, 1), -1)
        return self.layer(token)[:, :WIDTH] + weights @ context


def record(name: str, model: torch.nn.Module, example: tuple, dynamic: tuple, inputs: list[tuple]) -> None:
    program = torch.export.export(model.eval(), example, dynamic_shapes=dynamic, strict=True)
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
    module = _load_for_executorch_from(lowered.buffer)
    for values in inputs:
        module.forward(values)
    module.write_etdump_result_to_file(str(FOLDER / f"{name}.etdump"))


def _load_for_executorch_from(buffer: bytes) -> object:
    path = FOLDER / "recorded.pte"
    path.write_bytes(buffer)
    try:
        return _load_for_executorch(str(path), enable_etdump=True)
    finally:
        path.unlink()


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    tokens = torch.export.Dim("tokens", min=1, max=512)
    sizes = [128 if run % 4 == 0 else 1 for run in range(1, RUNS + 1)]
    record(
        "prefill_decode",
        Block(),
        (torch.randn(16, WIDTH),),
        ({0: tokens},),
        [(torch.randn(size, WIDTH),) for size in sizes],
    )
    token = torch.randn(1, 8 * WIDTH)
    context = torch.export.Dim("context", min=1, max=8192)
    record(
        "growing",
        Step(),
        (token, torch.randn(64, WIDTH)),
        (None, {0: context}),
        [(token, torch.randn(64 * run, WIDTH)) for run in range(1, RUNS + 1)],
    )
