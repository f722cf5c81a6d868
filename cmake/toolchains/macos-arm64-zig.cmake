# Builds for macOS on Apple silicon with zig's clang and linker (PyPI ziglang, requirements/dev.txt), on any machine. The
# tests check that everything compiles and that the runner links. They do not run the result.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
cmake_path(GET root PARENT_PATH root)
file(GLOB zig ${root}/.venv/lib/python3*/site-packages/ziglang/zig)
if(NOT zig)
  message(FATAL_ERROR "ziglang is not installed in .venv: run script/bootstrap --dev")
endif()
set(CMAKE_CXX_COMPILER ${zig} c++ -target aarch64-macos.14.0)
# By default, ccache runs the preprocessor separately, which takes zig as long as compiling.
set(ETPROF_CCACHE_SETTINGS CCACHE_DEPEND=1)
# CMake would otherwise search for Apple's own tools.
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_OSX_SYSROOT "")
set(CMAKE_OSX_DEPLOYMENT_TARGET "")
set(CMAKE_INSTALL_NAME_TOOL true)
set(CMAKE_CXX_ARCHIVE_CREATE "${zig} ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "${zig} ar q <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "")
# zig would compile the whole C++ library before it links. Instead, symbols of that library stay undefined, and the test of
# the runner checks that no others do. The compiler's library is not needed, nor the sanitizers', which zig links without -O.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib++ -rtlib=none -O2 -Wl,-undefined,dynamic_lookup")
# CMake's compiler checks do not link either. The identification of the compiler uses CMAKE_CXX_FLAGS_INIT (-c), which the
# empty CMAKE_CXX_FLAGS keeps away from all other compilations.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CXX_FLAGS "" CACHE STRING "")
set(CMAKE_CXX_FLAGS_INIT -c)
# Only the runner is linked. All other code is compiled to LLVM bitcode, which takes a third less time than machine code.
set(ETPROF_UNLINKED_OPTIONS -Xclang -emit-llvm-bc)
