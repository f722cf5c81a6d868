"""Properties of Hugging Face decoders that convolutional networks do not have: computed indices, and buffers in a cache
object."""

import json
from pathlib import Path

import pytest
import torch

from etprof.exporting import find, lower
from exports import Exported

NET = '''
import torch
from torch import nn


class Cache:
    """A cache like transformers' StaticCache: it holds and changes tensors that the module also registers."""

    def __init__(self):
        self.keys = torch.zeros(8, 4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.cache = Cache()
        self.register_buffer("keys", self.cache.keys, persistent=False)
        self.linear = nn.Linear(4, 4)
        self.table = nn.Embedding(8, 4)

    def forward(self, x, position):
        places = torch.arange(x.shape[0]) + 1
        self.cache.keys.index_copy_(0, position, self.linear(x) + self.table(places))
        return self.cache.keys * 1.0

    def get_example_inputs(self):
        return torch.randn(2, 4), torch.tensor([3, 5])
'''


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("decoders") / "net.py"
    path.write_text(NET)
    return f"{path}:Net"


@pytest.mark.parametrize(
    ("dtype", "quantize"), [("fp32", None), ("fp16", None), ("fp32", "dynamic"), ("fp32", "static")]
)
def test_a_cache_next_to_its_buffers_and_an_index_of_a_sum(
    exported: Exported, net: str, dtype: str, quantize: str | None
):
    pte = exported(net, dtype, quantize=quantize)
    answer = json.loads(Path(f"{pte}.json").read_text())["check"]
    assert answer["verdict"] == "pass", answer["why"]
    assert answer["cases"][0]["outputs"][0]["shape"] == [8, 4]


def test_the_cache_is_state_of_the_program(net: str):
    (method,) = find.build_methods(find.find_model(net)).values()
    program = lower.trace(method).run_decompositions({})
    assert list(program.graph_signature.buffers_to_mutate.values()) == ["keys"]
    half = lower.with_precision({"forward": method}, "fp16")["forward"].module
    assert half.cache.keys is half.keys
    assert half.keys.dtype == torch.float16
    assert method.module.keys.dtype == torch.float32
