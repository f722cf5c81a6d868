"""Export with the Python package of another ExecuTorch release, which pip installs into etprof's cache."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.machinery import ModuleSpec
from pathlib import Path

from etprof import artifacts, errors

VERSION = re.compile(r"\d+(\.\d+)+((a|b|rc|\.dev|\.post)\d+)?")

Progress = Callable[[str], AbstractContextManager[None]]


class ReleaseError(Exception):
    """An exporter that cannot be used, with the exit code and the remedy."""

    def __init__(self, problem: str, what_to_do: str, exit_code: int = errors.EXIT_BAD_INPUT) -> None:
        super().__init__(problem)
        self.what_to_do = what_to_do
        self.exit_code = exit_code


def use(release: str | None, wheel: Path | None, progress: Progress) -> tuple[str, list[str]]:
    """Make `import executorch` import the package of a release, or of a wheel, and of nothing else.

    PyTorch stays the installed one. Call this before anything of ExecuTorch is imported.

    Returns:
        The version, and what to know of it.

    Raises:
        ReleaseError: It cannot be installed, was changed since, or the wheel is of another release.
    """
    if wheel is None and release == installed_version("executorch"):
        return release, []
    name = artifacts.sha256_of(wheel)[:16] if wheel is not None else release
    folder = _cache() / f"{name}-exporter"
    if not folder.exists():
        with progress("fetch exporter"):
            _install(f"executorch=={release}" if wheel is None else str(wheel.resolve()), folder)
    found = _distribution(folder)
    _require_undamaged(found, folder)
    if release is not None and release != _public(found.version):
        raise ReleaseError(f"{wheel or folder}: holds ExecuTorch {found.version}, not {release}", "give its own wheel")
    spec = ModuleSpec("executorch", None, is_package=True)
    spec.submodule_search_locations = [str(folder / "executorch")]
    sys.modules["executorch"] = importlib.util.module_from_spec(spec)
    return found.version, _outside_of_pins(found)


def _cache() -> Path:
    """The folder that also has the libraries of releases (src/device/local/local.cc, src/commands/measurement/runtimes.cc)."""
    for variable in ("ETPROF_DEVICE_DIR", "XDG_CACHE_HOME"):
        if value := os.environ.get(variable):
            return Path(value) / "etprof" / "executorch"
    return Path.home() / ".cache" / "etprof" / "executorch"


def _install(requirement: str, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    words = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-compile",
    ]
    with tempfile.TemporaryDirectory(prefix=".exporter-", dir=folder.parent) as part:
        made = Path(part) / "package"
        command = [*words, "--only-binary=:all:", "--target", str(made), requirement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - pip
        if done.returncode != 0:
            reasons = re.findall(r"^ERROR: (.*)", done.stderr, re.M) or done.stderr.strip().splitlines()[-1:]
            raise ReleaseError(
                f"could not install {requirement}: {reasons[0] if reasons else 'pip failed'}",
                "check pip, the network, and that this Python has such a wheel, or give one by --wheel FILE",
                errors.EXIT_FAILED,
            )
        _distribution(made)  # before it takes its place
        try:
            made.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
            # Another export was quicker.


def _distribution(folder: Path) -> importlib.metadata.Distribution:
    found = next(iter(importlib.metadata.distributions(name="executorch", path=[str(folder)])), None)
    if found is None or not (folder / "executorch" / "exir").is_dir():
        raise ReleaseError(
            f"{folder}: holds no exporter of ExecuTorch", "give a wheel of executorch, or remove the folder"
        )
    return found


def _require_undamaged(found: importlib.metadata.Distribution, folder: Path) -> None:
    for name, digest, _size in csv.reader((found.read_text("RECORD") or "").splitlines()):
        if not digest or not name.startswith("executorch/"):
            continue
        path = folder / name
        same = path.is_file() and digest == "sha256=" + base64.urlsafe_b64encode(
            hashlib.sha256(path.read_bytes()).digest()
        ).decode().rstrip("=")
        if not same:
            raise ReleaseError(
                f"{path}: is not as it was installed", f"remove {folder}: the next export makes it again"
            )


def _outside_of_pins(found: importlib.metadata.Distribution) -> list[str]:
    """What the release asks for and is not installed."""
    from packaging.requirements import Requirement

    notes = []
    for requirement in map(Requirement, found.requires or []):
        if requirement.name not in ("torch", "torchao") or requirement.extras or requirement.marker:
            continue
        installed = installed_version(requirement.name)
        if installed is not None and not requirement.specifier.contains(installed, prereleases=True):
            notes.append(
                f"ExecuTorch {found.version} asks for {requirement.name}{requirement.specifier}, and this is {installed}: "
                "it was never tested so"
            )
    return notes


def installed_version(package: str) -> str | None:
    """The version of an installed package; None: it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _public(version: str) -> str:
    return version.partition("+")[0]
