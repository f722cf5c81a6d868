"""`executorch=VERSION` and `etprof versions`: the libraries of other releases, from their wheels."""

import csv
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import zipfile
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from runner_bench import DATA, Run, Worker, events, skip

VERSION = "1.4.1"
RELEASES = ["1.3.1", "1.4.0", "1.4.1", "1.5.0"]
WITHOUT_TRACER = RELEASES[:3]  # releases without an event tracer
XNNPACK = "libexecutorch_backend_xnnpack.so"
USAGE, BAD_INPUT, DEVICE_FAILED = 2, 3, 4
MODEL = DATA / "toy_cnn.pte"
MIXED = DATA.parent / "fuzz/corpus/program/mixed_delegates.pte"  # two delegates, with two kernels between them
# A small network, exported by two releases: with two delegates up to 1.2, and with one delegate since then.
EXPORTS = {version: DATA.parent / f"fuzz/corpus/program/exported_by_{version}.pte" for version in ("1.0.1", "1.5.1")}
SHORT = ["--max-seconds", "5", "--no-peaks"]


def run(etprof: Path, cache: Path, *arguments: object, **env: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "ETPROF_DEVICE_DIR": str(cache), **env}
    return subprocess.run([etprof, *map(str, arguments)], env=env, capture_output=True, text=True, check=False)


def profile(etprof: Path, cache: Path, out: Path, version: str, **env: str) -> subprocess.CompletedProcess:
    vs = ["--vs", f"executorch={version}", *SHORT, "--output-root", out]
    return run(etprof, cache, "profile", MODEL, *vs, **env)


def versions(etprof: Path, cache: Path, out: Path, *options: str) -> subprocess.CompletedProcess:
    releases = ["--versions", ",".join(RELEASES), *SHORT, "--output-root", out]
    return run(etprof, cache, "versions", MODEL, *releases, *options)


def runtime(cache: Path, version: str) -> Path:
    return cache / "etprof/executorch" / f"{version}-linux-x86_64"


def results(folder: Path) -> dict[str, dict]:
    """The experiments of a results directory by the version of ExecuTorch that ran them."""
    return {
        experiment["executorch_version"]: experiment
        for experiment in json.loads((folder / "manifest.json").read_text())["results"]
    }


def summary(folder: Path) -> dict:
    """The analysis of a results directory."""
    return json.loads((folder / "analysis_summary.json").read_text())


def pairs(folder: Path) -> list[dict]:
    """The comparisons of a results directory, with the comparison of their outputs."""
    stored = json.loads((folder / "manifest.json").read_text())["pairs"]
    return [
        {**pair, "outputs": stored_pair["outputs"]}
        for pair, stored_pair in zip(summary(folder)["comparisons"], stored, strict=True)
    ]


@pytest.fixture(scope="module")
def cache(etprof, tmp_path_factory) -> Path:
    """A cache whose runtimes were created by two simultaneous measurements: `a` by profile, `b` by versions."""
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        skip("runtimes are of x86-64 Linux")
    folder = tmp_path_factory.mktemp("cache")
    with ThreadPoolExecutor(2) as pool:
        measurements = [
            pool.submit(profile, etprof, folder, folder / "a", VERSION),
            pool.submit(versions, etprof, folder, folder / "b"),
        ]
    for completed in [measurement.result() for measurement in measurements]:
        if "could not fetch" in completed.stderr:
            skip(f"pip cannot fetch executorch: {completed.stderr}")
        assert completed.returncode == 0, completed.stderr
    assert sorted((folder / "etprof/executorch").iterdir()) == [
        runtime(folder, measurement) for measurement in RELEASES
    ]
    return folder


def test_each_side_ran_with_its_own_libraries(cache):
    measured = results(cache / "a")
    old = measured.pop(VERSION)
    ((version, current),) = measured.items()
    assert version.startswith("1.5.")
    folders = {Path(library["path"]).parent for library in old["executorch_libraries"]}
    assert folders == {runtime(cache, VERSION)}
    assert not folders & {Path(library["path"]).parent for library in current["executorch_libraries"]}
    digests = [library["output_digests"][0] for library in (old, current)]
    assert digests[0]["mean"] == pytest.approx(digests[1]["mean"], rel=1e-6)
    assert all(launch["load_ns"] > 0 and launch["bursts"] for launch in old["launches"])


