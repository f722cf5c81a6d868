#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

namespace etprof {

// A program taken out of a bundled program, in files of its own: a runner loads a .pte and finds its inputs
// beside it.
struct UnpackedProgram {
  std::filesystem::path program;
  std::filesystem::path inputs;            // `program` with ".inputs"; empty: no method has test cases
  std::set<std::string> tested_methods;    // those that have
  std::filesystem::path expected_outputs;  // safetensors, names "<method>/<i>"; empty: none are expected

  void Remove() const;
};

// Absent: `model` is no bundled program. Writes `program` and files beside it. Throws Error: kBadInput,
// as ReadBundledProgram; kDeviceFailed where it cannot write.
std::optional<UnpackedProgram> UnpackProgram(const std::filesystem::path& model,
                                             const std::filesystem::path& program);

}  // namespace etprof
