"""What delegates write into an ETDump, as tests/tools/delegate_etdumps.cc has ExecuTorch's own generator write it (each function
there names the backend's source): kind, unit, and nesting, and that only host time is added up and judged."""

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
# What is reported with the program at hand: name, kind, unit.
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
# Host spans of the delegate, in the order of their ends, each with the one that it is in.
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
    "unknown": {"layer_1": "DELEGATE_CALL"},  # nobody registered it: it lies in its call, by the host's clock
}
# Without a program, whose the events are is told from them.
TOLD_BY_EVENTS = {"xnnpack", "qnn", "coreml", "vulkan", "vgf", "ethos_u"}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """A folder with the ETDump of each delegate, and the program that calls it."""
    built = sorted((program.ROOT / "build").glob("*/tests/tools/etprof_delegate_etdumps"), key=os.path.getmtime)
    assert built, "etprof_delegate_etdumps is not built: script/test builds it"
    folder = tmp_path_factory.mktemp("delegates")
    subprocess.run([built[-1], folder, str(CALL)], check=True)
    for name, backend in BACKENDS.items():
        (folder / f"{name}.pte").write_bytes(calling(backend))
    return folder


def calling(backend: str) -> bytes:
    """The program with another backend's name, which its FlatBuffer has room for."""
    data = PTE.read_bytes()
    old = b"XnnpackBackend"
    room = struct.pack("<I", len(old)) + old + b"\0\0"
    assert data.count(room) == 1
    new = backend.encode()
    return data.replace(room, struct.pack("<I", len(new)) + new.ljust(len(room) - 4, b"\0"))


def analyzed(written: Path, name: str, with_program: bool) -> dict:
    model = ["--model", written / f"{name}.pte"] if with_program else []
    done = program.run("analyze", written / f"{name}.etdump", *model, "--json")
    assert done.returncode == 0, done.stderr
    (experiment,) = program.fitting("analysis_summary", done.stdout)["experiments"]
    return experiment


def spans(written: Path, name: str) -> list[dict]:
    out = written / f"spans_{name}"
    done = program.run("analyze", written / f"{name}.etdump", "--model", written / f"{name}.pte", "-o", out)
    assert done.returncode == 0, done.stderr
    (table,) = out.glob("**/*_all_runs_timeline.csv")
    return [row for row in csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))) if row["run_index"] == "5"]


def test_every_delegate_is_written(written):
    assert {path.stem for path in written.glob("*.etdump")} == set(BACKENDS)


@pytest.mark.parametrize("name", BACKENDS)
def test_every_number_has_a_kind_and_a_unit(written, name):
    values = analyzed(written, name, True).get("delegate_values", [])
    assert [(value["name"], value["kind"], value["unit"]) for value in values] == REPORTED[name]
    assert {value["delegate"] for value in values} <= {BACKENDS[name]}
    assert {value["instruction"] for value in values} <= {CALL}


@pytest.mark.parametrize("name", [name for name in BACKENDS if name not in ("xnnpack", "openvino")])
def test_a_program_of_another_delegate_is_refused(written, name):
    """QNN's bytes were nanoseconds with the .pte for XNNPACK: "Other 50560%"."""
    done = program.run("analyze", written / f"{name}.etdump", "--model", written / "xnnpack.pte", "--json")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"error: {written / 'xnnpack.pte'}: ")
    assert "is not the one that ran" in done.stderr