def test_operators_of_releases_match_by_key_and_add_up(etprof, cache):
    analysis = summary(cache / "a")
    old, current = sorted(
        analysis["experiments"], key=lambda experiment: experiment["label"] != f"ExecuTorch {VERSION}"
    )
    assert {(op["key"], op["name"]) for op in old["operators"]} == {
        (op["key"], op["name"]) for op in current["operators"]
    }
    assert len(old["operators"]) == 11
    for experiment in (old, current):
        groups = experiment["groups"]
        assert sum(row["total_ns"] for row in groups["rows"]) == groups["total_ns"] > 0
        assert groups["runs"] > 0
    (pair,) = analysis["comparisons"]
    for side in ("baseline", "candidate"):
        operators = sum(row[f"{side}_total_ns"] for row in pair["operators"])
        assert operators == pair["whole"][f"{side}_total_ns"] > 0
    completed = run(etprof, cache, "validate", cache / "a")
    assert completed.returncode == 0, completed.stdout


def runtime_env(cache: Path, version: str) -> dict[str, str]:
    """The environment with which the runner loads the libraries of the release."""
    return {"LD_LIBRARY_PATH": str(runtime(cache, version))}


@pytest.mark.parametrize("version", WITHOUT_TRACER)
def test_the_added_tracer_reports_what_that_of_1_5_does(etprof, runner, cache, tmp_path, version):
    results_by_runtime = []
    for env in ({}, runtime_env(cache, version)):
        etdump = tmp_path / "net.etdump"
        finished = Run(runner, "--model_path", MIXED, "--num_executions", "3", "--etdump_path", etdump, env=env)
        assert finished.code == 0, finished.err
        (experiment,) = json.loads(run(etprof, cache, "analyze", etdump, "--json").stdout)["experiments"]
        groups = experiment["groups"]
        assert sum(row["total_ns"] for row in groups["rows"]) == groups["total_ns"] > 0
        assert [row["total_ns"] for row in groups["rows"] if row["name"] == "Clipped"] == [0]
        names = {(op["key"], op["name"], op["category"]) for op in experiment["operators"]}
        # ExecuTorch's own reader must agree. 1.5 has another name for a transpose, and logs the load.
        runs = [spans for block, spans in events(etdump) if block == "Execute"]
        kinds = [re.sub(r"\) Transpose #", ") #", name) for name, _, _ in runs[0]]
        assert len(runs) == 3
        results_by_runtime.append((names, kinds))
    assert results_by_runtime[0] == results_by_runtime[1]
    assert {"native_call_cumsum.out", "Transpose (ND, X32) #2"} <= set(results_by_runtime[0][1])


@pytest.mark.parametrize("version", WITHOUT_TRACER)
def test_operators_of_the_added_tracer_fill_their_delegate_call(runner, cache, tmp_path, version):
    options = ["--model_path", MODEL, "--num_executions", "4", "--etdump_path", tmp_path / "net.etdump"]
    assert Run(runner, *options, env=runtime_env(cache, version)).code == 0
    for _, spans in events(tmp_path / "net.etdump")[1:]:  # the first run packs weights
        times = {name: (start, end) for name, start, end in spans}
        begin, end = times.pop("DELEGATE_CALL")
        operators = [span for name, span in times.items() if " #" in name]
        assert len(operators) == 11
        assert all(begin <= start <= stop <= end for start, stop in operators)
        assert 0.5 * (end - begin) < sum(stop - start for start, stop in operators)


@pytest.mark.parametrize("version", WITHOUT_TRACER)
def test_a_mask_of_cpu_features_changes_the_kernels_of_a_release(runner, cache, tmp_path, version):
    def outputs(isa: str, env: dict[str, str]) -> tuple[bytes, dict]:
        options = ["--model_path", MODEL, "--save-outputs", tmp_path / "outputs", *([f"--isa={isa}"] if isa else [])]
        finished = Run(runner, *options, "--report", tmp_path / "report.json", env=env)
        assert finished.code == 0, finished.err
        return (tmp_path / "outputs").read_bytes(), json.loads((tmp_path / "report.json").read_text())["ready"]["isa"]

    old = runtime_env(cache, version)
    masks = ["", "none", "=avx2"]
    outputs_by_mask = {isa: outputs(isa, old) for isa in masks}
    assert outputs_by_mask == {isa: outputs(isa, {}) for isa in masks}
    if "fma3" in outputs_by_mask[""][1]["detected"]:  # without it sums are rounded at every product, too
        assert outputs_by_mask["none"][0] != outputs_by_mask[""][0]
    assert outputs_by_mask["none"][1]["detected"] == outputs_by_mask[""][1]["detected"]
    rejection = Run(runner, "--model_path", MODEL, "--isa=-nothing", env=old)
    assert rejection.code == USAGE
    assert "nothing" in rejection.err


