#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace etprof::runner {

// The ExecuTorch libraries that this process has mapped, by path. If LD_LIBRARY_PATH or the program's folder
// replaces a library, the list has the replacement. Empty: not known (macOS).
std::vector<protocol::MappedLibrary> MappedExecutorchLibraries();

// The version of the mapped ExecuTorch: from `version.py` of the wheel that contains its library. A library
// outside of a wheel has the version of the build if its build ID is the build's. Empty: not known.
std::string MappedExecutorchVersion(const std::vector<protocol::MappedLibrary>& libraries);

// A segment of code that the loader has mapped.
struct CodeSegment {
  std::string path;                    // path of the library
  std::uintptr_t base = 0;             // difference between addresses in memory and in the library's file
  std::uintptr_t begin = 0, size = 0;  // range in memory
};
// Finds the segment that contains this code. Absent if the loader does not know it, and on other systems than
// Linux.
std::optional<CodeSegment> FindCodeSegment(const void* code);

// The reason why the last dlopen failed.
std::string LoaderError();

// A function that identifies XNNPACK's library: every XNNPACK defines it, and no tracer
// (runtimes/portable_tracer.cc) does.
inline constexpr const char* kXnnpackFunction = "xnn_deinitialize";

// Throws Error (kDeviceFailed), naming both libraries, if two mapped libraries define XNNPACK's functions,
// since it is then unknown which of them runs an operator.
void RequireOneXnnpack();

}  // namespace etprof::runner