def test_the_tick_of_a_delegate_is_stated(written, tmp_path):
    """ExecuTorch's events in ticks of 24 MHz, XNNPACK's in nanoseconds (ExecuTorch's issue 4504)."""
    from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc, serialize_to_etdump_flatcc

    dump = deserialize_from_etdump_flatcc((written / "xnnpack.etdump").read_bytes())
    for run in dump.run_data:
        for event in run.events or []:
            times = event.profile_event
            if times is not None and not times.delegate_debug_id_str and times.delegate_debug_id_int == -1:
                times.start_time = times.start_time * 24 // 1000
                times.end_time = -(-times.end_time * 24 // 1000)
    mixed = tmp_path / "mixed.etdump"
    mixed.write_bytes(serialize_to_etdump_flatcc(dump))

    def read(*scales: str) -> dict:
        done = program.run("analyze", mixed, "--model", written / "xnnpack.pte", "--json", *scales)
        assert done.returncode == 0, done.stderr
        (experiment,) = program.fitting("analysis_summary", done.stdout)["experiments"]
        return experiment

    assert "delegate_unit" in [entry["name"] for entry in read()["health"]]
    stated = read("--time-scale", "24MHz", "--delegate-time-scale", "ns")
    before = analyzed(written, "xnnpack", True)
    assert [entry["name"] for entry in stated["health"]] == [entry["name"] for entry in before["health"]]
    # Of each run: which of them count as steady can differ, since times of the whole are rounded to ticks.
    told = []
    for dump, scales in (
        (mixed, ["--time-scale", "24MHz", "--delegate-time-scale", "ns"]),
        (written / "xnnpack.etdump", []),
    ):
        out = tmp_path / dump.stem
        done = program.run("analyze", dump, "--model", written / "xnnpack.pte", "-o", out, *scales)
        assert done.returncode == 0, done.stderr
        (table,) = out.glob("**/*_all_runs_timeline.csv")
        with table.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["delegate_backend"]]
        told.append([(row["name"], row["run_index"], row["duration_ms"]) for row in rows])
    assert told[0] == told[1]
    assert len(told[0]) == 2 * len({run for _, run, _ in told[0]}) > 2
    done = program.run("analyze", mixed, "--delegate-time-scale", "cycles")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`--delegate-time-scale cycles`" in done.stderr


def test_a_delegate_that_nobody_registered_is_marked(written):
    (entry,) = analyzed(written, "unknown", True)["health"]
    assert entry["name"] == "delegate_unregistered"


def test_values_are_those_that_were_written(written):
    values = {value["name"]: value for value in analyzed(written, "qnn", False)["delegate_values"]}
    assert values["DSP heap"]["median"] == 25_165_824
    # 340 µs and one more in every run, the first ones left out.
    assert values["RPC (execute) time"]["max"] == 351
    assert values["RPC (execute) time"]["n"] == 351 - values["RPC (execute) time"]["min"] + 1


@pytest.mark.parametrize("name", BACKENDS)
def test_without_the_program_only_what_is_certain_is_told(written, name):
    experiment = analyzed(written, name, False)
    values = experiment.get("delegate_values", [])
    if name in TOLD_BY_EVENTS:
        assert [(value["name"], value["kind"], value["unit"]) for value in values] == REPORTED[name]
    else:
        assert {value["kind"] for value in values} <= {"unknown"}
        assert {value["delegate"] for value in values} <= {None}
        assert [entry["name"] for entry in experiment["health"]] == (["delegate_unknown"] if values else [])


@pytest.mark.parametrize(("name", "with_program"), list(itertools.product(BACKENDS, (True, False))))
def test_self_times_are_host_time_and_add_up(written, name, with_program):
    experiment = analyzed(written, name, with_program)
    groups = experiment["groups"]
    assert sum(row["total_ns"] for row in groups["rows"]) == groups["total_ns"]
    assert next(row for row in groups["rows"] if row["name"] == "Clipped")["total_ns"] == 0
    operators = [operator["name"] for operator in experiment["operators"]]
    if name in SPANS and (with_program or name in TOLD_BY_EVENTS):
        assert sorted(operators) == sorted(SPANS[name])
    elif name == "openvino" and not with_program:
        assert operators == []  # nothing tells whose call it is
    else:
        backend = BACKENDS[name] if with_program or name in TOLD_BY_EVENTS else "unknown"
        assert operators == [f"{backend} delegate call"]
        (call,) = experiment["operators"]
        assert call["group"] == "Other"
        assert call["total_ns"] > 0.9 * groups["total_ns"]