def test_1_3_loads_twice_and_ends(runner, cache, tmp_path):
    worker = Worker(runner, env=runtime_env(cache, "1.3.1"))
    assert worker.ready["executorch_version"] == "1.3.1"
    for model in (MODEL, MIXED):
        worker.ask("load", model=model)
        assert len(worker.ask("burst", min_runs=3, max_runs=3)["untraced_ns"]) == 3
    (tmp_path / "cut.pte").write_bytes(MIXED.read_bytes()[:-1000])
    assert "cut short" in worker.expect_error("load", model=tmp_path / "cut.pte")
    assert worker.close() == 0


def link(name: Path, *arguments: object) -> None:
    """Links a library of this name."""
    compiler = shutil.which("c++") or skip("no C++ compiler")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", f"-Wl,-soname,{name.name}", "-o", name, *arguments], check=True
    )


def test_operators_of_a_release_without_any_tracer_are_said_not_to_be_traced(etprof, runner, cache, tmp_path):
    shutil.copytree(runtime(cache, VERSION), tmp_path / "untraced")
    (tmp_path / "nothing.cc").touch()
    link(tmp_path / "untraced/libexecutorch.so", tmp_path / "nothing.cc")
    untraced = tmp_path / "etprof-runner"
    untraced.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={tmp_path}/untraced exec {runner} "$@"\n')
    untraced.chmod(0o755)
    out = tmp_path / "out"
    completed = run(etprof, cache, "profile", MODEL, "--vs", f"runner={untraced}", *SHORT, "--output-root", out)
    assert completed.returncode == 0, completed.stderr
    old = results(out)[VERSION]
    assert old["etdump"] is None
    assert any("without event tracing" in warning for warning in old["warnings"])
    (pair,) = pairs(out)
    assert pair["latency"]["baseline_ms"] > 0
    assert pair["latency"]["candidate_ms"] > 0
    completed = run(etprof, cache, "validate", out)
    assert completed.returncode == 0, completed.stdout


def test_kernels_that_a_release_lacks_are_named(runner, cache, models):
    assert Run(runner, "--model_path", models / "quantized.pte").code == 0
    old = Run(runner, "--model_path", models / "quantized.pte", env=runtime_env(cache, VERSION))
    assert old.code == DEVICE_FAILED
    assert "quantized_decomposed::quantize_per_tensor.out are not registered" in old.err
    assert f"ExecuTorch {VERSION} has no kernels for them: delegate them, or run 1.5" in old.err


def test_releases_are_compared_with_the_one_before(etprof, cache):
    assert list(results(cache / "b")) == RELEASES
    labels = [f"ExecuTorch {release}" for release in RELEASES]
    assert [(release["baseline"], release["candidate"]) for release in pairs(cache / "b")] == list(pairwise(labels))
    assert [release["outputs"]["equal"] for release in pairs(cache / "b")] == [True, True, True]
    completed = run(etprof, cache, "report", cache / "b", "--csv=releases")
    assert completed.returncode == 0, completed.stderr
    rows = list(csv.DictReader(completed.stdout.splitlines()))
    assert [row["release"] for row in rows] == labels
    assert [row["outputs"] for row in rows] == ["", "equal", "equal", "equal"]
    # In every release, the libraries take more memory than the model.
    for experiment in results(cache / "b").values():
        for launch in experiment["launches"]:
            assert 5e6 < launch["rss_before_load_bytes"] < launch["rss_after_load_bytes"] < launch["peak_rss_bytes"]
    warnings = summary(cache / "b")["warnings"]
    assert [release.split(":")[0] for release in warnings if "event tracer" in release] == [
        "ExecuTorch 1.4.1 has no event tracer and was measured with one, as ExecuTorch 1.5.0 has"
    ]


