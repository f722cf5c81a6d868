"""Weights that several operators share, and that XNNPACK packs once per operator."""

import json
from pathlib import Path

import program
import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

pytestmark = pytest.mark.usefixtures("needs_build")

WIDTH = 64


class Net(torch.nn.Module):
    """Applies a linear layer several times, with operators in between that XNNPACK does not take."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times
        self.linear = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.times):
            x = torch.cumsum(self.linear(x), -1)
        return x


@pytest.mark.parametrize("times", [1, 3])
def test_repeated_packing_is_reported(tmp_path: Path, times: int) -> None:
    exported = torch.export.export(Net(times).eval(), (torch.randn(4, WIDTH),))
    pte = tmp_path / "net.pte"
    pte.write_bytes(to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)
    (method,) = json.loads(program.run("inspect", pte, "--json").stdout)["methods"]
    packed_bytes = WIDTH * (WIDTH + 1) * 4
    assert method["packed_bytes_at_least"] == times * packed_bytes
    assert method["repacked_bytes_at_least"] == (times - 1) * packed_bytes
    assert ("weight_cache_enabled" in program.run("inspect", pte).stdout) == (times > 1)
