#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "build/checkout/runner/build_record.h"

namespace etprof {

// The build of a runner in a checkout of ExecuTorch (DIR/cmake-out/...), from the record of `etprof build
// --executorch`. The fields are empty if there is no record.
struct RunnerProvenance : BuildRecord {
  std::vector<std::string> warnings;  // changes of the checkout since the build, each with a remedy
};

// Absent if the runner is not in a checkout. Reads git's HEAD and file times. Throws only Error
// (kInterrupted); if something cannot be read, there is no warning about it.
std::optional<RunnerProvenance> ReadProvenance(const std::filesystem::path& runner,
                                               const std::function<bool()>& interrupted);

}  // namespace etprof
