"""What operators give to each other, against the program as ExecuTorch's Python reads it and against PyTorch's graph."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import jsonschema
import pytest
from executorch.devtools import parse_etrecord
from executorch.exir import schema
from executorch.exir._serialize._program import deserialize_pte_binary

from exports import Exported
from graphs import graph_of, inputs_of

REPOSITORY = Path(__file__).parents[2]
ETPROF = REPOSITORY / "build" / "etprof"
RUNNER = REPOSITORY / "build" / "etprof-runner"
SCHEMA = REPOSITORY / "docs" / "schema" / "analysis_summary.schema.json"
# Branches, a residual, a concatenation, lists of tensors, reshapes of which XNNPACK leaves one out, several delegates.
BRANCHES = """
import torch


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.b = torch.nn.Conv2d(3, 4, 1)
        self.c = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.d = torch.nn.Conv2d(12, 6, 1)
        self.e = torch.nn.Conv2d(3, 6, 1)

    def forward(self, x):
        y = self.d(torch.cat([torch.relu(self.a(x)), self.b(x), torch.sigmoid(self.c(x))], 1))
        p, q = torch.split(torch.relu(y + self.e(x)), 3, 1)
        w = torch.stack([p, torch.cumsum(q, 1)], 0).flatten(0, 1)
        w = torch.nn.functional.interpolate(w, scale_factor=2.0, mode="bilinear")
        w = torch.cat([w, w], 1)
        return torch.nn.functional.layer_norm(w, (16,)), w[:, 1:3]


class Model:
    def get_eager_model(self):
        return Branches().eval()

    def get_example_inputs(self):
        return (torch.rand(1, 3, 8, 8),)
"""
MODELS = [
    {"model": "branches"},
    {"model": "branches", "backend": "portable"},
    {"model": "toy_cnn"},
    {"model": "toy_cnn", "quantize": True},
    {"model": "toy_cnn", "backend": "portable", "quantize": True},
    {"model": "transformer_layer"},
    {"model": "mixed_delegates"},
    {"model": "mobilenet_v3_small"},
    {"model": "mobilenet_v3_small", "dtype": "fp16"},
    {"model": "mobilenet_v3_small", "quantize": True},
]
Edges = set[tuple]


@pytest.fixture(scope="module", autouse=True)
def needs_build() -> None:
    for program in (ETPROF, RUNNER):
        if not program.is_file():
            message = f"{program} is not built (script/bootstrap builds it)"
            if os.environ.get("CI", "") == "true":
                pytest.fail(message)
            pytest.skip(message)


@pytest.fixture(params=MODELS, ids=lambda options: "-".join(map(str, options.values())))
def pte(request: pytest.FixtureRequest, exported: Exported, tmp_path: Path) -> Path:
    options = request.param
    if options["model"] != "branches":
        return exported(**options)
    source = tmp_path / "branches.py"
    source.write_text(BRANCHES)
    command = [sys.executable, "-m", "etprof.export", "--model", f"{source}:Model", "--outdir", tmp_path]
    command += ["--backend", options.get("backend", "xnnpack")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=REPOSITORY / "python")
    assert done.returncode == 0, done.stderr
    (pte,) = tmp_path.glob("*.pte")
    return pte


def operators_of(pte: Path, folder: Path) -> list[dict]:
    etdump = folder / "x.etdump"
    command = [RUNNER, "--model_path", pte, "--num_executions", "3", "--cpu_threads", "1", "--etdump_path", etdump]
    subprocess.run(command, check=True, capture_output=True)
    command = [ETPROF, "analyze", etdump, "--model", pte, "--json"]
    document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    (experiment,) = document["experiments"]
    return experiment["operators"]


def edges_of(operators: list[dict]) -> Edges:
    """Pairs of keys; both lists of an operator say the same."""
    consumers = {(op["key"], other) for op in operators for other in op["program"]["consumers"]}
    assert consumers == {(other, op["key"]) for op in operators for other in op["program"]["producers"]}
    return consumers


def contracted(edges: Iterable[tuple], dropped: Iterable) -> Edges:
    """The edges when each of `dropped` gives on what it takes."""
    after, before = defaultdict(set), defaultdict(set)
    for a, b in edges:
        after[a].add(b)
        before[b].add(a)
    for node in dropped:
        for a in before[node]:
            after[a] = (after[a] - {node}) | after[node]
        for b in after[node]:
            before[b] = (before[b] - {node}) | before[node]
        after.pop(node, None)
    return {(a, b) for a, others in after.items() for b in others if a != b}


class PythonsProgram:
    """Who reads and writes what, from ExecuTorch's own objects. Steps are ("kernel", i) and ("node", i, number)."""

    def __init__(self, pte: Path, folder: Path):
        program = deserialize_pte_binary(pte.read_bytes()).program
        (self.plan,) = program.execution_plan
        self.reads: dict[tuple, set] = {}
        self.writers: dict[tuple, tuple] = {}
        self.last_in: dict[tuple, tuple] = {}  # by place in memory
        (chain,) = self.plan.chains
        for index, instruction in enumerate(chain.instructions):
            call = instruction.instr_args
            if isinstance(call, schema.KernelCall):
                self.add_kernel(index, call)
            elif isinstance(call, schema.DelegateCall):
                place = self.plan.delegates[call.delegate_index].processed
                self.add_call(index, call, graph_of(bytes(program.backend_delegate_data[place.index].data), folder))

    def tensors(self, index: int) -> list[int]:
        value = self.plan.values[index].val
        if isinstance(value, schema.Tensor):
            return [index]
        return list(value.items) if isinstance(value, schema.TensorList) else []

    def add_kernel(self, index: int, call: schema.KernelCall) -> None:
        written = self.tensors(call.args[-1])
        read = {value for argument in call.args for value in self.tensors(argument)} - set(written)
        self.add(("kernel", index), {("value", value) for value in read}, {("value", value) for value in written})

    def add_call(self, index: int, call: schema.DelegateCall, graph: dict) -> None:
        names = {}
        for entry in graph["xvalues"]:
            union = entry["xvalue_union"]
            tensor = union.get("tensor_value", union)
            external = tensor["id_out"] in {*graph["input_ids"], *graph["output_ids"]}
            place = ("value", call.args[tensor["external_id"]]) if external else ("id", index, tensor["id_out"])
            names[tensor["id_out"]] = place
        for number, node in enumerate(graph["xnodes"]):
            read = {names[value] for value in inputs_of(node)}
            self.add(("node", index, number), read, {names[node["xnode_union"]["output_id"]]})

    def place_of(self, value: tuple) -> tuple | None:
        tensor = self.plan.values[value[1]].val if value[0] == "value" else None
        info = getattr(tensor, "allocation_info", None)
        return info and (info.memory_id, info.memory_offset_low, info.memory_offset_high)

    def add(self, step: tuple, read: set, written: set) -> None:
        # A tensor that nothing writes is a view of what was last written to its memory.
        views = {value for value in read if value not in self.writers and value[-1] not in self.plan.inputs}
        for view in filter(self.place_of, views):
            self.writers[view] = self.last_in[self.place_of(view)]
        self.reads[step] = read
        for value in written:
            assert value not in self.writers
            self.writers[value] = step
            self.last_in[self.place_of(value)] = step

    def edges(self) -> Edges:
        return {
            (self.writers[value], step) for step, read in self.reads.items() for value in read if value in self.writers
        }