def test_exports_of_old_and_new_releases_compute_the_same_on_every_runtime(etprof, cache, tmp_path):
    matrix = [(exporter, release) for exporter in EXPORTS for release in RELEASES]
    experiments = [
        {"name": f"{exporter}_on_{release}", "model": str(EXPORTS[exporter]), "executorch": release}
        for exporter, release in matrix
    ]
    current = {"name": "own", "model": str(EXPORTS["1.5.1"])}
    short = {"peaks": False, "launches": 2, "rounds": 1, "runs": 1, "warmup": 0}
    compared = [{"baseline": "own", "candidate": experiment["name"]} for experiment in experiments]
    config = {**short, "experiments": [*experiments, current], "analysis": {"compare_pairs": compared}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    completed = run(etprof, cache, "run", tmp_path / "config.json", "--output-root", tmp_path / "out")
    assert completed.returncode == 0, completed.stderr
    assert [pair["outputs"]["note"] for pair in pairs(tmp_path / "out")] == ["outputs are equal, bit for bit"] * 8
    assert [experiment["delegate_calls"] for experiment in summary(tmp_path / "out")["experiments"]] == [2] * 4 + [
        1
    ] * 5
    measured = json.loads((tmp_path / "out/manifest.json").read_text())["results"]
    assert [experiment["executorch_version"] for experiment in measured[:-1]] == [release for _, release in matrix]


@pytest.mark.parametrize("change", ["SPIN", "MEGABYTES", "BITS"])
def test_what_a_release_changed_is_named_and_nothing_else(etprof, cache, tmp_path, change):
    for version in (VERSION, "1.5.0"):
        shutil.copytree(runtime(cache, version), runtime(tmp_path, version))
    folder = runtime(tmp_path, "1.5.0")
    (folder / XNNPACK).rename(folder / "libreal_xnnpack.so")
    (tmp_path / "nothing.cc").touch()
    link(tmp_path / "libreal_xnnpack.so", tmp_path / "nothing.cc")  # only its name is linked
    sizes = {"SPIN": 0, "MEGABYTES": 0, "BITS": 0} | {change: {"SPIN": 200_000_000, "MEGABYTES": 20, "BITS": 1}[change]}
    macros = [f"-D{name}={size}" for name, size in sizes.items()]
    source = Path(__file__).with_name("changed_xnnpack.cc")
    link(folder / XNNPACK, source, *macros, "-Wl,--no-as-needed", tmp_path / "libreal_xnnpack.so")
    resign(folder)
    out = tmp_path / "out"
    short_options = [
        "--versions",
        f"{VERSION},1.5.0",
        "--max-seconds",
        "3",
        "--no-peaks",
        "--launches",
        "3",
        "--runs",
        "2",
    ]
    completed = run(etprof, tmp_path, "versions", MODEL, *short_options, "--warmup", "0", "--output-root", out)
    assert completed.returncode == 0, completed.stderr
    (pair,) = pairs(out)
    first = [min(launch["first_run_ns"] for launch in experiment["launches"]) for experiment in results(out).values()]
    assert first[0] < 200e6  # it takes 3 ms, and more beside other load
    assert (first[1] > 200e6) == (change == "SPIN")
    memory = pair["peak_memory"]["candidate_bytes"] - pair["peak_memory"]["baseline_bytes"]
    assert abs(memory - 20e6 * (change == "MEGABYTES")) < 3e6
    assert pair["outputs"]["equal"] == (change != "BITS")
    if change == "BITS":
        assert 0 < pair["outputs"]["largest_absolute"] < 1e-7
    if change == "SPIN":
        assert pair["latency"]["verdict"] in ("slower", "inconclusive", "contended")


def test_a_third_party_runner_is_refused_before_anything_is_fetched(etprof, tmp_path):
    other = shutil.which("true") or skip("no program `true`")
    out = tmp_path / "out"
    completed = profile(etprof, tmp_path, out, f"1.5.0,runner={Path(other).resolve()}", PIP_INDEX_URL="file:///nowhere")
    assert completed.returncode == BAD_INPUT, completed.stderr
    assert "only that takes the libraries of `executorch=`" in completed.stderr
    assert "fetching" not in completed.stderr and not out.exists()


def test_configurations_checks_and_suites_take_a_release(etprof, cache, tmp_path):
    short = {"max_seconds": 3, "peaks": False}
    experiment = {"name": "old", "executorch": VERSION}
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model": str(MODEL), **short, "experiments": [experiment]}))
    completed = run(etprof, cache, "run", config, "--output-root", tmp_path / "run")
    assert completed.returncode == 0, completed.stderr
    assert list(results(tmp_path / "run")) == [VERSION]
    written = json.loads((tmp_path / "run/config.json").read_text())["experiments"][0]
    assert (written["executorch"], written.get("env", {})) == (VERSION, {})

    options = ["--candidate", f"executorch={VERSION}", "--max-seconds", "3", "--output-root", tmp_path / "check"]
    completed = run(etprof, cache, "check", MODEL, *options)
    assert completed.returncode in (0, 1, 5), completed.stderr
    assert VERSION in results(tmp_path / "check")

    suite = tmp_path / "suite.json"
    models = [{"name": "toy", "programs": {"fp32": str(MODEL)}}]
    variants = [f"executorch={VERSION}"]
    suite.write_text(
        json.dumps({"models": models, "variants": variants, **short, "output_root": str(tmp_path / "suite")})
    )
    for _ in range(2):  # the second time everything is there
        completed = run(etprof, cache, "suite", suite)
        assert completed.returncode == 0, completed.stderr
    (manifest,) = (tmp_path / "suite").rglob("manifest.json")
    assert VERSION in results(manifest.parent)


def test_a_library_that_was_changed_is_refused(etprof, cache, tmp_path):
    changed = tmp_path / "cache"
    shutil.copytree(cache / "etprof", changed / "etprof")
    folder = runtime(changed, VERSION)
    name = "_portable_lib.cpython-311-x86_64-linux-gnu.so"
    complete = (folder / name).read_bytes()
    contents = {
        "is not as it was fetched": [
            complete[:-1] + bytes([complete[-1] ^ 1]),
            (runtime(cache, "1.4.0") / name).read_bytes(),
        ],
        "lacks": [None],
    }
    assert contents["is not as it was fetched"][1] != complete
    for problem, changes in contents.items():
        for change in changes:
            (folder / name).unlink()
            if change is not None:
                (folder / name).write_bytes(change)
            completed = profile(etprof, changed, tmp_path / "out", VERSION)
            assert completed.returncode == BAD_INPUT, completed.stderr
            assert problem in completed.stderr
            assert "remove the folder" in completed.stderr.lower()
            (folder / name).write_bytes(complete)
    for text, problem in (
        ("{", "runtime.json"),
        ((runtime(cache, "1.4.0") / "runtime.json").read_text(), "holds ExecuTorch 1.4.0"),
    ):
        (folder / "runtime.json").write_text(text)
        completed = profile(etprof, changed, tmp_path / "out", VERSION)
        assert completed.returncode == BAD_INPUT
        assert problem in completed.stderr
    assert not (tmp_path / "out").exists()


PLATFORM = "manylinux_2_28_x86_64"


def wheel(folder: Path, version: str, files: dict[str, Path] | None = None, platform: str = PLATFORM) -> Path:
    """Writes a wheel of that release that pip accepts, with these files in its package. Returns its path."""
    wheel_path = folder / f"executorch-{version}-cp311-cp311-{platform}.whl"
    with zipfile.ZipFile(wheel_path, "w") as archive:
        info = f"executorch-{version}.dist-info/"
        archive.writestr(info + "METADATA", f"Metadata-Version: 2.1\nName: executorch\nVersion: {version}\n")
        archive.writestr(info + "WHEEL", f"Wheel-Version: 1.0\nTag: cp311-cp311-{platform}\n")
        archive.writestr(info + "RECORD", "")
        archive.writestr("executorch/version.py", f'__version__ = "{version}"\n')
        for name, path in (files or {}).items():
            archive.write(path, f"executorch/{name}")
    return wheel_path


@pytest.mark.parametrize("version", ["1.4.1", "1.5.0"])
def test_a_wheel_that_is_cut_absent_or_of_something_else_is_refused(etprof, tmp_path, version):
    wheel_folder = tmp_path / "wheels"
    wheel_folder.mkdir()
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheel_folder)}

    def refusal() -> str:
        completed = profile(etprof, tmp_path, tmp_path / "out", version, **offline)
        assert completed.returncode == DEVICE_FAILED, completed.stderr
        assert list((tmp_path / "etprof/executorch").iterdir()) == []
        assert not (tmp_path / "out").exists()
        return completed.stderr

    absent = refusal()
    assert f"could not fetch executorch=={version}" in absent
    assert "network" in absent
    wheel_path = wheel(wheel_folder, version)
    assert f"he wheel of executorch=={version} lacks" in refusal()
    wheel_path.write_bytes(wheel_path.read_bytes()[:-40])
    assert f"could not fetch executorch=={version}" in refusal()


