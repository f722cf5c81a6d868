#include "measure/participants/runner_libraries.h"

#include <fmt/format.h>

#include <algorithm>

#include "build/checkout/requirements.h"
#include "core/error.h"
#include "device/executable.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryName = "libc++_shared.so";

// Path of the library in an NDK, by the runner's architecture; absent: not found.
std::optional<fs::path> FindInNdk(const fs::path& ndk, const std::string& architecture) {
  std::error_code error;
  const fs::path hosts = ndk / "toolchains/llvm/prebuilt";
  for (const auto& host : fs::directory_iterator(hosts, error)) {
    const fs::path file = host.path() / "sysroot/usr/lib" / (architecture + "-linux-android") / kLibraryName;
    if (fs::is_regular_file(file, error)) return file;
  }
  const std::string abi = architecture == "aarch64" ? "arm64-v8a" : architecture;
  const fs::path old_ndk_path = ndk / "sources/cxx-stl/llvm-libc++/libs" / abi / kLibraryName;
  if (fs::is_regular_file(old_ndk_path, error)) return old_ndk_path;
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> AndroidRunnerLibraries(const fs::path& runner) {
  const std::vector<std::string> needed = NeededLibraries(runner);
  if (std::ranges::find(needed, kLibraryName) == needed.end()) return {};
  std::error_code error;
  const fs::path path_next_to_runner = runner.parent_path() / kLibraryName;
  if (fs::is_regular_file(path_next_to_runner, error)) return {path_next_to_runner};
  const std::optional<NdkVariable> ndk = FindNdk();
  if (ndk) {
    if (const auto found = FindInNdk(ndk->folder, ProgramArchitecture(runner.string()))) return {*found};
  }
  throw Error(ExitCode::kBadInput, ndk ? fmt::format("needs {}, which is neither next to it nor in {} ({})",
                                                     kLibraryName, ndk->folder.string(), ndk->name)
                                       : fmt::format("needs {}, which is not next to it", kLibraryName))
      .InFile(runner.string())
      .Remedy("set ANDROID_NDK to the NDK that it was built with, or copy the library next to the runner");
}

}  // namespace etprof
