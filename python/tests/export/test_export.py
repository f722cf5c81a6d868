import json
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import executorch.kernels.quantized  # noqa: F401 - registers the kernels that portable int8 programs need
import pytest
import torch
from executorch.devtools import parse_etrecord
from executorch.runtime import Runtime

import etprof
from etprof import artifacts, workflows
from etprof.export import main
from etprof.exporting import find
from exports import Exported, is_current
from inputs_file import read_inputs

REPOSITORY = Path(__file__).parents[3]
PYTHON_FOLDER = REPOSITORY / "python"
TOY_FP32 = {"model": "toy_cnn"}

# The largest difference of each export from eager fp32, as a fraction of the outputs' spread (their largest deviation from
# the mean). Constant outputs, such as the 0.1 of an undecided softmax over ten classes, cannot satisfy it.
EXPORTS = [
    (TOY_FP32, 1e-4),
    ({"model": "toy_cnn", "dtype": "fp16"}, 0.05),
    ({"model": "toy_cnn", "quantize": "static"}, 0.25),
    ({"model": "toy_cnn", "backend": "portable"}, 1e-4),
    ({"model": "toy_cnn", "backend": "portable", "quantize": "static"}, 0.25),
    ({"model": "mobilenet_v3_small"}, 1e-4),
    ({"model": "transformer_layer"}, 1e-4),
    ({"model": "mixed_delegates"}, 1e-4),
]


def read_manifest(pte: Path) -> dict:
    return json.loads(pte.with_name(f"{pte.name}.json").read_text())


def run(pte: Path) -> list[torch.Tensor]:
    """Returns the outputs of ExecuTorch's own runtime for the inputs that are saved next to the .pte."""
    method = Runtime.get().load_program(pte).load_method("forward")
    return list(method.execute(read_inputs(pte.with_name(f"{pte.name}.inputs"))))


def eager_outputs(model: str) -> list[torch.Tensor]:
    built = find.build_model(find.find_model(model))
    with torch.no_grad():
        outputs = built.module(*built.args)
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


def error_over_spread(actual: torch.Tensor, expected: torch.Tensor) -> float:
    spread = (expected - expected.mean()).abs().max()
    return float((actual.float() - expected).abs().max() / spread)


@pytest.mark.parametrize(
    ("options", "tolerance"),
    EXPORTS,
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_an_export_computes_what_the_model_computes(exported: Exported, options: dict, tolerance: float):
    actual, expected = run(exported(**options)), eager_outputs(options["model"])
    assert len(actual) == len(expected)
    assert error_over_spread(actual[0], expected[0]) < tolerance
    for output, reference in zip(actual[1:], expected[1:], strict=True):
        assert torch.equal(output, reference)
    # The check can fail: the outputs of a model with other weights are far outside the tolerance.
    assert error_over_spread(actual[0].roll(1, dims=-1), expected[0]) > tolerance


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (TOY_FP32, "toy_cnn_xnnpack_fp32.pte"),
        ({"model": "toy_cnn", "dtype": "fp16"}, "toy_cnn_xnnpack_fp16.pte"),
        ({"model": "toy_cnn", "quantize": "static"}, "toy_cnn_xnnpack_int8.pte"),
        ({"model": "toy_cnn", "backend": "portable"}, "toy_cnn_portable_fp32.pte"),
    ],
)
def test_files_have_the_kits_names_and_the_manifests_hashes(exported: Exported, options: dict, name: str):
    pte = exported(**options)
    assert pte.name == name
    manifest = read_manifest(pte)
    assert list(manifest["files"]) == [name, f"{name}.etrecord", f"{name}.inputs"]
    for file_name, entry in manifest["files"].items():
        path = pte.with_name(file_name)
        assert (path.stat().st_size, artifacts.hash_file(path)) == (entry["bytes"], entry["sha256"])
    assert manifest["example_inputs_sha256"] == manifest["files"][f"{name}.inputs"]["sha256"]


