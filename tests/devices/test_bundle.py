"""The portable runner bundle: what is in it, and that it runs on an emulated SME2 CPU with nothing else around it."""

from __future__ import annotations

import array
import hashlib
import json
import os
import platform
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import program
import pytest
from bundle_bench import ETPROF, ROOT, Bundle, build_bundle, call, missing_libraries, read_elf, skip
from lab import AdbDevice, Lab

SMALL_BUNDLE_BYTES = 25_000_000
# The largest absolute difference of two probabilities between the two variants of a data type. fp32 and fp16 sum in
# another order with SME2; int8 sums integers, whose order does not matter.
TOLERANCE = {"fp32": 1e-6, "fp16": 2e-3, "int8": 0}
# XNNPACK's names of the first type of its convolutions and fully connected layers, with SME2 and without.
PACKED = {"fp32": "PF32", "fp16": "PF16", "int8": "PQS8"}
PLAIN = {"fp32": {"F32"}, "fp16": {"F16"}, "int8": {"QC8", "QS8"}}


def worker(bundle: Bundle, qemu: list[str], *arguments: str, **options: Any) -> dict[str, Any]:
    """Starts a worker with closed stdin, and returns its first line."""
    completed = call(*qemu, *bundle.command(), "--worker", *arguments, input="", **options)
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout.splitlines()[0])


# --- what is in the folder -------------------------------------------------------------------------------------------


def test_the_manifest_names_every_file_as_it_is(bundle: Bundle) -> None:
    manifest = json.loads((bundle.folder / "bundle.json").read_text())
    assert manifest == bundle.manifest
    assert list(manifest) == ["schema_version", "target", "executorch", "program", "start", "files"]
    assert manifest["schema_version"] == 1
    assert manifest["target"] == "linux-aarch64"
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", manifest["executorch"])
    assert manifest["start"] == ["ld-linux-aarch64.so.1", "--library-path", ".", manifest["program"]]
    assert {file["name"] for file in manifest["files"]} == {path.name for path in bundle.folder.iterdir()} - {
        "bundle.json"
    }
    for file in manifest["files"]:
        path = bundle.folder / file["name"]
        assert path.is_file() and not path.is_symlink()
        assert file["bytes"] == path.stat().st_size
        assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert sum(file["bytes"] for file in manifest["files"]) < SMALL_BUNDLE_BYTES


def test_every_file_is_aarch64_and_knows_no_folder_of_the_build(bundle: Bundle) -> None:
    for file in bundle.manifest["files"]:
        elf = read_elf(bundle.folder / file["name"])
        assert elf.machine == "AArch64", file
        assert all(part.startswith("$ORIGIN") for part in elf.runpath.split(":") if part), (file, elf.runpath)
    runner = (bundle.folder / "etprof-runner").read_bytes()
    assert str(bundle.folder.parents[2]).encode() not in runner


def test_every_file_can_be_loaded_with_pages_of_16_kb(bundle: Bundle) -> None:
    """Segments are even aligned to 64 kB, as docs/guides/android.md says."""
    for file in bundle.manifest["files"]:
        program_headers = call("readelf", "-lW", bundle.folder / file["name"]).stdout
        aligned = [
            int(alignment, 16) for alignment in re.findall(r"^ +LOAD .* (0x[0-9a-f]+)$", program_headers, re.MULTILINE)
        ]
        assert aligned and min(aligned) >= 1 << 16, file["name"]


def test_it_holds_all_that_its_files_need_and_would_tell_if_not(bundle: Bundle, tmp_path: Path) -> None:
    assert missing_libraries(bundle.folder) == set()
    copy = tmp_path / "copy"
    shutil.copytree(bundle.folder, copy)
    # These files are opened by name; no file is linked to them.
    loaded_by_name = {"libexecutorch_backend_xnnpack.so", "libcustom_ops_aot_lib.so", "etprof-runner"}
    for file in bundle.manifest["files"]:
        (copy / file["name"]).rename(tmp_path / "aside")
        assert missing_libraries(copy) == {file["name"]} - loaded_by_name
        (tmp_path / "aside").rename(copy / file["name"])


