#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkout/checkout.h"
#include "checkout/host_tools.h"
#include "checkout/presets.h"
#include "core/units.h"

namespace etprof {

inline constexpr std::string_view kLeastCMake = "3.24";  // of ExecuTorch's CMakeLists.txt
inline constexpr std::string_view kLeastNinja = "1.3";   // of CMake's Ninja generator
inline constexpr Bytes kRunnerDisk = 500'000'000;  // a runner's build folder has 137 MB (ExecuTorch 1.5.0)

inline constexpr std::string_view kAnyVersion = "0";
inline constexpr const char* kGetMake =
    "install it (on Debian: apt-get install make): ExecuTorch builds flatc and flatcc with it";
inline constexpr const char* kGetNdk =
    "install the Android NDK, r27 or later, and set ANDROID_NDK to its folder";

// A Python, and the modules that ExecuTorch's configure step and code generation import and it has not.
struct HostPython {
  std::string path;
  std::vector<std::string> lacks;
};
// python3 on PATH or, where that lacks something or is missing, in `own_tools`. Absent: neither is there.
std::optional<HostPython> FindPython(const std::filesystem::path& own_tools);
// Why ExecuTorch cannot be built with it; "": it can.
std::string PythonProblem(const std::optional<HostPython>& python);

// Where the environment says that the Android NDK is: $ANDROID_NDK, else $ANDROID_NDK_HOME or
// $ANDROID_NDK_ROOT. Absent: it does not say.
struct NdkVariable {
  std::string name;
  std::filesystem::path folder;
};
std::optional<NdkVariable> FindNdk();
// Why the android presets cannot be built with it; "": they can.
std::string NdkProblem(const std::optional<NdkVariable>& ndk);
// "26.1.10909125" of its source.properties; empty where that names none.
std::string NdkVersion(const NdkVariable& ndk);

// What building executor_runner needs of this machine, as far as it is there.
struct BuildHost {
  std::string system;             // uname's: "Linux", "Darwin"
  std::string machine;            // uname's: "x86_64", "arm64"
  std::optional<HostTool> cmake;  // the best that was found, however old
  std::optional<HostTool> ninja;
  std::optional<HostTool> make;      // on PATH
  std::optional<HostPython> python;  // with all that is imported, else the first that is there
  std::optional<NdkVariable> ndk;
  std::optional<Bytes> free_disk;  // where the checkout is
};
// Looks for the tools on PATH, then in `own_tools` (etprof's own .venv/bin; may be empty).
BuildHost ReadBuildHost(const Checkout& checkout, const std::filesystem::path& own_tools);

// One thing that would make the build fail, in one line, and what to do. `llm`: with the kernels for language
// models.
struct MissingRequirement {
  std::string problem;
  std::string remedy;

  static void Describe(auto& v) {
    v("problem", &MissingRequirement::problem, {.meaning = "what is missing"});
    v("remedy", &MissingRequirement::remedy, {.meaning = "what to do"});
  }
};
std::vector<MissingRequirement> MissingRequirements(const Checkout& checkout,
                                                    const std::vector<RunnerPreset>& presets, bool llm,
                                                    const BuildHost& host);

}  // namespace etprof
