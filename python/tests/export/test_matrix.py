"""Exports every example model in each applicable data type and quantization, and compares it with eager PyTorch.

Each export runs once per session. The tests compare the numbers of etprof's check with those of ExecuTorch's Python runtime.
"""

import json
from pathlib import Path

import executorch.kernels.quantized  # noqa: F401 - registers the kernels of quantized programs
import jsonschema
import pytest
import torch
from executorch.runtime import Runtime
from torch.utils import _pytree

from etprof import models
from etprof.exporting import agreement, check, find, summary
from exports import Exported
from inputs_file import read_inputs
from libraries import need_libraries

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "docs/schema/export.schema.json").read_text())
FP32, FP16, BF16 = ({"dtype": dtype} for dtype in ("fp32", "fp16", "bf16"))
STATIC, DYNAMIC = ({"quantize": kind} for kind in ("static", "dynamic"))
PORTABLE = {"backend": "portable"}

# Dynamic quantization is meant for linear layers. Each convolution becomes a delegate, which is slow to export and to run,
# so the matrix has only one small convolutional model.
MATRIX = {
    "edgetam": [FP32],
    "image_encoder": [FP32, FP16, BF16, STATIC],
    "llm_decoder": [FP32, FP16, BF16, STATIC, DYNAMIC],
    "mixed_delegates": [FP32, FP16, BF16, STATIC, DYNAMIC],
    "mobilenet_v3_small": [FP32, FP16],
    "stateful_decoder": [FP32, DYNAMIC],
    "toy_cnn": [FP32, FP16, BF16, STATIC, DYNAMIC, PORTABLE],
    "transformer_layer": [FP32, FP16, BF16, STATIC, DYNAMIC],
    "vit_block": [FP32, FP16, BF16, STATIC, DYNAMIC],
}
# ExecuTorch 1.5.1 computes these wrongly: its optimized layer normalization of 128 rows of 256 numbers in half precisions. The
# check has to say so.
WRONG = {("transformer_layer", "fp16"), ("transformer_layer", "bf16")}

# The minimum share of delegated multiply-adds. XNNPACK's partitioner does not support bf16.
DELEGATED_MACS = 0.999
WHOLE = {("toy_cnn", "fp32")}  # the program consists of one delegate call


def cases() -> list:
    return [
        pytest.param(name, options, id="-".join([name, *options.values()]))
        for name, all_options in MATRIX.items()
        for options in all_options
    ]


def test_no_example_model_is_left_out():
    assert sorted(MATRIX) == models.model_names()


def outputs_of_executorch(pte: Path, method: str) -> list:
    values = read_inputs(pte.with_name(f"{pte.name}.inputs"), method)
    outputs = Runtime.get().load_program(pte).load_method(method).execute(values)
    return [output.clone() if isinstance(output, torch.Tensor) else output for output in outputs]


@pytest.mark.parametrize(("name", "options"), cases())
def test_it_computes_what_the_model_computes(exported: Exported, name: str, options: dict):
    need_libraries(name)
    pte = exported(name, **options)
    manifest = json.loads(pte.with_name(f"{pte.name}.json").read_text())
    jsonschema.validate(manifest, SCHEMA)
    computes_in = "int8" if "quantize" in options else options.get("dtype", "fp32")
    least = agreement.MIN_SQNR_DB[computes_in]
    expected_verdict = "fail" if (name, computes_in) in WRONG else "pass"
    assert manifest["check"]["verdict"] == expected_verdict, manifest["check"]["why"]
    assert manifest["check"]["min_sqnr_db"] == least
    reference = find.build_methods(find.find_model(name))
    assert {case["method"] for case in manifest["check"]["cases"]} == set(reference)
    if name == "stateful_decoder":
        return  # ExecuTorch's Python runtime does not clear the memory that a state begins in, as etprof-runner does
    for case in manifest["check"]["cases"]:
        if case["inputs"].startswith(check.HELD_OUT):  # python/tests/accuracy/test_held_out.py tests them
            continue
        method = reference[case["method"]]
        with torch.no_grad():
            expected = _pytree.tree_leaves(method.module(*method.args))
        actual = outputs_of_executorch(pte, case["method"])
        for reported, output, reference_output in zip(case["outputs"], actual, expected, strict=True):
            if not output.is_floating_point():
                assert computes_in != "fp32" or reported["differing"] == 0
                continue
            found = agreement.compare(output, reference_output)
            # The reference of the check used inputs rounded to the type, and runs with several threads sum in another order.
            if computes_in != "fp32" and expected_verdict == "pass":
                assert reported["sqnr_db"] == pytest.approx(found.sqnr_db, abs=3)
            assert (found.disagreement(least, exact=False) is None) == (expected_verdict == "pass")
            # The check can fail: it refuses the same outputs in another order.
            rolled = agreement.compare(output.flatten().roll(1).reshape(output.shape), reference_output)
            assert rolled.disagreement(least, exact=False) is not None


