"""Operators joined to the modules of the model, tested with models that have one slow layer each, and PyTorch's count."""

import json
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from etprof.export import Request, export_model
from etprof.exporting import find
from exports import Exported

REPOSITORY = Path(__file__).parents[3]
ETPROF = REPOSITORY / "build" / "etprof"
RUNNER = REPOSITORY / "build" / "etprof-runner"
SCHEMA = REPOSITORY / "docs" / "schema" / "analysis_summary.schema.json"
MODELS = [
    {"model": "toy_cnn"},
    {"model": "toy_cnn", "quantize": "static"},
    {"model": "toy_cnn", "backend": "portable"},
    {"model": "toy_cnn", "backend": "portable", "quantize": "static"},
    {"model": "transformer_layer"},
    {"model": "mobilenet_v3_small"},
    {"model": "mobilenet_v3_small", "dtype": "fp16"},
    {"model": "mobilenet_v3_small", "quantize": "static"},
]


pytestmark = pytest.mark.usefixtures("needs_build")


def trace(pte: Path, etdump: Path) -> Path:
    # The portable kernels take half a second for a run that takes XNNPACK 5 ms.
    runs = "3" if "_portable_" in pte.name else "20"
    command = [RUNNER, "--model_path", pte, "--num_executions", runs, "--cpu_threads", "1", "--etdump_path", etdump]
    subprocess.run(command, check=True, capture_output=True)
    return etdump


def analyze(pte: Path, etdump: Path) -> dict:
    command = [ETPROF, "analyze", etdump, "--model", pte, "--json"]
    completed = subprocess.run(command, check=True, capture_output=True, text=True)
    document = json.loads(completed.stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    (experiment,) = document["experiments"]
    return experiment


@pytest.mark.parametrize("options", MODELS, ids=lambda options: "-".join(map(str, options.values())))
def test_nearly_all_time_belongs_to_a_module(exported: Exported, tmp_path: Path, options: dict):
    pte = exported(**options)
    experiment = analyze(pte, trace(pte, tmp_path / "x.etdump"))
    program = experiment["program"]
    assert program["problem"] is None
    assert program["no_sources"] is None
    assert program["attributed_share"] >= 0.99
    # The time of a module is its own time plus that of its submodules. The root and operators without a module add up to the
    # total.
    layers = program["layers"]
    totals = [layer["self_ns"] for layer in layers]
    for index in reversed(range(1, len(layers))):
        assert layers[index]["parent"] < index
        totals[layers[index]["parent"]] += totals[index]
    assert totals == [layer["total_ns"] for layer in layers]
    paths = {layer["path"] for layer in layers}
    outside_ns = sum(row["total_ns"] for row in program["by_layer"]["rows"] if row["name"] not in paths)
    assert layers[0]["total_ns"] + outside_ns == program["by_layer"]["total_ns"] == experiment["groups"]["total_ns"]
    # Every module exists in the model.
    built = find.build_model(find.find_model(options["model"]))
    modules = dict(built.module.named_modules())
    for layer in layers:
        assert type(modules[layer["path"]]).__name__ == layer["type"].rpartition(".")[2]


@pytest.mark.parametrize("options", MODELS, ids=lambda options: "-".join(map(str, options.values())))
def test_the_multiply_adds_of_a_module_are_pytorchs(exported: Exported, tmp_path: Path, options: dict):
    pte = exported(**options)
    experiment = analyze(pte, trace(pte, tmp_path / "x.etdump"))
    built = find.build_model(find.find_model(options["model"]))
    with FlopCounterMode(display=False, depth=100) as counter, torch.no_grad():
        built.module(*built.args)
    name = type(built.module).__name__
    counted = {path: sum(flops.values()) for path, flops in counter.get_flop_counts().items() if path != "Global"}
    found = dict.fromkeys(counted, 0)
    for operator in experiment["operators"]:
        macs = operator["program"]["macs"]
        assert macs is not None, operator
        if macs == 0:
            continue
        parts = [name, *filter(None, operator["program"]["layer"].split("."))]
        for length in range(1, len(parts) + 1):
            path = ".".join(parts[:length])
            found[path] = found.get(path, 0) + 2 * macs
    assert {path: flops for path, flops in found.items() if flops} == {path: f for path, f in counted.items() if f}


SLOW = """
import torch


class Slow(torch.nn.Module):
    def __init__(self, slow):
        super().__init__()
        def block(wide):
            return torch.nn.Sequential(torch.nn.Linear(64, wide), torch.nn.ReLU(), torch.nn.Linear(wide, 64))
        self.first, self.second, self.third = (block(4096 if slow == i else 16) for i in range(3))

    def forward(self, x):
        x = self.first(x)
        x = self.second(x)
        return self.third(x)


class Model:
    def get_eager_model(self):
        return Slow(SLOWEST).eval()

    def get_example_inputs(self):
        return (torch.rand(64, 64),)
"""


@pytest.mark.parametrize("backend", ["xnnpack", "portable"])
@pytest.mark.parametrize("slow", range(3), ids=["first", "second", "third"])
def test_the_slow_layer_is_found(tmp_path: Path, slow: int, backend: str):
    source = tmp_path / f"slow_{slow}.py"
    source.write_text(SLOW.replace("SLOWEST", str(slow)))
    request = Request(f"{source}:Model", backend, outdir=tmp_path, command=["pytest"])
    export_model(request)
    pte = request.pte
    etdump = trace(pte, tmp_path / "x.etdump")
    experiment = analyze(pte, etdump)
    times = {layer["path"]: layer["total_ns"] for layer in experiment["program"]["layers"]}
    name = ["first", "second", "third"][slow]
    # This layer has 256 times the work of the others.
    assert times[name] > 5 * sum(times[other] for other in ("first", "second", "third") if other != name)
    line = (
        source.read_text()
        .splitlines()
        .index(f"        x = self.{name}(x)" if slow < 2 else "        return self.third(x)")
    )
    slowest = max(experiment["operators"], key=lambda operator: operator["total_ns"])
    assert slowest["program"]["source"] == f"{source}:{line + 1}"


def test_a_record_of_another_program_is_refused(exported: Exported, tmp_path: Path):
    """Each program refuses the records of the others, and accepts its own."""
    names = ["toy_cnn", "transformer_layer", "mobilenet_v3_small", "vit_block", "image_encoder", "llm_decoder"]
    programs = {name: exported(model=name) for name in names}
    programs["toy_cnn portable"] = exported(model="toy_cnn", backend="portable")
    for name, pte in programs.items():
        for other, record in programs.items():
            command = [
                ETPROF,
                "inspect",
                pte,
                "--model-explorer",
                tmp_path / "graph.json",
                "--etrecord",
                f"{record}.etrecord",
            ]
            completed = subprocess.run(command, capture_output=True, text=True)
            if name == other:
                assert completed.returncode == 0, completed.stderr
            else:
                assert completed.returncode == 3, (name, other)
                assert "etrecord` is of another program: " in completed.stderr


def test_a_record_of_another_program_next_to_the_model_is_ignored(exported: Exported, tmp_path: Path):
    pte = tmp_path / "toy.pte"
    shutil.copy(exported(model="toy_cnn"), pte)
    shutil.copy(f"{exported(model='mobilenet_v3_small')}.etrecord", f"{pte}.etrecord")
    program = analyze(pte, trace(pte, tmp_path / "x.etdump"))["program"]
    assert "toy.pte.etrecord: is of another program: it speaks of instruction" in program["no_sources"]
    assert program["layers"] == []
