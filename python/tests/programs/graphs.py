"""Programs as graphs, read by ExecuTorch's own Python, for tests that compare etprof's reader with another one."""

import importlib.resources
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import executorch.backends.xnnpack.serialization as xnnpack_schema
from executorch.backends.xnnpack.serialization.xnnpack_graph_serialize import XNNHeader
from executorch.exir import schema
from executorch.exir._serialize._flatbuffer import _flatc_decompile
from executorch.exir._serialize._program import deserialize_pte_binary

from etprof.exporting import find

NO_ID = 2**32 - 1
DTYPES = {"BYTE": "uint8", "CHAR": "int8", "INT": "int32", "LONG": "int64", "HALF": "float16", "FLOAT": "float32"}
DTYPES |= {"DOUBLE": "float64", "BOOL": "bool", "SHORT": "int16", "BFLOAT16": "bfloat16"}
INPUT_FIELDS = ["input_id", "input1_id", "input2_id", "input3_id", "input4_id", "input5_id", "filter_id", "bias_id"]

BRANCHES = f"{Path(__file__).with_name('branches.py')}:Branches"
MODELS = [
    {"model": BRANCHES},
    {"model": BRANCHES, "backend": "portable"},
    {"model": "toy_cnn"},
    {"model": "toy_cnn", "quantize": "static"},
    {"model": "toy_cnn", "backend": "portable", "quantize": "static"},
    {"model": "transformer_layer"},
    {"model": "mixed_delegates"},
    {"model": "mobilenet_v3_small"},
    {"model": "mobilenet_v3_small", "dtype": "fp16"},
    {"model": "mobilenet_v3_small", "quantize": "static"},
]
Edges = set[tuple]


def model_id(options: dict) -> str:
    """Returns the test id of an entry of MODELS."""
    return "-".join(find.default_name(options["model"]) if key == "model" else str(options[key]) for key in options)


def read_graph(payload: bytes, folder: Path) -> dict:
    """Returns the graph of an XNNPACK payload, read by flatc with ExecuTorch's schema."""
    header = XNNHeader.from_bytes(payload[: XNNHeader.EXPECTED_LENGTH])
    schema_file = folder / "schema.fbs"
    schema_file.write_bytes(importlib.resources.files(xnnpack_schema).joinpath("schema.fbs").read_bytes())
    flatbuffer = folder / "graph.bin"
    flatbuffer.write_bytes(payload[header.flatbuffer_offset :][: header.flatbuffer_size])
    _flatc_decompile(str(folder), str(schema_file), str(flatbuffer), ["--raw-binary"])
    text = (folder / "graph.json").read_text()
    return json.loads(re.sub(r"(: -?)inf\b", r"\1Infinity", text))


def node_inputs(node: dict) -> list[int]:
    """Returns the ids of the values that an entry of `xnodes` reads, in the order of its arguments."""
    union = node["xnode_union"]
    used = [field for field in INPUT_FIELDS if field in union]
    if node["xnode_union_type"].startswith("XNNConcatenate"):
        used = used[: int(node["xnode_union_type"][-1])]
    return [union[field] for field in used if union[field] != NO_ID]


def contract_edges(edges: Iterable[tuple], dropped: Iterable) -> Edges:
    """Removes the nodes `dropped` from a graph, and connects their producers with their consumers."""
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


def format_shape(sizes: Iterable[int]) -> str:
    return "x".join(map(str, sizes)) or "scalar"


