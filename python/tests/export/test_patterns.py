"""The export omits patterns of XNNPACK's passes only if no operator can match them."""

from importlib import import_module

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

from etprof.exporting import lower, patterns


class Softmax(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x @ x, -1) @ x


class NoProduct(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1)


class Product(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ x


SEARCHES = pytest.mark.parametrize("search", patterns.SEARCHES, ids=lambda search: search[2])


@SEARCHES
def test_every_pattern_has_an_operator_that_it_is_made_for(search: tuple):
    """The passes of this version of ExecuTorch are known, and every match needs all operators of its pattern."""
    file, name, maker, getter, _, names = search
    module = import_module(f"executorch.backends.xnnpack._passes.{file}")
    assert callable(getattr(module, name).call)
    built_patterns = list(getattr(getattr(module, maker), getter)())
    assert built_patterns and all(patterns.may_have(pattern.graph, names) for pattern in built_patterns)


@pytest.mark.parametrize(("model", "expected"), [(Softmax, {"sdpa"}), (NoProduct, set()), (Product, set())])
def test_patterns_are_built_if_they_may_match(monkeypatch: pytest.MonkeyPatch, model: type, expected: set):
    used_makers = set()
    before = []
    for file, name, maker, getter, *_ in patterns.SEARCHES:
        module = import_module(f"executorch.backends.xnnpack._passes.{file}")
        get = getattr(getattr(module, maker), getter)
        monkeypatch.setattr(
            getattr(module, maker), getter, lambda get=get, maker=maker: used_makers.add(maker) or get()
        )
        before.append((module, name, maker, getattr(module, name).call, getattr(module, maker)))
    program = torch.export.export(model(), (torch.rand(1, 4, 4),))
    lower.to_edge({"forward": program}, [XnnpackPartitioner()], quantized=False)
    assert used_makers == expected
    for module, name, maker, call, class_ in before:
        assert getattr(module, name).call is call and getattr(module, maker) is class_
