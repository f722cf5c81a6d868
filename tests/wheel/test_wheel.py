"""The contents of the wheel, the libraries that its binaries need, and a profile with only the wheel installed."""

import ast
import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

from wheel_tools import ROOT, call

TOY = ROOT / "tests" / "data" / "toy_cnn.pte"
# Libraries that every Linux system has (the same as in auditwheel's policies).
SYSTEM_LIBRARIES = re.compile(r"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)|ld-linux-[\w-]+)\.so\.\d+$")


def read_dependencies(binary: Path) -> tuple[set[str], list[str]]:
    """Returns the libraries that an ELF file needs, and the folders in which it searches, from readelf."""
    text = call("readelf", "--wide", "-d", binary)
    paths = re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", text)
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", text)), [
        folder for path in paths for folder in path.split(":") if folder
    ]


def binaries(folder: Path) -> list[Path]:
    files = [file for file in folder.rglob("*") if file.is_file() and not file.is_symlink()]
    return [file for file in files if file.read_bytes()[:4] == b"\x7fELF"]


def test_the_wheel_contains_the_built_programs(built_programs, wheel):
    """A wheel build that links the programs again would replace them while others run them."""
    assert wheel.exists()
    times_after = {file: file.stat().st_mtime_ns for file in built_programs}
    assert times_after == built_programs, (
        "was it up to date (script/bootstrap), and are the wheel's options those of the preset release?"
    )


def test_binaries_need_only_system_libraries(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    found = binaries(tmp_path / "etprof")
    assert {"etprof", "etprof-runner"} <= {file.name for file in found}
    assert any(file.name.startswith("_native.") for file in found)
    for file in found:
        libraries, paths = read_dependencies(file)
        neighbors = {other.name for other in file.parent.iterdir()}
        loaded_before = (
            file.name == "libcustom_ops_aot_lib.so"
        )  # the runner has already loaded all libraries that this one needs
        if loaded_before:
            neighbors |= {other.name for other in (file.parent / "torch-stand-ins").iterdir()}
        assert {name for name in libraries if not SYSTEM_LIBRARIES.match(name)} <= neighbors, file
        # It finds libraries in its own folder, and searches no folder of the machine that built it.
        assert all(path.startswith("$ORIGIN") for path in paths), (file, paths)
        if libraries & neighbors and not loaded_before:
            assert "$ORIGIN" in paths or "$ORIGIN/" in paths, (file, paths)


def test_it_brings_licenses_stubs_and_no_folder_of_the_build(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert {"etprof/bin/LICENSE.executorch", "etprof/py.typed"} <= names
        assert {"etprof/_native.pyi", "etprof/workflows.pyi"} <= names
        assert any(name.endswith("licenses/LICENSE") for name in names)
        stub = ast.parse(archive.read("etprof/_native.pyi"))
        classes = {node.name for node in stub.body if isinstance(node, ast.ClassDef)}
        assert classes == {"Trace", "Profile"}
        assert str(ROOT).encode() not in archive.read("etprof/bin/etprof")


def test_it_profiles_a_model_in_an_empty_environment(empty_environment, tmp_path):
    environment = {"PATH": f"{empty_environment / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    model = tmp_path / TOY.name
    model.write_bytes(TOY.read_bytes())
    arguments = ["profile", model, "--vs", "threads=1", "--launches", "2", "--runs", "3", "--no-peaks"]
    call("etprof", *arguments, "--output-root", tmp_path / "run", cwd=tmp_path, env=environment)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    for result in manifest["results"]:
        assert Path(result["runner_path"]).is_relative_to(empty_environment)
    assert (tmp_path / "run" / "report.html").exists()
    call("etprof", "validate", tmp_path / "run", cwd=tmp_path, env=environment)


def test_it_runs_llm_kernels_without_torch(empty_environment, tmp_path):
    source = f"{ROOT / 'tests' / 'cached_attention.py'}:CachedAttention"
    call(ROOT / "build" / "etprof", "export", "--model", source, "--outdir", tmp_path, cwd=ROOT)
    (model,) = tmp_path.glob("*.pte")
    environment = {"PATH": f"{empty_environment / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    arguments = ["profile", model, "--launches", "2", "--runs", "3", "--no-peaks", "--output-root", tmp_path / "run"]
    call("etprof", *arguments, cwd=tmp_path, env=environment)
    (experiment,) = json.loads((tmp_path / "run" / "analysis_summary.json").read_text())["experiments"]
    assert "llama::custom_sdpa.out" in {operator["name"] for operator in experiment["operators"]}


def test_it_makes_a_new_model_without_torch(empty_environment, tmp_path):
    environment = {"PATH": f"{empty_environment / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    files = call("etprof", "new-model", "my_net", cwd=tmp_path, env=environment).splitlines()
    assert files == [f"my_net/{name}" for name in ("README.md", "__init__.py", "model.py", "test_my_net.py")]
    assert "my_net" in call("etprof", "export", "--list-models", cwd=tmp_path, env=environment).splitlines()


def test_missing_packages_are_reported(empty_environment, tmp_path):
    environment = {**os.environ, "PATH": f"{empty_environment / 'bin'}:/usr/bin:/bin", "PYTHONPATH": ""}
    completed = subprocess.run(
        [empty_environment / "bin" / "etprof", "export", "--model", "toy_cnn", "--outdir", tmp_path],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert completed.returncode != 0
    assert "Traceback" not in completed.stderr
    assert "torch" in completed.stderr
    completed = subprocess.run(
        [empty_environment / "bin" / "python", "-c", "import etprof; etprof.read_etdump('x')"],
        capture_output=True,
        text=True,
    )
    assert "numpy" in completed.stderr.lower()
