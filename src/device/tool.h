#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "device/device.h"

namespace etprof {

struct ToolOptions {
  std::filesystem::path input = {};   // becomes its stdin; empty: it has none
  std::filesystem::path output = {};  // takes its stdout, byte for byte; empty: ToolResult::output does
  double timeout_seconds = 60;
  std::function<bool()> interrupted = {};
};

struct ToolResult {
  ExitStatus status;
  std::string output;  // stdout, at most 16 MB of it
  std::string errors;  // the last 4 kB of stderr
  bool timed_out = false;
  bool Success() const { return !timed_out && status.Success(); }
};

// Runs a program of this machine (ssh, adb) to its end, or kills it after the time. Throws as Device::Start,
// and Error (kInterrupted).
ToolResult RunTool(const std::vector<std::string>& words, const ToolOptions& options = {});

// The words that start a client program of this machine: those of the environment variable, where it has any,
// else the usual one.
std::vector<std::string> ClientWords(const char* variable, const std::string& usual);

}  // namespace etprof
