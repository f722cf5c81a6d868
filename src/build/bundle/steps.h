#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// What the steps of a build report, and whether they are to stop.
struct StepProgress {
  std::function<void(const std::string&)> report;  // gets the current activity as one line, without a newline
  std::function<bool()> interrupted = {};          // empty: they never stop
};

// The output of a finished program.
struct StepOutput {
  std::string out;
  std::string errors;
};

// Runs a program of this machine to its end. Throws Error (kDeviceFailed) "PROGRAM could not WHAT: REASON" if
// it fails, where the reason is its first line of output with "error" in it, else the last line; `log`, if
// given, gets the whole output. Throws as StartLocalProcess if the program is missing, and Error
// (kInterrupted) after it has ended the program because `interrupted` returned true. `on_line` gets every
// line of stdout as it arrives.
StepOutput RunStep(const std::vector<std::string>& command, const std::string& what,
                   const std::function<bool()>& interrupted = {}, const std::filesystem::path& log = {},
                   const std::function<void(std::string_view)>& on_line = {});

// The line in a failed program's output that shows the reason.
std::string FindErrorLine(const std::string& text);

}  // namespace etprof
