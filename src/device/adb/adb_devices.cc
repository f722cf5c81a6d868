#include "device/adb/adb_devices.h"

#include <fmt/format.h>

#include <sstream>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/text/text.h"
#include "device/tool.h"

namespace etprof {
namespace {

// Substrings of adb's states and error messages, and their remedies. The first match counts.
constexpr std::pair<const char*, const char*> kRemedies[] = {
    {"doesn't match this client",
     "use one adb for all programs: name the one of the running server in ETPROF_ADB, or end that server "
     "with "
     "`adb kill-server`"},
    {"unauthorized", "unlock it and allow USB debugging on its screen"},
    {"authorizing", "unlock it and allow USB debugging on its screen"},
    {"offline", "plug it in again, or `adb reconnect offline`; over the network `adb connect HOST:PORT`"},
    {"connecting", "plug it in again, or `adb reconnect offline`; over the network `adb connect HOST:PORT`"},
    {"permissions",
     "let this user use the USB device (Debian: apt-get install android-sdk-platform-tools-common), then "
     "plug it in again"},
    {"recovery", "boot it into Android"},
    {"sideload", "boot it into Android"},
    {"bootloader", "boot it into Android"},
    {"rescue", "boot it into Android"},
    {"more than one", "name one with `--device adb:SERIAL` (`etprof devices` lists them)"},
    {"only supports allocating a pty", "use a device with Android 7 or newer"},
    {"not found", "plug it in and turn on USB debugging; over the network `adb connect HOST:PORT`"},
    {"no devices", "plug it in and turn on USB debugging; over the network `adb connect HOST:PORT`"},
    {"daemon", "end its server with `adb kill-server`, and try again"},
    {"protocol fault", "end its server with `adb kill-server`, and try again"},
};

}  // namespace

std::string AdbRemedy(const std::string& state_or_problem) {
  if (state_or_problem == "device") return "";
  for (const auto& [part, remedy] : kRemedies) {
    if (state_or_problem.find(part) != std::string::npos) return remedy;
  }
  return "`adb devices -l` has to say \"device\"";
}

std::string AdbProblem(const std::string& output) {
  constexpr std::string_view kError = "error: ", kVersionMismatch = " doesn't match this client";
  std::string problem, last_line;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    line = std::string(Trimmed(line));
    // After this line, adb prints further errors of the server that it kills.
    if (line.find(kVersionMismatch) != std::string::npos) return line.substr(0, line.find(';'));
    if (!line.empty() && !line.starts_with("* ")) last_line = line;
    if (const std::size_t at = line.find(kError); at != std::string::npos)
      problem = line.substr(at + kError.size());
  }
  if (problem.empty()) problem = last_line;
  if (problem.find("only supports allocating a pty") != std::string::npos)
    return fmt::format("its Android is older than 7, whose adb reports no exit codes ({})", problem);
  return problem;
}

std::vector<AdbListing> ParseAdbDevices(const std::string& output) {
  std::vector<AdbListing> devices;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    // "SERIAL  STATE [usb:1-2 product:a model:b device:c] transport_id:1". Lines with "*" are about the
    // server.
    if (line.starts_with("*") || line.starts_with("List of devices")) continue;
    std::istringstream fields(line);
    AdbListing device;
    fields >> device.serial;
    for (std::string field; fields >> field;) {
      bool is_detail = false;
      for (const char* key : {"usb:", "product:", "model:", "device:", "features:", "transport_id:"})
        is_detail = is_detail || field.starts_with(key);
      if (is_detail) break;
      device.state += (device.state.empty() ? "" : " ") + field;
    }
    if (device.state.empty()) continue;
    device.remedy = AdbRemedy(device.state);
    devices.push_back(device);
  }
  return devices;
}

std::vector<std::string> AdbCommand() { return ClientCommand("ETPROF_ADB", "adb"); }

std::vector<AdbListing> ListAdbDevices(double timeout_seconds, const std::function<bool()>& interrupted) {
  std::vector<std::string> command = AdbCommand();
  command.insert(command.end(), {"devices", "-l"});
  ToolResult result;
  try {
    result = RunTool(command, {.timeout_seconds = timeout_seconds, .interrupted = interrupted});
  } catch (Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
    throw error.Remedy("install adb (on Debian: apt-get install adb), or name it in ETPROF_ADB");
  }
  if (!result.Success()) {
    const std::string problem = AdbProblem(result.errors);
    throw Error(ExitCode::kDeviceFailed, result.timed_out
                                             ? fmt::format("does not answer within {:g} s", timeout_seconds)
                                             : "cannot list devices: " + problem)
        .InFile(command.front())
        .Remedy(AdbRemedy(result.timed_out ? "daemon" : problem));
  }
  return ParseAdbDevices(result.output);
}

}  // namespace etprof
