#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// One of the CMake presets with which etprof builds ExecuTorch's executor_runner (presets/executorch.json).
struct RunnerPreset {
  enum class Platform { kNative, kMac, kAndroid };
  std::string name;  // also of its folder below cmake-out
  Platform platform = Platform::kNative;
  bool trace = false;        // XNNPACK logs its kernels: for seeing them, not for timing
  std::optional<bool> sme2;  // whether it is to have kernels for SME and SME2; absent: as the machine has it
};
// All of them, in the order of the file.
std::vector<RunnerPreset> RunnerPresets();
// The kernel-log one beside `preset`, or itself when it is.
RunnerPreset TraceEnabled(const RunnerPreset& preset);

// Whether two presets, by their names, are the same but for SME and SME2.
bool DifferInSme2Only(const std::string& one, const std::string& other);

// presets/executorch.json, which is built in: a CMake presets file (cmake-presets(7)).
std::string_view PresetsText();

// A CMakeUserPresets.json with etprof's presets in it.
struct MergedPresets {
  std::string text;
  bool changed = false;  // `text` differs from what was there
  // Presets of etprof's that the checkout's own CMakePresets.json has under the same name: CMake allows a
  // name once in the two files, so the checkout's stays and is built.
  std::vector<std::string> left_to_checkout;
};
// Puts etprof's presets into `existing` (absent: there is no such file). What else is in it keeps its values
// and its order; entries with a name of etprof's are replaced, however many there are. `taken` are the names
// in the checkout's CMakePresets.json. Throws Error (kBadInput), without a file name, when `existing` is not
// JSON, has comments (which writing it would lose), or is no presets file.
MergedPresets MergePresets(const std::optional<std::string>& existing, const std::set<std::string>& taken);

// The names of the configure presets in a presets file; empty when it is not JSON (CMake will say so).
std::set<std::string> PresetNames(std::string_view text);

}  // namespace etprof
