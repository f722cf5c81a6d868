#include "measure/participants/device_log.h"

#include <fmt/format.h>

#include <cctype>
#include <sstream>

#include "device/tool.h"

namespace etprof {
namespace {

constexpr double kShellTimeoutSeconds = 30;

// True if `text` begins like `pattern`, in which "0" stands for any digit.
bool MatchesDigits(const std::string& text, const std::string& pattern) {
  if (text.size() < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (pattern[i] == '0' ? !is_digit : text[i] != pattern[i]) return false;
  }
  return true;
}

}  // namespace

std::string LogTime(const std::string& date_output) {
  if (MatchesDigits(date_output, "00-00 00:00:00.000")) return date_output.substr(0, 18);
  // fmt's string precision counts characters, not bytes, so it is not used to cut the text.
  return MatchesDigits(date_output, "00-00 00:00:00")
             ? fmt::format("{}.000", std::string_view(date_output).substr(0, 14))
             : "";
}

DeviceLog::DeviceLog(Device& device, const DeviceProperties& properties) : device_(device) {
  if (properties.platform != "android") return;
  since_ = LogTime(ShellOutput(device_, "command -v logcat >/dev/null 2>&1 && date '+%m-%d %H:%M:%S.%N'",
                               kShellTimeoutSeconds));
}

std::string DeviceLog::Lines() const {
  if (since_.empty()) return "";
  std::istringstream logcat_output(ShellOutput(
      device_, fmt::format("logcat -d -v threadtime -T '{}' -s XNNPACK:V ExecuTorch:V </dev/null", since_),
      kShellTimeoutSeconds));
  std::string text;
  for (std::string line; std::getline(logcat_output, line);) {
    if (!line.starts_with("---------")) text += line + '\n';
  }
  return text;
}

}  // namespace etprof
