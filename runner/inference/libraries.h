#pragma once

#include <string>
#include <vector>

#include "protocol/messages.h"

namespace etprof::runner {

// ExecuTorch's libraries that this process has mapped, by path; of a library that another one replaced (by
// LD_LIBRARY_PATH, or beside the program), the one that runs. Empty: the system does not tell (macOS).
std::vector<protocol::MappedLibrary> MappedExecutorchLibraries();

// The version of the ExecuTorch that is mapped: what `version.py` of the wheel that holds its library says;
// of a library in no wheel that of the build, if it is the build's own by its build ID. Empty: not known.
std::string MappedExecutorchVersion(const std::vector<protocol::MappedLibrary>& libraries);

// Throws Error (kDeviceFailed) where two mapped libraries define XNNPACK's functions: then nothing says which
// of them an operator ran in. Names both.
void RequireOneXnnpack();

}  // namespace etprof::runner
