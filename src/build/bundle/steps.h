#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace etprof {

// Callbacks of the steps of a build.
struct StepProgress {
  std::function<void(const std::string&)> report;  // gets the current activity as a line without a newline
  std::function<bool()> interrupted = {};          // true: the step stops; empty: steps never stop
};

// The output of a finished program.
struct StepOutput {
  std::string out;
  std::string errors;
};

// Runs a program of this machine to its end. Throws Error (kDeviceFailed) "PROGRAM could not ACTION: REASON"
// if the program fails. The reason is the first line of its output with "error" in it, else the last line. If
// `log` is not empty, the whole output is written to that file. Throws the exceptions of StartLocalProcess if
// the program is missing. When `interrupted` returns true, ends the program and throws Error (kInterrupted).
// `on_line` gets every line of stdout as it arrives.
StepOutput RunStep(const std::vector<std::string>& command, const std::string& action,
                   const std::function<bool()>& interrupted = {}, const std::filesystem::path& log = {},
                   const std::function<void(std::string_view)>& on_line = {});

// Sets the remedy of a failed step: to free space if the disk is full, else `remedy`.
Error& SetStepRemedy(Error& error, const std::string& remedy);

// The line in a failed program's output that shows the reason.
std::string FindErrorLine(const std::string& text);

}  // namespace etprof
