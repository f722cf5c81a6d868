#include "measure/config/release.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/text/text.h"
#include "measure/config/json_fields.h"
#include "measure/store/run_data.h"

namespace etprof {

bool IsWheel(const std::string& executorch) { return executorch.ends_with(".whl"); }

std::string ResolveWheelPath(const std::string& executorch, const std::filesystem::path& folder) {
  return IsWheel(executorch) ? ResolvePath(executorch, folder).string() : executorch;
}

WheelName ParseWheelName(const std::filesystem::path& wheel) {
  const std::string stem = wheel.stem().string();
  const auto parts = SplitAt(stem, '-');  // name, version, maybe a build number, Python, ABI, platform
  const auto is_version_char = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '+';
  };
  if (parts.size() < 5 || parts.size() > 6 || parts[0] != "executorch" || parts[1].empty() ||
      !std::ranges::all_of(parts[1], is_version_char)) {
    throw Error(ExitCode::kUsage, "is not named as a wheel of ExecuTorch")
        .InFile(wheel.string())
        .Remedy("give the wheel the name it was built with: executorch-VERSION-cp311-cp311-PLATFORM.whl");
  }
  return {std::string(parts[1]), std::string(parts.back())};
}

std::string PublicRelease(const std::string& executorch) {
  return IsWheel(executorch) ? std::string(PublicVersion(ParseWheelName(executorch).version)) : executorch;
}

std::string WheelSha256(const std::string& wheel) {
  static std::mutex mutex;  // each device is measured in its own thread
  static std::map<std::pair<std::string, std::optional<std::filesystem::file_time_type>>, std::string>
      digests;
  const std::scoped_lock lock(mutex);
  std::string& digest = digests[{wheel, LastWriteTime(wheel)}];
  if (digest.empty()) digest = Sha256HexOfFile(wheel);
  return digest;
}

std::string ReleaseName(const std::string& executorch) {
  if (!IsWheel(executorch)) return executorch;
  constexpr std::size_t kDigits = 8;
  const std::string version = ParseWheelName(executorch).version;
  return fmt::format("{}{}{}", version, version.find('+') == std::string::npos ? '+' : '.',
                     WheelSha256(executorch).substr(0, kDigits));
}

}  // namespace etprof
