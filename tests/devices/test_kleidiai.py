"""Compares etprof's predictions about KleidiAI's microkernels with the operators that an emulated CPU with SME2 runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bundle_bench import ETPROF, Bundle, call

DYNAMIC = ("dynamic", "dynamic_4_bits", "dynamic_groups")
MASKED, UNMASKED = "--isa=-sme,-sme2", "--isa=+sme2"
RUNS = {
    # The kernels by the operator's name, which contains KleidiAI's packed types.
    "sme": re.compile(r"\(.*\bP(F32|F16|QS8)\b"),
    "kleidiai": re.compile(r"\(.*\bQP8\b"),
    "portable": re.compile(r"^native_call_"),
    "xnnpack": re.compile(r""),
}


def classify_operator(name: str) -> str:
    return next(kernels for kernels, pattern in RUNS.items() if pattern.search(name))


def etprof(*arguments: str | Path) -> dict[str, Any]:
    completed = call(ETPROF, *arguments, "--json")
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


def run(bundle: Bundle, qemu: list[str], pte: Path, etdump: Path, isa: str) -> dict[str, Any]:
    """Runs the program on the emulated CPU, and returns the only experiment of its analysis."""
    arguments = ["--model_path", pte, "--num_executions", 2, "--cpu_threads", 1, "--etdump_path", etdump, isa]
    completed = call(*qemu, *bundle.command(), *map(str, arguments))
    assert completed.returncode == 0, completed.stderr
    (experiment,) = etprof("analyze", etdump, "--model", pte)["experiments"]
    assert experiment["program"]["problem"] is None
    return experiment


def read_nodes(pte: Path) -> dict[tuple[int, int], dict[str, Any]]:
    """XNNPACK's nodes by the instruction that calls their delegate and by their number."""
    document = etprof("inspect", pte)
    (method,) = document["methods"]
    nodes = {}
    for instruction in method["instructions"]:
        if instruction["kind"] == "delegate":
            graph = document["xnnpack_graphs"][method["delegates"][instruction["delegate"]]["xnnpack_graph"]]
            nodes |= {(instruction["instruction"], node["node"]): node for node in graph["nodes"]}
    return nodes


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import matrix_models as models

    folder = tmp_path_factory.mktemp("matrices")

    def export_scheme(scheme: str) -> Path:
        path = folder / f"{scheme}.pte"
        if not path.exists():
            models.export(scheme, path)
        return path

    return export_scheme


@pytest.mark.parametrize("scheme", ["fp32", "fp16", "per_channel", "per_tensor", *DYNAMIC])
def test_what_is_said_of_a_node_is_what_runs(
    bundle: Bundle, qemu: list[str], exported: Any, tmp_path: Path, scheme: str
) -> None:
    pte = exported(scheme)
    nodes = read_nodes(pte)
    predicted = {key: node["with_sme2"] for key, node in nodes.items() if node["with_sme2"]}
    assert len(predicted) >= 15
    experiment = run(bundle, qemu, pte, tmp_path / "on.etdump", UNMASKED)
    actual: dict[tuple[int, int], str] = {}
    for operator in experiment["operators"]:
        instruction = int(operator["key"].split("/")[1])
        for node in operator["program"]["nodes"] if operator["program"]["join"] == "nodes" else []:
            if (instruction, node) in predicted:
                actual[instruction, node] = classify_operator(operator["name"])
    # The name of dynamically quantized operators, QP8, shows only that KleidiAI runs: test_emulated_watch.py checks the kernel.
    fits = {"kleidiai": ("sme", "kleidiai")}
    wrong = {
        key: (nodes[key], runs)
        for key, runs in actual.items()
        if predicted[key]["kernels"] not in fits.get(runs, [runs])
    }
    assert not wrong
    assert len(actual) >= 0.7 * len(predicted)  # other operators match several nodes equally well
    # Without SME2, no operator runs SME kernels, and KleidiAI's other kernels still run.
    masked = run(bundle, qemu, pte, tmp_path / "off.etdump", MASKED)
    names = {classify_operator(operator["name"]) for operator in masked["operators"]}
    assert "sme" not in names
    assert ("kleidiai" in names) == (scheme in DYNAMIC)
    # The same operators, counted by what they ran.
    rows = {row["kernels"]: row for row in experiment["matrix_kernels"]}
    assert set(actual.values()) <= set(rows)
    if scheme not in DYNAMIC:
        assert len(rows["sme"]["operators"]) >= 8
    assert all(row["why"] for row in experiment["matrix_kernels"] if row["kernels"] in ("kleidiai", "portable"))


def test_reasons_and_what_changes_them(bundle: Bundle, qemu: list[str], exported: Any, tmp_path: Path) -> None:
    """Each reason occurs in a model, and the suggested changes of the export help."""
    reasons: set[str] = set()
    for scheme in ("fp32", "fp16", "per_channel", "per_tensor", *DYNAMIC):
        document = etprof("inspect", exported(scheme))
        graphs = [node for graph in document["xnnpack_graphs"] for node in graph["nodes"]]
        for node_or_instruction in [*graphs, *document["methods"][0]["instructions"]]:
            use = node_or_instruction["with_sme2"]
            if use and use["why"]:
                reasons.add(use["why"])
    assert reasons == {
        "a group has one input channel (depthwise)",
        "1x1 convolutions in fp16 keep their weights in fp32",
        "weights are quantized per tensor",
        "the input is quantized dynamically",
        "for weights of 4 bits in groups there are none for SME2",
        "transposed convolution in floating point",
        "not delegated: XNNPACK takes a product of two matrices only where one is constant",
    }

    def kernels_of_type(scheme: str, type_: str) -> set[str]:
        experiment = run(bundle, qemu, exported(scheme), tmp_path / "x.etdump", UNMASKED)
        return {
            classify_operator(node_or_instruction["name"])
            for node_or_instruction in experiment["operators"]
            if node_or_instruction["name"].startswith(type_)
        }

    # "use torch.nn.Linear": of fp16's fully connected operators, the linear layers are KleidiAI's, pointwise is not.
    assert kernels_of_type("fp16", "Fully Connected") == {"sme", "xnnpack"}
    # "quantize weights per channel"
    assert kernels_of_type("per_tensor", "Fully Connected") == {"xnnpack"}
    assert kernels_of_type("per_channel", "Fully Connected") == {"sme"}
    # "quantize statically"
    assert kernels_of_type("fp32", "Deconvolution") == {"xnnpack"}
    assert kernels_of_type("per_channel", "Deconvolution") == {"sme"}
    # "give both matrices a batch dimension"
    assert kernels_of_type("fp32", "native_call_mm") == {"portable"}
    assert kernels_of_type("fp32", "Batch Matrix Multiply") == {"sme"}