def test_building_again_changes_nothing(bundle: Bundle) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in bundle.folder.iterdir()}
    completed = call(ETPROF, "build", "--target", "linux-aarch64", "--json")
    assert completed.returncode == 0, completed.stderr
    assert json.loads(completed.stdout)["changed"] is False
    assert {path.name: path.stat().st_mtime_ns for path in bundle.folder.iterdir()} == before
    assert [path.name for path in bundle.folder.parent.glob("*.partial*")] == []


def test_android_has_the_same_files_and_a_damaged_bundle_is_made_anew(bundle: Bundle, tmp_path: Path) -> None:
    output = tmp_path / "phone"
    for changed in (True, False, True):
        completed = call(ETPROF, "build", "--target", "android", "--output", output, "--json")
        assert completed.returncode == 0, completed.stderr
        result = json.loads(completed.stdout)
        assert result["changed"] is changed
        assert result["bundle"]["target"] == "android"
        assert result["bundle"]["files"] == bundle.manifest["files"]
        if not changed:
            (output / "libc.so.6").write_bytes(b"damaged")
    assert [path.name for path in tmp_path.iterdir()] == ["phone"]


def test_a_native_bundle_stands_alone_too(build_lock: None, tmp_path: Path) -> None:  # noqa: ARG001
    if platform.system() != "Linux":
        skip("readelf and the loader's trace are of Linux")
    result = build_bundle("--target", "native")
    native = Bundle(Path(result["folder"]), result["bundle"])
    assert missing_libraries(native.folder) == set()
    completed = call(*native.command(), "--isa-info", cwd=tmp_path, env={})
    assert completed.returncode == 0, completed.stderr
    info = json.loads(completed.stdout)
    assert "XnnpackBackend" in info["backends"]
    assert info["operator_clock"] == "exact"
    # It maps only libraries of the bundle: the loader's trace contains no other folder.
    loader_trace = call(*native.command(), "--isa-info", env={"LD_DEBUG": "files"}).stderr
    loaded_libraries = set(re.findall(r"calling init: (/\S+)", loader_trace))
    assert {Path(path).parent for path in loaded_libraries} == {native.folder}, loaded_libraries
    assert {"libexecutorch_backend_xnnpack.so", "libc.so.6"} <= {Path(path).name for path in loaded_libraries}


# --- errors ----------------------------------------------------------------------------------------------------------


def error_line(code: int, *arguments: str | Path, **options: Any) -> str:
    completed = call(ETPROF, "build", *arguments, **options)
    assert completed.returncode == code, completed.stderr
    assert completed.stdout == ""
    return program.one_error(completed.stderr)


def test_a_folder_of_something_else_is_left_alone(bundle: Bundle, tmp_path: Path) -> None:  # noqa: ARG001
    (tmp_path / "thesis.txt").write_text("years of work")
    message = error_line(3, "--target", "linux-aarch64", "--output", tmp_path)
    assert "is not an etprof bundle" in message
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_missing_cross_compiler_is_named_with_its_package(tmp_path: Path) -> None:
    message = error_line(3, "--target", "linux-aarch64", env={"PATH": str(tmp_path)})
    assert message == (
        "error: `aarch64-linux-gnu-g++`: no such program in PATH hint: Run `apt-get install g++-aarch64-linux-gnu`."
    )


def test_an_unknown_target_and_a_mac_elsewhere() -> None:
    assert "Unknown target `vax`" in error_line(2, "--target", "vax")
    assert "can be built only on a Mac" in error_line(3, "--target", "macos-arm64")


# --- on an emulated CPU ----------------------------------------------------------------------------------------------


def test_the_emulated_cpu_has_sme2_and_it_can_be_masked(bundle: Bundle, qemu: list[str], tmp_path: Path) -> None:
    ready = worker(bundle, qemu, cwd=tmp_path)
    assert ready["isa"]["can_mask"] is True
    assert {"sme", "sme2"} <= set(ready["isa"]["enabled"])
    assert ready["operator_clock"] == "exact"
    masked = worker(bundle, qemu, "--isa=-sme", cwd=tmp_path)
    assert {"sme", "sme2"} <= set(masked["isa"]["masked"])
    assert not {"sme", "sme2"} & set(masked["isa"]["enabled"])


