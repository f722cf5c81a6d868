"""Fixtures of the device tests: real devices on this machine (README.md), runner bundles, and an emulated CPU."""

from __future__ import annotations

import fcntl
import platform
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bundle_bench import ETPROF, ROOT, Bundle, build_bundle, call, skip
from lab import AdbDevice, Lab, SshDevice

if TYPE_CHECKING:
    from collections.abc import Iterator

# script/test starts these tests in the background, where a shell ignores Ctrl-C. Programs inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A separate network for the test, without devices yet. All processes on it are ended after the test."""
    new_lab = Lab(tmp_path / "lab")
    try:
        yield new_lab
    finally:
        new_lab.close()


@pytest.fixture
def board(lab: Lab) -> SshDevice:
    """A Linux board behind sshd."""
    return lab.ssh("board")


@pytest.fixture
def phone(lab: Lab) -> AdbDevice:
    """A phone behind adbd, which adb's server knows."""
    device = lab.adb("phone")
    device.connect()
    return device


@pytest.fixture(scope="session")
def build_lock() -> Iterator[None]:
    """Prevents two test sessions of one checkout from building at the same time."""
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / ".bundles.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def bundle(build_lock: None) -> Bundle:  # noqa: ARG001
    """build/bundles/linux-aarch64, up to date."""
    if platform.system() != "Linux":
        skip("bundles for aarch64 Linux are built on Linux")
    build = build_bundle("--target", "linux-aarch64")
    return Bundle(Path(build["folder"]), build["bundle"])


@pytest.fixture(scope="session")
def qemu(build_lock: None) -> list[str]:  # noqa: ARG001
    """The command that runs an aarch64 program on an emulated CPU with SME2."""
    fetched = call(ROOT / "script" / "fetch-qemu")
    if fetched.returncode != 0:
        skip(fetched.stderr.strip().splitlines()[-1])
    return [str(ROOT / "build" / "tools" / "qemu-aarch64"), "-cpu", "max"]


@pytest.fixture(scope="session")
def export(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function that exports small_toy_cnn or small_transformer as "fp32", "fp16", "int8", or "int8dyn".

    One process exports all data types of a model, since imports take most of its time."""
    folder = tmp_path_factory.mktemp("models")

    def export_model(kind: str, model: str = "small_toy_cnn") -> Path:
        path = folder / f"{model}_xnnpack_{kind}.pte"
        if not path.exists():
            source = f"{Path(__file__).with_name(model)}.py:{model.title().replace('_', '')}"
            completed = call(
                ETPROF, "export", "--model", source, "--dtype", "fp32,fp16,int8,int8dyn", "--outdir", folder
            )
            if "Run `script/bootstrap`" in completed.stderr:
                skip(completed.stderr.strip().splitlines()[-1])
            assert completed.returncode == 0, completed.stderr
            assert path.exists(), completed.stdout
        return path

    return export_model
