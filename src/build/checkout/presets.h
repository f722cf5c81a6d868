#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// A CMake preset with which etprof builds ExecuTorch's executor_runner (presets/executorch.json).
struct RunnerPreset {
  enum class Platform { kNative, kMac, kAndroid };
  std::string name;  // also the name of its folder below cmake-out
  Platform platform = Platform::kNative;
  bool trace_enabled = false;  // XNNPACK logs its kernels, which slows the runner down
  std::optional<bool> sme2;    // the runner has kernels for SME and SME2; absent: depends on the machine
};
// All presets, in the order of the file.
std::vector<RunnerPreset> RunnerPresets();
// The kernel-log counterpart of `preset`, or `preset` itself if it already logs kernels.
RunnerPreset MakeTraceEnabledPreset(const RunnerPreset& preset);

// Returns whether the names of two presets differ only in SME and SME2.
bool DifferInSme2Only(const std::string& name, const std::string& other);

// The embedded presets/executorch.json, a CMake presets file (cmake-presets(7)).
std::string_view PresetsText();

// The contents of a CMakeUserPresets.json with etprof's presets.
struct MergedPresets {
  std::string text;
  bool changed = false;  // `text` differs from the existing file
  // Names of etprof's presets that the checkout's own CMakePresets.json also defines. A name may be
  // in only one of the two files, so the checkout's preset is used.
  std::vector<std::string> conflicting_presets;
};
// Adds etprof's presets to `existing` (absent: there is no such file). All other contents keep their values
// and order; entries with the name of an etprof preset are replaced, even if there are several.
// `checkout_names` are the names in the checkout's CMakePresets.json. Throws Error (kBadInput), without a
// file name, if `existing` is not JSON, is not a presets file, or has comments, which writing would lose.
MergedPresets MergePresets(const std::optional<std::string>& existing,
                           const std::set<std::string>& checkout_names);

// The names of the configure presets in a presets file; empty if the text is not JSON, which CMake reports.
std::set<std::string> PresetNames(std::string_view text);

}  // namespace etprof
