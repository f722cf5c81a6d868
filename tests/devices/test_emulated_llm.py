"""ExecuTorch's kernels for LLMs in a bundle for Arm, on an emulated CPU: what they compute is what this machine's do."""

from __future__ import annotations

import array
import json
from pathlib import Path

import pytest
from bundle_bench import ETPROF, ROOT, Bundle, call, read_elf


@pytest.fixture(scope="module")
def attention(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attention")
    source = f"{ROOT / 'tests' / 'cached_attention.py'}:CachedAttention"
    done = call(ETPROF, "export", "--model", source, "--outdir", folder)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.pte"))


def outputs(*runner: str | Path, model: Path, to: Path) -> array.array:
    done = call(*runner, f"--model_path={model}", f"--output_file={to}", "--print_output=none")
    assert done.returncode == 0, done.stderr
    return array.array("f", Path(f"{to}-0.bin").read_bytes())


@pytest.mark.parametrize("isa", ["none", "-sme"])
def test_they_compute_the_same(bundle: Bundle, qemu: list[str], attention: Path, tmp_path: Path, isa: str) -> None:
    here = outputs(ETPROF.parent / "etprof-runner", model=attention, to=tmp_path / "here")
    mask = [] if isa == "none" else [f"--isa={isa}"]
    there = outputs(*qemu, *bundle.command(), *mask, model=attention, to=tmp_path / "there")
    assert len(here) == len(there) == 100
    assert max(abs(a - b) for a, b in zip(here, there, strict=True)) < 1e-5


def test_the_bundle_has_what_they_need_and_no_pytorch(bundle: Bundle) -> None:
    kernels = read_elf(bundle.folder / "libcustom_ops_aot_lib.so")
    of_pytorch = [name for name in kernels.needed if "torch" in name or "c10" in name or name.startswith("_C.")]
    assert "libtorch_cpu.so" in of_pytorch
    assert all((bundle.folder / name).stat().st_size < 100_000 for name in of_pytorch if "executorch" not in name)


def test_attention_has_its_time(bundle: Bundle, qemu: list[str], attention: Path, tmp_path: Path) -> None:
    dump = tmp_path / "attention.etdump"
    done = call(*qemu, *bundle.command(), f"--model_path={attention}", f"--etdump_path={dump}", "--num_executions=2")
    assert done.returncode == 0, done.stderr
    shown = call(ETPROF, "analyze", dump, "--model", attention, "--json")
    assert shown.returncode == 0, shown.stderr
    (experiment,) = json.loads(shown.stdout)["experiments"]
    (one,) = [operator for operator in experiment["operators"] if operator["name"] == "llama::custom_sdpa.out"]
    assert one["category"] == "ATTENTION"
    assert one["self_ms"]["mean"] > 0
