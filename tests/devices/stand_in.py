"""A small project that stands in for a checkout of ExecuTorch: same options, same target, nothing of its sources.

It writes the options that it was given into cmake-out/<preset>/options.json and builds an executor_runner whose --help
exits with 1.
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
    "EXECUTORCH_BUILD_KERNELS_QUANTIZED",
    "EXECUTORCH_BUILD_XNNPACK",
    "EXECUTORCH_ENABLE_EVENT_TRACER",
    "EXECUTORCH_ENABLE_LOGGING",
    "EXECUTORCH_XNNPACK_ENABLE_KLEIDI",
    "EXECUTORCH_XNNPACK_LOG_LEVEL",
    "XNNPACK_ENABLE_ARM_SME",
    "XNNPACK_ENABLE_ARM_SME2",
]
CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.24)
project(executorch C)
set(text "{{")
foreach(option IN ITEMS {options})
  string(APPEND text "\\"${{option}}\\": \\"${{${{option}}}}\\",")
endforeach()
string(APPEND text "\\"jobs\\": 0}}")
file(WRITE ${{CMAKE_BINARY_DIR}}/options.json "${{text}}")
{configure}
add_executable(executor_runner runner.c)
add_executable(something_else other.c)
"""
RUNNER = """\
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "--help") == 0) {
    puts("    -model_path (Model serialized in flatbuffer format.)");
    return 1;
  }
  return 0;
}
"""
# What etprof asks of an NDK and CMake of a toolchain: it builds for this machine, whose compiler knows no Armv9.
TOOLCHAIN = "set(CMAKE_C_COMPILER ${CMAKE_CURRENT_LIST_DIR}/cc)\n"
COMPILER = """\
#!/bin/sh
for word; do
  shift
  [ "$word" = -march=armv9-a ] || set -- "$@" "$word"
done
exec cc "$@"
"""


class StandIn:
    """The project in `folder`, as a git repository with one commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.configure_step("")
        (folder / "runner.c").write_text(RUNNER)
        (folder / "other.c").write_text("#error of no concern\n")
        (folder / "version.txt").write_text("1.5.1\n")
        (folder / ".gitignore").write_text("/cmake-out/\n")
        self.git("init", "--quiet")
        self.commit()

    def configure_step(self, text: str) -> None:
        """CMake code that the configure step runs."""
        (self.folder / "CMakeLists.txt").write_text(CMAKE_LISTS.format(options=" ".join(OPTIONS), configure=text))

    def git(self, *arguments: str) -> str:
        git = shutil.which("git")
        assert git is not None
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        done = subprocess.run(
            [git, "-C", self.folder, *identity, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a state", "--allow-empty")
        return self.git("rev-parse", "HEAD")

    def out(self, preset: str) -> Path:
        return self.folder / "cmake-out" / preset


def make_ndk(folder: Path, revision: str = "26.1.10909125") -> Path:
    (folder / "build" / "cmake").mkdir(parents=True)
    (folder / "build" / "cmake" / "android.toolchain.cmake").write_text(TOOLCHAIN)
    compiler = folder / "build" / "cmake" / "cc"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    (folder / "source.properties").write_text(f"Pkg.Desc = Android NDK\nPkg.Revision = {revision}\n")
    return folder