def test_the_manifest_says_what_was_exported_by_what(exported: Exported):
    manifest = read_manifest(exported(**TOY_FP32))
    assert manifest["schema_version"] == 1
    assert (manifest["model"], manifest["backend"], manifest["dtype"]) == ("toy_cnn", "xnnpack", "fp32")
    assert (manifest["quantized"], manifest["quantization"]) == (False, None)
    assert manifest["parameters"] == 128_842
    assert manifest["inputs"] == [{"type": "tensor", "dtype": "float32", "shape": [1, 3, 224, 224], "dynamic": False}]
    assert manifest["outputs"] == [{"type": "tensor", "dtype": "float32", "shape": [1, 10], "dynamic": False}]
    assert manifest["versions"]["torch"] == torch.__version__
    assert manifest["versions"]["etprof"] == etprof.__version__
    assert len(manifest["versions"]["executorch_git_sha"]) == 40
    assert list(manifest["methods"]) == ["forward"]
    assert manifest["methods"]["forward"]["outputs"] == manifest["outputs"]
    quantized = read_manifest(exported("toy_cnn", quantize="static"))
    assert (quantized["quantized"], quantized["quantization"]) == (True, "static")


def test_toy_cnn_is_the_size_of_the_one_measured_before(exported: Exported):
    assert abs(exported(**TOY_FP32).stat().st_size - (REPOSITORY / "tests/data/toy_cnn.pte").stat().st_size) < 1024


def test_delegates_and_portable_operators_are_counted(exported: Exported):
    delegated = read_manifest(exported(**TOY_FP32))
    assert (delegated["delegate_calls"], delegated["portable_operators"]) == ({"XnnpackBackend": 1}, {})
    mixed = read_manifest(exported("mixed_delegates"))
    assert mixed["delegate_calls"]["XnnpackBackend"] >= 3
    assert mixed["portable_operators"]["aten::cumsum.out"] == 2
    assert read_manifest(exported("transformer_layer"))["delegate_calls"]["XnnpackBackend"] >= 2
    portable = read_manifest(exported("toy_cnn", backend="portable"))
    assert portable["delegate_calls"] == {}
    assert portable["portable_operators"]["aten::convolution.out"] == 3


def test_fp16_converts_weights_and_floating_inputs(exported: Exported):
    pte = exported("toy_cnn", dtype="fp16")
    assert read_inputs(pte.with_name(f"{pte.name}.inputs"))[0].dtype == torch.float16
    assert read_manifest(pte)["inputs"][0]["dtype"] == "float16"
    assert pte.stat().st_size < 0.9 * exported(**TOY_FP32).stat().st_size


def test_the_etrecord_is_read_by_executorch(exported: Exported):
    pte = exported("mixed_delegates")
    record = parse_etrecord(str(pte.with_name(f"{pte.name}.etrecord")))
    assert record.edge_dialect_program is not None
    assert record._debug_handle_map["forward"]


def test_an_export_is_used_again_only_while_it_is_current(exported: Exported, tmp_path: Path):
    pte = exported("mixed_delegates")
    copies = {path.name: Path(shutil.copy(path, tmp_path)) for path in pte.parent.glob(f"{pte.name}*")}
    assert is_current(copies[pte.name])
    manifest = read_manifest(pte)
    manifest["versions"]["torch"] = "1.0"
    copies[f"{pte.name}.json"].write_text(json.dumps(manifest))
    assert not is_current(copies[pte.name])
    shutil.copy(pte.with_name(f"{pte.name}.json"), tmp_path)
    copies[pte.name].write_bytes(b"other")
    assert not is_current(copies[pte.name])


NET = """
import torch

class Net(torch.nn.Module):
    def forward(self, x, count, flags, *, bias=None):
        {forward}

class Model:
    def get_eager_model(self):
        return Net()
    def get_example_inputs(self):
        return ({first}, 3, {{"on": True, "none": None, "shift": torch.ones(2)}})
    def get_example_kwarg_inputs(self):
        return {{"bias": torch.full((2,), 5.0)}}
"""


