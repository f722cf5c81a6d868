#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "device/device.h"

namespace etprof {

// The output of a program on this machine (stdout and stderr in their order) and its exit status.
struct ToolRun {
  ExitStatus status;
  std::string output;
};
// Runs the program to its end and passes each line of its output to `on_line` (which may be empty). Throws
// Error: kInterrupted when `interrupted` returns true, kDeviceFailed when the program prints nothing for
// `silence_seconds`; in both cases the program and its children are terminated first. Also throws the
// exceptions of Device::Start.
ToolRun RunTool(const Command& command, double silence_seconds,
                const std::function<void(std::string_view)>& on_line,
                const std::function<bool()>& interrupted);

// A program with its version, such as "3.28.1".
struct HostTool {
  std::string path;
  std::string version;
};
// Finds the program `name` on PATH, or in `etprof_folder` if the program on PATH is missing or older than
// `min_version`. Returns the newer program, even if it is too old. Absent: neither program exists.
std::optional<HostTool> FindTool(const std::string& name, std::string_view min_version,
                                 const std::filesystem::path& etprof_folder);

// The first number with a dot in it: "3.28.1" for "cmake version 3.28.1-rc2". Empty if there is none.
std::string ParseVersion(std::string_view text);
// Compares the numbers between the dots: 3.9 is before 3.24.
bool VersionAtLeast(std::string_view version, std::string_view min_version);

}  // namespace etprof
