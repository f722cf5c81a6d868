#include "device/adb/adb_devices.h"

#include <fmt/format.h>

#include <sstream>

#include "core/error.h"
#include "device/tool.h"

namespace etprof {
namespace {

std::string RemedyFor(const std::string& state) {
  const auto has = [&](const char* word) { return state.find(word) != std::string::npos; };
  if (state == "device") return "";
  if (has("unauthorized") || has("authorizing")) return "unlock it and allow USB debugging on its screen";
  if (has("offline") || has("connecting"))
    return "plug it in again, or `adb reconnect offline`; over the network `adb connect HOST:PORT`";
  if (has("no permissions"))
    return "let this user use the USB device (Debian: apt-get install android-sdk-platform-tools-common), "
           "then "
           "plug it in again";
  if (has("recovery") || has("sideload") || has("bootloader") || has("rescue")) return "boot it into Android";
  return "`adb devices -l` has to say \"device\"";
}

}  // namespace

std::vector<AdbListing> ParseAdbDevices(const std::string& printed) {
  std::vector<AdbListing> listed;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    // "SERIAL  STATE [usb:1-2 product:a model:b device:c] transport_id:1"; adb also talks of its server.
    if (line.starts_with("*") || line.starts_with("List of devices")) continue;
    std::istringstream words(line);
    AdbListing device;
    words >> device.serial;
    for (std::string word; words >> word;) {
      bool is_detail = false;
      for (const char* key : {"usb:", "product:", "model:", "device:", "features:", "transport_id:"})
        is_detail = is_detail || word.starts_with(key);
      if (is_detail) break;
      device.state += (device.state.empty() ? "" : " ") + word;
    }
    if (device.state.empty()) continue;
    device.remedy = RemedyFor(device.state);
    listed.push_back(device);
  }
  return listed;
}

std::vector<std::string> AdbWords() { return ClientWords("ETPROF_ADB", "adb"); }

std::vector<AdbListing> ListAdbDevices(double timeout_seconds, const std::function<bool()>& interrupted) {
  std::vector<std::string> words = AdbWords();
  words.insert(words.end(), {"devices", "-l"});
  ToolResult result;
  try {
    result = RunTool(words, {.timeout_seconds = timeout_seconds, .interrupted = interrupted});
  } catch (Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
    throw error.Remedy("install adb (on Debian: apt-get install adb), or name it in ETPROF_ADB");
  }
  if (!result.Success()) {
    std::string reason = result.timed_out ? fmt::format("does not answer within {:g} s", timeout_seconds)
                                          : "cannot list devices: " + result.errors;
    while (reason.ends_with('\n')) reason.pop_back();
    throw Error(ExitCode::kDeviceFailed, reason)
        .InFile(words.front())
        .Remedy("end its server with `adb kill-server`, and try again");
  }
  return ParseAdbDevices(result.output);
}

}  // namespace etprof