def write_net(folder: Path, forward: str, first: str = "torch.arange(2.0)") -> Path:
    path = folder / "net.py"
    path.write_text(NET.format(forward=forward, first=first))
    return path


@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_a_users_file_with_nested_and_other_inputs(tmp_path: Path, capfd: pytest.CaptureFixture, dtype: str):
    path = write_net(tmp_path, 'return x * count + flags["shift"] + bias')
    outdir = tmp_path / "out"
    arguments = [f"{path}:Model", "--name", "my_net", "--dtype", dtype, "--outdir", str(outdir), "--save-graph"]
    assert main(arguments) == 0
    captured = capfd.readouterr()
    pte = outdir / f"my_net_xnnpack_{dtype}.pte"
    assert captured.out.splitlines() == [
        str(pte.with_name(pte.name + suffix)) for suffix in ("", ".etrecord", ".inputs", ".graph.txt", ".json")
    ]
    inputs = read_inputs(pte.with_name(f"{pte.name}.inputs"))
    assert [type(value) for value in inputs] == [torch.Tensor, int, bool, type(None), torch.Tensor, torch.Tensor]
    kinds = [entry["type"] for entry in read_manifest(pte)["inputs"]]
    assert kinds == ["tensor", "int", "bool", "none", "tensor", "tensor"]
    assert read_manifest(pte)["command"] == ["etprof", "export", *arguments]
    assert "forward" in pte.with_name(f"{pte.name}.graph.txt").read_text()


@pytest.mark.parametrize(
    ("forward", "first", "stage", "word"),
    [
        ("return x * 2 if x.sum() > 0 else x", "torch.arange(2.0)", "torch.export", "data-dependent"),
        ("return torch.linalg.eigvals(x).real", "torch.eye(2)", "lower", ""),
        ("return x.real", "torch.ones(2, dtype=torch.complex64)", "example inputs", "complex64"),
    ],
)
def test_a_stage_that_fails_is_two_lines(
    tmp_path: Path, capfd: pytest.CaptureFixture, forward: str, first: str, stage: str, word: str
):
    path = write_net(tmp_path, forward, first)
    assert main([f"{path}:Model", "--outdir", str(tmp_path / "out")]) == 3
    out, err = capfd.readouterr()
    assert out == ""
    # In pytest, torch's log does not write to stderr of the process. Another test checks the output of a real process.
    message, remedy = [line for line in err.splitlines() if line.startswith(("error", "hint"))]
    assert re.match(r"error: [\w. ]+ `model`( [a-z ]+)?: ", message)
    assert stage in message.lower()
    assert word in message
    assert remedy.startswith("hint: ")
    assert not (tmp_path / "out").exists()


def test_verbose_shows_the_traceback(tmp_path: Path, capfd: pytest.CaptureFixture):
    path = write_net(tmp_path, "raise ValueError('boom')")
    assert main([f"{path}:Model", "--outdir", str(tmp_path / "out"), "--verbose"]) == 3
    out, err = capfd.readouterr()
    assert out == ""
    assert "Traceback" in err


def test_an_unusable_folder_is_reported_before_the_work(tmp_path: Path, capfd: pytest.CaptureFixture):
    (tmp_path / "file").write_text("in the way")
    assert main(["toy_cnn", "--outdir", str(tmp_path / "file" / "out")]) == 3
    err = capfd.readouterr().err
    assert err.startswith(f"error: Writing `toy_cnn` failed: Not a directory: {tmp_path / 'file'}\nhint: ")