@pytest.mark.parametrize("name", SPANS)
def test_host_spans_nest(written, name):
    # An apostrophe keeps a spreadsheet from computing "+Ethos...()".
    rows = {row["name"].lstrip("'"): (float(row["start_us"]), float(row["end_us"])) for row in spans(written, name)}
    for inner, outer in {**SPANS[name], "DELEGATE_CALL": "Method::execute"}.items():
        (start, end), (outer_start, outer_end) = rows[inner], rows[outer]
        assert outer_start <= start <= end <= outer_end, (inner, outer)
    assert set(rows) == {*SPANS[name], "DELEGATE_CALL", "Method::execute"}


@pytest.mark.parametrize("name", [name for name in BACKENDS if REPORTED[name]])
def test_nothing_is_concluded_from_what_is_not_host_time(written, name):
    """QNN's bytes were nanoseconds once, and to do without them "3.05x more"."""
    done = program.run("analyze", written / f"{name}.etdump", "--model", written / f"{name}.pte", "--all", "--json")
    report = program.fitting("analysis_summary", done.stdout)
    (experiment,) = report["experiments"]
    assert experiment["roofline"] is None
    whole = experiment["mean_execute_ms"]
    foreign = {value["name"] for value in experiment["delegate_values"]} - {"2"}  # "2" may stand anywhere
    for finding in report["insights"]:
        assert not any(value in finding["text"] for value in foreign), finding
        assert (finding.get("at_stake_ms") or 0) <= whole * 1.001, finding
    compared = program.run("compare", written / f"{name}.etdump", written / f"{name}.etdump", "--json")
    for pair in program.fitting("analysis_summary", compared.stdout)["comparisons"]:
        assert not any(value in str(pair) for value in foreign)


def test_estimates_are_marked_in_every_format(written, tmp_path):
    arguments = [written / "coreml.etdump", "--model", written / "coreml.pte"]
    screen = program.run("analyze", *arguments).stdout
    table = program.run("analyze", *arguments, "--csv=delegate_values").stdout
    html, markdown = tmp_path / "page.html", tmp_path / "page.md"
    done = program.run("analyze", *arguments, "--html", html, "--markdown", markdown)
    assert done.returncode == 0, done.stderr
    for text in (screen, table, markdown.read_text(encoding="utf-8").replace("\\", "")):
        lines = [line for line in text.splitlines() if "aten_convolution_default" in line]
        assert lines and "estimate" in lines[0], text
    packed = re.search(r'id="etprof-document"[^>]*>([^<]*)<', html.read_text(encoding="utf-8"))
    assert packed
    document = json.loads(gzip.decompress(base64.b64decode(packed[1], validate=True)))
    tables = [part["table"] for section in document["sections"] for part in section["parts"] if "table" in part]
    (of_delegate,) = [one for one in tables if one["id"] == "report_delegate_values"]
    assert all("estimate" in json.dumps(row) for row in of_delegate["rows"]) and len(of_delegate["rows"]) == 2
    assert [row["kind"] for row in csv.DictReader(io.StringIO(table))] == ["estimate", "estimate"]


def test_metadata_is_shown(written):
    (first, second) = analyzed(written, "vgf", True)["delegate_metadata"]
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
    kernels = {one["text"] for one in analyzed(written, "xnnpack", True)["delegate_metadata"]}
    assert kernels == {"xnn_f32_igemm_minmax_ukernel_7x32__avx512f, 12 µs"}
    (of_one, *_) = analyzed(written, "neutron", True)["delegate_metadata"]
    assert of_one["bytes"] == 1 and re.fullmatch(r"function \d+", of_one["text"])


def test_xnnpacks_clock_is_told_of_xnnpack_alone(written):
    for name in BACKENDS:
        done = program.run("analyze", written / f"{name}.etdump", "--model", written / f"{name}.pte", "--all")
        assert ("XNNPACK's own clock" in " ".join(done.stdout.split())) == (name == "xnnpack"), name
