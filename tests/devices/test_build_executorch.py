"""`etprof build --executorch` in a fake of ExecuTorch's checkout (stand_in.py). CMake, Ninja, git, and cc are real."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from bundle_bench import skip
from lab.processes import is_alive, send
from stand_in import FakeCheckout, make_ndk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program
from program import wait_until

USER_PRESETS = "CMakeUserPresets.json"


@pytest.fixture
def checkout(tmp_path: Path) -> FakeCheckout:
    return FakeCheckout(tmp_path / "executorch")


def command(folder: Path, *arguments: str) -> list[str]:
    return [str(program.etprof()), "build", "--executorch", str(folder), *arguments]


def environment(**variables: str) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("ANDROID_NDK")}
    return {**inherited, "LC_ALL": "C.UTF-8", **variables}


def build(folder: Path, *arguments: str, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    completed = subprocess.run(
        command(folder, *arguments), env=environment(**variables), capture_output=True, text=True, timeout=300
    )
    assert completed.returncode == code, completed.stderr + completed.stdout
    return completed


def read_options(checkout: FakeCheckout, preset: str) -> dict[str, str]:
    return json.loads((checkout.out(preset) / "options.json").read_text())


def read_record(checkout: FakeCheckout, preset: str) -> dict:
    return json.loads((checkout.out(preset) / "etprof-build.json").read_text())


def test_the_native_runner_is_built_and_recorded(checkout):
    commit = checkout.git("rev-parse", "HEAD")
    completed = build(checkout.folder, "--preset", "native")
    runner = checkout.out("native") / "executor_runner"
    assert completed.stdout == f"{runner}\n"
    assert subprocess.run([runner, "--help"], capture_output=True, check=False).returncode == 1
    options = read_options(checkout, "native")
    for name in ("BUILD_XNNPACK", "BUILD_DEVTOOLS", "ENABLE_EVENT_TRACER", "ENABLE_LOGGING", "XNNPACK_ENABLE_KLEIDI"):
        assert options[f"EXECUTORCH_{name}"] == "ON"
    assert options["CMAKE_BUILD_TYPE"] == "Release"
    assert options["EXECUTORCH_XNNPACK_LOG_LEVEL"] == "0"
    record = read_record(checkout, "native")
    assert (record["commit"], record["dirty"], record["changed"]) == (commit, False, [])
    assert (record["preset"], record["trace_enabled"], record["ndk"]) == ("native", False, None)
    assert record["executorch_version"] == "1.5.1"
    assert record["runner_sha256"] == hashlib.sha256(runner.read_bytes()).hexdigest()
    assert record["cmake"].count(".") >= 1
    assert re.fullmatch(r"(GCC|Clang) \d+\.\d+\.\d+", record["compiler"])
    assert record["sme"] == {"sources": 0, "kleidiai_sources": 0, "in_code": None}
    assert (record["llm_kernels"], options["EXECUTORCH_BUILD_KERNELS_LLM"]) == (False, "OFF")
    assert datetime.fromisoformat(record["built_at"].replace("Z", "+00:00")).tzinfo is not None
    log = (checkout.out("native") / "etprof-build.log").read_text()
    assert "--preset native" in log
    assert "exited with 0" in log
    # Only the requested target is built: other.c does not compile.
    assert "other.c" not in log


def test_without_a_preset_this_machines_and_with_an_ndk_androids(checkout, tmp_path):
    assert build(checkout.folder, "--dry-run").stdout.count("--preset native") == 1
    dry_run = build(checkout.folder, "--dry-run", ANDROID_NDK=str(make_ndk(tmp_path / "ndk"))).stdout
    assert [word for word in dry_run.split() if word.startswith("android-") or word == "native"] == [
        "native",
        "android-arm64-v9a",
        "android-arm64-v9a-sme2-off",
    ]


@pytest.mark.parametrize(("preset", "sme"), [("android-arm64-v9a", "ON"), ("android-arm64-v9a-sme2-off", "OFF")])
@pytest.mark.parametrize("trace", [False, True])
def test_androids_presets(checkout, tmp_path, preset, sme, trace):
    ndk = make_ndk(tmp_path / "ndk")
    build(checkout.folder, "--preset", preset, *(["--trace"] if trace else []), ANDROID_NDK_HOME=str(ndk))
    record = f"{preset}-xnnlog" if trace else preset
    options = read_options(checkout, record)
    assert options["XNNPACK_ENABLE_ARM_SME2"] == options["XNNPACK_ENABLE_ARM_SME"] == sme
    assert options["ANDROID_ABI"] == "arm64-v8a"
    level = "5" if trace else "0"
    assert options["EXECUTORCH_XNNPACK_LOG_LEVEL"] == level
    assert options["CMAKE_C_FLAGS"].endswith(f"-DXNN_LOG_LEVEL={level}" + (" -DXNN_LOG_TO_STDIO=1" if trace else ""))
    assert options["CMAKE_C_FLAGS"].startswith("-march=armv9-a ")
    record = read_record(checkout, record)
    assert record["ndk"] == "27.0.12077973"
    assert record["sme"]["sources"] == (1 if sme == "ON" else 0)
    assert record["sme"]["kleidiai_sources"] == 1  # KleidiAI compiles its own in any case
    assert record["trace_enabled"] is trace


# --- SME2 in the built runner ---


def make_aarch64_ndk(folder: Path, **options: str) -> str:
    """Writes a fake NDK that builds for bare aarch64."""
    target = "aarch64-linux-gnu-"
    if shutil.which(f"{target}g++") is None:
        skip(f"{target}g++ is not there (script/bootstrap --dev)")
    return str(make_ndk(folder, target=target, **options))


SME2_ON_AND_OFF = ["--preset", "android-arm64-v9a", "--preset", "android-arm64-v9a-sme2-off"]


def test_an_emulated_cpu_runs_what_the_record_says(checkout, tmp_path, qemu):
    build(checkout.folder, *SME2_ON_AND_OFF, ANDROID_NDK=make_aarch64_ndk(tmp_path / "ndk"))
    without_sme = [qemu[0], "-cpu", "cortex-a76"]
    for preset, sme in (("android-arm64-v9a", True), ("android-arm64-v9a-sme2-off", False)):
        assert read_record(checkout, preset)["sme"]["in_code"] is sme
        runner = checkout.out(preset) / "executor_runner"
        assert subprocess.run([*qemu, runner], check=False).returncode == 0
        # An instruction that the CPU lacks ends the runner.
        completed = subprocess.run([*without_sme, runner], capture_output=True, check=False)
        assert (completed.returncode in (-signal.SIGILL, 128 + signal.SIGILL)) is sme


def test_a_comparison_of_runners_that_do_not_differ_is_refused(checkout, tmp_path, qemu):
    build(checkout.folder, *SME2_ON_AND_OFF, ANDROID_NDK=make_aarch64_ndk(tmp_path / "ndk"))
    on, off = (checkout.out(preset) for preset in ("android-arm64-v9a", "android-arm64-v9a-sme2-off"))
    experiments = [
        {"name": name, "runner_path": str(folder / "executor_runner"), "exec_wrapper": qemu, "runs": 2}
        for name, folder in (("off", off), ("on", on))
    ]
    config = tmp_path / "config.json"
    out = tmp_path / "out"
    config.write_text(
        json.dumps({"model": str(program.DATA / "toy_cnn.pte"), "output_root": str(out), "experiments": experiments})
    )
    run = [str(program.etprof()), "run", str(config)]
    # The runners differ, so etprof measures them, although the fake runners run no model.
    completed = subprocess.run(run, env=environment(), capture_output=True, text=True, check=False)
    assert "would not differ" not in completed.stderr
    manifest = json.loads((out / "manifest.json").read_text())
    build_records = [result["runner_built"] for result in manifest["results"]]
    assert [(record["preset"], record["sme"]) for record in build_records] == [
        ("android-arm64-v9a-sme2-off", False),
        ("android-arm64-v9a", True),
    ]
    assert all(record["compiler"].startswith("GCC ") for record in build_records)
    assert all(result["executorch_version"] == "1.5.1" for result in manifest["results"])
    # A build with SME2 that has no SME2 code, as etprof once built with older NDKs.
    shutil.copy(off / "executor_runner", on / "executor_runner")
    record = read_record(checkout, "android-arm64-v9a")
    record["runner_sha256"] = read_record(checkout, "android-arm64-v9a-sme2-off")["runner_sha256"]
    (on / "etprof-build.json").write_text(json.dumps(record))
    shutil.rmtree(out)
    completed = subprocess.run(run, env=environment(), capture_output=True, text=True, check=False)
    assert completed.returncode == 3, completed.stderr
    assert (
        "xperiments `off` and `on` would not differ: the runners of android-arm64-v9a-sme2-off and android-arm64-v9a "
        "both have no instructions of SME"
    ) in completed.stderr
    assert not (out / "manifest.json").exists()


def test_sme2_that_xnnpack_leaves_out_is_refused(checkout, tmp_path):
    """Clang 14, as of NDK r25: XNNPACK overrules the option, and CMake's cache says ON all the same."""
    ndk = make_ndk(tmp_path / "ndk", clang="14.0.6")
    completed = build(checkout.folder, "--preset", "android-arm64-v9a", code=4, ANDROID_NDK=str(ndk))
    assert "has none of XNNPACK's sources for SME2" in completed.stderr
    assert "the Android NDK r27 or later" in completed.stderr
    cache = (checkout.out("android-arm64-v9a") / "CMakeCache.txt").read_text()
    assert re.search(r"^XNNPACK_ENABLE_ARM_SME2:\w+=ON$", cache, flags=re.MULTILINE)
    assert not (checkout.out("android-arm64-v9a") / "executor_runner").exists()
    build(checkout.folder, "--preset", "android-arm64-v9a-sme2-off", ANDROID_NDK=str(ndk))


