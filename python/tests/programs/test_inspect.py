"""Compares `etprof inspect --json` with ExecuTorch's own reader of the file, and its MACs with PyTorch's counter."""

import itertools
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    schema,
    to_edge,
    to_edge_transform_and_lower,
)
from executorch.exir._serialize._flatbuffer_program import _flatbuffer_to_program
from executorch.exir._serialize._program import _get_extended_header, deserialize_pte_binary
from torch.utils.flop_counter import FlopCounterMode
from torchao.quantization.granularity import PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_

from etprof.export import Request, export_model
from etprof.exporting import find
from exports import Exported
from graphs import DTYPES, NO_ID, node_inputs, read_graph

REPOSITORY = Path(__file__).parents[3]
ETPROF = REPOSITORY / "build" / "etprof"
RUNNER = REPOSITORY / "build" / "etprof-runner"
sys.path.append(str(REPOSITORY / "bench"))

from worker import Worker  # noqa: E402

TOY_CNN = REPOSITORY / "tests" / "data" / "toy_cnn.pte"
MODELS = [
    {"model": "toy_cnn"},
    {"model": "toy_cnn", "dtype": "fp16"},
    {"model": "toy_cnn", "quantize": "static"},
    {"model": "toy_cnn", "backend": "portable"},
    {"model": "toy_cnn", "backend": "portable", "quantize": "static"},
    {"model": "transformer_layer"},
    {"model": "mixed_delegates"},
    {"model": "mobilenet_v3_small"},
]
SCHEMES = {
    "PerTensorQuant": "per tensor",
    "PerChannelQuant": "per channel",
    "PerChannelGroupQuant": "per channel group",
    "PerTokenDynamicQuant": "per token, dynamic",
}
NO_HANDLE = 65535
CALLS = {schema.KernelCall: "kernel", schema.DelegateCall: "delegate", schema.MoveCall: "move"}
CALLS |= {schema.JumpFalseCall: "jump", schema.FreeCall: "free"}


@pytest.fixture(scope="module", autouse=True)
def needs_build() -> None:
    if not ETPROF.is_file():
        message = f"{ETPROF} is not built (script/bootstrap builds it)"
        if os.environ.get("CI", "") == "true":
            pytest.fail(message)
        pytest.skip(message)


@pytest.fixture(params=[None, *MODELS], ids=lambda options: "-".join(map(str, (options or {"": "data"}).values())))
def pte(request: pytest.FixtureRequest, exported: Exported) -> Path:
    return TOY_CNN if request.param is None else exported(**request.param)


def inspect(pte: Path) -> dict:
    completed = subprocess.run([ETPROF, "inspect", pte, "--json"], capture_output=True, text=True, check=True)
    return json.loads(completed.stdout)


def test_tensors_in_use_have_separate_places(pte: Path) -> None:
    """ExecuTorch's planner gives tensors that are in use at the same time separate places."""
    for method in inspect(pte)["methods"]:
        peak = method["planned_peak"]
        values = {value["value"]: value for value in method["values"]}
        places = []
        for tensor_use in peak["tensors"]:
            tensor = values[tensor_use["value"]]
            assert tensor_use["first"] <= peak["instruction"] <= tensor_use["last"]
            places.append((tensor["memory_id"], tensor["memory_offset"], tensor["memory_offset"] + tensor_use["bytes"]))
        places.sort()
        for (buffer, _, end), (next_buffer, begin, _) in itertools.pairwise(places):
            assert buffer != next_buffer or end <= begin
        assert sum(tensor_use["bytes"] for tensor_use in peak["tensors"]) == peak["bytes"] <= method["planned_bytes"]
        # The planner packs tightly: the plan is little larger than the tensors in use.
        assert peak["bytes"] >= 0.9 * method["planned_bytes"]


