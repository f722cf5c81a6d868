"""Delegate events in ETDumps: their kind, unit, and nesting. etprof adds up and judges only host time.

tests/tools/delegate_etdumps.cc writes the ETDumps with ExecuTorch's own generator. Each of its functions names the source of
the backend.
"""

import base64
import csv
import gzip
import io
import itertools
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

PTE = program.DATA / "toy_cnn.pte"  # one call of XNNPACK, at instruction 0
CALL = 0
BACKENDS = {
    "xnnpack": "XnnpackBackend",
    "qnn": "QnnBackend",
    "coreml": "CoreMLBackend",
    "vulkan": "VulkanBackend",
    "vgf": "VgfBackend",
    "ethos_u": "EthosUBackend",
    "neutron": "NeutronBackend",
    "openvino": "OpenvinoBackend",
    "unknown": "AnotherBackend",
}
# Values that are reported if the program is known: name, kind, unit.
REPORTED = {
    "xnnpack": [],
    "qnn": [
        ("Number of HVX threads used", "count", "count"),
        ("RPC (execute) time", "device time", "µs"),
        ("DSP heap", "bytes", "bytes"),
        ("Accelerator (execute) time", "cycles", "cycles"),
        ("aten_convolution_default:OpId_13", "cycles", "cycles"),
        ("Input OpId_2", "unknown", None),
    ],
    "coreml": [("aten_convolution_default", "estimate", "ns"), ("relu_out:ios17.relu", "estimate", "ns")],
    "vulkan": [
        ("conv2d_pw_tile_float, dispatch 0", "device time", "ns"),
        ("conv2d_pw_tile_float, dispatch 1", "device time", "ns"),
    ],
    "vgf": [],
    "ethos_u": [],
    "neutron": [("kernel 0", "cycles", "ticks"), ("kernel 1", "cycles", "ticks"), ("2", "unknown", None)],
    "openvino": [],
    "unknown": [],
}
# Host spans of the delegate in the order of their ends, each with its parent.
SPANS = {
    "xnnpack": {
        "Convolution (NHWC, F32) IGEMM #1": "DELEGATE_CALL",
        "Fully Connected (NC, F32) GEMM #1": "DELEGATE_CALL",
    },
    "vulkan": {
        "ETVK_COPY_INPUTS": "ETVK_EXECUTE",
        "ETVK_COMPUTE_GRAPH_EXECUTE": "ETVK_EXECUTE",
        "ETVK_COPY_OUTPUTS": "ETVK_EXECUTE",
        "ETVK_EXECUTE": "DELEGATE_CALL",
    },
    "vgf": {
        "VGF::input_copy": "VGF_COPY_INPUTS",
        "VGF_COPY_INPUTS": "VGF_EXECUTE",
        "VGF_QUEUE_SUBMIT_AND_WAIT_FENCE": "VGF_DISPATCH_AND_WAIT",
        "VGF_DISPATCH_AND_WAIT": "VGF_EXECUTE",
        "VGF_NEURAL_STATISTICS": "VGF_EXECUTE",
        "VGF_EXECUTE": "DELEGATE_CALL",
    },
    "ethos_u": {
        "+EthosUBackend::execute()NPU": "EthosUBackend::execute()",
        "EthosUBackend::execute()": "DELEGATE_CALL",
    },
    "unknown": {"layer_1": "DELEGATE_CALL"},  # not registered, but inside its call by the host's clock
}
# Delegates that etprof recognizes by their events, without the program.
NAMED_BY_EVENTS = {"xnnpack", "qnn", "coreml", "vulkan", "vgf", "ethos_u"}


@pytest.fixture(scope="module")
def delegate_folder(tmp_path_factory) -> Path:
    """A folder with the ETDump of each delegate, and the program that calls it."""
    built = sorted((program.ROOT / "build").glob("*/tests/tools/etprof_delegate_etdumps"), key=os.path.getmtime)
    assert built, "etprof_delegate_etdumps is not built: script/test builds it"
    folder = tmp_path_factory.mktemp("delegates")
    subprocess.run([built[-1], folder, str(CALL)], check=True)
    for name, backend in BACKENDS.items():
        (folder / f"{name}.pte").write_bytes(program_for_backend(backend))
    return folder


