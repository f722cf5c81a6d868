#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

namespace etprof {

// The parts of a bundled program as files. A runner loads the .pte and finds the inputs next to it.
struct UnpackedProgram {
  std::filesystem::path program;
  std::filesystem::path inputs;            // `program` with ".inputs"; empty: no method has test cases
  std::set<std::string> tested_methods;    // methods that have test cases
  std::filesystem::path expected_outputs;  // safetensors, names "<method>/<i>"; empty: no expected outputs

  void Remove() const;
};

// Extracts a bundled program into `program` and files next to it. Absent: `model` is not a bundled program.
// Throws Error: kBadInput as ReadBundledProgram, kDeviceFailed if a file cannot be written.
std::optional<UnpackedProgram> UnpackProgram(const std::filesystem::path& model,
                                             const std::filesystem::path& program);

}  // namespace etprof