def test_xnnpack_packs_little_more_than_the_estimate(pte: Path) -> None:
    (method,) = inspect(pte)["methods"]
    with Worker(RUNNER, pte, watch_memory=True) as worker:
        memory = worker.ask(cmd="watch", runs=1)["memory"]
    # An operator that packs nothing still allocates its own structure of 520 bytes.
    packed = sum(operator["largest"] for operator in memory["operators"] if operator["largest"] > 600)
    assert method["packed_bytes_at_least"] <= packed <= 1.3 * method["packed_bytes_at_least"]


def float32(value: float | None) -> float | None:
    return value if value is None else torch.tensor(value, dtype=torch.float32).item()


def test_the_file_is_what_executorch_reads(pte: Path):
    data = pte.read_bytes()
    header = _get_extended_header(data)
    program = _flatbuffer_to_program(data[: header.program_size])
    found = inspect(pte)
    assert found["file_bytes"] == len(data)
    assert found["flatbuffer_bytes"] == header.program_size
    assert found["segment_base"] == header.segment_base_offset
    assert found["version"] == program.version
    base = header.segment_base_offset
    assert found["segments"] == [{"offset": base + s.offset, "bytes": s.size} for s in program.segments]
    pte_file = deserialize_pte_binary(data)
    names = pte_file.named_data.pte_data if pte_file.named_data else {}
    sizes = {key: len(pte_file.named_data.buffers[entry.buffer_index]) for key, entry in names.items()}
    assert {entry["key"]: entry["bytes"] for entry in found["named_data"]} == sizes
    assert found["constants"] == max(0, len(pte_file.program.constant_buffer) - 1)
    constants = sum(len(buffer.storage) for buffer in pte_file.program.constant_buffer)
    assert constants <= found["constant_bytes"] <= constants + 16 * (found["constants"] + 1)
    assert [method["name"] for method in found["methods"]] == [plan.name for plan in program.execution_plan]


def describe_value(value: schema.EValue) -> dict:
    """Returns the fields of ExecuTorch's value under etprof's names."""
    kind = re.sub(r"(?<!^)(?=[A-Z])", " ", type(value.val).__name__).lower().replace("null", "none")
    if not isinstance(value.val, schema.Tensor):
        return {"kind": kind}
    tensor = value.val
    place = tensor.allocation_info
    extra = tensor.extra_tensor_info
    external = extra is not None and extra.location == schema.TensorDataLocation.EXTERNAL
    return {
        "kind": "tensor",
        "dtype": DTYPES[tensor.scalar_type.name],
        "shape": list(tensor.sizes),
        "dim_order": list(tensor.dim_order),
        "dynamism": tensor.shape_dynamism.name.lower().replace("dynamic_bound", "bounded"),
        "data": "external" if external else "file" if tensor.data_buffer_idx > 0 else "none",
        "memory_id": place and place.memory_id,
        "memory_offset": place and place.memory_offset_low + (place.memory_offset_high << 32),
    }


def test_the_methods_are_what_executorch_reads(pte: Path):
    program = deserialize_pte_binary(pte.read_bytes()).program
    for plan, method in zip(program.execution_plan, inspect(pte)["methods"], strict=True):
        for value, entry in zip(plan.values, method["values"], strict=True):
            expected = describe_value(value)
            assert {key: entry[key] for key in expected} == expected
            if expected["kind"] == "tensor":
                bits = torch.empty(0, dtype=getattr(torch, entry["dtype"])).element_size() * 8
                assert entry["bytes"] == math.prod(entry["shape"]) * bits // 8
        assert [entry["value"] for entry in method["inputs"]] == list(plan.inputs)
        assert [entry["value"] for entry in method["outputs"]] == list(plan.outputs)
        assert method["planned_buffers"] == list(plan.non_const_buffer_sizes)[1:]
        names = [f"{entry.name}.{entry.overload}" if entry.overload else entry.name for entry in plan.operators]
        steps = [(c, i, step) for c, chain in enumerate(plan.chains) for i, step in enumerate(chain.instructions)]
        for (chain, index, step), entry in zip(steps, method["instructions"], strict=True):
            call = step.instr_args
            assert (entry["chain"], entry["instruction"], entry["kind"]) == (chain, index, CALLS[type(call)])
            assert entry["operator"] == (names[call.op_index] if entry["kind"] == "kernel" else None)
            assert entry["delegate"] == (call.delegate_index if entry["kind"] == "delegate" else None)
            moved = [call.move_from, call.move_to] if entry["kind"] == "move" else []
            assert entry["arguments"] == list(getattr(call, "args", moved))
        for delegate, entry in zip(plan.delegates, method["delegates"], strict=True):
            assert entry["backend"] == delegate.id
            assert entry["payload_bytes"] == len(program.backend_delegate_data[delegate.processed.index].data)
            assert [spec["key"] for spec in entry["compile_specs"]] == [spec.key for spec in delegate.compile_specs]