def program_for_backend(backend: str) -> bytes:
    """Returns the program with the name of another backend, for which its FlatBuffer has space."""
    data = PTE.read_bytes()
    old = b"XnnpackBackend"
    field = struct.pack("<I", len(old)) + old + b"\0\0"
    assert data.count(field) == 1
    new = backend.encode()
    return data.replace(field, struct.pack("<I", len(new)) + new.ljust(len(field) - 4, b"\0"))


def analyzed(delegate_folder: Path, name: str, with_program: bool) -> dict:
    model = ["--model", delegate_folder / f"{name}.pte"] if with_program else []
    completed = program.run("analyze", delegate_folder / f"{name}.etdump", *model, "--json")
    assert completed.returncode == 0, completed.stderr
    (experiment,) = program.parse_with_schema("analysis_summary", completed.stdout)["experiments"]
    return experiment


def spans(delegate_folder: Path, name: str) -> list[dict]:
    out = delegate_folder / f"spans_{name}"
    completed = program.run(
        "analyze", delegate_folder / f"{name}.etdump", "--model", delegate_folder / f"{name}.pte", "-o", out
    )
    assert completed.returncode == 0, completed.stderr
    (table,) = out.glob("**/*_all_runs_timeline.csv")
    return [row for row in csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))) if row["run_index"] == "5"]


def test_every_delegate_is_written(delegate_folder):
    assert {path.stem for path in delegate_folder.glob("*.etdump")} == set(BACKENDS)


@pytest.mark.parametrize("name", BACKENDS)
def test_every_number_has_a_kind_and_a_unit(delegate_folder, name):
    values = analyzed(delegate_folder, name, True).get("delegate_values", [])
    assert [(value["name"], value["kind"], value["unit"]) for value in values] == REPORTED[name]
    assert {value["delegate"] for value in values} <= {BACKENDS[name]}
    assert {value["instruction"] for value in values} <= {CALL}


@pytest.mark.parametrize("name", [name for name in BACKENDS if name not in ("xnnpack", "openvino")])
def test_a_program_of_another_delegate_is_refused(delegate_folder, name):
    """Regression test: with the .pte for XNNPACK, bytes of QNN were read as nanoseconds ("Other 50560%")."""
    completed = program.run(
        "analyze", delegate_folder / f"{name}.etdump", "--model", delegate_folder / "xnnpack.pte", "--json"
    )
    assert (completed.returncode, completed.stdout) == (3, "")
    assert completed.stderr.startswith(f"error: {delegate_folder / 'xnnpack.pte'}: ")
    assert "is not the one that ran" in completed.stderr


def test_the_tick_of_a_delegate_is_stated(delegate_folder, tmp_path):
    """ExecuTorch's events have ticks of 24 MHz, and XNNPACK's have nanoseconds (ExecuTorch's issue 4504)."""
    from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc, serialize_to_etdump_flatcc

    dump = deserialize_from_etdump_flatcc((delegate_folder / "xnnpack.etdump").read_bytes())
    for run in dump.run_data:
        for event in run.events or []:
            times = event.profile_event
            if times is not None and not times.delegate_debug_id_str and times.delegate_debug_id_int == -1:
                times.start_time = times.start_time * 24 // 1000
                times.end_time = -(-times.end_time * 24 // 1000)
    mixed = tmp_path / "mixed.etdump"
    mixed.write_bytes(serialize_to_etdump_flatcc(dump))

    def read(*scales: str) -> dict:
        completed = program.run("analyze", mixed, "--model", delegate_folder / "xnnpack.pte", "--json", *scales)
        assert completed.returncode == 0, completed.stderr
        (experiment,) = program.parse_with_schema("analysis_summary", completed.stdout)["experiments"]
        return experiment

    assert "delegate_unit" in [entry["name"] for entry in read()["health"]]
    with_scales = read("--time-scale", "24MHz", "--delegate-time-scale", "ns")
    before = analyzed(delegate_folder, "xnnpack", True)
    assert [entry["name"] for entry in with_scales["health"]] == [entry["name"] for entry in before["health"]]
    # Compare all runs, because rounding to ticks can change which of them count as steady.
    timelines = []
    for dump, scales in (
        (mixed, ["--time-scale", "24MHz", "--delegate-time-scale", "ns"]),
        (delegate_folder / "xnnpack.etdump", []),
    ):
        out = tmp_path / dump.stem
        completed = program.run("analyze", dump, "--model", delegate_folder / "xnnpack.pte", "-o", out, *scales)
        assert completed.returncode == 0, completed.stderr
        (table,) = out.glob("**/*_all_runs_timeline.csv")
        with table.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["delegate_backend"]]
        timelines.append([(row["name"], row["run_index"], row["duration_ms"]) for row in rows])
    assert timelines[0] == timelines[1]
    assert len(timelines[0]) == 2 * len({run for _, run, _ in timelines[0]}) > 2
    completed = program.run("analyze", mixed, "--delegate-time-scale", "cycles")
    assert (completed.returncode, completed.stdout) == (2, "")
    assert "`--delegate-time-scale cycles`" in completed.stderr


