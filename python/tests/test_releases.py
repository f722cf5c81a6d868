"""`etprof export --executorch` and `--wheel`: the exporter of another ExecuTorch release."""

import base64
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from etprof import programs, releases

INSTALLED = importlib.metadata.version("executorch")
ANY = "py3-none-any"


def make_wheel(
    folder: Path, version: str, files: dict[str, bytes], requires: tuple[str, ...] = (), tag: str = ANY
) -> Path:
    """Makes a wheel of executorch with these files."""
    info = f"executorch-{version}.dist-info"
    lines = [
        "Metadata-Version: 2.1",
        "Name: executorch",
        f"Version: {version}",
        *(f"Requires-Dist: {r}" for r in requires),
    ]
    files = {
        **files,
        f"{info}/METADATA": "\n".join(lines).encode() + b"\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
    }

    def digest(data: bytes) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")

    record = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]).encode() + b"\n"
    path = folder / f"executorch-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if name.endswith("/flatc") else 0o644) << 16
            archive.writestr(entry, data)
    return path


def small_wheel(folder: Path, version: str = "9.9.9", **options: object) -> Path:
    """Makes a wheel whose exporter has only a version."""
    source = f'__version__ = "{version}+test"\ngit_version = None\n'.encode()
    return make_wheel(folder, version, {"executorch/version.py": source, "executorch/exir/__init__.py": b""}, **options)


def use(cache: Path, release: str | None, wheel: Path | None) -> subprocess.CompletedProcess:
    """Uses an exporter in a separate process, which prints the result, and what it imports from this exporter."""
    code = (
        "import contextlib, importlib.util, sys, pathlib\n"
        "from etprof import releases\n"
        "release, wheel = sys.argv[1:]\n"
        "try:\n"
        "    found = releases.use(release or None, pathlib.Path(wheel) if wheel else None, contextlib.nullcontext)\n"
        "except releases.ReleaseError as error:\n"
        "    sys.exit(f'{error.exit_code}: {error}. {error.remedy}')\n"
        "from executorch import version\n"
        "print(*found, version.__version__, importlib.util.find_spec('executorch.backends') is not None, sep='\\n')\n"
    )
    arguments = [sys.executable, "-c", code, release or "", str(wheel or "")]
    env = {**os.environ, "ETPROF_DEVICE_DIR": str(cache)}
    return subprocess.run(arguments, env=env, capture_output=True, text=True, check=False)


def test_a_wheel_exports_and_nothing_of_the_installed_one_does(tmp_path: Path):
    torch = importlib.metadata.version("torch")
    pins = ("torch<2.0", "torchao>=0.1", "numpy<1", 'torch<1.0; extra == "vgf"')
    wheel = small_wheel(tmp_path, requires=pins)
    for _ in range(2):  # the second time, the wheel is installed already
        completed = use(tmp_path, None, wheel)
        assert completed.returncode == 0, completed.stderr
        version, notes, imported, backends = completed.stdout.splitlines()
        assert (version, imported, backends) == ("9.9.9", "9.9.9+test", "False")
        assert notes == str([f"ExecuTorch 9.9.9 asks for torch<2.0, and this is {torch}: it was never tested so"])
    (folder,) = (tmp_path / "etprof/executorch").iterdir()
    # A changed installation is not used.
    (folder / "executorch/version.py").write_text("__version__ = '0'")
    completed = use(tmp_path, None, wheel)
    assert completed.stderr.startswith(
        f"3: {folder}/executorch/version.py: is not as it was installed. remove {folder}"
    )
    (folder / "executorch/version.py").unlink()
    assert "is not as it was installed" in use(tmp_path, None, wheel).stderr


def test_the_installed_release_needs_no_wheel(tmp_path: Path):
    completed = use(tmp_path, INSTALLED, None)
    assert completed.returncode == 0, completed.stderr
    version, notes, imported, backends = completed.stdout.splitlines()
    assert (version, notes, imported.partition("+")[0], backends) == (INSTALLED, "[]", INSTALLED, "True")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["cut", "other release", "other Python", "no exporter", "other package"])
