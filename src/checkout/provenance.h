#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace etprof {

// What a runner in a checkout of ExecuTorch (DIR/cmake-out/...) was built from.
struct RunnerProvenance {
  std::string commit;         // by the record that `etprof build --executorch` left; empty: there is none
  std::optional<bool> dirty;  // likewise: the checkout had changes of its own
  std::string executorch_version, preset, compiler;  // likewise; empty: not known
  std::vector<std::string> warnings;  // that the checkout is another one by now, each with what to do

  // Of the record.
  static void Describe(auto& v) {
    v("commit", &RunnerProvenance::commit);
    v("dirty", &RunnerProvenance::dirty);
    v("executorch_version", &RunnerProvenance::executorch_version);
    v("preset", &RunnerProvenance::preset);
    v("compiler", &RunnerProvenance::compiler);
  }
};

// Absent for a runner that lies in no checkout. Reads git's HEAD and the times of files; never throws but
// Error (kInterrupted): what cannot be told is not warned of.
std::optional<RunnerProvenance> ProvenanceOf(const std::filesystem::path& runner,
                                             const std::function<bool()>& interrupted);

}  // namespace etprof