def check_node(node: dict, expected: dict) -> None:
    union = expected["xnode_union"]
    assert node["type"] == expected["xnode_union_type"]
    assert node["debug_handle"] == (None if expected["debug_handle"] == NO_HANDLE else expected["debug_handle"])
    assert node["inputs"] == node_inputs(expected)
    assert node["outputs"] == [union["output_id"]]
    assert node["flags"] == union["flags"]
    for key in ("output_min", "output_max"):
        bound = expected.get("output_min_max", {}).get(key, math.inf)
        assert node[key] == (float32(bound) if math.isfinite(bound) else None)
    if "kernel_height" in union:
        convolution = node["convolution"]
        assert convolution["kernel"] == [union["kernel_height"], union["kernel_width"]]
        assert convolution["stride"] == [union["subsampling_height"], union["subsampling_width"]]
        assert convolution["dilation"] == [union["dilation_height"], union["dilation_width"]]
        assert convolution["padding"] == [union[f"padding_{variant}"] for variant in ("top", "right", "bottom", "left")]
        for key in ("groups", "group_input_channels", "group_output_channels"):
            assert convolution[key] == union[key]
    else:
        assert node["convolution"] is None


def check_value(value: dict, expected: dict) -> None:
    quantized = expected["xvalue_union_type"] == "XNNQuantizedTensorValue"
    tensor = expected["xvalue_union"]["tensor_value"] if quantized else expected["xvalue_union"]
    assert value["value"] == tensor["id_out"]
    assert f"xnn_datatype_{value['dtype']}" == tensor["datatype"]
    assert value["shape"] == tensor["dims"]
    assert len(value["shape"]) == tensor["num_dims"]
    assert value["external_id"] == (None if tensor["external_id"] == NO_ID else tensor["external_id"])
    index = tensor["constant_buffer_idx"]
    assert value["constant"] == (index - 1 if index else None)
    if not quantized:
        assert value["quantization"] is None
        return
    parameters = expected["xvalue_union"]["quant_params"]
    kind = expected["xvalue_union"]["quant_params_type"]
    expected_quantization = dict.fromkeys(value["quantization"]) | {"scheme": SCHEMES[kind]}
    if kind == "PerTensorQuant":
        scale = value["quantization"]["scale"]
        assert scale == pytest.approx(parameters["scale"], rel=0, abs=1e-6)  # flatc prints six digits
        expected_quantization |= {"scale": scale, "zero_point": parameters["zero_point"]}
    elif kind == "PerTokenDynamicQuant":
        expected_quantization["nonbatch_dimensions"] = parameters["num_nonbatch_dims"]
    else:
        in_place = len(parameters.get("scale", []))
        expected_quantization["channel_dimension"] = parameters["channel_dim"]
        expected_quantization["group_size"] = parameters.get("group_size")
        expected_quantization["scales"] = in_place or parameters["num_scales"]
        expected_quantization["scale_constant"] = None if in_place else parameters["scale_buffer_idx"] - 1
    assert value["quantization"] == expected_quantization