def test_sme2_that_is_compiled_where_it_is_off_is_refused(checkout, tmp_path):
    lists = checkout.folder / "XNNPACK.cmake"
    lists.write_text(lists.read_text().replace("if(XNNPACK_ENABLE_ARM_SME2)", "if(TRUE)"))
    ndk = str(make_ndk(tmp_path / "ndk"))
    completed = build(checkout.folder, "--preset", "android-arm64-v9a-sme2-off", code=4, ANDROID_NDK=ndk)
    assert "has XNNPACK's sources for SME2 (1), and android-arm64-v9a-sme2-off is to have none" in completed.stderr


def test_sme2_that_is_compiled_and_not_linked_is_refused(checkout, tmp_path):
    runner = checkout.folder / "runner.c"
    runner.write_text(runner.read_text().replace("XNN_ENABLE_ARM_SME2", "NOTHING"))
    completed = build(
        checkout.folder, "--preset", "android-arm64-v9a", code=4, ANDROID_NDK=make_aarch64_ndk(tmp_path / "ndk")
    )
    assert "has no instruction of SME (SMSTART)" in completed.stderr
    assert not (checkout.out("android-arm64-v9a") / "etprof-build.json").exists()


def test_the_kernels_for_language_models(checkout):
    build(checkout.folder, "--preset", "native", "--llm")
    assert read_options(checkout, "native")["EXECUTORCH_BUILD_KERNELS_LLM"] == "ON"
    assert read_record(checkout, "native")["llm_kernels"] is True
    build(checkout.folder, "--preset", "native")  # CMake's cache does not keep it
    assert read_options(checkout, "native")["EXECUTORCH_BUILD_KERNELS_LLM"] == "OFF"


