#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkout/runner/build_record.h"

namespace etprof {

// What a runner in a checkout of ExecuTorch (DIR/cmake-out/...) was built from, by the record that
// `etprof build --executorch` left. All is empty where there is none.
struct RunnerProvenance : BuildRecord {
  std::vector<std::string> warnings;  // that the checkout is another one by now, each with what to do
};

// Absent for a runner that lies in no checkout. Reads git's HEAD and the times of files; never throws but
// Error (kInterrupted): what cannot be told is not warned of.
std::optional<RunnerProvenance> ProvenanceOf(const std::filesystem::path& runner,
                                             const std::function<bool()>& interrupted);

}  // namespace etprof