def test_wheels_are_measured_by_version_and_contents(etprof, cache, tmp_path):
    old_runtime = runtime(cache, VERSION)
    extension = {f"extension/pybindings/{path.name}": path for path in old_runtime.glob("_portable_lib*")}
    qualcomm = {f"backends/qualcomm/{path.name}": path for path in old_runtime.glob("libqnn*")}
    libraries = {f"lib/{path.name}": path for path in runtime(cache, "1.5.0").glob("*.so*")}
    wheels = [
        wheel(tmp_path, VERSION, extension | qualcomm),
        wheel(tmp_path, "1.6.0.dev20261101+cpu", libraries, platform="linux_x86_64"),
    ]
    sha = [hashlib.sha256(path.read_bytes()).hexdigest()[:8] for path in wheels]
    releases = [f"{VERSION}+{sha[0]}", f"1.6.0.dev20261101+cpu.{sha[1]}"]
    options = ["--versions", ",".join(os.path.relpath(path) for path in wheels), *SHORT]
    completed = run(etprof, tmp_path, "versions", MODEL, *options, "--output-root", tmp_path / "out")
    assert completed.returncode == 0, completed.stderr
    assert list(results(tmp_path / "out")) == releases
    for release, measured in results(tmp_path / "out").items():
        assert measured["label"] == f"ExecuTorch {release}"
        assert f"ExecuTorch {release} was not tried with this etprof" in " ".join(measured["warnings"])
        assert {Path(experiment["path"]).parent for experiment in measured["executorch_libraries"]} == {
            runtime(tmp_path, release)
        }
    (pair,) = pairs(tmp_path / "out")
    assert pair["outputs"]["equal"]
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert [experiment["executorch"] for experiment in config["experiments"]] == [str(path) for path in wheels]
    assert sorted(path.name for path in (tmp_path / "etprof/executorch").iterdir()) == [
        f"{release}-linux-x86_64" for release in releases
    ]
    assert run(etprof, tmp_path, "validate", tmp_path / "out").returncode == 0
    # Another build at the same path is another release, for which nothing can be resumed.
    wheels[1].write_bytes(wheel(tmp_path / "etprof", "1.6.0.dev20261101+cpu", libraries | {"new": MODEL}).read_bytes())
    resumed = run(etprof, tmp_path, "run", tmp_path / "out/config.json", "--output-root", tmp_path / "out", "--resume")
    assert resumed.returncode == BAD_INPUT, resumed.stderr
    assert "another configuration, model or runner" in resumed.stderr
    same_wheel_twice = ["--versions", f"{wheels[0]},{wheels[0]}"]
    assert "at least two releases, each once" in run(etprof, tmp_path, "versions", MODEL, *same_wheel_twice).stderr
    equal_versions = ["--model", "net.py:Net", "--versions", f"{VERSION},{wheels[0]}"]
    assert "does not tell their exports apart" in run(etprof, tmp_path, "versions", *equal_versions).stderr