def check_graphs(pte: Path, folder: Path) -> dict:
    """Compares each graph of a file with flatc's output, and returns etprof's output for the file."""
    program = deserialize_pte_binary(pte.read_bytes()).program
    found = inspect(pte)
    for plan, method in zip(program.execution_plan, found["methods"], strict=True):
        for delegate, entry in zip(plan.delegates, method["delegates"], strict=True):
            payload = bytes(program.backend_delegate_data[delegate.processed.index].data)
            expected = read_graph(payload, folder)
            graph = found["xnnpack_graphs"][entry["xnnpack_graph"]]
            assert graph["inputs"] == expected["input_ids"]
            assert graph["outputs"] == expected["output_ids"]
            for node, other in zip(graph["nodes"], expected["xnodes"], strict=True):
                check_node(node, other)
            for value, other in zip(graph["values"], expected["xvalues"], strict=True):
                check_value(value, other)
            for constant, other in zip(graph["constants"], expected["constant_data"][1:], strict=True):
                assert (constant["bytes"], constant["key"]) == (other["size"], other["named_key"] or None)
                assert constant["place"] == ("named" if other["named_key"] else "payload")
            assert sum(entry["node_types"].values()) == entry["nodes"] == len(graph["nodes"])
            assert entry["constant_bytes"] == sum(constant["bytes"] for constant in graph["constants"])
    return found


def test_the_xnnpack_graphs_are_what_flatc_reads(pte: Path, tmp_path: Path):
    found = check_graphs(pte, tmp_path)
    assert found["xnnpack_graphs"] or "portable" in pte.name


def dynamic_int8(network: torch.nn.Module, inputs: tuple) -> torch.nn.Module:
    quantizer = XNNPACKQuantizer()
    quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))
    prepared = prepare_pt2e(torch.export.export(network, inputs, strict=True).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def groups_of_int4(network: torch.nn.Module, _inputs: tuple) -> torch.nn.Module:
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32))
    quantize_(network, config)
    return network


