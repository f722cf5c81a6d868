#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "commands/gate/check.h"
#include "commands/gate/static_check.h"
#include "commands/terminal/options.h"
#include "show/document.h"
#include "show/gates.h"

// Options and results that the gate commands share.
namespace etprof {

// Files that receive a gate's result, in addition to the screen; empty: not written.
struct CheckOutputs {
  std::string junit, github_summary;  // a github_summary that exists is appended to

  // Replaces the `github_summary` "true" by the file named in $GITHUB_STEP_SUMMARY. Throws Error (kUsage) if
  // that is not set.
  CheckOutputs WithSummaryFile() const;
  // Writes the files. Throws Error (kDeviceFailed).
  void Write(const show::TestSuite& suite, const show::Document& document) const;
};

// Adds --junit and --github-summary.
void AddGateFileOptions(CLI::App& app, CheckOutputs& files);

void AddThresholdsOption(CLI::App& app, StaticCheckOptions& options);

// Parses the value of an option that is a relative change above 0: "2%" is 0.02. Throws Error (kUsage).
double ParsePositivePercentage(const char* option, const std::string& text);

// Returns the exit code of a gate. With `error`, something could not be measured, but a failed check takes
// precedence.
ExitCode GateExitCode(GateDecision decision, bool require_conclusive, bool has_error = false);

// Checks the program, writes the files, shows the result, and returns the exit code.
int RunStaticCheck(const StaticCheckOptions& options, const CheckOutputs& files, const View& view);
// Does the same as above for the two programs of `check_options`. Throws Error (kUsage) unless there are two.
int RunStaticCheck(const CheckOptions& check_options, StaticCheckOptions options, const CheckOutputs& files,
                   const View& view);

}  // namespace etprof
