"""macOS without a Mac: everything compiles for it and the runner links against its wheel. Nothing is run."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from bundle_bench import ROOT, call, skip

PRESET = "macos-arm64-zig"
MACH_O_64 = b"\xcf\xfa\xed\xfe"
CPU_TYPE_ARM64 = b"\x0c\x00\x00\x01"
TOOLS = ROOT / ".venv" / "bin"


def wheel_version(folder: Path) -> str | None:
    """The version of the executorch wheel that is installed or unpacked in a folder."""
    for info in folder.glob("executorch-*.dist-info"):
        return info.name.removeprefix("executorch-").removesuffix(".dist-info")
    return None


@pytest.fixture(scope="session")
def macos_wheel(build_lock: None, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """The wheel for macOS of .venv's version, unpacked in build/wheels/macos-arm64."""
    installed = next((ROOT / ".venv").glob("lib/python3*/site-packages"), None)
    version = wheel_version(installed) if installed else None
    if version is None:
        skip("the executorch wheel is not in .venv: run script/bootstrap")
    folder = ROOT / "build" / "wheels" / "macos-arm64"
    if wheel_version(folder) == version:
        return folder
    fetched = tmp_path_factory.mktemp("wheel")
    pip = [TOOLS / "python", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    done = call(*pip, "--platform", "macosx_14_0_arm64", "--dest", fetched, f"executorch=={version}")
    if done.returncode != 0:
        skip(f"the executorch wheel for macOS cannot be fetched: {done.stderr.strip().splitlines()[-1]}")
    (wheel,) = fetched.glob("*.whl")
    assert call(TOOLS / "python", "-m", "zipfile", "-e", wheel, folder).returncode == 0
    return folder


@pytest.fixture(scope="session")
def macos_build(macos_wheel: Path) -> Path:  # noqa: ARG001
    """The configured build folder."""
    if importlib.util.find_spec("ziglang") is None:
        skip("ziglang is not installed: run script/bootstrap --dev")
    folder = ROOT / "build" / PRESET
    done = call(TOOLS / "cmake", "--preset", PRESET, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return folder


def ninja(folder: Path, *targets: str) -> None:
    done = call(TOOLS / "ninja", "-C", folder, "-j2", *targets, timeout=1800)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]


def test_the_runner_links_for_macos(macos_build: Path, macos_wheel: Path) -> None:
    ninja(macos_build, "etprof-runner")
    program = (macos_build / "etprof-runner").read_bytes()
    assert program[:8] == MACH_O_64 + CPU_TYPE_ARM64
    linked = {name.decode() for name in re.findall(rb"@rpath/(libexecutorch[a-z_]*\.dylib)", program)}
    assert linked == {
        "libexecutorch.dylib",
        "libexecutorch_etdump.dylib",
        "libexecutorch_kernels_optimized.dylib",
        "libexecutorch_kernels_quantized.dylib",
        "libexecutorch_threadpool.dylib",
    }  # and not the XNNPACK backend, which is loaded once CPU features are masked
    for name in linked:
        assert (macos_wheel / "executorch" / "lib" / name).exists()


def test_everything_compiles_for_macos(macos_build: Path) -> None:
    ninja(macos_build, "etprof_cli")
    sources = {
        path.relative_to(ROOT / "src").parts[0]
        for path in (ROOT / "src").rglob("*.cc")
        if not path.name.endswith("_test.cc")
    }
    objects = list((macos_build / "src").rglob("*.o"))
    assert {path.relative_to(macos_build / "src").parts[0] for path in objects} == sources
    for path in objects:
        assert path.read_bytes()[:8] == MACH_O_64 + CPU_TYPE_ARM64, path
