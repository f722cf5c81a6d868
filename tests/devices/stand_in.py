"""A small fake of an ExecuTorch checkout: the same options and target, without ExecuTorch's sources.

It writes its options into cmake-out/<preset>/options.json and builds an executor_runner whose --help exits with 1. For Arm it
treats SME2 and KleidiAI as XNNPACK's CMakeLists.txt does: a compiler that is too old overrules the option, and the cache gets
KleidiAI's folder even if the download failed.
"""

import shutil
import subprocess
from pathlib import Path

OPTIONS = [
    "ANDROID_ABI",
    "ANDROID_PLATFORM",
    "ANDROID_STL",
    "CMAKE_BUILD_TYPE",
    "CMAKE_CXX_FLAGS",
    "CMAKE_C_FLAGS",
    "EXECUTORCH_BUILD_DEVTOOLS",
    "EXECUTORCH_BUILD_EXECUTOR_RUNNER",
    "EXECUTORCH_BUILD_KERNELS_LLM",
    "EXECUTORCH_BUILD_KERNELS_QUANTIZED",
    "EXECUTORCH_BUILD_XNNPACK",
    "EXECUTORCH_ENABLE_EVENT_TRACER",
    "EXECUTORCH_ENABLE_LOGGING",
    "EXECUTORCH_XNNPACK_ENABLE_KLEIDI",
    "EXECUTORCH_XNNPACK_LOG_LEVEL",
    "PYTHON_EXECUTABLE",
    "XNNPACK_ENABLE_ARM_SME",
    "XNNPACK_ENABLE_ARM_SME2",
]
CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.24)
project(executorch C CXX)
set(text "{{")
foreach(option IN ITEMS {options})
  string(APPEND text "\\"${{option}}\\": \\"${{${{option}}}}\\",")
endforeach()
string(APPEND text "\\"jobs\\": 0}}")
file(WRITE ${{CMAKE_BINARY_DIR}}/options.json "${{text}}")
{configure}
add_executable(executor_runner runner.c)
add_executable(something_else other.c)
if(ANDROID_ABI)
  include(XNNPACK.cmake)
endif()
message(STATUS "======= Build Options =======")
foreach(option IN ITEMS {options})
  message(STATUS "${{option}} : ${{${{option}}}}")
endforeach()
"""
# STAND_IN_CLANG is the version of Clang that the fake compiler reports.
XNNPACK = """\
option(XNNPACK_ENABLE_ARM_SME2 "" ON)
if(STAND_IN_CLANG VERSION_LESS 18)
  set(XNNPACK_ENABLE_ARM_SME2 OFF)
endif()
if(NOT DEFINED KLEIDIAI_SOURCE_DIR)
  message(STATUS "Downloading KleidiAI to ${CMAKE_BINARY_DIR}/kleidiai-source")
  execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR}/kleidiai -DTO=${CMAKE_BINARY_DIR}/kleidiai-source
                  -P ${CMAKE_SOURCE_DIR}/download.cmake)
  set(KLEIDIAI_SOURCE_DIR "${CMAKE_BINARY_DIR}/kleidiai-source" CACHE STRING "kleidiai source directory")
endif()
add_subdirectory("${KLEIDIAI_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/kleidiai")
add_library(XNNPACK STATIC xnnpack/f32-gemm-6x8-minmax-neonfma.c)
if(XNNPACK_ENABLE_ARM_SME2)
  target_sources(XNNPACK PRIVATE xnnpack/pf32-gemm-32x32-minmax-neonsme2.c)
  target_compile_definitions(executor_runner PRIVATE XNN_ENABLE_ARM_SME2)