class PythonsProgram:
    """The values that each step of a program reads and writes, from ExecuTorch's own objects.

    Steps are ("input", i) and ("output", i) of the method, ("kernel", instruction) and ("node", instruction, number).
    """

    def __init__(self, pte: Path, folder: Path):
        program = deserialize_pte_binary(pte.read_bytes()).program
        (self.plan,) = program.execution_plan
        self.reads: dict[tuple, set] = {}
        self.writers: dict[tuple, tuple] = {}
        self.last_in: dict[tuple, tuple] = {}  # last writer by place in memory
        self.step_outputs: dict[tuple, list[dict]] = {}  # shape and type of each tensor by step
        self.tensors_of: dict[tuple, dict] = {}  # shape and type by value
        (chain,) = self.plan.chains
        for index, value in enumerate(self.plan.inputs):
            self.add(("input", index), set(), {("value", value): self.tensor(value)})
        for index, instruction in enumerate(chain.instructions):
            call = instruction.instr_args
            if isinstance(call, schema.KernelCall):
                self.add_kernel(index, call)
            elif isinstance(call, schema.DelegateCall):
                place = self.plan.delegates[call.delegate_index].processed
                self.add_call(index, call, read_graph(bytes(program.backend_delegate_data[place.index].data), folder))

        for index, value in enumerate(self.plan.outputs):
            self.add(("output", index), {("value", value)}, {})

    def tensor(self, index: int) -> dict:
        tensor = self.plan.values[index].val
        return {"shape": format_shape(tensor.sizes), "type": DTYPES[tensor.scalar_type.name]}

    def tensors(self, index: int) -> list[int]:
        value = self.plan.values[index].val
        if isinstance(value, schema.Tensor):
            return [index]
        return list(value.items) if isinstance(value, schema.TensorList) else []

    def add_kernel(self, index: int, call: schema.KernelCall) -> None:
        outputs = self.tensors(call.args[-1])
        inputs = {value for argument in call.args for value in self.tensors(argument)} - set(outputs)
        written_tensors = {("value", value): self.tensor(value) for value in outputs}
        self.add(("kernel", index), {("value", value) for value in inputs}, written_tensors)

    def add_call(self, index: int, call: schema.DelegateCall, graph: dict) -> None:
        names, tensors = {}, {}
        for entry in graph["xvalues"]:
            union = entry["xvalue_union"]
            tensor = union.get("tensor_value", union)
            external = tensor["id_out"] in {*graph["input_ids"], *graph["output_ids"]}
            place = ("value", call.args[tensor["external_id"]]) if external else ("id", index, tensor["id_out"])
            names[tensor["id_out"]] = place
            kind = tensor["datatype"].removeprefix("xnn_datatype_")
            tensors[tensor["id_out"]] = {"shape": format_shape(tensor["dims"]), "type": kind}
        for number, node in enumerate(graph["xnodes"]):
            read = {names[value] for value in node_inputs(node)}
            output = node["xnode_union"]["output_id"]
            self.add(("node", index, number), read, {names[output]: tensors[output]})

    def memory_place(self, value: tuple) -> tuple | None:
        tensor = self.plan.values[value[1]].val if value[0] == "value" else None
        info = getattr(tensor, "allocation_info", None)
        return info and (info.memory_id, info.memory_offset_low, info.memory_offset_high)

    def add(self, step: tuple, read: set, written: dict[tuple, dict]) -> None:
        # A tensor that no step writes is a view of the last tensor in its memory.
        for view in filter(self.memory_place, read - set(self.writers)):
            self.writers[view] = self.last_in[self.memory_place(view)]
        self.reads[step] = read
        self.step_outputs[step] = list(written.values())
        for value in written:
            assert value not in self.writers
            self.writers[value] = step
            self.last_in[self.memory_place(value)] = step

    def edges(self) -> Edges:
        return {
            (self.writers[value], step) for step, read in self.reads.items() for value in read if value in self.writers
        }


def map_steps(operators: list[dict]) -> tuple[dict, list[tuple[str, str]], set[str]]:
    """Returns the operator of each step, pairs of operators that share a step, and operators without steps."""
    owner, pairs, without_steps = {}, [], set()
    for operator in operators:
        _, instruction, kind, _ = operator["key"].split("/")[:4]
        source = operator["program"]
        if kind == "kernel":
            owner["kernel", int(instruction)] = operator["key"]
        elif not source["nodes"]:
            without_steps.add(operator["key"])
        for node in source["nodes"]:
            step = ("node", int(instruction), node)
            if step in owner and source["nodes"][0] == node:
                pairs.append((owner[step], operator["key"]))
            owner[step] = operator["key"]
    return owner, pairs, without_steps
