# macOS on Apple silicon by zig's clang and linker (PyPI ziglang, requirements/dev.txt), on any machine: the tests see by it
# that everything compiles and the runner links there. What it makes is not run.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
cmake_path(GET root PARENT_PATH root)
file(GLOB zig ${root}/.venv/lib/python3*/site-packages/ziglang/zig)
if(NOT zig)
  message(FATAL_ERROR "ziglang is not installed in .venv: run script/bootstrap --dev")
endif()
set(CMAKE_CXX_COMPILER ${zig} c++ -target aarch64-macos.14.0)
# ccache would have the preprocessor run alone first, for which zig takes as long as to compile.
set(ETPROF_CCACHE_SETTINGS CCACHE_DEPEND=1)
# CMake would look for Apple's own tools.
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_OSX_SYSROOT "")
set(CMAKE_OSX_DEPLOYMENT_TARGET "")
set(CMAKE_INSTALL_NAME_TOOL true)
set(CMAKE_CXX_ARCHIVE_CREATE "${zig} ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "${zig} ar q <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "")
# zig would compile the whole C++ library to link anything. What is looked for in it stays undefined, and the test of the
# runner says that nothing else does. Nor is the compiler's own library needed, or the sanitizers', which zig links without -O.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib++ -rtlib=none -O2 -Wl,-undefined,dynamic_lookup")
# Nor does CMake link anything to find out what the compiler is and can: for the first it takes the flags that it would begin
# with, were there none.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CXX_FLAGS "" CACHE STRING "")
set(CMAKE_CXX_FLAGS_INIT -c)
# Only the runner is linked. Of all else LLVM's code is made, which the compiler has a third sooner than the machine's.
set(ETPROF_UNLINKED_OPTIONS -Xclang -emit-llvm-bc)
