"""Data flow between operators, compared with the program in ExecuTorch's Python reader and with PyTorch's graph."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

import jsonschema
import pytest
from executorch.devtools import parse_etrecord

from exports import Exported
from graphs import MODELS, Edges, PythonsProgram, contract_edges, map_steps, model_id

REPOSITORY = Path(__file__).parents[3]
ETPROF = REPOSITORY / "build" / "etprof"
RUNNER = REPOSITORY / "build" / "etprof-runner"
SCHEMA = REPOSITORY / "docs" / "schema" / "analysis_summary.schema.json"


pytestmark = pytest.mark.usefixtures("needs_build")


@pytest.fixture(params=MODELS, ids=model_id)
def pte(request: pytest.FixtureRequest, exported: Exported) -> Path:
    return exported(**request.param)


def trace_operators(pte: Path, folder: Path) -> list[dict]:
    etdump = folder / "x.etdump"
    command = [RUNNER, "--model_path", pte, "--num_executions", "3", "--cpu_threads", "1", "--etdump_path", etdump]
    subprocess.run(command, check=True, capture_output=True)
    command = [ETPROF, "analyze", etdump, "--model", pte, "--json"]
    document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    (experiment,) = document["experiments"]
    return experiment["operators"]


def read_edges(operators: list[dict]) -> Edges:
    """Returns pairs of keys, and checks that the lists of producers and consumers agree."""
    consumers = {(op["key"], other) for op in operators for other in op["program"]["consumers"]}
    assert consumers == {(other, op["key"]) for op in operators for other in op["program"]["producers"]}
    return consumers


def test_neighbors_are_those_of_the_program(pte: Path, tmp_path: Path):
    operators = sorted(
        trace_operators(pte, tmp_path), key=lambda op: [int(part) for part in op["key"].split("/")[1::2]]
    )
    program = PythonsProgram(pte, tmp_path)
    owner, pairs, without_steps = map_steps(operators)
    # Operators with a known kind and an unknown node are removed from both graphs.
    steps = contract_edges(program.edges(), set(program.reads) - set(owner))
    second = dict(pairs)
    expected = set(pairs)
    for a, b in steps:
        to = next((first for first, other in pairs if other == owner[b]), owner[b])
        if owner[a] != owner[b]:
            expected.add((owner[a], to))
    assert contract_edges(read_edges(operators), without_steps) == expected
    assert len(expected) > len(operators) / 2
    assert len(without_steps) <= len(operators) / 10
    assert all(op["program"]["producers"] for op in operators if op["key"] in {*without_steps, *second.values()})


def merge_groups(groups: Iterable[Iterable[int]]) -> dict[int, int]:
    """Merges groups that have a number in common, and returns the name of the merged group for each number."""
    name: dict[int, int] = {}
    for group in map(list, groups):
        group_names = {name.setdefault(number, number) for number in group}
        name |= {number: min(group_names) for number, old in name.items() if old in group_names}
    return name


def test_neighbors_are_those_of_pytorchs_graph(pte: Path, tmp_path: Path):
    operators = trace_operators(pte, tmp_path)
    # Conversions between operators have no node in PyTorch's graph.
    handles = {op["key"]: op["program"]["debug_handles"] for op in operators if not op["program"]["between"]}
    handles = {key: own for key, own in handles.items() if own}
    name = merge_groups(handles.values())
    named = {key: name[own[0]] for key, own in handles.items()}
    between = {op["key"] for op in operators} - set(handles)
    found = {(named[a], named[b]) for a, b in contract_edges(read_edges(operators), between) if named[a] != named[b]}

    record = parse_etrecord(f"{pte}.etrecord").edge_dialect_program
    nodes = [node for node in record.graph_module.graph.nodes if node.op == "call_function"]
    edges = {(before, node) for node in nodes for before in node.all_input_nodes if before in nodes}
    covered = {node: name[node.meta["debug_handle"]] for node in nodes if node.meta.get("debug_handle") in name}
    left = contract_edges(edges, [node for node in nodes if node not in covered])
    expected = {(covered[a], covered[b]) for a, b in left if covered[a] != covered[b]}
    assert found == expected
