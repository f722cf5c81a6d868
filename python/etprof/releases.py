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


class ReleaseError(errors.CommandError):
    """An exporter that cannot be used."""


def use(release: str | None, wheel: Path | None, progress: Progress) -> tuple[str, list[str]]:
    """Make `import executorch` import only the package of a release or of a wheel.

    PyTorch stays the installed version. Call this before anything of ExecuTorch is imported.

    Returns:
        The version, and notes on it.

    Raises:
        ReleaseError: The release cannot be installed or was changed since, or the wheel contains another release.
    """
    if wheel is None and release == installed_version("executorch"):
        return release, []
    name = artifacts.hash_file(wheel)[:16] if wheel is not None else release
    folder = _cache() / f"{name}-exporter"
    if not folder.exists():
        with progress("fetch exporter"):
            _install(f"executorch=={release}" if wheel is None else str(wheel.resolve()), folder)
    distribution = _distribution(folder)
    _require_unchanged(distribution, folder)
    if release is not None and release != distribution.version.partition("+")[0]:  # without the local version
        raise ReleaseError(
            f"{wheel or folder}: holds ExecuTorch {distribution.version}, not {release}", "give its own wheel"
        )
    spec = ModuleSpec("executorch", None, is_package=True)
    spec.submodule_search_locations = [str(folder / "executorch")]
    sys.modules["executorch"] = importlib.util.module_from_spec(spec)
    return distribution.version, _check_pins(distribution)


def _cache() -> Path:
    """Return the cache folder, which also has the libraries of releases (src/device/local/local.cc, src/commands/measurement/runtimes.cc)."""
    for variable in ("ETPROF_DEVICE_DIR", "XDG_CACHE_HOME"):
        if value := os.environ.get(variable):
            return Path(value) / "etprof" / "executorch"
    return Path.home() / ".cache" / "etprof" / "executorch"


def _install(requirement: str, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    pip_install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-compile",
    ]
    with tempfile.TemporaryDirectory(prefix=".exporter-", dir=folder.parent) as temporary:
        package = Path(temporary) / "package"
        command = [*pip_install, "--only-binary=:all:", "--target", str(package), requirement]
        process = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - pip
        if process.returncode != 0:
            reasons = re.findall(r"^ERROR: (.*)", process.stderr, re.M) or process.stderr.strip().splitlines()[-1:]
            raise ReleaseError(
                f"could not install {requirement}: {reasons[0] if reasons else 'pip failed'}",
                "check pip, the network, and that this Python has such a wheel, or give one by --wheel FILE",
                errors.EXIT_FAILED,
            )
        _distribution(package)  # raises an error before the package is used
        try:
            package.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
            # Another export installed the same package first.


def _distribution(folder: Path) -> importlib.metadata.Distribution:
    distribution = next(iter(importlib.metadata.distributions(name="executorch", path=[str(folder)])), None)
    if distribution is None or not (folder / "executorch" / "exir").is_dir():
        raise ReleaseError(
            f"{folder}: holds no exporter of ExecuTorch", "give a wheel of executorch, or remove the folder"
        )
    return distribution


def _require_unchanged(distribution: importlib.metadata.Distribution, folder: Path) -> None:
    for name, digest, _size in csv.reader((distribution.read_text("RECORD") or "").splitlines()):
        if not digest or not name.startswith("executorch/"):
            continue
        path = folder / name
        is_unchanged = path.is_file() and digest == "sha256=" + base64.urlsafe_b64encode(
            hashlib.sha256(path.read_bytes()).digest()
        ).decode().rstrip("=")
        if not is_unchanged:
            raise ReleaseError(
                f"{path}: is not as it was installed", f"remove {folder}: the next export makes it again"
            )


def _check_pins(distribution: importlib.metadata.Distribution) -> list[str]:
    """Return notes on installed packages that do not have the versions that the release requires."""
    from packaging.requirements import Requirement

    notes = []
    for requirement in map(Requirement, distribution.requires or []):
        if requirement.name not in ("torch", "torchao") or requirement.extras or requirement.marker:
            continue
        installed = installed_version(requirement.name)
        if installed is not None and not requirement.specifier.contains(installed, prereleases=True):
            notes.append(
                f"ExecuTorch {distribution.version} asks for {requirement.name}{requirement.specifier}, and this is {installed}: "
                "it was never tested so"
            )
    return notes


def installed_version(package: str) -> str | None:
    """Return the version of an installed package, or None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
