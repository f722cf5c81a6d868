#pragma once

#include <functional>
#include <string>
#include <vector>

namespace etprof {

// A line of `adb devices -l`.
struct AdbListing {
  std::string serial;
  std::string state;   // "device", "unauthorized", "offline", "no permissions (...)", ...
  std::string remedy;  // what makes it "device"; empty where it is
};

// The line of adb's messages that has the cause of a failure, without "error: ". The cause is not always in
// the last line, which may only lead to a manual. Empty where adb printed none.
std::string AdbProblem(const std::string& printed);

// What to do about a state of a device or an AdbProblem; empty for the state "device".
std::string AdbRemedy(const std::string& state_or_problem);

std::vector<AdbListing> ParseAdbDevices(const std::string& printed);

// What adb's server lists; adb starts the server where none runs. Throws Error: kBadInput where there is no
// adb, kDeviceFailed where it does not answer within `timeout_seconds`, kInterrupted.
std::vector<AdbListing> ListAdbDevices(double timeout_seconds, const std::function<bool()>& interrupted = {});

// The words that start adb: those of $ETPROF_ADB, or "adb".
std::vector<std::string> AdbWords();

}  // namespace etprof
