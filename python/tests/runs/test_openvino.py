"""OpenVINO: exports compared with PyTorch, reported layers compared with OpenVINO's own list, and runs next to XNNPACK."""

import csv
import importlib.util
import json
import os
import platform
import subprocess
from pathlib import Path

import pytest

from exports import Exported

REPOSITORY = Path(__file__).parents[3]
ETPROF = REPOSITORY / "build" / "etprof"
RUNNER = REPOSITORY / "build" / "etprof-runner"
TOY = REPOSITORY / "tests" / "data" / "toy_cnn.pte"  # delegated to XNNPACK
MODELS = ["toy_cnn", "vit_block", "image_encoder"]
RUNS = 4


@pytest.fixture(scope="module", autouse=True)
def _openvino() -> None:
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        pytest.skip("this CPU or system is not OpenVINO's: ExecuTorch's wheels have it for x86-64 Linux")
    for problem, available in {
        "etprof is not built (script/bootstrap builds it)": ETPROF.is_file() and RUNNER.is_file(),
        "OpenVINO is not installed (script/bootstrap --openvino)": importlib.util.find_spec("openvino") is not None,
    }.items():
        if not available:
            pytest.fail(problem) if os.environ.get("CI", "") == "true" else pytest.skip(problem)


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, arguments)),
        env={**os.environ, "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


PARTS = """
import torch

class Parts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = torch.nn.Conv2d(3, 8, 3), torch.nn.Conv2d(8, 8, 3)

    def forward(self, x):
        return self.after(torch.expm1(self.before(x)))  # OpenVINO takes no expm1

    def get_example_inputs(self):
        return (torch.linspace(-1, 1, 3072).reshape(1, 3, 32, 32),)
"""


def openvino_layers(pte: Path) -> dict[str, bool]:
    """Returns whether each layer ran for at least a microsecond, by "type: node (implementation)", in graph order."""
    import openvino
    from executorch.exir._serialize._program import deserialize_pte_binary

    program = deserialize_pte_binary(pte.read_bytes())
    (payload,) = getattr(program, "program", program).backend_delegate_data
    core = openvino.Core()
    core.set_property("CPU", {"INFERENCE_NUM_THREADS": "1", "EXECUTION_MODE_HINT": "ACCURACY", "PERF_COUNT": "YES"})
    request = core.import_model(bytes(payload.data), "CPU").create_infer_request()
    request.infer()
    return {
        f"{layer.node_type}: {layer.node_name.partition('/')[0]} ({layer.exec_type})": layer.real_time.microseconds > 0
        for layer in request.profiling_info
    }


@pytest.mark.parametrize("model", MODELS)
def test_outputs_are_pytorchs(exported: Exported, model: str) -> None:
    pte = exported(model, backend="openvino")
    manifest = json.loads(pte.with_name(f"{pte.name}.json").read_text())
    assert manifest["delegate_calls"] == {"OpenvinoBackend": 1}
    assert manifest["check"]["verdict"] == "pass", manifest["check"]


@pytest.mark.filterwarnings("ignore:Output Buffer not found")
@pytest.mark.parametrize("model", MODELS)
def test_layers_are_openvinos_and_lie_in_the_call(exported: Exported, tmp_path: Path, model: str) -> None:
    from executorch.devtools import Inspector

    pte = exported(model, backend="openvino")
    etdump = tmp_path / "a.etdump"
    completed = run(
        RUNNER, "--model_path", pte, "--num_executions", str(RUNS), "--cpu_threads", "1", "--etdump_path", etdump
    )
    assert completed.returncode == 0, completed.stderr
    assert "layers are not reported" not in completed.stderr

    layers: dict[str, list[float]] = {}
    calls: list[float] = []
    for block in Inspector(etdump_path=str(etdump)).event_blocks:
        for event in block.events:
            if event.is_delegated_op:
                layers[event.name] = event.perf_data.raw
            elif event.name == "DELEGATE_CALL":
                calls = event.perf_data.raw
    assert len(calls) == RUNS
    assert layers
    assert all(len(times) == RUNS for times in layers.values())
    for i, call in enumerate(calls):
        assert 0 < sum(times[i] for times in layers.values()) <= call

    expected = openvino_layers(pte)
    assert set(layers) <= set(expected)
    assert {name for name, ran in expected.items() if ran} <= set(layers)
    places = [list(expected).index(name) for name in layers]
    assert places == sorted(places)


def test_parts_of_a_program_have_no_modules(exported: Exported, tmp_path: Path) -> None:
    """OpenVINO numbers the nodes of each part from the start, so both convolutions are named aten_convolution_default."""
    (tmp_path / "parts.py").write_text(PARTS)
    pte = exported(f"{tmp_path / 'parts.py'}:Parts", backend="openvino")
    etdump = tmp_path / "a.etdump"
    assert run(RUNNER, "--model_path", pte, "--num_executions", "3", "--etdump_path", etdump).returncode == 0
    completed = run(ETPROF, "analyze", etdump, "--model", pte, "-o", tmp_path / "out", "--no-timeline")
    assert completed.returncode == 0, completed.stderr
    (details,) = (tmp_path / "out").glob("*_operator_details.csv")
    rows = [row for row in csv.DictReader(details.open(encoding="utf-8")) if row["category"] == "CONV_STANDARD"]
    assert [row["layer"] for row in rows] == ["", ""]
    assert len({row["operator"] for row in rows}) == 1
    inspected = json.loads(run(ETPROF, "inspect", "--json", pte).stdout)
    (expm1,) = inspected["methods"][0]["operators"]
    assert not expm1["why_not_delegated"]  # reasons are known for XNNPACK only


def test_openvino_next_to_xnnpack(exported: Exported, tmp_path: Path) -> None:
    models = {backend: exported("vit_block", backend=backend) for backend in ("xnnpack", "openvino", "portable")}
    config = {
        "output_root": "out",
        "launches": 2,
        "rounds": 2,
        "peaks": False,
        "experiments": [{"name": name, "model": str(pte), "runs": 3} for name, pte in models.items()],
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    completed = subprocess.run(
        [ETPROF, "run", "config.json"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert completed.returncode == 0, completed.stderr
    summary = json.loads((tmp_path / "out" / "analysis_summary.json").read_text())
    compared = {(comparison["baseline"], comparison["candidate"]): comparison for comparison in summary["comparisons"]}
    comparison = compared["xnnpack", "openvino"]
    latency = comparison["latency"]
    # Next to other processes, too few runs may be clean for a ratio.
    assert latency["verdict"] == "contended" or latency["ratio_low"] < latency["ratio"] < latency["ratio_high"]
    assert ("xnnpack", "portable") in compared
    for name in ("xnnpack", "openvino"):
        assert name in completed.stdout

    # Operators with different names match only within the same module, and some do.
    pairs = [op for op in comparison["operators"] if op.get("baseline_key") and op.get("candidate_key")]
    layers = [op for op in pairs if "/backend/" in op["candidate_key"]]
    assert len(layers) > 10
    assert all("module" in op["match_evidence"] for op in layers)
    assert {"block.attn.qkv", "block.mlp.0"} <= {layer["name"] for layer in comparison["layers"]}
    # The category table contains all layers.
    (details,) = (tmp_path / "out" / "openvino").glob("*_operator_details.csv")
    rows = list(csv.DictReader(details.open(encoding="utf-8")))
    assert {row["delegate_backend"] for row in rows if ": " in row["operator"]} == {"OpenvinoBackend"}
    assert [row["operator"] for row in rows if row["category"] == "OTHER"] == []


@pytest.mark.parametrize(
    ("environment", "messages"),
    [
        ({"OPENVINO_LIB_PATH": "/no/such/libopenvino_c.so"}, ["no such file", "script/bootstrap --openvino"]),
        ({"OPENVINO_LIB_PATH": str(RUNNER)}, ["cannot be loaded", "script/bootstrap --openvino"]),
        ({"ETPROF_BACKEND_DIR": "/"}, ["is not registered", "x86-64 Linux"]),
    ],
)
def test_a_missing_library_is_one_message(exported: Exported, environment: dict[str, str], messages: list[str]) -> None:
    pte = exported("vit_block", backend="openvino")
    completed = run(RUNNER, "--model_path", pte, **environment)
    assert completed.returncode == 4
    (line,) = completed.stderr.splitlines()
    assert all(text in line for text in messages), line


def test_other_programs_load_nothing_of_it() -> None:
    worker = subprocess.Popen([RUNNER, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        worker.stdout.readline()
        worker.stdin.write(json.dumps({"cmd": "load", "model": str(TOY)}) + "\n")
        worker.stdin.flush()
        assert json.loads(worker.stdout.readline())["reply"] == "load"
        loaded = Path(f"/proc/{worker.pid}/maps").read_text()
        assert "libopenvino" not in loaded
        assert "backend_openvino" not in loaded
    finally:
        worker.stdin.close()
        worker.wait(timeout=300)