def test_every_arm_instruction_of_the_roofs_adds_up(bundle: Bundle, qemu: list[str], tmp_path: Path) -> None:
    """The runner compares each loop's sum with the multiply-adds that it counts. The times are not meaningful."""

    def levels(cpu: str, *arguments: str) -> set[tuple[str, str]]:
        completed = call(qemu[0], "-cpu", cpu, *bundle.command(), "--measure-peaks", *arguments, cwd=tmp_path)
        assert completed.returncode == 0, completed.stderr
        return {(peak["level"], peak["dtype"]) for peak in json.loads(completed.stdout)["compute"]}

    neon = {("neon", "fp32"), ("neon", "int8")}
    vectors = neon | {("fp16", "fp16"), ("bf16", "bf16"), ("dotprod", "int8"), ("i8mm", "int8")}
    vectors |= {("sve", dtype) for dtype in ("fp32", "fp16", "int8")}
    sme = {("sme", dtype) for dtype in ("fp32", "fp16", "bf16", "int8")}
    sme2 = {("sme2", dtype) for dtype in ("fp32", "fp16", "int8")}
    assert levels("max", "--cpu_threads=1") == vectors | sme | sme2
    assert levels("max,sve256=on,sme128=on,sme512=off", "--cpu_threads=1", "--isa=-sme2") == vectors | sme
    assert levels("cortex-a53", "--cpu_threads=2") == neon


def test_without_one_library_it_does_not_run(bundle: Bundle, qemu: list[str], tmp_path: Path) -> None:
    copy = Bundle(tmp_path / "copy", bundle.manifest)
    shutil.copytree(bundle.folder, copy.folder)
    assert worker(copy, qemu)["isa"]["can_mask"] is True
    (copy.folder / "libexecutorch_etdump.so").unlink()
    completed = call(*qemu, *copy.command(), "--worker", input="")
    assert completed.returncode != 0
    assert "libexecutorch_etdump.so" in completed.stderr


def operators(etdump: Path) -> set[str]:
    pattern = rb"(?:Convolution|Fully Connected) \([A-Z]+, ([A-Z0-9]+)"
    return {match.decode() for match in re.findall(pattern, etdump.read_bytes())}


def test_operators_say_which_kernels_ran_from_any_folder(
    bundle: Bundle, qemu: list[str], export: Any, tmp_path: Path
) -> None:
    names = {}
    for mask in ("", "--isa=-sme"):
        etdump = tmp_path / f"run{mask}.etdump"
        arguments = ["--model_path", export("fp32"), "--num_executions", "1", "--etdump_path", etdump]
        completed = call(*qemu, *bundle.command(), *arguments, *filter(None, [mask]), cwd=tmp_path)
        assert completed.returncode == 0, completed.stderr
        names[mask] = operators(etdump)
    assert names == {"": {"PF32"}, "--isa=-sme": {"F32"}}