def test_an_interrupt_is_130(tmp_path: Path, capfd: pytest.CaptureFixture):
    path = tmp_path / "model.py"
    path.write_text("raise KeyboardInterrupt\n")
    assert main([f"{path}:Model", "--outdir", str(tmp_path / "out")]) == 130
    assert capfd.readouterr().err == "Interrupted\n"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "No model is given"),
        (["toy_cnn", "--model", "toy_cnn"], "Two models"),
        (["toy_cnn", "--backand", "xnnpack"], "Did you mean `--backend`?"),
        (["toy_cnn", "--backend", "cuda"], "invalid backend 'cuda'"),
        (["toy_cnn", "--backend", "portble"], "id you mean portable?"),
        (["toy_cnn", "--dtype", "fp8"], "`--dtype` does not take `fp8`, but fp32, fp16, bf16, int8, int8dyn"),
        (["toy_cnn", "--dtype", "fp32,"], "`--dtype` does not take an empty type"),
        (["toy_cnn", "--dtype", "fp32,int8", "--quantize"], "without `--dtype fp32,int8`"),
        (["toy_cnn", "--dtype", "bf16", "--quantize"], "int8"),
        (["toy_cnn", "--calibrate", "a.npz"], "--quantize static"),
        (["toy_cnn", "--quantize", "--calibrate", "a.csv"], ".npz"),
        (["toy_cnn", "--input-shape", "image"], "not an input's shape"),
        (["toy_cnn", "--input-shape", "image=1x3x9..4x9"], "not a range"),
        (["toy_cnn", "--input-shape", "image=1x3xx9"], "not an input's shape"),
        (["toy_cnn", "--min-sqnr", "30", "--no-check"], "goes with the check"),
        (["toy_cnn", "--min-sqnr", "nan"], "above 0"),
        (["toy_cnn", "--quantize", "--dtype", "fp16"], "int8"),
        (["toy_cnn", "--name", "a/b"], "is a path, not"),
    ],
)
def test_usage_errors_are_2(capfd: pytest.CaptureFixture, arguments: list[str], word: str):
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2
    problem, hint = capfd.readouterr().err.splitlines()
    assert problem.startswith("error: ") and word in problem
    assert hint == "hint: See `etprof export --help`."


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture):
    monkeypatch.chdir(tmp_path)
    assert main(["--model", "add"]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "out_add/artifacts/add_xnnpack_fp32.pte"
    assert (tmp_path / "out_add/artifacts/add_xnnpack_fp32.pte").is_file()


def python(*arguments: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(PYTHON_FOLDER)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False)


LOUD = """
import os, sys, warnings
import torch

print("loud on import")

class Loud(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)

    def forward(self, x):
        print("loud")
        print("loud", file=sys.stderr)
        os.write(1, b"loud\\n")
        warnings.warn("loud")
        return self.linear(x)

    def get_example_inputs(self):
        return (torch.randn(64, 4),)
"""


def test_a_process_says_nothing_but_its_stages_and_paths(tmp_path: Path):
    path = tmp_path / "loud.py"
    path.write_text(LOUD)
    completed = python("-m", "etprof.export", f"{path}:Loud", "--quantize", "--outdir", str(tmp_path / "out"))
    assert completed.returncode == 0, completed.stderr
    assert [Path(line).name for line in completed.stdout.splitlines()] == [
        f"loud_xnnpack_int8.pte{suffix}" for suffix in ("", ".etrecord", ".inputs", ".json")
    ]
    labels = [line[2:16].strip() for line in completed.stderr.splitlines()]
    # The export is calibrated on one input, and also checked on others.
    assert labels[-5:] == ["delegated", "note", "compared", "compared", "check"]
    stages = labels[:-5]
    assert stages == [
        "find model",
        "build model",
        "example inputs",
        "torch.export",
        "quantize",
        "lower",
        "write",
        "check",
    ]


def test_torch_is_imported_only_when_needed():
    completed = python("-c", "import etprof, etprof.models, etprof.export, sys; print('torch' in sys.modules)")
    assert completed.stdout == "False\n"
    completed = python("-m", "etprof.export", "--help")
    assert completed.stdout.startswith("usage: etprof export ")


def test_without_torch_the_remedy_is_named():
    # -S excludes the site-packages, and thus torch.
    completed = python("-S", "-m", "etprof.export", "--model", "toy_cnn")
    assert completed.returncode == 3
    assert completed.stderr == (
        "error: Could not find model `toy_cnn`: torch is not installed\nhint: Run `script/bootstrap`.\n"
    )
    listed = python("-S", "-m", "etprof.export", "--list-models")
    assert "toy_cnn" in listed.stdout.splitlines()


def test_several_types_in_one_process(tmp_path: Path, capfd: pytest.CaptureFixture):
    """The types are exported one after the other, each with its progress. The exit code is that of the worst."""
    network = (
        "import torch\nclass TinyNetModel(torch.nn.Linear):\n    def __init__(self):\n        super().__init__(4, 2)\n"
    )
    inputs = "    def get_example_inputs(self):\n        return (torch.ones(1, 4),)\n"
    (model_file := tmp_path / "tiny.py").write_text(network + inputs)
    code = main(
        [f"{model_file}:TinyNetModel", "--dtype", "fp32,int8,fp32", "--outdir", str(tmp_path / "out"), "--no-check"]
    )
    out, err = capfd.readouterr()
    assert code == 0
    names = [Path(line).name for line in out.splitlines() if line.endswith(".pte")]
    assert names == ["tiny_net_model_xnnpack_fp32.pte", "tiny_net_model_xnnpack_int8.pte"]
    assert [line for line in err.splitlines() if " of 2)" in line] == ["fp32 (1 of 2)", "int8 (2 of 2)"]
    assert sum(line.startswith("  quantize") for line in err.splitlines()) == 1
    code = main(["no_such_model", "--dtype", "fp32,fp16", "--outdir", str(tmp_path / "out")])
    assert code == 3
    assert capfd.readouterr().err.count("error: ") == 2


def test_a_terminal_shows_the_time_of_the_running_stage(tmp_path: Path):
    """The time is in one line, which the final time replaces. Standard output does not depend on the terminal."""
    (model_file := tmp_path / "slow.py").write_text(
        "import time, torch\nclass SlowModel(torch.nn.Linear):\n    def __init__(self):\n        super().__init__(4, 2)\n"
        "        time.sleep(2.5)\n    def get_example_inputs(self):\n        return (torch.ones(1, 4),)\n"
    )
    for verbose in ([], ["--verbose"]):
        terminal, terminal_end = pty.openpty()
        command = [f"{model_file}:SlowModel", "--outdir", str(tmp_path / "out"), "--no-check", *verbose]
        export = subprocess.Popen(
            [sys.executable, "-m", "etprof.export", *command], stdout=subprocess.PIPE, stderr=terminal_end, text=True
        )
        os.close(terminal_end)
        shown = b""
        with suppress(OSError):  # the other end of the terminal is closed
            while part := os.read(terminal, 1 << 16):
                shown += part
        os.close(terminal)
        out, _ = export.communicate()
        assert export.returncode == 0
        running = rb"(\r  build model +\d+\.\d s)+\r\x1b\[K  build model"
        assert (re.search(running, shown) is not None) == (not verbose)
        assert [Path(line).parent == tmp_path / "out" for line in out.splitlines()] == [True] * 4


def test_a_log_has_the_progress_of_a_long_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    module = sys.modules[main.__module__]
    monkeypatch.setattr(module, "_LINE_SECONDS", 0.01)
    log = tmp_path / "log"
    with log.open("w") as file, module.show_stage(file, "lower", live=False):
        while log.read_text().count("\n") < 2:
            time.sleep(0.01)
    *running, last = log.read_text().splitlines()
    assert all(re.fullmatch(r"  lower +\d+\.\d s so far", line) for line in running)
    assert re.fullmatch(r"  lower +\d+\.\d s", last)


def test_importing_it_hides_no_function_of_etprof():
    assert etprof.check is workflows.check
