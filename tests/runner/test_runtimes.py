"""`--vs executorch=VERSION`: the libraries of another release, from its wheel."""

import json
import os
import platform
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from runner_bench import DATA, skip

VERSION = "1.4.1"
USAGE, BAD_INPUT = 2, 3


def run(etprof: Path, cache: Path, *words: object) -> subprocess.CompletedProcess:
    env = {**os.environ, "ETPROF_DEVICE_DIR": str(cache)}
    return subprocess.run([etprof, *map(str, words)], env=env, capture_output=True, text=True, check=False)


def profile(etprof: Path, cache: Path, out: Path, version: str) -> subprocess.CompletedProcess:
    short = ["--max-seconds", "5", "--no-peaks", "--output-root", out]
    return run(etprof, cache, "profile", DATA / "toy_cnn.pte", "--vs", f"executorch={version}", *short)


@pytest.fixture(scope="module")
def cache(etprof, tmp_path_factory) -> Path:
    """A cache in which two measurements at once have made the runtime's folder."""
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        skip("runtimes are of x86-64 Linux")
    folder = tmp_path_factory.mktemp("cache")
    with ThreadPoolExecutor(2) as pool:
        at_once = [pool.submit(profile, etprof, folder, folder / name, VERSION) for name in ("a", "b")]
    for done in [each.result() for each in at_once]:
        if "could not fetch" in done.stderr:
            skip(f"pip cannot fetch executorch {VERSION}")
        assert done.returncode == 0, done.stderr
    assert [path.name for path in (folder / "etprof/executorch").iterdir()] == [f"{VERSION}-linux-x86_64"]
    return folder


@pytest.fixture(scope="module")
def measured(cache) -> Path:
    return cache / "a"


def test_each_side_ran_with_its_own_libraries(cache, measured):
    manifest = json.loads((measured / "manifest.json").read_text())
    old = next(each for each in manifest["results"] if each["executorch_version"] == VERSION)
    (own,) = [each for each in manifest["results"] if each is not old]
    assert own["executorch_version"].startswith("1.5.")
    folders = {Path(each["path"]).parent for each in old["executorch_libraries"]}
    assert folders == {cache / "etprof/executorch" / f"{VERSION}-linux-x86_64"}
    assert not folders & {Path(each["path"]).parent for each in own["executorch_libraries"]}
    digests = [each["output_digests"][0] for each in (old, own)]
    assert digests[0]["mean"] == pytest.approx(digests[1]["mean"], rel=1e-6)
    assert all(launch["load_ns"] > 0 and launch["bursts"] for launch in old["launches"])


def test_operators_of_a_release_without_tracer_are_said_not_to_be_traced(etprof, cache, measured):
    manifest = json.loads((measured / "manifest.json").read_text())
    old = next(each for each in manifest["results"] if each["executorch_version"] == VERSION)
    assert old["etdump"] is None
    assert any("without event tracing" in warning for warning in old["warnings"])
    summary = json.loads((measured / "analysis_summary.json").read_text())
    (pair,) = summary["comparisons"]
    assert pair["latency"]["baseline_ms"] > 0
    assert pair["latency"]["candidate_ms"] > 0
    done = run(etprof, cache, "validate", measured)
    assert done.returncode == 0, done.stdout


def test_a_library_that_was_changed_is_refused(etprof, cache, tmp_path):
    changed = tmp_path / "cache"
    shutil.copytree(cache / "etprof", changed / "etprof")
    folder = changed / "etprof/executorch" / f"{VERSION}-linux-x86_64"
    library = folder / "libqnn_executorch_backend.so"
    whole = library.read_bytes()
    for contents, problem in ((whole[:-1] + bytes([whole[-1] ^ 1]), "is not as it was fetched"), (None, "lacks")):
        library.unlink() if contents is None else library.write_bytes(contents)
        done = profile(etprof, changed, tmp_path / "out", VERSION)
        assert done.returncode == BAD_INPUT, done.stderr
        assert problem in done.stderr
        assert "remove the folder" in done.stderr.lower()
    (folder / "runtime.json").write_text("{")
    done = profile(etprof, changed, tmp_path / "out", VERSION)
    assert done.returncode == BAD_INPUT
    assert "runtime.json" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("version", ["1.2.0", "1.6.0", "../1.4.1", "latest"])
def test_a_version_that_was_never_tried_is_refused(etprof, tmp_path, version):
    done = profile(etprof, tmp_path, tmp_path / "out", version)
    assert done.returncode == USAGE, done.stderr
    assert "1.4.1" in done.stderr
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "etprof/executorch").exists()
