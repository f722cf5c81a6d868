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
// Its Clang is 18: with an older one XNNPACK leaves out its kernels for SME and SME2, whatever its options
// are.
inline constexpr std::string_view kLeastNdk = "27";
inline constexpr Bytes kRunnerDisk = 500'000'000;  // a runner's build folder has 137 MB (ExecuTorch 1.5.0)

inline constexpr std::string_view kAnyVersion = "0";
inline constexpr const char* kGetMake =
    "install it (on Debian: apt-get install make): ExecuTorch builds flatc and flatcc with it";

// A Python, and the modules that ExecuTorch's configure step and code generation import and it has not.
struct HostPython {
  std::string path;
  std::vector<std::string> lacks;
};
// python3 on PATH or, where that lacks something or is missing, in `own_tools`. Absent: neither is there.
std::optional<HostPython> FindPython(const std::filesystem::path& own_tools);

// What building executor_runner needs of this machine, as far as it is there.
struct BuildHost {
  std::string system;             // uname's: "Linux", "Darwin"
  std::string machine;            // uname's: "x86_64", "arm64"
  std::optional<HostTool> cmake;  // the best that was found, however old
  std::optional<HostTool> ninja;
  std::optional<HostTool> make;              // on PATH
  std::optional<HostPython> python;          // with all that is imported, else the first that is there
  std::optional<std::filesystem::path> ndk;  // of $ANDROID_NDK, else $ANDROID_NDK_HOME or $ANDROID_NDK_ROOT
  std::optional<Bytes> free_disk;            // where the checkout is
};
// Looks for the tools on PATH, then in `own_tools` (etprof's own .venv/bin; may be empty).
BuildHost ReadBuildHost(const Checkout& checkout, const std::filesystem::path& own_tools);

// One thing that would make the build fail, in one line, and what to do. `llm`: with the kernels for language
// models.
struct MissingRequirement {
  std::string problem;
  std::string remedy;
};
std::vector<MissingRequirement> MissingRequirements(const Checkout& checkout,
                                                    const std::vector<RunnerPreset>& presets, bool llm,
                                                    const BuildHost& host);

// "26.1.10909125" of an NDK's source.properties; empty where it names none.
std::string NdkVersion(const std::filesystem::path& ndk);

// Where the environment says that the Android NDK is; absent: it does not say.
struct NdkVariable {
  std::string name;
  std::filesystem::path folder;
};
std::optional<NdkVariable> FindNdk();
// Whether it holds CMake's toolchain file.
bool HasNdkToolchain(const std::filesystem::path& ndk);

}  // namespace etprof