def test_a_wheel_that_is_no_exporter_is_refused(tmp_path: Path, kind: str):
    release = None
    wheel = small_wheel(tmp_path, tag="cp27-cp27m-win32" if kind == "other Python" else ANY)
    if kind == "cut":
        wheel.write_bytes(wheel.read_bytes()[:-100])
    elif kind == "other release":
        release = "9.9.8"
    elif kind == "no exporter":
        wheel = make_wheel(tmp_path, "9.9.9", {"executorch/version.py": b""})
    elif kind == "other package":
        wheel = wheel.rename(tmp_path / f"numpy-9.9.9-{ANY}.whl")
    reason = {
        "cut": "4: could not install ",
        "other release": f"3: {wheel}: holds ExecuTorch 9.9.9, not 9.9.8. give its own wheel",
        "other Python": "is not a supported wheel on this platform",
        "no exporter": "holds no exporter of ExecuTorch. give a wheel of executorch",
        "other package": "4: could not install ",
    }[kind]
    completed = use(tmp_path, release, wheel)
    assert completed.returncode == 1
    assert reason in completed.stderr
    if kind != "other release":
        assert not list((tmp_path / "etprof/executorch").iterdir())


def test_a_release_that_pip_does_not_find_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    completed = use(tmp_path, "1.4.1", None)
    assert completed.stderr.startswith("4: could not install executorch==1.4.1: "), completed.stderr
    assert "--wheel FILE" in completed.stderr


@pytest.mark.parametrize("arguments", [["--executorch", "latest"], ["--executorch", "../1.4.1"], ["--wheel", "no.whl"]])
def test_invalid_releases_are_refused(arguments: list[str], capfd: pytest.CaptureFixture):
    from etprof import export

    with pytest.raises(SystemExit) as ended:
        export.main(["toy_cnn", *arguments])
    assert ended.value.code == 2
    assert f"`{arguments[0]} {arguments[1]}`" in capfd.readouterr().err


@pytest.mark.parametrize("version", ["1.4.1", "1.6.0.dev20261101", "1.5.0rc2", "1.5"])
def test_versions(version: str):
    assert releases.VERSION.fullmatch(version)


def changed_wheel(folder: Path) -> Path:
    """A wheel of the installed exporter, changed to leave linear layers to portable kernels, with its own version."""
    root = Path(importlib.metadata.distribution("executorch").locate_file("."))
    package = root / "executorch"
    config = "executorch/backends/xnnpack/partition/config/__init__.py"
    left_out = {"include", "lib", "share", "__pycache__"}
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".so" and not left_out & set(path.relative_to(package).parts)
    }
    source = files[config].decode()
    for name in ("AddmmConfig", "LinearConfig"):
        assert source.count(f"    {name},\n") == 2  # in the import and in the list
        first, second, rest = source.split(f"    {name},\n")
        source = f"{first}    {name},\n{second}{rest}"
    files[config] = source.encode()
    files["executorch/version.py"] = b'__version__ = "9.8.7+changed"\ngit_version = "feed"\n'
    return make_wheel(folder, "9.8.7", files)


def test_a_changed_exporter_lowers_differently_and_is_named(exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    wheel = changed_wheel(tmp_path)
    runner = programs.runner()
    env = {**os.environ, "ETPROF_DEVICE_DIR": str(tmp_path), **({"ETPROF_RUNNER": str(runner)} if runner else {})}
    arguments = [sys.executable, "-m", "etprof.export", "toy_cnn", "--wheel", str(wheel)]
    completed = subprocess.run(arguments, env=env, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    pte = tmp_path / "out_toy_cnn/artifacts/executorch-9.8.7/toy_cnn_xnnpack_fp32.pte"
    assert completed.stdout.splitlines()[0] == str(pte.relative_to(tmp_path))
    manifest = json.loads((pte.parent / f"{pte.name}.json").read_text())
    versions = {key: manifest["versions"][key] for key in ("executorch", "executorch_git_sha")}
    assert versions == {"executorch": "9.8.7+changed", "executorch_git_sha": "feed"}
    assert manifest["portable_operators"] == {"aten::addmm.out": 2} | {
        name: count for name, count in manifest["portable_operators"].items() if "copy" in name
    }
    own = exported("toy_cnn")
    assert json.loads((own.parent / f"{own.name}.json").read_text())["portable_operators"] == {}
    assert pte.read_bytes() != own.read_bytes()
