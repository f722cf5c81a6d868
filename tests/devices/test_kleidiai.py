"""What etprof says of KleidiAI's microkernels, against the operators that an emulated CPU with SME2 runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bundle_bench import ETPROF, Bundle, call

DYNAMIC = ("dynamic", "dynamic_4_bits", "dynamic_groups")
MASKED, SEEN = "--isa=-sme,-sme2", "--isa=+sme2"
RUNS = {
    # What ran, by the operator's name: KleidiAI's packed types.
    "sme": re.compile(r"\(.*\bP(F32|F16|QS8)\b"),
    "kleidiai": re.compile(r"\(.*\bQP8\b"),
    "portable": re.compile(r"^native_call_"),
    "xnnpack": re.compile(r""),
}


def ran(name: str) -> str:
    return next(kernels for kernels, pattern in RUNS.items() if pattern.search(name))


def etprof(*words: str | Path) -> dict[str, Any]:
    done = call(ETPROF, *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(bundle: Bundle, qemu: list[str], pte: Path, etdump: Path, isa: str) -> dict[str, Any]:
    """The one experiment of an emulated run."""
    words = ["--model_path", pte, "--num_executions", 2, "--cpu_threads", 1, "--etdump_path", etdump, isa]
    done = call(*qemu, *bundle.command(), *map(str, words))
    assert done.returncode == 0, done.stderr
    (experiment,) = etprof("analyze", etdump, "--model", pte)["experiments"]
    assert experiment["program"]["problem"] is None
    return experiment


def nodes_of(pte: Path) -> dict[tuple[int, int], dict[str, Any]]:
    """XNNPACK's nodes, by the instruction that calls their delegate and their number."""
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

    def path_of(scheme: str) -> Path:
        path = folder / f"{scheme}.pte"
        if not path.exists():
            models.export(scheme, path)
        return path

    return path_of


@pytest.mark.parametrize("scheme", ["fp32", "fp16", "per_channel", "per_tensor", *DYNAMIC])
def test_what_is_said_of_a_node_is_what_runs(
    bundle: Bundle, qemu: list[str], exported: Any, tmp_path: Path, scheme: str
) -> None:
    pte = exported(scheme)
    nodes = nodes_of(pte)
    said = {key: node["with_sme2"] for key, node in nodes.items() if node["with_sme2"]}
    assert len(said) >= 15
    experiment = run(bundle, qemu, pte, tmp_path / "on.etdump", SEEN)
    seen: dict[tuple[int, int], str] = {}
    for operator in experiment["operators"]:
        instruction = int(operator["key"].split("/")[1])
        for node in operator["program"]["nodes"] if operator["program"]["join"] == "nodes" else []:
            if (instruction, node) in said:
                seen[instruction, node] = ran(operator["name"])
    # The name of what is quantized dynamically, QP8, says KleidiAI alone: test_emulated_watch.py looks at what runs.
    fits = {"kleidiai": ("sme", "kleidiai")}
    wrong = {
        key: (nodes[key], runs) for key, runs in seen.items() if said[key]["kernels"] not in fits.get(runs, [runs])
    }
    assert not wrong
    assert len(seen) >= 0.7 * len(said)  # others have several nodes that fit equally well
    # Without SME2 none of them does, and KleidiAI's other kernels stay.
    masked = run(bundle, qemu, pte, tmp_path / "off.etdump", MASKED)
    names = {ran(operator["name"]) for operator in masked["operators"]}
    assert "sme" not in names
    assert ("kleidiai" in names) == (scheme in DYNAMIC)
    # The same operators, counted by what they ran.
    rows = {row["kernels"]: row for row in experiment["matrix_kernels"]}
    assert set(seen.values()) <= set(rows)
    if scheme not in DYNAMIC:
        assert len(rows["sme"]["operators"]) >= 8
    assert all(row["why"] for row in experiment["matrix_kernels"] if row["kernels"] in ("kleidiai", "portable"))


def test_reasons_and_what_changes_them(bundle: Bundle, qemu: list[str], exported: Any, tmp_path: Path) -> None:
    """Every reason is given somewhere, and what is to be changed at export was seen to help."""
    said: set[str] = set()
    for scheme in ("fp32", "fp16", "per_channel", "per_tensor", *DYNAMIC):
        document = etprof("inspect", exported(scheme))
        graphs = [node for graph in document["xnnpack_graphs"] for node in graph["nodes"]]
        for one in [*graphs, *document["methods"][0]["instructions"]]:
            use = one["with_sme2"]
            if use and use["why"]:
                said.add(use["why"])
    assert said == {
        "a group has one input channel (depthwise)",
        "1x1 convolutions in fp16 keep their weights in fp32",
        "weights are quantized per tensor",
        "the input is quantized dynamically",
        "for weights of 4 bits in groups there are none for SME2",
        "transposed convolution in floating point",
        "not delegated: XNNPACK takes a product of two matrices only where one is constant",
    }

    def runs(scheme: str, type_: str) -> set[str]:
        experiment = run(bundle, qemu, exported(scheme), tmp_path / "x.etdump", SEEN)
        return {ran(one["name"]) for one in experiment["operators"] if one["name"].startswith(type_)}

    # "use torch.nn.Linear": of fp16's fully connected operators, the linear layers are KleidiAI's, pointwise is not.
    assert runs("fp16", "Fully Connected") == {"sme", "xnnpack"}
    # "quantize weights per channel"
    assert runs("per_tensor", "Fully Connected") == {"xnnpack"}
    assert runs("per_channel", "Fully Connected") == {"sme"}
    # "quantize statically"
    assert runs("fp32", "Deconvolution") == {"xnnpack"}
    assert runs("per_channel", "Deconvolution") == {"sme"}
    # "give both matrices a batch dimension"
    assert runs("fp32", "native_call_mm") == {"portable"}
    assert runs("fp32", "Batch Matrix Multiply") == {"sme"}
