#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "device/device.h"

namespace etprof {

// What a program of this machine printed, on both streams in their order, and how it ended.
struct ToolRun {
  ExitStatus status;
  std::string output;
};
// Runs it to its end and hands each line of its output to `on_line` (which may be empty). Throws Error:
// kInterrupted when `interrupted` says so, kDeviceFailed when it says nothing for `silence_seconds`; in both
// cases it and what it has started are ended first. Otherwise as Device::Start.
ToolRun RunTool(const Command& command, double silence_seconds,
                const std::function<void(std::string_view)>& on_line,
                const std::function<bool()>& interrupted);

// A program with its version, "3.28.1".
struct HostTool {
  std::string path;
  std::string version;
};
// `name` on PATH or, where that is older than `least` or missing, in `own_folder`. The newer one found, even
// when it is too old; absent: neither is there.
std::optional<HostTool> FindTool(const std::string& name, std::string_view least,
                                 const std::filesystem::path& own_folder);

// The first number with a dot in it: "cmake version 3.28.1-rc2" is "3.28.1". Empty where there is none.
std::string VersionIn(std::string_view text);
// Compares by number: 3.9 is before 3.24.
bool VersionAtLeast(std::string_view version, std::string_view least);

}  // namespace etprof
