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
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attention")
    source = f"{cached_attention.__file__}:CachedAttention"
    done = program.run("export", "--model", source, "--outdir", folder)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.pte"))


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    def tensor(values: list[int]) -> tuple[str, list[int], bytes]:
        return "I64", [1, len(values)], struct.pack(f"<{len(values)}q", *values)

    at = ("I64", [1], struct.pack("<q", POSITION))
    return write_inputs(tmp_path / "step.inputs", {"forward/0": tensor(TOKENS), "forward/1": at}, {})


def wheel() -> Path:
    return Path(importlib.util.find_spec("executorch").submodule_search_locations[0])


def test_they_compute_what_pytorch_computes(runner: Path, exported: Path, inputs: Path, tmp_path: Path) -> None:
    import torch

    words = [f"--model_path={exported}", "--input-kind=saved", f"--inputs={inputs}", f"--output_file={tmp_path}/out"]
    done = Run(runner, *words, "--num_executions=2")  # the second run overwrites what the first left in the caches
    assert done.code == 0, done.err
    ours = torch.frombuffer(bytearray((tmp_path / "out-0.bin").read_bytes()), dtype=torch.float32)
    layer = cached_attention.CachedAttention().get_eager_model()
    with torch.no_grad():
        theirs = layer(torch.tensor([TOKENS]), torch.tensor([POSITION]))[0]
    assert ours.shape == theirs.shape
    assert torch.max(torch.abs(ours - theirs)) < 1e-5
    assert done.err == ""  # these inputs say their size


def test_neither_pytorch_nor_python_is_loaded(worker: Any, exported: Path, inputs: Path, toy: Path) -> None:
    def mapped(of: Any) -> set[str]:
        lines = Path(f"/proc/{of.process.pid}/maps").read_text().splitlines()
        return {line.split()[-1] for line in lines if ".so" in line}

    other, one = worker(), worker()
    other.ask("load", model=toy)
    one.ask("load", model=exported, inputs={"kind": "saved", "paths": [str(inputs)]})
    assert not any(LIBRARY in path for path in mapped(other))  # a program that needs none of them
    more = mapped(one) - mapped(other)
    assert any(path.endswith(LIBRARY) for path in more)
    of_pytorch = {path for path in mapped(one) if "torch" in Path(path).name or "libc10" in path or "python" in path}
    stand_ins = {str(path) for path in (runner_folder() / "torch-stand-ins").iterdir()}
    assert {path for path in of_pytorch if "libexecutorch" not in path and LIBRARY not in path} <= stand_ins
    assert sum(Path(path).stat().st_size for path in stand_ins) < 300_000


def runner_folder() -> Path:
    from runner_bench import RUNNER

    return RUNNER.resolve().parent


def test_attention_is_an_operator_with_its_layer(exported: Path, inputs: Path, tmp_path: Path) -> None:
    words = ["--inputs", inputs, "--launches", 2, "--runs", 8, "--no-peaks", "--max-seconds", 20]
    done = program.run("profile", exported, *words, "--output-root", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "run/analysis_summary.json").read_text())
    (experiment,) = summary["experiments"]
    operators = {one["name"]: one for one in experiment["operators"]}
    assert operators["llama::custom_sdpa.out"]["category"] == "ATTENTION"
    assert {"llama::custom_sdpa.out", "llama::update_cache.out"} <= {name.partition(" #")[0] for name in operators}
    assert not [warning for warning in summary["warnings"] if "largest" in warning or "random" in warning]


def test_the_largest_sizes_are_named_where_none_are_given(
    runner: Path, exported: Path, inputs: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.pte"  # without .inputs beside it
    shutil.copy(exported, bare)
    report = tmp_path / "report.json"
    done = Run(runner, f"--model_path={bare}", f"--report={report}", "--print_output=none")
    assert done.code == 0, done.err
    load = json.loads(report.read_text())["load"]
    assert load["inputs_from"] == "random, seed 0; at the largest sizes: input 0 [1, 64]"  # the position has one size
    assert "warning: the latency is that of the largest inputs which the program takes" in done.err
    given = Run(runner, f"--model_path={bare}", "--input-kind=saved", f"--inputs={inputs}", f"--report={report}")
    assert json.loads(report.read_text())["load"]["inputs"][0]["shape"] == [1, len(TOKENS)]
    assert "largest" not in given.err


def test_what_cannot_be_loaded_is_named(runner: Path, exported: Path, tmp_path: Path) -> None:
    folder = tmp_path / "libraries"
    folder.mkdir()
    (folder / "libexecutorch_backend_xnnpack.so").symlink_to(wheel() / "lib/libexecutorch_backend_xnnpack.so")
    words, env = [f"--model_path={exported}", "--print_output=none"], {"ETPROF_BACKEND_DIR": str(folder)}
    said = Run(runner, *words, env=env).complaint(4)
    assert "operators llama::custom_sdpa.out, llama::update_cache.out are not registered" in said
    assert f"{LIBRARY} is not in {folder}" in said
    assert "--load" in said
    whole = (wheel() / "extension/llm/custom_ops" / LIBRARY).read_bytes()
    (folder / LIBRARY).write_bytes(whole[: len(whole) // 2])
    cut = Run(runner, *words, env=env)  # the loader does not see that, and reads behind the end
    assert cut.code == 4
    assert f"while loading {folder / LIBRARY}" in cut.err
    (folder / LIBRARY).write_bytes(b"")
    assert "they cannot be loaded: " in Run(runner, *words, env=env).complaint(4)