@pytest.mark.parametrize(
    ("quantize", "weight_type", "scheme", "weight_bytes"),
    [
        (dynamic_int8, "qcint8", "per channel", 64 * 32),
        (groups_of_int4, "qbint4", "per channel group", 64 * 32 // 2),
    ],
)
def test_other_ways_to_quantize(tmp_path: Path, quantize: Callable, weight_type: str, scheme: str, weight_bytes: int):
    network = torch.nn.Sequential(torch.nn.Linear(64, 32, bias=False), torch.nn.ReLU(), torch.nn.Linear(32, 8)).eval()
    inputs = (torch.rand(4, 64),)
    exported_program = torch.export.export(quantize(network, inputs), inputs, strict=True)
    manager = to_edge_transform_and_lower(exported_program, partitioner=[XnnpackPartitioner()]).to_executorch()
    pte = tmp_path / "linear.pte"
    pte.write_bytes(manager.buffer)
    found = check_graphs(pte, tmp_path)
    assert found["methods"][0]["macs"] == 4 * (64 * 32 + 32 * 8)
    (graph,) = found["xnnpack_graphs"]
    weight = next(value for value in graph["values"] if value["shape"] == [32, 64])
    assert (weight["dtype"], weight["quantization"]["scheme"]) == (weight_type, scheme)
    assert graph["constants"][weight["constant"]]["bytes"] == weight_bytes
    schemes = {value["quantization"]["scheme"] for value in graph["values"] if value["quantization"]}
    assert schemes == {scheme, "per token, dynamic"}


@pytest.mark.parametrize("options", MODELS, ids=lambda options: "-".join(map(str, options.values())))
def test_macs_are_half_of_pytorchs_flops(exported: Exported, options: dict):
    built = find.build_model(find.find_model(options["model"]))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        built.module(*built.args)
    (method,) = inspect(exported(**options))["methods"]
    assert method["macs"] * 2 == counter.get_total_flops()
    assert counter.get_total_flops() > 0
    delegated = sum((entry["macs"] or 0) * entry["calls"] for entry in method["delegates"])
    assert method["delegated_macs"] == delegated
    assert method["delegated_share_of_macs"] == pytest.approx(0 if options.get("backend") == "portable" else 1)


OTHER_WORK = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.up = torch.nn.ConvTranspose2d(6, 4, (3, 2), stride=2, groups=2, output_padding=1)
        self.grouped = torch.nn.Conv2d(4, 8, (3, 1), stride=(2, 1), padding=(1, 0), dilation=(1, 1), groups=2)
        self.depthwise = torch.nn.Conv2d(8, 16, 3, groups=8)

    def forward(self, x, a, b):
        return self.depthwise(self.grouped(self.up(x))), torch.bmm(a, b), a[0] @ b[0]

class Model:
    def get_eager_model(self):
        return Net()
    def get_example_inputs(self):
        return (torch.ones(2, 6, 5, 7), torch.ones(3, 4, 5), torch.ones(3, 5, 6))
"""


@pytest.mark.parametrize("backend", ["xnnpack", "portable"])
def test_macs_of_other_convolutions_and_products(tmp_path: Path, backend: str):
    """Tests transposed, grouped, dilated and depthwise convolutions with unequal sizes, and matrix products."""
    (tmp_path / "net.py").write_text(OTHER_WORK)
    target = f"{tmp_path / 'net.py'}:Model"
    request = Request(target, backend, outdir=tmp_path, name="net", command=["pytest"])
    export_model(request)
    built = find.build_model(find.find_model(target))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        built.module(*built.args)
    (method,) = inspect(request.pte)["methods"]
    assert method["macs"] * 2 == counter.get_total_flops()


def test_external_weights_are_marked(tmp_path: Path):
    exported_program = torch.export.export(torch.nn.Linear(3, 4), (torch.ones(1, 3),), strict=True)
    manager = to_edge(exported_program, compile_config=EdgeCompileConfig()).to_executorch(
        config=ExecutorchBackendConfig(external_constants=True)
    )
    pte = tmp_path / "linear.pte"
    pte.write_bytes(manager.buffer)
    (method,) = inspect(pte)["methods"]
    external = [value for value in method["values"] if value.get("data") == "external"]
    assert sorted(value["name"] for value in external) == ["bias", "weight"]
    assert method["macs"] == 12


# A separate process starts etprof, because the peak memory of a child counts from the size of its parent.
PEAK_KILOBYTES = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, 1, 0)])
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_a_file_of_half_a_gigabyte_is_inspected_without_reading_it(tmp_path: Path):
    data = bytearray(TOY_CNN.read_bytes())
    base, segment_bytes = (int.from_bytes(data[at : at + 8], "little") for at in (24, 32))
    size = 500_000_000
    data[32:40] = (size - base).to_bytes(8, "little")
    assert base + segment_bytes == len(data)
    large = tmp_path / "large.pte"
    with large.open("wb") as file:
        file.write(data)
        file.truncate(size)  # the file is sparse, but reading it would take memory
    assert inspect(large)["file_bytes"] == size
    command = [sys.executable, "-c", PEAK_KILOBYTES, ETPROF, "inspect", large, "--json"]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(completed.stdout) < 100_000


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (None, "no such file"),
        (b"", "is empty"),
        (b"ET12", "is not an ExecuTorch program"),
        (b"\x10\0\0\0ED00" + bytes(100), "is not an ExecuTorch program"),
        (b"\x10\0\0\0ET11" + bytes(100), "another version"),
        (TOY_CNN.read_bytes()[:-1], "is cut short: 521255 of 521256 bytes are there"),
    ],
)
def test_other_files_than_programs_are_one_error(tmp_path: Path, content: bytes | None, word: str):
    path = tmp_path / "x.pte"
    if content is not None:
        path.write_bytes(content)
    completed = subprocess.run([ETPROF, "inspect", path], capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stdout) == (3, "")
    problem, *hint = completed.stderr.splitlines()
    assert problem.startswith("error: ") and word in problem and str(path) in problem
    assert len(hint) == 1 and hint[0].startswith("hint: ")
