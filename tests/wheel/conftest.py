"""The wheel of this checkout, built once, and an environment into which it is installed."""

import os
import sys
import venv
from pathlib import Path

import pytest
from wheel_tools import RELEASE, ROOT, call


@pytest.fixture(scope="session")
def built_programs() -> dict[Path, int]:
    """The programs of build/release and their modification times, before the wheel is built."""
    return {file: file.stat().st_mtime_ns for name in ("etprof", "etprof-runner") if (file := RELEASE / name).exists()}


@pytest.fixture(scope="session")
def wheel(built_programs: dict[Path, int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the wheel as `pip wheel .` does, reusing build/release, which has the same sources, options, and compiler."""
    assert len(built_programs) == 2, f"{RELEASE} holds no programs (script/bootstrap builds them)"
    folder = tmp_path_factory.mktemp("wheel")
    # PATH gives pip the same tools that configured the folder.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    settings = [f"build-dir={RELEASE}", "cmake.define.ETPROF_TESTS=ON"]
    pip = [sys.executable, "-m", "pip", "wheel", ".", "--no-build-isolation", "--no-deps", "-w", folder]
    call(*pip, *(f"--config-settings={setting}" for setting in settings), cwd=ROOT, env=environment)
    (wheel_file,) = folder.glob("*.whl")
    return wheel_file


@pytest.fixture(scope="session")
def empty_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that contains only the wheel."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=False, symlinks=True)
    call(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "-q", "--no-deps", wheel)
    return folder


@pytest.fixture(scope="session")
def etprof(wheel: Path, tmp_path_factory: pytest.TempPathFactory):
    """The Python module of the wheel, with NumPy and pandas of this environment."""
    folder = tmp_path_factory.mktemp("site")
    call(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder, wheel)
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "etprof"}
    sys.path.insert(0, str(folder))
    import etprof

    assert Path(etprof.__file__).is_relative_to(folder)
    yield etprof
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == "etprof"]:
        del sys.modules[name]
    sys.modules.update(before)
