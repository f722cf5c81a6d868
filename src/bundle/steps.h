#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// Told what is being done: one line for people, without a newline.
using StepProgress = std::function<void(const std::string&)>;

// What a finished program printed.
struct StepOutput {
  std::string out;
  std::string errors;
};

// Runs a program of this machine to its end. Throws Error (kDeviceFailed) "PROGRAM could not WHAT: REASON",
// where the reason is the first line of its output with "error" in it, else the last one, and the log holds
// everything (when `log` is given); or as StartLocalProcess where the program is missing. `on_line` sees
// every line of its stdout as it comes.
StepOutput RunStep(const std::vector<std::string>& command, const std::string& what,
                   const std::filesystem::path& log = {},
                   const std::function<void(std::string_view)>& on_line = {});

// The line of a failed program's output that says why.
std::string TellingLine(const std::string& text);

}  // namespace etprof
