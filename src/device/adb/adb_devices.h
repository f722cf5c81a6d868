#pragma once

#include <functional>
#include <string>
#include <vector>

namespace etprof {

// A line of `adb devices -l`.
struct AdbListing {
  std::string serial;
  std::string state;   // "device", "unauthorized", "offline", "no permissions (...)", ...
  std::string remedy;  // what the user has to do to reach the state "device"; empty in that state
};

// Finds the line of adb's messages that has the cause of a failure, and returns it without "error: ". The
// last line is not always the cause: it may only refer to a manual. Empty if adb printed nothing.
std::string AdbProblem(const std::string& output);

// The remedy for a device state or a problem of AdbProblem; empty for the state "device".
std::string AdbRemedy(const std::string& state_or_problem);

std::vector<AdbListing> ParseAdbDevices(const std::string& output);

// Runs `adb devices -l`; adb starts its server if none is running. Throws Error: kBadInput if adb is missing,
// kDeviceFailed if adb fails or does not answer within `timeout_seconds`, kInterrupted.
std::vector<AdbListing> ListAdbDevices(double timeout_seconds, const std::function<bool()>& interrupted = {});

// The command that starts adb: the words of $ETPROF_ADB, or "adb".
std::vector<std::string> AdbCommand();

}  // namespace etprof
