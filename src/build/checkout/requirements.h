#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "build/checkout/checkout.h"
#include "build/checkout/host_tools.h"
#include "build/checkout/presets.h"
#include "core/units.h"

namespace etprof {

inline constexpr std::string_view kMinCMake = "3.24";  // minimum of ExecuTorch's CMakeLists.txt
inline constexpr std::string_view kMinNinja = "1.3";   // minimum of CMake's Ninja generator
// With ExecuTorch 1.5.0, the build folder of a runner has 137 MB.
inline constexpr Bytes kMinFreeDisk = 500'000'000;

inline constexpr std::string_view kAnyVersion = "0";
inline constexpr const char* kGetMake =
    "install it (on Debian: apt-get install make): ExecuTorch builds flatc and flatcc with it";
inline constexpr const char* kGetNdk =
    "install the Android NDK, r27 or later, and set ANDROID_NDK to its folder";

// A Python, and the modules of ExecuTorch's configure step and code generation that it lacks.
struct HostPython {
  std::string path;
  std::vector<std::string> missing_modules;
};
// Finds python3 on PATH, or in `etprof_tools` if python3 on PATH is missing or lacks modules. Absent: there
// is no python3 in either place.
std::optional<HostPython> FindPython(const std::filesystem::path& etprof_tools);
// The reason why ExecuTorch cannot be built with this Python; empty if it can be built.
std::string PythonProblem(const std::optional<HostPython>& python);

// The Android NDK that the environment names: $ANDROID_NDK, else $ANDROID_NDK_HOME or $ANDROID_NDK_ROOT.
// Absent: none of these variables is set.
struct NdkVariable {
  std::string name;
  std::filesystem::path folder;
};
std::optional<NdkVariable> FindNdk();
// The reason why the android presets cannot be built with this NDK; empty if they can be built.
std::string NdkProblem(const std::optional<NdkVariable>& ndk);
// "26.1.10909125", from the NDK's source.properties; empty if the version is not there.
std::string NdkVersion(const NdkVariable& ndk);

// The tools and resources of this machine that building executor_runner needs.
struct BuildHost {
  std::string system;             // uname's: "Linux", "Darwin"
  std::string machine;            // uname's: "x86_64", "arm64"
  std::optional<HostTool> cmake;  // the newest found, even if it is too old
  std::optional<HostTool> ninja;
  std::optional<HostTool> make;      // on PATH
  std::optional<HostPython> python;  // the first with all imported modules, else the first found
  std::optional<NdkVariable> ndk;
  std::optional<Bytes> free_disk;  // on the disk of the checkout
};
// Looks for the tools on PATH, then in `etprof_tools` (etprof's .venv/bin; may be empty).
BuildHost ReadBuildHost(const Checkout& checkout, const std::filesystem::path& etprof_tools);

// A requirement whose absence would make the build fail, as one line, with its remedy.
struct MissingRequirement {
  std::string problem;
  std::string remedy;

  static void Describe(auto& v) {
    v("problem", &MissingRequirement::problem, {.meaning = "what is missing"});
    v("remedy", &MissingRequirement::remedy, {.meaning = "what to do"});
  }
};
// The requirements that are not met. `llm`: the build includes the kernels for language models.
std::vector<MissingRequirement> MissingRequirements(const Checkout& checkout,
                                                    const std::vector<RunnerPreset>& presets, bool llm,
                                                    const BuildHost& host);

}  // namespace etprof
