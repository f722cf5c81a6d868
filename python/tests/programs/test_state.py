"""The state that a program keeps between inferences, found from the file alone, compared with the buffers of the modules."""

import json
import sys
from pathlib import Path
from typing import Any

import program
import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

from etprof.models.llm_decoder import CACHE, HEAD, KV_HEADS
from exports import Exported

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))
import cached_attention

pytestmark = pytest.mark.usefixtures("needs_build")


def states(pte: Path) -> dict[str, Any]:
    completed = program.run("inspect", pte, "--json")
    assert completed.returncode == 0, completed.stderr
    methods = json.loads(completed.stdout)["methods"]
    for method in methods:  # tensors in use are part of the planned memory
        assert method["planned_peak"] is None or method["planned_peak"]["bytes"] <= method["planned_bytes"]
    return {method["name"]: method["state"] for method in methods}


def attention(path: Path, constants: dict[str, Any]) -> Path:
    model = cached_attention.CachedAttention()
    with torch.no_grad():
        exported = torch.export.export(
            model.get_eager_model(), model.get_example_inputs(), dynamic_shapes=model.get_dynamic_shapes(), strict=True
        )
        edge = to_edge_transform_and_lower(
            exported,
            partitioner=[XnnpackPartitioner()],
            constant_methods=constants,
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
        )
    path.write_bytes(edge.to_executorch().buffer)
    return path


def test_a_cache_by_its_size_for_each_token(tmp_path: Path):
    context, width = cached_attention.CONTEXT, cached_attention.WIDTH
    pte = attention(tmp_path / "a.pte", {"get_max_context_len": context, "get_max_seq_len": 64})
    buffers = cached_attention.CachedAttention().get_eager_model().buffers()
    size = sum(buffer.nbytes for buffer in buffers)
    assert size == 2 * context * width * 4
    by_method = states(pte)
    assert by_method["forward"] == {"tensors": 2, "bytes": size, "tokens": context, "bytes_per_token": 2 * width * 4}
    assert by_method["get_max_context_len"] == {"tensors": 0, "bytes": 0, "tokens": None, "bytes_per_token": None}
    shown = " ".join(program.run("inspect", pte).stdout.split())
    assert f"2 tensors kept between inferences, 65.5 kB: 512 B for each of {context} tokens" in shown
    # A constant that equals no size of the cache is not its capacity.
    other = states(attention(tmp_path / "b.pte", {"get_max_context_len": 999}))["forward"]
    assert other == {"tensors": 2, "bytes": size, "tokens": None, "bytes_per_token": None}


def test_each_method_has_its_own(exported: Exported):
    by_method = states(exported("stateful_decoder"))
    assert set(by_method) == {"prefill", "decode"}
    for state in by_method.values():
        assert (state["tensors"], state["bytes"]) == (2, 2 * KV_HEADS * CACHE * HEAD * 4)


@pytest.mark.parametrize("name", ["toy_cnn", "transformer_layer", "mobilenet_v3_small", "llm_decoder"])
def test_a_model_without_one(exported: Exported, name: str):
    for state in states(exported(name)).values():
        assert state["tensors"] == state["bytes"] == 0