def test_a_delegate_that_nobody_registered_is_marked(delegate_folder):
    (entry,) = analyzed(delegate_folder, "unknown", True)["health"]
    assert entry["name"] == "delegate_unregistered"


def test_values_are_those_that_were_written(delegate_folder):
    values = {value["name"]: value for value in analyzed(delegate_folder, "qnn", False)["delegate_values"]}
    assert values["DSP heap"]["median"] == 25_165_824
    # 340 µs, and 1 µs more in each run. The first runs do not count.
    assert values["RPC (execute) time"]["max"] == 351
    assert values["RPC (execute) time"]["n"] == 351 - values["RPC (execute) time"]["min"] + 1


@pytest.mark.parametrize("name", BACKENDS)
def test_without_a_program_only_certain_facts_are_reported(delegate_folder, name):
    experiment = analyzed(delegate_folder, name, False)
    values = experiment.get("delegate_values", [])
    if name in NAMED_BY_EVENTS:
        assert [(value["name"], value["kind"], value["unit"]) for value in values] == REPORTED[name]
    else:
        assert {value["kind"] for value in values} <= {"unknown"}
        assert {value["delegate"] for value in values} <= {None}
        assert [entry["name"] for entry in experiment["health"]] == (["delegate_unknown"] if values else [])


@pytest.mark.parametrize(("name", "with_program"), list(itertools.product(BACKENDS, (True, False))))
def test_self_times_are_host_time_and_add_up(delegate_folder, name, with_program):
    experiment = analyzed(delegate_folder, name, with_program)
    groups = experiment["groups"]
    assert sum(row["total_ns"] for row in groups["rows"]) == groups["total_ns"]
    assert next(row for row in groups["rows"] if row["name"] == "Clipped")["total_ns"] == 0
    operators = [operator["name"] for operator in experiment["operators"]]
    if name in SPANS and (with_program or name in NAMED_BY_EVENTS):
        assert sorted(operators) == sorted(SPANS[name])
    elif name == "openvino" and not with_program:
        assert operators == []  # the events do not show the delegate of the call
    else:
        backend = BACKENDS[name] if with_program or name in NAMED_BY_EVENTS else "unknown"
        assert operators == [f"{backend} delegate call"]
        (call,) = experiment["operators"]
        assert call["group"] == "Other"
        assert call["total_ns"] > 0.9 * groups["total_ns"]


@pytest.mark.parametrize("name", SPANS)
def test_host_spans_nest(delegate_folder, name):
    # An apostrophe keeps a spreadsheet from computing "+Ethos...()".
    rows = {
        row["name"].lstrip("'"): (float(row["start_us"]), float(row["end_us"])) for row in spans(delegate_folder, name)
    }
    for inner, outer in {**SPANS[name], "DELEGATE_CALL": "Method::execute"}.items():
        (start, end), (outer_start, outer_end) = rows[inner], rows[outer]
        assert outer_start <= start <= end <= outer_end, (inner, outer)
    assert set(rows) == {*SPANS[name], "DELEGATE_CALL", "Method::execute"}


