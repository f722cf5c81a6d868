"""macOS without a Mac: everything compiles for it and the runner links against its wheel. Nothing is run."""

from __future__ import annotations

import importlib.util
import re
import struct
from pathlib import Path

import pytest
from bundle_bench import ROOT, call, skip

PRESET = "macos-arm64-zig"
MACH_O_64 = b"\xcf\xfa\xed\xfe"
CPU_TYPE_ARM64 = b"\x0c\x00\x00\x01"
LLVM_CODE = b"\xde\xc0\x17\x0b"
TOOLS = ROOT / ".venv" / "bin"


def wheel_version(folder: Path) -> str | None:
    """The version of the executorch wheel that is installed or unpacked in a folder."""
    for info in folder.glob("executorch-*.dist-info"):
        return info.name.removeprefix("executorch-").removesuffix(".dist-info")
    return None


@pytest.fixture(scope="session")
def macos_wheel(build_lock: None, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """The folder build/wheels/macos-arm64 with the wheel for macOS, of the same version as in .venv."""
    installed = next((ROOT / ".venv").glob("lib/python3*/site-packages"), None)
    version = wheel_version(installed) if installed else None
    if version is None:
        skip("the executorch wheel is not in .venv: run script/bootstrap")
    folder = ROOT / "build" / "wheels" / "macos-arm64"
    if wheel_version(folder) == version:
        return folder
    download_folder = tmp_path_factory.mktemp("wheel")
    pip = [TOOLS / "python", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    completed = call(*pip, "--platform", "macosx_14_0_arm64", "--dest", download_folder, f"executorch=={version}")
    if completed.returncode != 0:
        skip(f"the executorch wheel for macOS cannot be fetched: {completed.stderr.strip().splitlines()[-1]}")
    (wheel,) = download_folder.glob("*.whl")
    assert call(TOOLS / "python", "-m", "zipfile", "-e", wheel, folder).returncode == 0
    return folder


@pytest.fixture(scope="session")
def macos_build(macos_wheel: Path) -> Path:  # noqa: ARG001
    """The configured build folder."""
    if importlib.util.find_spec("ziglang") is None:
        skip("ziglang is not installed: run script/bootstrap --dev")
    folder = ROOT / "build" / PRESET
    completed = call(TOOLS / "cmake", "--preset", PRESET, cwd=ROOT)
    assert completed.returncode == 0, completed.stderr
    return folder


def ninja(folder: Path, *targets: str) -> None:
    completed = call(TOOLS / "ninja", "-C", folder, "-j2", *targets, timeout=1800)
    assert completed.returncode == 0, completed.stdout[-5000:] + completed.stderr[-5000:]


def is_for_macos(contents: bytes) -> bool:
    """True for an object file, or LLVM bitcode that names its target (the toolchain file makes it where nothing is linked)."""
    if contents.startswith(LLVM_CODE):
        return re.search(rb"arm64-apple-macosx?14\.0", contents) is not None
    return contents.startswith(MACH_O_64 + CPU_TYPE_ARM64)


def find_undefined(program: bytes) -> set[str]:
    """The symbols that the linker found neither in the program nor in its libraries, and was allowed to leave undefined."""
    commands = 32  # behind the header, which has their number at 16
    symbols_left = set()
    for _ in range(*struct.unpack_from("<I", program, 16)):
        command, size = struct.unpack_from("<II", program, commands)
        if command == 2:  # LC_SYMTAB
            symbols, count, names, _ = struct.unpack_from("<IIII", program, commands + 8)
            for offset in range(symbols, symbols + 16 * count, 16):
                name, kind, _, description, _ = struct.unpack_from("<IBBHQ", program, offset)
                # N_EXT, N_UNDF, and no ordinal of a library
                if kind & 0x0F == 1 and description >> 8 in (0, 0xFE):
                    symbols_left.add(program[names + name : program.index(b"\0", names + name)].decode())
        commands += size
    return symbols_left


def is_of_the_cxx_library(symbol: str) -> bool:
    """True if libc++ or its ABI library has the symbol: names of std, new and delete, and functions for exceptions."""
    is_project_symbol = re.search(r"\d(etprof|executorch|torch|nlohmann|fmt|flatbuffers)", symbol)
    library_pattern = r"__Z(T[ISTV])?N?K?St|__ZTVN10__cxxabiv1|__Z(n[wa]|d[la])[mP]|___((cxa|gxx)_|dynamic_cast$)"
    return is_project_symbol is None and re.match(library_pattern, symbol) is not None


def test_what_the_cxx_library_has_is_told_from_what_is_missing() -> None:
    library = ["__ZNSt11logic_errorC2EPKc", "__ZNKSt3__16locale9use_facetERNS0_2idE", "__ZSt9terminatev", "__Znwm"]
    library += ["__ZTISt12length_error", "__ZTVN10__cxxabiv117__class_type_infoE", "___cxa_throw", "__ZdlPvm"]
    assert all(map(is_of_the_cxx_library, library))
    missing = ["__ZN6etprof9ParseJsonEv", "__Z7Missingi", "_pthread_create", "__ZNK10executorch7runtime5Error4NameEv"]
    missing += ["__ZNSt3__16vectorIN6etprof5LevelENS_9allocatorIS2_EEE4growEv", "__ZTIN6etprof5ErrorE"]
    assert not any(map(is_of_the_cxx_library, missing))


def test_what_is_for_macos_is_told_from_the_rest() -> None:
    code = LLVM_CODE + b"triple%s-apple-macosx14.0.0"
    assert is_for_macos(code.replace(b"%s", b"arm64")) and not is_for_macos(code.replace(b"%s", b"x86_64"))
    assert is_for_macos(MACH_O_64 + CPU_TYPE_ARM64) and not is_for_macos(MACH_O_64 + b"\x07\x00\x00\x01")


def test_the_runner_links_for_macos(macos_build: Path, macos_wheel: Path) -> None:
    ninja(macos_build, "etprof-runner")
    program = (macos_build / "etprof-runner").read_bytes()
    assert program[:8] == MACH_O_64 + CPU_TYPE_ARM64
    undefined_symbols = find_undefined(program)
    assert "___cxa_throw" in undefined_symbols
    assert [symbol for symbol in sorted(undefined_symbols) if not is_of_the_cxx_library(symbol)] == []
    linked = {name.decode() for name in re.findall(rb"@rpath/(libexecutorch[a-z_]*\.dylib)", program)}
    assert linked == {
        "libexecutorch.dylib",
        "libexecutorch_etdump.dylib",
        "libexecutorch_kernels_optimized.dylib",
        "libexecutorch_kernels_quantized.dylib",
        "libexecutorch_threadpool.dylib",
    }  # and not the XNNPACK backend, which is loaded once CPU features are masked
    for name in linked:
        assert (macos_wheel / "executorch" / "lib" / name).exists()


def test_everything_compiles_for_macos(macos_build: Path) -> None:
    ninja(macos_build, "etprof_commands")
    sources = {
        path.relative_to(ROOT / "src").parts[0]
        for path in (ROOT / "src").rglob("*.cc")
        if not path.name.endswith("_test.cc")
    }
    objects = list((macos_build / "src").rglob("*.o"))
    assert {path.relative_to(macos_build / "src").parts[0] for path in objects} == sources
    for path in objects:
        assert is_for_macos(path.read_bytes()), path
