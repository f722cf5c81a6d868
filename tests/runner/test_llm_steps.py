"""Steps of a language model in the runner: places, fills, walks, and state that methods share. The oracle is PyTorch's eager model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import token_models

torch = pytest.importorskip("torch")
LOAD = {"inputs": {"kind": "tokens"}}


@pytest.mark.parametrize("name", ["decoder", "each", "shared"])
def test_a_walk_generates_what_pytorch_generates(worker: Any, token_model: Any, name: str) -> None:
    one = worker()
    more = {"method": "prefill", "methods": ["decode"]} if name == "shared" else {}
    one.ask("load", model=token_model(name), **LOAD, **more)
    for chunk in (64, 8):
        walk = one.ask("walk", prompt=24, generate=40, chunk=chunk)
        steps = 24 // min(chunk, 24, 8 if name == "shared" else 64) + 39
        assert len(walk["tokens"]) == steps
        assert walk["at"] == [sum(walk["tokens"][:i]) for i in range(steps)]
        assert len(set(walk["prompt"])) > 10
        assert walk["generated"] == token_models.generate(name, walk["prompt"], 40)
        columns = ("inputs_ns", "execute_ns", "argmax_ns", "between_ns")
        assert all(len(walk[column]) == steps for column in columns)
        assert sum(sum(walk[column]) for column in columns) == walk["total_ns"]
        assert min(walk["execute_ns"]) > 0
    assert len(set(walk["generated"])) > 1


def test_methods_share_state_exactly_where_they_were_exported_so(worker: Any, token_model: Any) -> None:
    def generated(name: str) -> list[int]:
        one = worker()
        one.ask("load", model=token_model(name), method="prefill", methods=["decode"], **LOAD)
        return one.ask("walk", prompt=24, generate=8, chunk=8)["generated"]

    prompt = worker()
    prompt.ask("load", model=token_model("shared"), method="prefill", methods=["decode"], **LOAD)
    tokens = prompt.ask("walk", prompt=24, generate=1, chunk=8)["prompt"]
    shared, apart = generated("shared"), generated("apart")
    assert shared == token_models.generate("shared", tokens, 8)
    # Each of the others has a cache of its own: decoding sees nothing of the prompt.
    assert apart == token_models.generate("shared", tokens, 8, decode_sees_prompt=False)
    assert apart != shared


def test_a_place_is_what_every_run_does(worker: Any, token_model: Any) -> None:
    one = worker()
    loaded = one.ask("load", model=token_model("decoder"), place={"tokens": 5, "at": 7}, **LOAD)
    assert [entry["shape"] for entry in loaded["inputs"]] == [[1, 5], [1]]
    assert loaded["warnings"] == []
    one.ask("fill", upto=7, chunk=64)
    one.ask("burst", min_runs=3, max_runs=3, target_ns=0)
    before = one.ask("outputs")["outputs"]
    # In between other steps run, and later rows of the cache are written.
    one.ask("walk", prompt=9, generate=20, chunk=4)
    one.ask("fill", upto=7, chunk=64)
    one.ask("burst", min_runs=3, max_runs=3, target_ns=0)
    assert one.ask("outputs")["outputs"] == before


@pytest.mark.parametrize("name", ["decoder", "each", "recurrent"])
def test_a_repeated_step_shows_whether_a_state_accumulates(worker: Any, token_model: Any, name: str) -> None:
    one = worker()
    one.ask("load", model=token_model(name), place={"tokens": 1, "at": 9}, **LOAD)
    first = one.ask("reference", upto=8, chunk=8)
    one.ask("burst", min_runs=30, max_runs=30, target_ns=0)
    last = one.ask("reference", upto=8, chunk=8)
    assert first["restored"] is (name == "recurrent")
    assert first == last
    assert first["first"] == first["again"]


def test_each_run_begins_with_the_state_after_the_fill(worker: Any, token_model: Any) -> None:
    one = worker()
    place = {"tokens": 5, "at": 7}
    one.ask("load", model=token_model("recurrent"), place=place, **LOAD)
    walk = one.ask("walk", prompt=12, generate=8, chunk=64)
    prompt = walk["prompt"]  # the tokens at these positions are the same in all steps
    assert walk["generated"] == token_models.generate("recurrent", prompt, 8)
    reference = one.ask("reference", upto=8, chunk=64)
    one.ask("fill", upto=7, chunk=64)

    def measured(runs: int) -> dict[str, Any]:
        one.ask("burst", place=place, min_runs=runs, max_runs=runs, target_ns=0)
        (output,) = one.ask("outputs")["outputs"]
        return output

    output = measured(30)
    expected = token_models.logits("recurrent", [(prompt[:7], 0), (prompt[7:], 7)])
    assert output["min"] == pytest.approx(expected.min().item(), rel=1e-5)
    assert output["max"] == pytest.approx(expected.max().item(), rel=1e-5)
    # Whatever runs in between.
    one.ask("burst", place={"tokens": 1, "at": 20}, min_runs=3, max_runs=3, target_ns=0)
    assert measured(1) == output
    assert one.ask("walk", prompt=12, generate=8, chunk=64)["generated"] == walk["generated"]
    assert measured(2) == output
    assert one.ask("reference", upto=8, chunk=64) == reference
    assert measured(3) == output
    one.ask("fill", upto=6, chunk=64)
    assert measured(3) != output


def test_what_is_refused(worker: Any, token_model: Any, toy: Path) -> None:
    one = worker()
    assert "does not take tokens [1, n] and a position" in one.refused("load", model=toy, **LOAD)
    one.ask("load", model=token_model("decoder"), **LOAD)
    assert "no method takes 65 tokens" in one.refused(
        "load", model=token_model("decoder"), place={"tokens": 65}, **LOAD
    )
    one.ask("load", model=token_model("shared"), method="prefill", **LOAD)
    assert "the method 'decode' is not loaded" in one.refused("select", method="decode")
    assert "no method takes 3 tokens" in one.refused("fill", upto=3, chunk=64)
    assert "has no method 'other'" in one.refused(
        "load", model=token_model("shared"), method="prefill", methods=["other"]
    )
    one.ask("load", model=token_model("decoder"), **LOAD)
    assert "at least" in one.refused("walk", prompt=0, generate=1)
    assert "at most" in one.refused("fill", upto=1 << 40)