@pytest.mark.parametrize("name", [name for name in BACKENDS if REPORTED[name]])
def test_findings_use_only_host_time(delegate_folder, name):
    """Regression test: bytes of QNN were read as nanoseconds, and a finding claimed "3.05x more" without them."""
    completed = program.run(
        "analyze", delegate_folder / f"{name}.etdump", "--model", delegate_folder / f"{name}.pte", "--all", "--json"
    )
    report = program.parse_with_schema("analysis_summary", completed.stdout)
    (experiment,) = report["experiments"]
    assert experiment["roofline"] is None
    execute_ms = experiment["mean_execute_ms"]
    foreign = {value["name"] for value in experiment["delegate_values"]} - {"2"}  # "2" may occur anywhere
    for finding in report["insights"]:
        assert not any(value in finding["text"] for value in foreign), finding
        assert (finding.get("at_stake_ms") or 0) <= execute_ms * 1.001, finding
    compared = program.run("compare", delegate_folder / f"{name}.etdump", delegate_folder / f"{name}.etdump", "--json")
    for pair in program.parse_with_schema("analysis_summary", compared.stdout)["comparisons"]:
        assert not any(value in str(pair) for value in foreign)


def test_estimates_are_marked_in_every_format(delegate_folder, tmp_path):
    arguments = [delegate_folder / "coreml.etdump", "--model", delegate_folder / "coreml.pte"]
    screen = program.run("analyze", *arguments).stdout
    table = program.run("analyze", *arguments, "--csv=delegate_values").stdout
    html, markdown = tmp_path / "page.html", tmp_path / "page.md"
    completed = program.run("analyze", *arguments, "--html", html, "--markdown", markdown)
    assert completed.returncode == 0, completed.stderr
    for text in (screen, table, markdown.read_text(encoding="utf-8").replace("\\", "")):
        lines = [line for line in text.splitlines() if "aten_convolution_default" in line]
        assert lines and "estimate" in lines[0], text
    packed = re.search(r'id="etprof-document"[^>]*>([^<]*)<', html.read_text(encoding="utf-8"))
    assert packed
    document = json.loads(gzip.decompress(base64.b64decode(packed[1], validate=True)))
    tables = [part["table"] for section in document["sections"] for part in section["parts"] if "table" in part]
    (delegate_table,) = [entry for entry in tables if entry["id"] == "report_delegate_values"]
    assert all("estimate" in json.dumps(row) for row in delegate_table["rows"]) and len(delegate_table["rows"]) == 2
    assert [row["kind"] for row in csv.DictReader(io.StringIO(table))] == ["estimate", "estimate"]


def test_metadata_is_shown(delegate_folder):
    (first, second) = analyzed(delegate_folder, "vgf", True)["delegate_metadata"]
    assert first == {
        "delegate": "VgfBackend",
        "event": "VGF::input_copy",
        "instruction": CALL,
        "events": 12,
        "bytes": 41,
        "text": '{"kind":"INPUT_COPY","bytes_copied":3072}',
        "varies": False,
    }
    assert (second["event"], second["varies"]) == ("VGF_NEURAL_STATISTICS", True)
    kernels = {item["text"] for item in analyzed(delegate_folder, "xnnpack", True)["delegate_metadata"]}
    assert kernels == {"xnn_f32_igemm_minmax_ukernel_7x32__avx512f, 12 µs"}
    (entry, *_) = analyzed(delegate_folder, "neutron", True)["delegate_metadata"]
    assert entry["bytes"] == 1 and re.fullmatch(r"function \d+", entry["text"])


def test_only_xnnpack_has_the_note_on_its_clock(delegate_folder):
    for name in BACKENDS:
        completed = program.run(
            "analyze", delegate_folder / f"{name}.etdump", "--model", delegate_folder / f"{name}.pte", "--all"
        )
        assert ("XNNPACK's own clock" in " ".join(completed.stdout.split())) == (name == "xnnpack"), name
