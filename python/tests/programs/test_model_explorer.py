"""Files of `etprof inspect --model-explorer`, read by Model Explorer's own Python and compared with ExecuTorch's reader.

web/e2e/model_explorer.test.ts tests that Model Explorer's page shows them.
"""

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from exports import Exported
from graphs import MODELS, PythonsProgram, map_steps, model_id

REPOSITORY = Path(__file__).parents[3]
ETPROF = REPOSITORY / "build" / "etprof"
RUNNER = REPOSITORY / "build" / "etprof-runner"
TOY_CNN = REPOSITORY / "tests" / "data" / "toy_cnn.pte"
EMULATED = REPOSITORY / "tests" / "data" / "sme2_emulated"


def skip_or_fail(reason: str) -> None:
    if os.environ.get("CI", "") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


pytestmark = pytest.mark.usefixtures("needs_build")


def load_graphs(path: Path, kind: str):
    """Reads a file with Model Explorer's own classes, and fails for unknown keys and types."""
    try:
        from dacite import Config, from_dict
        from model_explorer import graph_builder, node_data_builder
    except ImportError:
        skip_or_fail("Model Explorer is not installed (script/bootstrap --dev installs it)")
    data = json.loads(path.read_text(encoding="utf-8"))
    strict = Config(strict=True)
    if kind == "graphs":
        return from_dict(graph_builder.GraphCollection, data, strict)
    return {graph: from_dict(node_data_builder.GraphNodeData, own, strict) for graph, own in data.items()}