@pytest.mark.parametrize(("name", "options"), cases())
def test_it_lowers_to_xnnpack(exported: Exported, name: str, options: dict):
    need_libraries(name)
    pte = exported(name, **options)
    for method in json.loads(pte.with_name(f"{pte.name}.json").read_text())["delegation"]:
        if options in (BF16, PORTABLE):
            assert method["delegated_share_of_macs"] < 0.1
            continue
        assert method["delegated_share_of_macs"] > DELEGATED_MACS
        assert set(method["delegates"]) == {"XnnpackBackend"}
        if (name, options.get("dtype")) in WHOLE:
            assert (method["delegates"], method["not_delegated"]) == ({"XnnpackBackend": 1}, [])
        if name == "edgetam":
            assert [(operator["name"], operator["calls"]) for operator in method["not_delegated"]] == [
                ("aten::upsample_nearest2d.vec_out", 1)
            ]


@pytest.mark.parametrize("damage", ["missing", "unknown", "a share above 1", "a short hash"])
def test_the_schema_refuses_damaged_manifests(exported: Exported, damage: str):
    pte = exported("toy_cnn")
    manifest = json.loads(pte.with_name(f"{pte.name}.json").read_text())
    jsonschema.validate(manifest, SCHEMA)
    match damage:
        case "missing":
            del manifest["check"]["cases"][0]["outputs"][0]["sqnr_db"]
        case "unknown":
            manifest["methods"]["forward"]["speed"] = 1
        case "a share above 1":
            manifest["delegation"][0]["delegated_share_of_macs"] = 1.5
        case "a short hash":
            manifest["files"][pte.name]["sha256"] = "abc"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(manifest, SCHEMA)


def test_only_the_upsampling_of_the_image_encoder_is_not_delegated(exported: Exported):
    pte = exported("image_encoder")
    (method,) = json.loads(pte.with_name(f"{pte.name}.json").read_text())["delegation"]
    assert [(operator["name"], operator["calls"]) for operator in method["not_delegated"]] == [
        ("aten::upsample_nearest2d.vec_out", 2)
    ]


def test_the_documented_screen_is_the_output(exported: Exported):
    """Numbers that depend on the processor's rounding are not compared."""
    pte = exported("image_encoder", dtype="fp16")
    delegation = check.delegation(pte)
    lines = summary.lines("xnnpack", delegation, None)
    documented = (
        (ROOT / "docs/reference/export.md").read_text().split("```text\n", 1)[1].split("```", 1)[0].splitlines()
    )
    places = [line.rpartition(": ")[2] for line in documented if line.startswith("  at  ")]
    assert sum(int(place.split()[0]) for place in places) == sum(
        operator["calls"] for operator in delegation[0].not_delegated
    )
    documented = [line for line in documented if not line.startswith("  at  ")]
    assert documented[: len(lines)] == lines
    assert [line.split()[0] for line in documented[len(lines) :]] == ["hint:", "compared", "check"]
    limit = agreement.MIN_SQNR_DB["fp16"]
    assert documented[-1] == f"  check         passed: at least {limit:g} dB is required"


def test_prefill_and_decode_share_their_weights(exported: Exported):
    """The program has two methods, and is little larger than one copy of their weights."""
    pte = exported("llm_decoder")
    manifest = json.loads(pte.with_name(f"{pte.name}.json").read_text())
    assert list(manifest["methods"]) == ["decode", "prefill"]
    assert manifest["inputs"] == manifest["methods"]["decode"]["inputs"]
    assert 4 * manifest["parameters"] < pte.stat().st_size < 1.2 * 4 * manifest["parameters"]


def test_decode_goes_on_from_prefill_within_executorch(exported: Exported):
    """The keys and values that prefill returns equal the cache in the inputs of decode."""
    pte = exported("llm_decoder")
    _, keys, values = outputs_of_executorch(pte, "prefill")
    decode_inputs = read_inputs(pte.with_name(f"{pte.name}.inputs"), "decode")
    count = keys.shape[2]
    for actual, expected in ((keys, decode_inputs[4]), (values, decode_inputs[5])):
        assert agreement.compare(actual, expected[:, :, :count]).disagreement(85, exact=True) is None