def test_a_python_with_torch_is_given_to_cmake(checkout, tmp_path):
    """PATH has a Python without torch. etprof uses its own Python, so that the configure step does not fail."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho lacks: torch\n")
    python.chmod(0o755)
    build(checkout.folder, "--preset", "native", PATH=f"{python.parent}:{os.environ['PATH']}")
    python_for_cmake = read_options(checkout, "native")["PYTHON_EXECUTABLE"]
    assert python_for_cmake == str(program.ROOT / ".venv" / "bin" / "python3")


def test_a_dirty_checkout_is_said_and_recorded(checkout):
    (checkout.folder / "runner.c").write_text((checkout.folder / "runner.c").read_text() + "/* mine */\n")
    completed = build(checkout.folder, "--preset", "native", "--json")
    assert "differs from its commit" in completed.stderr
    assert "\n   M runner.c\n" in completed.stderr
    (runner,) = program.parse_with_schema("build_executorch", completed.stdout)["runners"]
    assert runner["dirty"] is True
    assert runner["changed"] == [" M runner.c"]
    # Files that etprof wrote are not a change of the checkout.
    checkout.git("checkout", "runner.c")
    assert json.loads(build(checkout.folder, "--preset", "native", "--json").stdout)["runners"][0]["dirty"] is False


def test_many_changes_are_said_in_short_lines(checkout):
    for i in range(30):
        (checkout.folder / f"a_new_file_of_somebody_{i}").touch()
    message = build(checkout.folder, "--preset", "native").stderr
    assert message.count("?? a_new_file") == 3
    assert "  and more\n" in message
    assert max(map(len, message.splitlines())) <= 100
    assert len(read_record(checkout, "native")["changed"]) == 20


def test_a_checkout_without_git_has_no_commit(checkout):
    (checkout.folder / ".git").rename(checkout.folder.parent / "git")
    completed = build(checkout.folder, "--preset", "native", GIT_CEILING_DIRECTORIES=str(checkout.folder.parent))
    assert "cannot be named by a commit" in completed.stderr
    assert read_record(checkout, "native")["commit"] is None


def test_the_users_presets_stay_and_a_backup_is_kept(checkout):
    path = checkout.folder / USER_PRESETS
    user_presets = (
        '{\n    "version": 6,\n    "configurePresets": [\n        {"name": "mine", "binaryDir": "x"}\n    ]\n}\n'
    )
    path.write_text(user_presets)
    build(checkout.folder, "--preset", "native")
    first = path.read_text()
    names = [preset["name"] for preset in json.loads(first)["configurePresets"]]
    assert names[0] == "mine"
    assert {"native", "mac-arm64-sme2-off-xnnlog", "android-arm64-v9a"} < set(names)
    assert (checkout.folder / f"{USER_PRESETS}.before-etprof").read_text() == user_presets
    before = path.stat().st_mtime_ns
    build(checkout.folder, "--preset", "native")
    assert path.read_text() == first
    assert path.stat().st_mtime_ns == before
    assert (checkout.folder / f"{USER_PRESETS}.before-etprof").read_text() == user_presets


@pytest.mark.parametrize(
    ("text", "message"),
    [('{"version": 6,', "is not valid JSON"), ('// note\n{"version": 6}', "has comments"), ("[]", "object")],
)
def test_a_presets_file_that_could_be_harmed_is_refused(checkout, text, message):
    path = checkout.folder / USER_PRESETS
    path.write_text(text)
    completed = build(checkout.folder, "--preset", "native", code=3)
    assert message in completed.stderr
    assert str(path) in completed.stderr
    assert path.read_text() == text
    assert not checkout.out("native").exists()


def test_a_preset_that_the_checkout_has_itself_is_built_as_it_is_there(checkout):
    checkout_preset = {"name": "native", "generator": "Ninja", "binaryDir": "${sourceDir}/elsewhere"}
    checkout_preset["cacheVariables"] = {"EXECUTORCH_BUILD_XNNPACK": "theirs"}
    (checkout.folder / "CMakePresets.json").write_text(
        json.dumps({"version": 6, "configurePresets": [checkout_preset]})
    )
    completed = build(checkout.folder, "--preset", "native")
    assert "as the checkout's own CMakePresets.json defines it" in completed.stderr
    assert read_options(checkout, "native")["EXECUTORCH_BUILD_XNNPACK"] == "theirs"
    # That preset does not let CMake write what is compiled.
    assert read_record(checkout, "native")["sme"] == {"sources": None, "kleidiai_sources": None, "in_code": None}
    assert not (checkout.folder / "elsewhere").exists()


def test_a_dry_run_changes_nothing(checkout):
    before = sorted(checkout.folder.iterdir())
    completed = build(checkout.folder, "--preset", "native", "--jobs", "3", "--dry-run")
    configure, compile_ = completed.stdout.splitlines()
    assert "--preset native" in configure
    assert compile_.endswith("--target executor_runner --parallel 3")
    assert sorted(checkout.folder.iterdir()) == before
    completed = build(checkout.folder, "--preset", "native", "--jobs", "3", "--dry-run", "--json")
    plan = program.parse_with_schema("build_executorch", completed.stdout)
    assert plan["commands"] == [configure, compile_]


def test_clean_starts_over(checkout):
    build(checkout.folder, "--preset", "native")
    stale = checkout.out("native") / "stale"
    stale.touch()
    build(checkout.folder, "--preset", "native")
    assert stale.exists()
    build(checkout.folder, "--preset", "native", "--clean")
    assert not stale.exists()
    assert (checkout.out("native") / "executor_runner").exists()


def test_every_option_and_preset_is_in_the_docs():
    message = subprocess.run([program.etprof(), "build", "--help"], capture_output=True, text=True, check=True).stdout
    reference = program.ROOT / "docs" / "reference"
    page = (reference / "build-executorch.md").read_text(encoding="utf-8")
    command = (reference / "cli.md").read_text(encoding="utf-8").split("\n## build\n")[1].split("\n## ")[0]
    options = set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", message, flags=re.MULTILINE))
    options -= {"--help", "--executorch", "--target", "--output"}  # the last two are docs/guides/boards.md's
    assert len(options) == 7
    presets = json.loads((program.ROOT / "presets" / "executorch.json").read_text())["configurePresets"]
    visible = [preset["name"] for preset in presets if not preset.get("hidden")]
    assert all(name in message for name in visible)
    assert all(f"`{name}" in command for name in options)
    assert all(f"`{name}" in page for name in visible if not name.endswith("-xnnlog"))


# --- what is missing ---


def refusal(folder: Path, *arguments: str, **variables: str) -> str:
    completed = build(folder, *arguments, code=3, **variables)
    assert not (folder / USER_PRESETS).exists()
    assert not (folder / "cmake-out").exists()
    return completed.stderr


def test_a_missing_submodule_is_named_with_its_remedy(checkout):
    path = "backends/xnnpack/third-party/XNNPACK"
    (checkout.folder / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = {path}\n\turl = u\n')
    message = refusal(checkout.folder, "--preset", "native")
    assert f"1 of its submodules is not there: {path}" in message
    assert f"git -C {checkout.folder} submodule update --init --recursive" in message


@pytest.mark.parametrize("revision", ["26.1.10909125", "9.0"])
def test_an_old_ndk_is_refused(checkout, tmp_path, revision):
    ndk = make_ndk(tmp_path / "ndk", revision)
    assert "older than r27" in refusal(checkout.folder, "--preset", "android-arm64-v9a", ANDROID_NDK=str(ndk))


def test_android_without_an_ndk_is_refused(checkout):
    assert "ANDROID_NDK is not set" in refusal(checkout.folder, "--preset", "android-arm64-v9a")


def test_everything_that_is_missing_is_told_at_once(tmp_path):
    checkout = FakeCheckout(tmp_path / "executorch-main")
    completed = build(checkout.folder, "--preset", "android-arm64-v9a", "--json", code=3)
    missing = program.parse_with_schema("build_executorch", completed.stdout)["missing"]
    assert len(missing) == 2
    assert "is named executorch-main" in missing[0]["problem"]
    assert "ANDROID_NDK" in missing[1]["problem"]
    assert completed.stderr.count("error: ") == 2


@pytest.mark.skipif(sys.platform == "darwin", reason="this is a Mac")
def test_a_mac_preset_elsewhere_is_refused(checkout):
    assert "built on a Mac" in refusal(checkout.folder, "--preset", "mac-arm64")


def test_a_small_disk_is_refused(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("root is needed: a small disk is a tmpfs")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", "size=64m", "none", disk], check=True)
    try:
        assert "are needed" in refusal(FakeCheckout(disk / "executorch").folder, "--preset", "native")
    finally:
        subprocess.run(["/bin/umount", "--lazy", disk], check=True)


def test_an_old_cmake_is_refused_or_replaced_by_etprofs_own(checkout, tmp_path):
    old = tmp_path / "bin" / "cmake"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho cmake version 3.9.6\n")
    old.chmod(0o755)
    completed = build(checkout.folder, "--preset", "native", "--dry-run", PATH=f"{old.parent}:{os.environ['PATH']}")
    assert str(old) not in completed.stdout
    assert completed.stdout.split()[0].endswith("/.venv/bin/cmake")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--executorch", "/nowhere"], "is not there"),
        (["--executorch", "/usr"], "has no CMakeLists.txt"),
    ],
)
def test_what_is_no_checkout_is_refused(arguments, message):
    completed = subprocess.run([program.etprof(), "build", *arguments], capture_output=True, text=True, check=False)
    assert completed.returncode == 3
    assert message in completed.stderr


def test_an_unknown_preset_gets_a_suggestion(checkout):
    assert "Did you mean `native`?" in build(checkout.folder, "--preset", "natve", code=2).stderr


# --- failures of the build ---


def test_the_logs_last_lines_are_shown_when_it_does_not_compile(checkout):
    build(checkout.folder, "--preset", "native")
    (checkout.folder / "runner.c").write_text("#error this is the reason\n")
    completed = build(checkout.folder, "--preset", "native", code=4)
    assert "this is the reason" in completed.stderr
    assert "building native failed: cmake exited with 1" in completed.stderr
    assert str(checkout.out("native") / "etprof-build.log") in completed.stderr
    assert completed.stdout == ""
    # The record of the earlier build would not match the checkout.
    assert not (checkout.out("native") / "etprof-build.json").exists()


# CMake's message about a failed download (ExternalProject). XNNPACK does not check whether the download succeeded.
FAILING_DOWNLOAD = """
file(READ "@COUNT@" attempts)
math(EXPR attempts "${attempts} + 1")
file(WRITE "@COUNT@" ${attempts})
if(attempts LESS_EQUAL @FAILING@)
  message(FATAL_ERROR "@MESSAGE@")