def etprof(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    completed = subprocess.run([ETPROF, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert completed.returncode == code, completed.stderr
    return completed


def trace(pte: Path, etdump: Path) -> Path:
    command = [RUNNER, "--model_path", pte, "--num_executions", "5", "--cpu_threads", "1", "--etdump_path", etdump]
    subprocess.run(command, check=True, capture_output=True)
    return etdump


def attributes(node) -> dict:
    assert len({attr.key for attr in node.attrs}) == len(node.attrs)
    return {attr.key: attr.value for attr in node.attrs}


def node_id(step: tuple) -> str:
    kind, index, *number = step
    if kind in ("input", "output"):
        return f"forward/{kind}/{index}"
    return "/".join(["forward", str(index), kind, *map(str, number)])


@pytest.fixture(scope="module", params=MODELS, ids=model_id)
def model(request: pytest.FixtureRequest, exported: Exported) -> Path:
    return exported(**request.param)


def test_the_graph_is_that_of_the_program(model: Path, tmp_path: Path):
    etprof("inspect", model, "--model-explorer", tmp_path / "g.json", "--by", "delegate")
    assert [path.name for path in tmp_path.iterdir()] == ["g.json"]
    collection = load_graphs(tmp_path / "g.json", "graphs")
    assert collection.label == model.name
    (graph,) = collection.graphs
    assert graph.id == "forward"
    program = PythonsProgram(model, tmp_path)
    assert Counter(node.id for node in graph.nodes) == Counter(map(node_id, program.reads))
    edges = {(edge.sourceNodeId, node.id) for node in graph.nodes for edge in node.incomingEdges}
    assert edges == {(node_id(a), node_id(b)) for a, b in program.edges()}
    by_id = {node.id: node for node in graph.nodes}
    for step, node in ((step, by_id[node_id(step)]) for step in program.reads):
        # Each edge starts at an existing output and ends at a separate input.
        for edge in node.incomingEdges:
            assert edge.sourceNodeOutputId in {output.id for output in by_id[edge.sourceNodeId].outputsMetadata}
        inputs = [edge.targetNodeInputId for edge in node.incomingEdges]
        assert len(set(inputs)) == len(inputs)
        shapes = [{attr.key: attr.value for attr in output.attrs} for output in node.outputsMetadata]
        assert Counter(map(json.dumps, shapes)) == Counter(map(json.dumps, program.step_outputs[step]))
        assert "time" not in attributes(node)
        if step[0] == "node":
            delegate = f"XnnpackBackend at instruction {step[1]}"
            assert (node.namespace, attributes(node)["delegate"]) == (delegate, delegate)
        else:
            assert node.namespace == ""


def test_times_are_those_of_the_analysis(model: Path, tmp_path: Path):
    etdump = trace(model, tmp_path / "x.etdump")
    completed = etprof("inspect", model, "--model-explorer", tmp_path / "g.json", "--run", etdump)
    assert completed.stdout.split() == [str(tmp_path / "g.json"), str(tmp_path / "g.x.json")]
    assert f"model-explorer {tmp_path}/g.json --node_data_paths {tmp_path}/g.x.json" in completed.stderr
    (graph,) = load_graphs(tmp_path / "g.json", "graphs").graphs
    (data,) = load_graphs(tmp_path / "g.x.json", "node data").values()
    assert data.name == "x: mean self time, ms"
    found = {node: result.value for node, result in data.results.items()}
    document = json.loads(etprof("analyze", etdump, "--model", model, "--json").stdout)
    (experiment,) = document["experiments"]
    operators = experiment["operators"]
    means = {operator["key"]: operator["mean_ms"] for operator in operators}
    assert sum(found.values()) == pytest.approx(sum(means.values()), abs=1e-6 * len(means))

    nodes = {node.id: node for node in graph.nodes}
    owner, pairs, without_steps = map_steps(
        sorted(operators, key=lambda own: [int(part) for part in own["key"].split("/")[1::2]])
    )
    expected: Counter[str] = Counter()
    for operator in operators:
        key, source = operator["key"], operator["program"]
        _, instruction, kind, _ = key.split("/")[:4]
        if key in without_steps:
            continue
        node = (
            f"forward/{instruction}/kernel" if kind == "kernel" else f"forward/{instruction}/node/{source['nodes'][0]}"
        )
        expected[node] += operator["mean_ms"]
        shown = attributes(nodes[node])
        assert key in {value for name, value in shown.items() if name.endswith("key")}
        assert shown.get("layer", None) == (source["layer"] if source["layer"] != "" else "(model)")
        assert nodes[node].namespace == (source["layer"] or "").replace(".", "/")
        if source["source"]:
            assert shown["source"] == Path(source["source"]).name
        # The first of several fused nodes has the time, and the others refer to it.
        for fused in source["nodes"][1:]:
            fused_node = f"forward/{instruction}/node/{fused}"
            assert fused_node not in found
            assert attributes(nodes[fused_node])["ran as part of"].nodeIds == [node]
    assert {node: found[node] for node in expected} == pytest.approx(dict(expected), abs=1e-6)
    # If several nodes match an operator, the first has the time, and the others refer to it.
    other_nodes = set(found) - set(expected)
    assert len(other_nodes) == len(without_steps)
    linked = {
        node.value.nodeIds[0] for own in nodes.values() for node in own.attrs if node.key.startswith("this or that ran")
    }
    assert linked == other_nodes
    assert {*owner.values(), *(first for first, _ in pairs), *without_steps} == set(means)
    # Groups have the sum of their nodes. The graph has the time that is on no node.
    groups = graph.groupNodeAttributes
    layers = {layer["path"]: layer["total_ns"] for layer in experiment["program"]["layers"]}
    runs = experiment["groups"]["runs"]
    for name, shown in groups.items():
        if name:
            assert float(shown["time"].removesuffix(" ms")) == pytest.approx(
                layers[name.replace("/", ".")] / runs / 1e6, abs=6e-5
            )
    graph_values = {
        name: float(value.removesuffix(" ms")) for name, value in groups[""].items() if value.endswith(" ms")
    }
    assert graph_values.pop("Method::execute") == pytest.approx(sum(graph_values.values()), abs=3e-4)


def test_two_runs_have_separate_times(tmp_path: Path):
    run = tmp_path / "out"
    config = {"model": str(TOY_CNN), "output_root": str(run), "launches": 5, "rounds": 2}
    config["experiments"] = [{"name": "one", "runs": 4}, {"name": "two", "runs": 4}]
    (tmp_path / "config.json").write_text(json.dumps(config))
    etprof("run", tmp_path / "config.json")
    folder = next(run.rglob("manifest.json")).parent
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    completed = etprof("inspect", TOY_CNN, "--model-explorer", tmp_path / "g.json", "--run", folder)
    assert {path: path.read_bytes() for path in before} == before
    document = json.loads(before[folder / "analysis_summary.json"])
    (comparison,) = document["comparisons"]
    labels = [experiment["label"] for experiment in document["experiments"]]
    names = ["g.json", *(f"g.{label}.json" for label in labels), f"g.{labels[1]}_against_{labels[0]}.json"]
    assert [Path(line).name for line in completed.stdout.splitlines()] == names
    # On a busy machine the comparison may be contended, and then has no ratio.
    results = {}
    for graph_values in load_graphs(tmp_path / names[3], "node data").values():
        results |= graph_values.results
    (graph,) = load_graphs(tmp_path / "g.json", "graphs").graphs
    shown = {node.id: attributes(node) for node in graph.nodes}
    keys = {attributes(node)[f"{labels[0]}: key"]: node.id for node in graph.nodes if "time" in str(node.attrs)}
    rows = [row for row in comparison["operators"] if row.get("baseline_key") in keys]
    assert len(rows) == 11
    assert len(results) == sum(row["ratio"] is not None for row in rows)
    colors = {"faster": "#8fd19e", "slower": "#f4a582"}
    for row in rows:
        node = keys[row["baseline_key"]]
        if row["ratio"] is not None:
            assert results[node].value == pytest.approx(row["ratio"])
            assert results[node].bgColor == colors.get(row["verdict"], "#e0e0e0")
        assert row["verdict"] in shown[node][f"{labels[1]} against {labels[0]}"]
    # Ctrl-C leaves no partial file.
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]


def test_operators_of_one_variant_only(tmp_path: Path):
    files = [EMULATED / "toy_cnn.sme2_off.etdump", EMULATED / "toy_cnn.sme2_on.etdump"]
    completed = etprof("inspect", TOY_CNN, "--model-explorer", tmp_path / "g.json", "--run", *files)
    assert "grouped by delegate" in completed.stderr
    (graph,) = load_graphs(tmp_path / "g.json", "graphs").graphs
    nodes = {node.id: attributes(node) for node in graph.nodes}
    assert nodes["forward/0/node/1"]["sme2_off: operator"] == "Convolution (NHWC, F32) IGEMM #1"
    assert nodes["forward/0/node/1"]["sme2_on: operator"] == "Convolution (NHWC, PF32) IGEMM #1"
    assert nodes["forward/0/node/1"]["with SME2"].startswith("KleidiAI")


def test_inputs_without_a_graph_are_refused(exported: Exported, tmp_path: Path):
    out = tmp_path / "g.json"
    other = exported(model="toy_cnn", backend="portable")
    real = REPOSITORY / "tests" / "data" / "toy_cnn.t1.etdump"
    completed = etprof("inspect", other, "--model-explorer", out, "--run", real, code=3)
    assert "not the one that ran" in completed.stderr
    completed = etprof("inspect", TOY_CNN, "--model-explorer", out, "--by", "layer", code=3)
    assert "toy_cnn.pte.etrecord" in completed.stderr
    assert "--etrecord" in completed.stderr
    assert ".json" in etprof("inspect", TOY_CNN, "--model-explorer", tmp_path / "g.pb", code=2).stderr
    assert (
        "one results directory"
        in etprof("inspect", TOY_CNN, "--model-explorer", out, "--run", tmp_path, real, code=2).stderr
    )
    etprof("inspect", TOY_CNN, "--model-explorer", out, "--json", code=2)
    etprof("inspect", TOY_CNN, "--run", real, code=2)
    etprof("inspect", TOY_CNN, "--by", "delegate", code=2)
    assert list(tmp_path.iterdir()) == []
    # --etrecord replaces the record next to the model.
    record = Path(f"{exported(model='toy_cnn')}.etrecord")
    etprof("inspect", exported(model="toy_cnn"), "--model-explorer", out, "--etrecord", record)
    (graph,) = load_graphs(out, "graphs").graphs
    assert graph.groupNodeAttributes[""]["groups"] == "modules of the model"
