#pragma once

#include <string>
#include <vector>

#include "protocol/messages.h"

namespace etprof::runner {

// The ExecuTorch libraries that this process has mapped, by path. If LD_LIBRARY_PATH or the program's folder
// replaces a library, this lists the one that runs. Empty: not known (macOS).
std::vector<protocol::MappedLibrary> MappedExecutorchLibraries();

// The version of the mapped ExecuTorch: from `version.py` of the wheel that contains its library. A library
// outside of a wheel has the version of the build if its build ID is the build's. Empty: not known.
std::string MappedExecutorchVersion(const std::vector<protocol::MappedLibrary>& libraries);

// A function that identifies XNNPACK's library: every XNNPACK defines it, and no tracer
// (runtimes/portable_tracer.cc) does.
inline constexpr const char* kXnnpackFunction = "xnn_deinitialize";

// Throws Error (kDeviceFailed), naming both libraries, if two mapped libraries define XNNPACK's functions,
// since it is then unknown which of them runs an operator.
void RequireOneXnnpack();

}  // namespace etprof::runner