@pytest.mark.parametrize("kind", ["fp32", "fp16", "int8"])
@pytest.mark.usefixtures("qemu")
def test_sme2_on_against_off_on_a_phone(
    bundle: Bundle, lab: Lab, phone: AdbDevice, export: Any, tmp_path: Path, kind: str
) -> None:
    config = {
        "model": str(export(kind)),
        "output_root": str(tmp_path / "out"),
        "runner_path": str(bundle.folder / "etprof-runner"),
        "exec_wrapper": ["qemu-aarch64", "-cpu", "max"],  # on the phone's PATH
        # The numbers are fixed, since an emulated CPU is slow, and its times are never meaningful.
        "launches": 2,
        "rounds": 1,
        "runs": 4,
        "warmup": 1,
        "experiments": [{"name": "sme2_off", "isa": "-sme"}, {"name": "sme2_on"}],
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    completed = lab.run([ETPROF, "run", path, "--device", phone.spec], cwd=tmp_path, timeout=1800)
    assert completed.returncode == 0, completed.stderr
    # The screen, the report, and the JSON have the warning, and never call a variant faster.
    report = (tmp_path / "out" / "report.md").read_text()
    for text in (completed.stdout, report):
        assert "emulated CPU: timings not meaningful" in text
        assert not re.search(r"\dx (faster|slower|less|more)", text + completed.stderr)

    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["platform"] == "android-aarch64-emulated"
    off, on = manifest["results"]
    assert off["emulated"] is on["emulated"] is True
    assert "sme2" in off["isa_state"]["masked"] and "sme2" in on["isa_state"]["enabled"]
    for side in (off, on):
        # SME code is in XNNPACK's library, whose features are masked. The compiler is that of the wheel.
        assert side["runner_built"]["sme"] is True
        assert re.fullmatch(r"GCC \d+\.\d+\.\d+", side["runner_built"]["compiler"])
        assert len(side["launches"]) == 2
        assert operators(tmp_path / "out" / side["etdump"]) == (PLAIN[kind] if side is off else {PACKED[kind]})

    (comparison,) = json.loads((tmp_path / "out" / "analysis_summary.json").read_text())["comparisons"]
    assert verdicts(comparison) == {"emulated"}
    operator_pairs = [row for row in comparison["operators"] if "#" in row["name"]]
    packed = [row for row in operator_pairs if PACKED[kind] in (row["candidate_name"] or "")]
    assert len(packed) == 5, operator_pairs  # three convolutions, two fully connected layers
    for row in packed:
        plain, with_sme = (re.sub(r"\(.*\)", "", row[side]) for side in ("baseline_name", "candidate_name"))
        assert plain == with_sme and PACKED[kind] not in row["baseline_name"]
    only_in = [row for row in operator_pairs if row["baseline_name"] is None or row["candidate_name"] is None]
    assert only_in == []

    outputs = comparison["outputs"]
    assert outputs["comparable"] is True
    assert (0 if outputs["equal"] else outputs["largest_absolute"]) <= TOLERANCE[kind]
    assert call(ETPROF, "validate", tmp_path / "out").returncode == 0


def verdicts(value: Any) -> set[str]:
    """Every "verdict" in a tree of JSON, except for rows that have no time in any variant."""
    if isinstance(value, list):
        return set().union(*map(verdicts, value))
    if not isinstance(value, dict):
        return set()
    if value.get("name") == "Clipped":
        return set()
    verdict = {value["verdict"]} if "verdict" in value else set()
    return verdict.union(*map(verdicts, value.values()))


@pytest.fixture(scope="module")
def attention(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attention")
    source = f"{ROOT / 'tests' / 'cached_attention.py'}:CachedAttention"
    completed = call(ETPROF, "export", "--model", source, "--outdir", folder)
    assert completed.returncode == 0, completed.stderr
    return next(folder.glob("*.pte"))


def outputs(*runner: str | Path, model: Path, output_file: Path) -> array.array:
    completed = call(*runner, f"--model_path={model}", f"--output_file={output_file}", "--print_output=none")
    assert completed.returncode == 0, completed.stderr
    return array.array("f", Path(f"{output_file}-0.bin").read_bytes())


@pytest.mark.parametrize("isa", ["none", "-sme"])
def test_llm_kernels_compute_what_this_machines_do(
    bundle: Bundle, qemu: list[str], attention: Path, tmp_path: Path, isa: str
) -> None:
    local_output = outputs(ETPROF.parent / "etprof-runner", model=attention, output_file=tmp_path / "here")
    mask = [] if isa == "none" else [f"--isa={isa}"]
    emulated_output = outputs(*qemu, *bundle.command(), *mask, model=attention, output_file=tmp_path / "there")
    assert len(local_output) == len(emulated_output) == 100
    assert max(abs(a - b) for a, b in zip(local_output, emulated_output, strict=True)) < 1e-5


def test_it_has_what_llm_kernels_need_and_no_pytorch(bundle: Bundle) -> None:
    kernels = read_elf(bundle.folder / "libcustom_ops_aot_lib.so")
    pytorch_libraries = [name for name in kernels.needed if "torch" in name or "c10" in name or name.startswith("_C.")]
    assert "libtorch_cpu.so" in pytorch_libraries
    assert all(
        (bundle.folder / name).stat().st_size < 100_000 for name in pytorch_libraries if "executorch" not in name
    )


def test_attention_has_its_time_in_a_trace(bundle: Bundle, qemu: list[str], attention: Path, tmp_path: Path) -> None:
    dump = tmp_path / "attention.etdump"
    completed = call(
        *qemu, *bundle.command(), f"--model_path={attention}", f"--etdump_path={dump}", "--num_executions=2"
    )
    assert completed.returncode == 0, completed.stderr
    analysis = call(ETPROF, "analyze", dump, "--model", attention, "--json")
    assert analysis.returncode == 0, analysis.stderr
    (experiment,) = json.loads(analysis.stdout)["experiments"]
    (attention_operator,) = [
        operator for operator in experiment["operators"] if operator["name"] == "llama::custom_sdpa.out"
    ]
    assert attention_operator["category"] == "ATTENTION"
    assert attention_operator["self_ms"]["mean"] > 0


# --- other releases of ExecuTorch ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.4.1", "1.5.0"])
def test_a_release_runs_in_the_bundle_and_its_features_are_masked(
    bundle: Bundle, qemu: list[str], tmp_path: Path, version: str
) -> None:
    old = {"executorch": version}
    config = {
        "model": str(ROOT / "tests/fuzz/corpus/program/mixed_delegates.pte"),
        "output_root": str(tmp_path / "run"),
        "runner_path": str(bundle.folder / "etprof-runner"),
        "exec_wrapper": qemu,
        "launches": 2,
        "rounds": 1,
        "runs": 1,
        "warmup": 0,
        "experiments": [{"name": "on", **old}, {"name": "off", "isa": "-sme,-sme2", **old}, {"name": "own"}],
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    completed = call(ETPROF, "run", tmp_path / "config.json", "--no-peaks")
    if "could not fetch" in completed.stderr:
        skip(f"pip cannot fetch executorch: {completed.stderr}")
    assert completed.returncode == 0, completed.stderr
    results = {
        result["experiment"]: result for result in json.loads((tmp_path / "run/manifest.json").read_text())["results"]
    }
    verdict = results.pop("own")
    for result in results.values():
        assert result["executorch_version"] == version
        assert result["runner_sha256"] == verdict["runner_sha256"]
        assert {Path(library["path"]).parent.name for library in result["executorch_libraries"]} == {
            f"{version}-linux-aarch64"
        }
        (digest,), (own_digest,) = result["output_digests"], verdict["output_digests"]
        assert digest["mean"] == pytest.approx(own_digest["mean"], rel=1e-5)
    summary = json.loads((tmp_path / "run/analysis_summary.json").read_text())
    operator_names = {result["name"]: {op["name"] for op in result["operators"]} for result in summary["experiments"]}
    kinds = ("Convolution (NHWC, {}) IGEMM", "Fully Connected (NC, {}) GEMM")
    for name, packed_type in (("on", "PF32"), ("own", "PF32"), ("off", "F32")):
        operators_without_number = {
            re.sub(" #.*", "", operator) for operator in operator_names[name] if "GEMM" in operator
        }
        assert operators_without_number == {kind.format(packed_type) for kind in kinds}, name
    assert (
        len(operator_names["on"]) == len(operator_names["off"]) == len(operator_names["own"]) == 6
    )  # with two kernels


@pytest.mark.parametrize("damaged", [False, True])
def test_the_wheel_of_an_untried_release_must_pass_a_self_test_under_qemu(
    bundle: Bundle, qemu: list[str], tmp_path: Path, *, damaged: bool
) -> None:
    wheel = tmp_path / "executorch-1.6.0-cp311-cp311-linux_aarch64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for library in bundle.folder.glob("libexecutorch*"):
            contents = library.read_bytes()
            archive.writestr(
                f"executorch/lib/{library.name}", contents[:5000] if damaged and "xnnpack" in library.name else contents
            )
    config = {
        "model": str(ROOT / "tests/fuzz/corpus/program/mixed_delegates.pte"),
        "output_root": str(tmp_path / "run"),
        "runner_path": str(bundle.folder / "etprof-runner"),
        "exec_wrapper": qemu,
        "experiments": [{"name": "untried", "executorch": wheel.name}],
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    env = {**os.environ, "ETPROF_DEVICE_DIR": str(tmp_path)}
    completed = call(ETPROF, "run", tmp_path / "config.json", "--dry-run", env=env)
    assert completed.returncode == (4 if damaged else 0), completed.stderr
    release = f"1.6.0+{hashlib.sha256(wheel.read_bytes()).hexdigest()[:8]}"
    refusal = (
        f"ExecuTorch {release} was not tried with this runner, and a small program does not run with it (untraced)"
    )
    assert (refusal in completed.stderr) == damaged
    folder = tmp_path / f"etprof/executorch/{release}-linux-aarch64"
    assert json.loads((folder / "bundle.json").read_text())["executorch"] == release
