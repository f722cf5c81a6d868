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
inline constexpr std::string_view kLeastNdk = "21";

// What building executor_runner needs of this machine, as far as it is there.
struct BuildHost {
  std::string system;             // uname's: "Linux", "Darwin"
  std::string machine;            // uname's: "x86_64", "arm64"
  std::optional<HostTool> cmake;  // the best that was found, however old
  std::optional<HostTool> ninja;
  std::optional<std::filesystem::path> ndk;  // of $ANDROID_NDK, else $ANDROID_NDK_HOME or $ANDROID_NDK_ROOT
  std::optional<Bytes> free_disk;            // where the checkout is
};
// Looks for the tools on PATH, then in `own_tools` (etprof's own .venv/bin; may be empty).
BuildHost ReadBuildHost(const Checkout& checkout, const std::filesystem::path& own_tools);

// One thing that would make the build fail, in one line, and what to do.
struct MissingRequirement {
  std::string problem;
  std::string remedy;
};
std::vector<MissingRequirement> MissingRequirements(const Checkout& checkout,
                                                    const std::vector<RunnerPreset>& presets,
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