endif()
target_link_libraries(XNNPACK PRIVATE kleidiai)
target_link_libraries(executor_runner PRIVATE XNNPACK)
"""
DOWNLOAD = "file(COPY ${SOURCE}/ DESTINATION ${TO})\n"
KLEIDIAI = "add_library(kleidiai STATIC kai_matmul_f32_neon_mla.c kai_matmul_f32_2vlx2vl_sme2_mopa.c)\n"
SOURCES = {
    "kleidiai/CMakeLists.txt": KLEIDIAI,
    "kleidiai/kai_matmul_f32_neon_mla.c": "void kai_neon(void) {}\n",
    # smstart and smstop are written as data, because the assembler may not know them.
    "kleidiai/kai_matmul_f32_2vlx2vl_sme2_mopa.c": """\
void kai_sme2(void) {
#ifdef __aarch64__
  __asm__ volatile(".inst 0xd503477f\\n.inst 0xd503467f" ::: "memory");
#endif
}
""",
    "xnnpack/f32-gemm-6x8-minmax-neonfma.c": "void kai_neon(void);\nvoid xnn_neonfma(void) { kai_neon(); }\n",
    "xnnpack/pf32-gemm-32x32-minmax-neonsme2.c": "void kai_sme2(void);\nvoid xnn_neonsme2(void) { kai_sme2(); }\n",
    "XNNPACK.cmake": XNNPACK,
    "download.cmake": DOWNLOAD,
}
RUNNER = """\
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "--help") == 0) {
    puts("    -model_path (Model serialized in flatbuffer format.)");
    return 1;
  }
#ifdef XNN_ENABLE_ARM_SME2
  void xnn_neonsme2(void);
  xnn_neonsme2();
#endif
  return 0;
}
"""
# A fake NDK with the files that etprof and CMake read. It builds for this machine, whose compiler does not know Armv9, or
# for bare aarch64.
TOOLCHAIN = """\
set(CMAKE_C_COMPILER ${{CMAKE_CURRENT_LIST_DIR}}/cc)
set(CMAKE_CXX_COMPILER ${{CMAKE_CURRENT_LIST_DIR}}/c++)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(STAND_IN_CLANG {clang})
"""
COMPILER = """\
#!/bin/sh
for word; do
  shift
  [ "$word" = -march=armv9-a ] || set -- "$@" "$word"
done
exec {compiler} "$@"
"""


class FakeCheckout:
    """The fake project in `folder`, as a git repository with one commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.configure_step("")
        (folder / "runner.c").write_text(RUNNER)
        (folder / "other.c").write_text("#error of no concern\n")
        for name, text in SOURCES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        (folder / "version.txt").write_text("1.5.1\n")
        (folder / ".gitignore").write_text("/cmake-out/\n")
        self.git("init", "--quiet")
        self.commit()

    def configure_step(self, text: str) -> None:
        """Sets CMake code that the configure step runs."""
        (self.folder / "CMakeLists.txt").write_text(CMAKE_LISTS.format(options=" ".join(OPTIONS), configure=text))

    def git(self, *arguments: str) -> str:
        git = shutil.which("git")
        assert git is not None
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        completed = subprocess.run(
            [git, "-C", self.folder, *identity, *arguments], check=True, capture_output=True, text=True
        )
        return completed.stdout.strip()

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a state", "--allow-empty")
        return self.git("rev-parse", "HEAD")

    def out(self, preset: str) -> Path:
        return self.folder / "cmake-out" / preset


def make_ndk(folder: Path, revision: str = "27.0.12077973", clang: str = "18.0.1", target: str = "") -> Path:
    """Writes a fake NDK. It builds with GCC for a `target` such as "aarch64-linux-gnu-", or for this machine if that is empty."""
    (folder / "build" / "cmake").mkdir(parents=True)
    (folder / "build" / "cmake" / "android.toolchain.cmake").write_text(TOOLCHAIN.format(clang=clang))
    for name, compiler in (("cc", "gcc"), ("c++", "g++")):
        script = folder / "build" / "cmake" / name
        script.write_text(COMPILER.format(compiler=target + compiler if target else name))
        script.chmod(0o755)
    (folder / "source.properties").write_text(f"Pkg.Desc = Android NDK\nPkg.Revision = {revision}\n")
    return folder