LINUX = "ive ExecuTorch's wheel for CPython 3.11 on Linux (x86_64)"


@pytest.mark.parametrize(
    ("name", "code", "messages"),
    [
        ("absent", BAD_INPUT, ["no such file"]),
        ("cut", DEVICE_FAILED, ["could not unpack the wheel: ", "not a zip file", "etch or build the wheel again"]),
        ("damaged", DEVICE_FAILED, ["could not unpack the wheel: ", "Bad CRC-32", "etch or build the wheel again"]),
        ("empty", DEVICE_FAILED, ["could not unpack the wheel: ", "not a zip file"]),
        ("of a Mac", BAD_INPUT, ["is for macosx_14_0_arm64", LINUX]),
        ("of aarch64", BAD_INPUT, ["is for manylinux_2_28_aarch64", LINUX]),
        ("of something else", USAGE, ["is not named as a wheel of ExecuTorch", "executorch-VERSION-"]),
        ("without libraries", BAD_INPUT, ["lacks libexecutorch.so", LINUX]),
        ("with XNNPACK only", BAD_INPUT, ["lacks libexecutorch.so", LINUX]),
        ("of an older Python", BAD_INPUT, ["lacks _portable_lib.cpython-311-x86_64-linux-gnu.so", LINUX]),
        ("older", USAGE, ["ExecuTorch 1.2.0 was not tried with this runner", "build etprof with its wheel"]),
        ("source", USAGE, [".tar.gz was not tried", "a wheel of one of them (FILE.whl)"]),
    ],
)
def test_what_is_no_usable_wheel_is_refused(etprof, cache, tmp_path, name, code, messages):
    library = {f"lib/{XNNPACK}": runtime(cache, "1.5.0") / XNNPACK}
    folder = tmp_path / "given"
    folder.mkdir()
    wheel_path = wheel(folder, "1.6.0", library)
    complete = wheel_path.read_bytes()
    if name == "absent":
        wheel_path.unlink()
    elif name == "cut":
        wheel_path.write_bytes(complete[:-1000])
    elif name == "damaged":
        wheel_path.write_bytes(
            complete[: len(complete) // 2]
            + bytes([complete[len(complete) // 2] ^ 1])
            + complete[len(complete) // 2 + 1 :]
        )
    elif name == "empty":
        wheel_path.write_bytes(b"")
    elif name == "of something else":
        wheel_path = wheel_path.rename(folder / f"numpy-1.6.0-cp311-cp311-{PLATFORM}.whl")
    elif name == "source":
        wheel_path = wheel_path.rename(folder / "executorch-1.6.0.tar.gz")
    else:
        version = {"older": "1.2.0", "of an older Python": VERSION}.get(name, "1.6.0")
        platform = {"of a Mac": "macosx_14_0_arm64", "of aarch64": "manylinux_2_28_aarch64"}.get(name, PLATFORM)
        wheel_path = wheel(folder, version, library if name != "without libraries" else {}, platform)
    completed = profile(etprof, tmp_path, tmp_path / "out", str(wheel_path))
    assert completed.returncode == code, completed.stderr
    for text in messages:
        assert text in completed.stderr
    assert wheel_path.name in completed.stderr
    assert completed.stderr.count("error: ") == 1
    assert list((tmp_path / "etprof").rglob("executorch/*")) == []
    assert not (tmp_path / "out").exists()


FAKE_EXPORTER = """#!/bin/sh
# As `python -m etprof.export --model=M --executorch=V --no-check`: only 1.5.0 exports with one delegate.
for word; do case $word in --executorch=*) version=${word#--executorch=};; esac; done
[ "$version" != "$FAILS" ] || { echo "error: Lowering failed: no such operator" >&2; exit 3; }
pte=out_net/artifacts/executorch-$version/net_xnnpack_fp32.pte
mkdir -p "$(dirname $pte)"
program=$OLD
[ "$version" != 1.5.0 ] || program=$NEW
cp "$program" $pte
printf '{"versions": {"executorch": "%s+cpu"}}' $version > $pte.json
echo $pte
echo "  note          ExecuTorch $version asks for torch<2, and this is 3: it was never tested so" >&2
"""


def test_exports_of_releases_are_crossed_with_their_runtimes(etprof, cache, tmp_path):
    python = tmp_path / "python"
    python.write_text(FAKE_EXPORTER)
    python.chmod(0o755)
    env = {**os.environ, "ETPROF_DEVICE_DIR": str(cache), "ETPROF_PYTHON": str(python)}
    env |= {"OLD": str(EXPORTS["1.0.1"]), "NEW": str(EXPORTS["1.5.1"])}
    short_options = ["--max-seconds", "6", "--launches", "5", "--runs", "2", "--no-peaks"]

    def run_versions(*arguments: str, **extra_env: str) -> subprocess.CompletedProcess:
        arguments = [etprof, "versions", *arguments, "--versions", "1.4.0,1.4.1,1.5.0", *short_options]
        return subprocess.run(
            arguments, env={**env, **extra_env}, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    failed_export = run_versions("net.py:Net", FAILS="1.4.1")
    assert failed_export.returncode == DEVICE_FAILED
    assert "ExecuTorch 1.4.1 does not export it: Lowering failed: no such operator" in failed_export.stderr
    assert "--versions 1.4.0,1.5.0" in failed_export.stderr
    assert "is a program" in run_versions(str(MODEL), "--dtype", "int8").stderr
    assert not (tmp_path / "out_net/runs").exists()

    completed = run_versions("--model", "net.py:Net", FAILS="")
    assert completed.returncode == 0, completed.stderr
    assert "1.4.1: the export did not change" in completed.stderr
    assert "1.5.0: the export changed" in completed.stderr
    assert "ExecuTorch 1.4.0 asks for torch<2" in completed.stderr
    (out,) = (tmp_path / "out_net/runs").iterdir()
    measured = {
        experiment["label"]: (experiment["executorch_version"], experiment["export_executorch_version"])
        for experiment in json.loads((out / "manifest.json").read_text())["results"]
    }
    assert measured == {
        "ExecuTorch 1.4.0": ("1.4.0", "1.4.0+cpu"),
        "ExecuTorch 1.4.1": ("1.4.1", "1.4.1+cpu"),
        "ExecuTorch 1.5.0": ("1.5.0", "1.5.0+cpu"),
        "ExecuTorch 1.4.1, exported by 1.5.0": ("1.4.1", "1.5.0+cpu"),
        "ExecuTorch 1.5.0, exported by 1.4.1": ("1.5.0", "1.4.1+cpu"),
    }
    unchanged, changed, *same_exporter_pairs = pairs(out)
    assert unchanged["release_effects"] is None
    assert all(experiment["release_effects"] is None for experiment in same_exporter_pairs)
    effects = changed["release_effects"]
    assert set(effects) == {"exporter", "runtime", "interaction"}
    assert all(experiment["outputs"]["equal"] for experiment in (unchanged, changed, *same_exporter_pairs))
    delegates = {experiment["label"]: experiment["delegate_calls"] for experiment in summary(out)["experiments"]}
    assert delegates == {label: 1 if export == "1.5.0+cpu" else 2 for label, (_, export) in measured.items()}
    report = run(etprof, cache, "report", out, "--csv=release_effects")
    rows = list(csv.DictReader(report.stdout.splitlines()))
    assert [(row["release"], row["export"]) for row in rows] == [
        ("ExecuTorch 1.4.1", "unchanged"),
        ("ExecuTorch 1.5.0", "changed"),
    ]
    report = run(etprof, cache, "report", out, "--csv=releases")
    rows = list(csv.DictReader(report.stdout.splitlines()))
    assert [row["release"] for row in rows] == ["ExecuTorch 1.4.0", "ExecuTorch 1.4.1", "ExecuTorch 1.5.0"]
    completed = run(etprof, cache, "validate", out)
    assert completed.returncode == 0, completed.stdout


def later_release(cache: Path, to: Path, version: str) -> Path:
    """Copies the runtime of 1.5.0 with another version in its runtime.json."""
    folder = runtime(to, version)
    shutil.copytree(runtime(cache, "1.5.0"), folder)
    manifest = json.loads((folder / "runtime.json").read_text()) | {"version": version}
    (folder / "runtime.json").write_text(json.dumps(manifest))
    return folder


def resign(folder: Path) -> None:
    """Updates the digests of the libraries in runtime.json."""
    manifest = json.loads((folder / "runtime.json").read_text())
    manifest["files"] = [
        {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        for path in sorted(folder.glob("*.so*"))
    ]
    (folder / "runtime.json").write_text(json.dumps(manifest))


def test_a_later_release_that_passes_its_self_test_is_measured_with_a_warning(etprof, cache, tmp_path):
    later_release(cache, tmp_path, "1.6.0")
    completed = profile(etprof, tmp_path, tmp_path / "out", "1.6.0")
    assert completed.returncode == 0, completed.stderr
    warnings_by_version = {
        version: " ".join(experiment["warnings"]) for version, experiment in results(tmp_path / "out").items()
    }
    assert "ExecuTorch 1.6.0 was not tried with this etprof" in warnings_by_version.pop("1.6.0")
    assert "was not tried" not in " ".join(warnings_by_version.values())
    assert [experiment.name for experiment in (tmp_path / "etprof/executorch").iterdir()] == ["1.6.0-linux-x86_64"]


# By damage: the source of a library that replaces the XNNPACK backend, and the message of the self-test.
DAMAGES = {
    "crashes": ("struct Crash { Crash() { __builtin_trap(); } } crash;", "does not run with it (untraced)"),
    "computes something else": ("", "computes something else with it (untraced)"),
    "is not traced": (
        'extern "C" int xnn_get_runtime_profiling_info() { return 1; }',
        "leaves a trace without its operators",
    ),
    "is cut": ("", "does not run with it (untraced)"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_later_release_that_fails_its_self_test_is_refused(etprof, cache, tmp_path, damage):
    folder = later_release(cache, tmp_path, "1.6.0")
    source, messages = DAMAGES[damage]
    (tmp_path / "damaged.cc").write_text(source)
    if damage == "is cut":
        (folder / XNNPACK).write_bytes((folder / XNNPACK).read_bytes()[:5000])
    else:
        (folder / XNNPACK).rename(folder / "libreal_xnnpack.so")
        (tmp_path / "nothing.cc").touch()
        link(tmp_path / "libreal_xnnpack.so", tmp_path / "nothing.cc")  # only its name is linked
        options = [tmp_path / "damaged.cc", "-Wl,--no-as-needed", tmp_path / "libreal_xnnpack.so"]
        if damage == "computes something else":
            options += [Path(__file__).with_name("changed_xnnpack.cc"), "-DSPIN=0", "-DMEGABYTES=0", "-DBITS=20"]
        link(folder / XNNPACK, *options)
    resign(folder)
    completed = profile(etprof, tmp_path, tmp_path / "out", "1.6.0")
    assert completed.returncode == DEVICE_FAILED, completed.stderr
    assert "1.6.0 was not tried with this runner, and a small program" in completed.stderr
    assert messages in completed.stderr
    assert "build etprof with its wheel" in completed.stderr
    assert not (tmp_path / "out").exists()
    assert [experiment.name for experiment in (tmp_path / "etprof/executorch").iterdir()] == ["1.6.0-linux-x86_64"]


@pytest.mark.parametrize("version", ["1.2.0", "1.4.2", "0.9", "1.6.0/..", "../1.4.1", "latest", "1.x"])
def test_a_version_that_was_never_tried_is_refused(etprof, tmp_path, version):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model": str(MODEL), "experiments": [{"name": "a", "executorch": version}]}))
    out = ["--output-root", tmp_path / "out"]
    for command in (
        ["profile", MODEL, "--vs", f"executorch={version}", *out],
        ["versions", MODEL, "--versions", f"1.4.1,{version}", *out],
        ["run", config, *out],
        ["run", config, "--dry-run", *out],
    ):
        completed = run(etprof, tmp_path, *command)
        assert completed.returncode == USAGE, (command, completed.stderr)
        assert "1.3.1, 1.4.0, 1.4.1, 1.5.0, 1.5.1, and later ones" in completed.stderr
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "etprof/executorch").exists()


@pytest.mark.parametrize("releases", ["1.4.1", "1.4.1,1.4.1"])
def test_one_release_alone_is_refused(etprof, tmp_path, releases):
    completed = run(etprof, tmp_path, "versions", MODEL, "--versions", releases)
    assert completed.returncode == USAGE, completed.stderr
    assert "at least two" in completed.stderr
