"""ExecuTorch's kernels for LLMs, whose library is linked to PyTorch and Python: the runner runs them without either."""

from __future__ import annotations

import importlib.util
import json
import shutil
import struct
import sys
from pathlib import Path
from typing import Any

import program
import pytest
from runner_bench import Run, write_inputs

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cached_attention

TOKENS, POSITION = [3, 1, 4, 1, 5, 9, 2, 6], 5
LIBRARY = "libcustom_ops_aot_lib.so"


@pytest.fixture(scope="module")
def attention_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attention")
    source = f"{cached_attention.__file__}:CachedAttention"
    completed = program.run("export", "--model", source, "--outdir", folder)
    assert completed.returncode == 0, completed.stderr
    return next(folder.glob("*.pte"))


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    def tensor(values: list[int]) -> tuple[str, list[int], bytes]:
        return "I64", [1, len(values)], struct.pack(f"<{len(values)}q", *values)

    position = ("I64", [1], struct.pack("<q", POSITION))
    return write_inputs(tmp_path / "step.inputs", {"forward/0": tensor(TOKENS), "forward/1": position}, {})


def wheel() -> Path:
    return Path(importlib.util.find_spec("executorch").submodule_search_locations[0])


def test_they_compute_what_pytorch_computes(runner: Path, attention_model: Path, inputs: Path, tmp_path: Path) -> None:
    import torch

    options = [
        f"--model_path={attention_model}",
        "--input-kind=saved",
        f"--inputs={inputs}",
        f"--output_file={tmp_path}/out",
    ]
    completed = Run(
        runner, *options, "--num_executions=2"
    )  # the second run overwrites what the first left in the caches
    assert completed.code == 0, completed.err
    actual = torch.frombuffer(bytearray((tmp_path / "out-0.bin").read_bytes()), dtype=torch.float32)
    layer = cached_attention.CachedAttention().get_eager_model()
    with torch.no_grad():
        expected = layer(torch.tensor([TOKENS]), torch.tensor([POSITION]))[0]
    assert actual.shape == expected.shape
    assert torch.max(torch.abs(actual - expected)) < 1e-5
    assert completed.err == ""  # these inputs say their size


def test_neither_pytorch_nor_python_is_loaded(worker: Any, attention_model: Path, inputs: Path, toy: Path) -> None:
    def mapped(process: Any) -> set[str]:
        lines = Path(f"/proc/{process.process.pid}/maps").read_text().splitlines()
        return {line.split()[-1] for line in lines if ".so" in line}

    plain_worker, attention_worker = worker(), worker()
    plain_worker.ask("load", model=toy)
    attention_worker.ask("load", model=attention_model, inputs={"kind": "saved", "paths": [str(inputs)]})
    assert not any(LIBRARY in path for path in mapped(plain_worker))  # its program has no operators for LLMs
    added_libraries = mapped(attention_worker) - mapped(plain_worker)
    assert any(path.endswith(LIBRARY) for path in added_libraries)
    pytorch_libraries = {
        path for path in mapped(attention_worker) if "torch" in Path(path).name or "libc10" in path or "python" in path
    }
    stand_ins = {str(path) for path in (runner_folder() / "torch-stand-ins").iterdir()}
    assert {path for path in pytorch_libraries if "libexecutorch" not in path and LIBRARY not in path} <= stand_ins
    assert sum(Path(path).stat().st_size for path in stand_ins) < 300_000


def runner_folder() -> Path:
    from runner_bench import RUNNER

    return RUNNER.resolve().parent


def test_attention_is_an_operator_with_its_layer(attention_model: Path, inputs: Path, tmp_path: Path) -> None:
    options = ["--inputs", inputs, "--launches", 2, "--runs", 8, "--no-peaks", "--max-seconds", 20]
    completed = program.run("profile", attention_model, *options, "--output-root", tmp_path / "run", "--json")
    assert completed.returncode == 0, completed.stderr
    summary = json.loads((tmp_path / "run/analysis_summary.json").read_text())
    (experiment,) = summary["experiments"]
    operators = {attention_worker["name"]: attention_worker for attention_worker in experiment["operators"]}
    assert operators["llama::custom_sdpa.out"]["category"] == "ATTENTION"
    assert {"llama::custom_sdpa.out", "llama::update_cache.out"} <= {name.partition(" #")[0] for name in operators}
    assert not [warning for warning in summary["warnings"] if "largest" in warning or "random" in warning]


def test_the_largest_sizes_are_named_where_none_are_given(
    runner: Path, attention_model: Path, inputs: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.pte"  # without .inputs beside it
    shutil.copy(attention_model, bare)
    report = tmp_path / "report.json"
    completed = Run(runner, f"--model_path={bare}", f"--report={report}", "--print_output=none")
    assert completed.code == 0, completed.err
    load = json.loads(report.read_text())["load"]
    assert load["inputs_from"] == "random, seed 0; at the largest sizes: input 0 [1, 64]"  # the position has one size
    assert "warning: the latency is that of the largest inputs which the program takes" in completed.err
    run_with_inputs = Run(
        runner, f"--model_path={bare}", "--input-kind=saved", f"--inputs={inputs}", f"--report={report}"
    )
    assert json.loads(report.read_text())["load"]["inputs"][0]["shape"] == [1, len(TOKENS)]
    assert "largest" not in run_with_inputs.err


def test_what_cannot_be_loaded_is_named(runner: Path, attention_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "libraries"
    folder.mkdir()
    (folder / "libexecutorch_backend_xnnpack.so").symlink_to(wheel() / "lib/libexecutorch_backend_xnnpack.so")
    options, env = [f"--model_path={attention_model}", "--print_output=none"], {"ETPROF_BACKEND_DIR": str(folder)}
    message = Run(runner, *options, env=env).error_line(4)
    assert "operators llama::custom_sdpa.out, llama::update_cache.out are not registered" in message
    assert f"{LIBRARY} is not in {folder}" in message
    assert "--load" in message
    complete = (wheel() / "extension/llm/custom_ops" / LIBRARY).read_bytes()
    (folder / LIBRARY).write_bytes(complete[: len(complete) // 2])
    truncated = Run(runner, *options, env=env)  # the loader does not see that, and reads behind the end
    assert truncated.code == 4
    assert f"while loading {folder / LIBRARY}" in truncated.err
    (folder / LIBRARY).write_bytes(b"")
    assert "they cannot be loaded: " in Run(runner, *options, env=env).error_line(4)