def steps_of(operators: list[dict]) -> tuple[dict, list[tuple[str, str]], set[str]]:
    """Whose each step is, pairs of operators that one step runs as, and the operators that have no steps."""
    owner, pairs, without = {}, [], set()
    for operator in operators:
        _, instruction, kind, _ = operator["key"].split("/")[:4]
        source = operator["program"]
        if kind == "kernel":
            owner["kernel", int(instruction)] = operator["key"]
        elif not source["nodes"]:
            without.add(operator["key"])
        for node in source["nodes"]:
            step = ("node", int(instruction), node)
            if step in owner and source["nodes"][0] == node:
                pairs.append((owner[step], operator["key"]))
            owner[step] = operator["key"]
    return owner, pairs, without


def test_neighbours_are_those_of_the_program(pte: Path, tmp_path: Path):
    operators = sorted(operators_of(pte, tmp_path), key=lambda op: [int(part) for part in op["key"].split("/")[1::2]])
    program = PythonsProgram(pte, tmp_path)
    owner, pairs, without = steps_of(operators)
    # An operator of which only the kind is known, not the node, is taken out on both sides.
    steps = contracted(program.edges(), set(program.reads) - set(owner))
    second = dict(pairs)
    expected = set(pairs)
    for a, b in steps:
        to = next((first for first, other in pairs if other == owner[b]), owner[b])
        if owner[a] != owner[b]:
            expected.add((owner[a], to))
    assert contracted(edges_of(operators), without) == expected
    assert len(expected) > len(operators) / 2
    assert len(without) <= len(operators) / 10
    assert all(op["program"]["producers"] for op in operators if op["key"] in {*without, *second.values()})


def merged(groups: Iterable[Iterable[int]]) -> dict[int, int]:
    """A name for each number, the same for all that stand in one group together, directly or over others."""
    name: dict[int, int] = {}
    for group in map(list, groups):
        known = {name.setdefault(number, number) for number in group}
        name |= {number: min(known) for number, old in name.items() if old in known}
    return name


def test_neighbours_are_those_of_pytorchs_graph(pte: Path, tmp_path: Path):
    operators = operators_of(pte, tmp_path)
    # What stands for a node of PyTorch's graph; the conversions between stand for none.
    handles = {op["key"]: op["program"]["debug_handles"] for op in operators if not op["program"]["between"]}
    handles = {key: own for key, own in handles.items() if own}
    name = merged(handles.values())
    named = {key: name[own[0]] for key, own in handles.items()}
    between = {op["key"] for op in operators} - set(handles)
    found = {(named[a], named[b]) for a, b in contracted(edges_of(operators), between) if named[a] != named[b]}

    record = parse_etrecord(f"{pte}.etrecord").edge_dialect_program
    nodes = [node for node in record.graph_module.graph.nodes if node.op == "call_function"]
    edges = {(before, node) for node in nodes for before in node.all_input_nodes if before in nodes}
    covered = {node: name[node.meta["debug_handle"]] for node in nodes if node.meta.get("debug_handle") in name}
    left = contracted(edges, [node for node in nodes if node not in covered])
    expected = {(covered[a], covered[b]) for a, b in left if covered[a] != covered[b]}
    assert found == expected
