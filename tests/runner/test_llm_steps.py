"""Steps of a language model in the runner: places, fills, walks, and state that methods share. The oracle is PyTorch's eager model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import token_models
from runner_bench import events, read_safetensors

torch = pytest.importorskip("torch")
LOAD = {"inputs": {"kind": "tokens"}}


@pytest.mark.parametrize("name", ["decoder", "each", "shared"])
def test_a_walk_generates_what_pytorch_generates(worker: Any, token_model: Any, name: str) -> None:
    process = worker()
    methods = {"method": "prefill", "methods": ["decode"]} if name == "shared" else {}
    process.ask("load", model=token_model(name), **LOAD, **methods)
    for chunk in (64, 8):
        walk = process.ask("walk", prompt=24, generate=40, chunk=chunk)
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


MULTIMODAL = {"method": "text_decoder", "methods": ["token_embedding", "vision_encoder"]}
WHISPER = {"method": "text_decoder", "methods": ["encoder"]}


@pytest.mark.parametrize(("name", "methods", "features"), [("multimodal", MULTIMODAL, 4), ("whisper", WHISPER, 0)])
def test_a_walk_runs_all_methods_of_its_steps(
    worker: Any, token_model: Any, name: str, methods: dict[str, Any], features: int
) -> None:
    process = worker()
    process.ask("load", model=token_model(name), **methods, **LOAD)
    for chunk in (64, 8):
        walk = process.ask("walk", prompt=24, generate=40, chunk=chunk)
        prompt = [1] * 24 if name == "whisper" else [min(chunk, 24)] * (24 // min(chunk, 24))
        assert walk["tokens"] == [features] * (features > 0) + prompt + [1] * 39
        assert walk["at"] == [sum(walk["tokens"][:i]) for i in range(len(walk["tokens"]))]
        assert walk.get("features", 0) == features
        assert walk["generated"] == token_models.generate(name, walk["prompt"], 40)
        columns = ("inputs_ns", "execute_ns", "argmax_ns", "between_ns")
        assert walk["encode_ns"] > 0 and min(walk["execute_ns"]) > 0 and min(walk["inputs_ns"]) >= 0
        assert walk["encode_ns"] + sum(sum(walk[column]) for column in columns) == walk["total_ns"]
    assert len(set(walk["generated"])) > 1


def test_each_method_of_a_step_has_places_of_its_own(worker: Any, token_model: Any, tmp_path: Path) -> None:
    process = worker()
    process.ask("load", model=token_model("multimodal"), **MULTIMODAL, **LOAD)
    prompt = process.ask("walk", prompt=24, generate=1, chunk=8)["prompt"]
    process.ask("fill", upto=16, chunk=8)
    places = {
        "text_decoder": {"tokens": 8, "at": 16},
        "token_embedding": {"tokens": 8, "at": 16, "method": "token_embedding"},
        "vision_encoder": {"tokens": 1, "at": 0, "method": "vision_encoder"},
    }
    selected = {name: process.ask("select", place=place) for name, place in places.items()}
    shapes = {name: [entry["shape"] for entry in reply["inputs"]] for name, reply in selected.items()}
    assert shapes == {
        "text_decoder": [[1, 8, 16], [8]],
        "token_embedding": [[1, 8]],
        "vision_encoder": [[1, 3, 8, 8]],
    }
    assert selected["token_embedding"]["inputs_from"] == "drawn tokens"
    assert selected["vision_encoder"]["inputs_from"].startswith("saved ")
    model = token_models.make("multimodal")
    with torch.no_grad():
        expected = {
            "token_embedding": model.embedding(torch.tensor([prompt[16:]])),
            "vision_encoder": model.encode(token_models.encoder_input("multimodal")),
            "text_decoder": token_models.logits("multimodal", [(prompt[:16], 0), (prompt[16:], 16)]),
        }
    runs = {"text_decoder": 2, "token_embedding": 3, "vision_encoder": 4}
    for name, place in places.items():
        process.ask("burst", place=place, min_runs=3, max_runs=3, target_ns=0, traced_runs=runs[name] - 1)
    for name, place in places.items():
        saved = tmp_path / f"{name}.safetensors"
        process.ask("outputs", place=place, save_to=str(saved))
        ((key, (_, shape, contents)),) = read_safetensors(saved).items()
        assert key == f"{name}/0"
        values = torch.frombuffer(bytearray(contents), dtype=torch.float32).reshape(shape)
        assert torch.allclose(values, expected[name], atol=1e-3)
        # The first run of a place is traced, too.
        process.ask("etdump", path=str(tmp_path / f"{name}.etdump"), place=place)
        executed = [block for block, _ in events(tmp_path / f"{name}.etdump") if block == "Execute"]
        assert len(executed) == runs[name]


def test_methods_share_state_exactly_where_they_were_exported_so(worker: Any, token_model: Any) -> None:
    def generated(name: str) -> list[int]:
        process = worker()
        process.ask("load", model=token_model(name), method="prefill", methods=["decode"], **LOAD)
        return process.ask("walk", prompt=24, generate=8, chunk=8)["generated"]

    prompt = worker()
    prompt.ask("load", model=token_model("shared"), method="prefill", methods=["decode"], **LOAD)
    tokens = prompt.ask("walk", prompt=24, generate=1, chunk=8)["prompt"]
    shared, apart = generated("shared"), generated("apart")
    assert shared == token_models.generate("shared", tokens, 8)
    # The methods of "apart" have separate caches, so that decoding does not see the prompt.
    assert apart == token_models.generate("shared", tokens, 8, decode_sees_prompt=False)
    assert apart != shared


def test_a_place_is_what_every_run_does(worker: Any, token_model: Any) -> None:
    process = worker()
    loaded = process.ask("load", model=token_model("decoder"), place={"tokens": 5, "at": 7}, **LOAD)
    assert [entry["shape"] for entry in loaded["inputs"]] == [[1, 5], [1]]
    assert loaded["warnings"] == []
    process.ask("fill", upto=7, chunk=64)
    process.ask("burst", min_runs=3, max_runs=3, target_ns=0)
    before = process.ask("outputs")["outputs"]
    # Run other steps in between, which write later rows of the cache.
    process.ask("walk", prompt=9, generate=20, chunk=4)
    process.ask("fill", upto=7, chunk=64)
    process.ask("burst", min_runs=3, max_runs=3, target_ns=0)
    assert process.ask("outputs")["outputs"] == before


@pytest.mark.parametrize("name", ["decoder", "each", "recurrent"])
def test_a_repeated_step_shows_whether_a_state_accumulates(worker: Any, token_model: Any, name: str) -> None:
    process = worker()
    process.ask("load", model=token_model(name), place={"tokens": 1, "at": 9}, **LOAD)
    first = process.ask("reference", upto=8, chunk=8)
    process.ask("burst", min_runs=30, max_runs=30, target_ns=0)
    last = process.ask("reference", upto=8, chunk=8)
    assert first["restored"] is (name == "recurrent")
    assert first == last
    assert first["first"] == first["again"]


def test_each_run_begins_with_the_state_after_the_fill(worker: Any, token_model: Any) -> None:
    process = worker()
    place = {"tokens": 5, "at": 7}
    process.ask("load", model=token_model("recurrent"), place=place, **LOAD)
    walk = process.ask("walk", prompt=12, generate=8, chunk=64)
    prompt = walk["prompt"]  # the tokens at these positions are the same in all steps
    assert walk["generated"] == token_models.generate("recurrent", prompt, 8)
    reference = process.ask("reference", upto=8, chunk=64)
    process.ask("fill", upto=7, chunk=64)

    def run_and_digest(runs: int) -> dict[str, Any]:
        process.ask("burst", place=place, min_runs=runs, max_runs=runs, target_ns=0)
        (output,) = process.ask("outputs")["outputs"]
        return output

    output = run_and_digest(30)
    expected = token_models.logits("recurrent", [(prompt[:7], 0), (prompt[7:], 7)])
    assert output["min"] == pytest.approx(expected.min().item(), rel=1e-5)
    assert output["max"] == pytest.approx(expected.max().item(), rel=1e-5)
    # The output does not depend on what runs in between.
    process.ask("burst", place={"tokens": 1, "at": 20}, min_runs=3, max_runs=3, target_ns=0)
    assert run_and_digest(1) == output
    assert process.ask("walk", prompt=12, generate=8, chunk=64)["generated"] == walk["generated"]
    assert run_and_digest(2) == output
    assert process.ask("reference", upto=8, chunk=64) == reference
    assert run_and_digest(3) == output
    process.ask("fill", upto=6, chunk=64)
    assert run_and_digest(3) != output


def test_what_is_refused(worker: Any, token_model: Any, toy: Path) -> None:
    process = worker()
    assert "does not take tokens [1, n] and a position" in process.expect_error("load", model=toy, **LOAD)
    process.ask("load", model=token_model("decoder"), **LOAD)
    assert "no method takes 65 tokens" in process.expect_error(
        "load", model=token_model("decoder"), place={"tokens": 65}, **LOAD
    )
    process.ask("load", model=token_model("shared"), method="prefill", **LOAD)
    assert "the method 'decode' is not loaded" in process.expect_error("select", method="decode")
    assert "no method takes 3 tokens" in process.expect_error("fill", upto=3, chunk=64)
    assert "has no method 'other'" in process.expect_error(
        "load", model=token_model("shared"), method="prefill", methods=["other"]
    )
    process.ask("load", model=token_model("decoder"), **LOAD)
    assert "at least" in process.expect_error("walk", prompt=0, generate=1)
    assert "at most" in process.expect_error("fill", upto=1 << 40)
    model = token_model("multimodal")
    process.ask("load", model=model, method="text_decoder", methods=["vision_encoder"], **LOAD)
    assert "no method gives the embeddings of 3 tokens" in process.expect_error("fill", upto=3, chunk=64)
    process.ask("load", model=model, **MULTIMODAL, **LOAD)
    decoder_place = {"tokens": 1, "at": 0, "method": "text_decoder"}
    assert "'text_decoder' is chosen by the number of tokens" in process.expect_error("select", place=decoder_place)
    long_place = {"tokens": 65, "at": 0, "method": "token_embedding"}
    assert "no method takes 65 tokens" in process.expect_error("select", place=long_place)
    Path(f"{model}.inputs").rename(f"{model}.other")  # random numbers instead
    process.ask("load", model=model, **MULTIMODAL, **LOAD)
    encoder = process.ask("select", place={"tokens": 1, "at": 0, "method": "vision_encoder"})
    Path(f"{model}.other").rename(f"{model}.inputs")
    assert encoder["inputs_from"] == "random, seed 0"