endif()
"""
NO_HOST = "Each download failed!\\n  error: downloading 'https://kleidiai.example/x.zip' failed\\n  status_code: 6"


@pytest.mark.parametrize(
    ("failures", "message", "attempts", "code"),
    [(1, NO_HOST, 2, 0), (2, NO_HOST, 2, 4), (1, "no room", 1, 4)],
    ids=["once", "twice", "another failure"],
)
def test_a_failed_download_of_kleidiai_is_tried_once_more(checkout, tmp_path, failures, message, attempts, code):
    count = tmp_path / "attempts"
    count.write_text("0")
    script = FAILING_DOWNLOAD.replace("@COUNT@", str(count)).replace("@MESSAGE@", message)
    download = checkout.folder / "download.cmake"
    download.write_text(script.replace("@FAILING@", str(failures)) + download.read_text())
    ndk = str(make_ndk(tmp_path / "ndk"))
    completed = build(checkout.folder, "--preset", "android-arm64-v9a", code=code, ANDROID_NDK=ndk)
    assert count.read_text() == str(attempts)
    assert ("trying once more" in completed.stderr) == (attempts == 2)
    assert ("could not be downloaded, twice" in completed.stderr) == (failures == 2)
    if code == 0:
        return
    # The message has the error, and not the table of options after it.
    assert message.splitlines()[0].split("\\n")[0] in completed.stderr
    assert "CMake Error at XNNPACK.cmake" in completed.stderr
    assert "Build Options" not in completed.stderr
    # The next build downloads it again without --clean, although XNNPACK has stored its folder in the cache.
    build(checkout.folder, "--preset", "android-arm64-v9a", ANDROID_NDK=ndk)
    assert int(count.read_text()) == attempts + 1


def test_a_runner_that_cannot_say_its_flags_is_refused(checkout):
    (checkout.folder / "runner.c").write_text("#include <stdlib.h>\nint main(void) { abort(); }\n")
    completed = build(checkout.folder, "--preset", "native", code=4)
    assert "--help was killed by signal" in completed.stderr
    assert not (checkout.out("native") / "etprof-build.json").exists()


def test_ctrl_c_ends_the_compilers_too(checkout, tmp_path):
    # A compiler that never ends, in a separate process group, as Ninja starts compilers.
    started = tmp_path / "started"
    slow = f'file(WRITE "${{CMAKE_BINARY_DIR}}/slow.sh" "echo $$ > {started}; while :; do sleep 0.05; done\\n")\n'
    checkout.configure_step(
        slow
        + 'add_custom_command(OUTPUT never.c COMMAND sh "${CMAKE_BINARY_DIR}/slow.sh")\n'
        + "add_library(slow STATIC never.c)\n"
    )
    lists = checkout.folder / "CMakeLists.txt"
    lists.write_text(lists.read_text() + "target_link_libraries(executor_runner PRIVATE slow)\n")
    running = subprocess.Popen(
        command(checkout.folder, "--preset", "native"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: running.poll() is not None or (started.exists() and started.read_text().strip()))
    assert running.poll() is None, running.communicate()
    compiler = int(started.read_text())
    try:
        running.send_signal(signal.SIGINT)
        _, message = running.communicate(timeout=240)
        assert running.returncode == 130, message
        assert "Interrupted" in message
        # The compiler was killed, but is not a child of etprof: on a busy machine it may end a moment after etprof.
        wait_until(lambda: not is_alive(compiler))
    finally:
        send([compiler], signal.SIGKILL)
    assert "interrupted" in (checkout.out("native") / "etprof-build.log").read_text()
    assert not (checkout.out("native") / "etprof-build.json").exists()
