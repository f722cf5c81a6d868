#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/options.h"
#include "report/static_check.h"
#include "say/document.h"
#include "say/gates.h"
#include "workflow/check.h"
#include "workflow/static_check.h"

// What the commands that are gates share.
namespace etprof {

// Where a gate's result is written, beside the screen; empty: nowhere.
struct CheckOutputs {
  std::string junit, github_summary;  // one that exists is appended to

  // With the file that $GITHUB_STEP_SUMMARY names in place of the `github_summary` "true". Throws Error
  // (kUsage) where it names none.
  CheckOutputs Resolved() const;
  // Throws Error (kDeviceFailed).
  void Write(const say::TestSuite& suite, const say::Document& document) const;
};

// --junit and --github-summary.
void AddGateFileOptions(CLI::App& app, CheckOutputs& files);

// --thresholds.
void AddThresholdsOption(CLI::App& app, StaticCheckOptions& options);

// `flag` goes with those options only, by name, among all that `app` has.
void ExcludeOthers(CLI::App& app, CLI::Option* flag, const std::vector<std::string>& with);

// The value of an option that is a change, above 0: "2%" is 0.02. Throws Error (kUsage).
double PercentAboveZero(const char* option, const std::string& text);

// `error`: something could not be measured, which a failed check outweighs.
ExitCode CodeOf(GateDecision decision, bool require_conclusive, bool error = false);

// Checks, writes the files, shows the result, and returns the exit code.
int RunStaticCheck(const StaticCheckOptions& options, const CheckOutputs& files, const View& view);
// Of the two programs that `given` names. Throws Error (kUsage) where they are not two.
int RunStaticCheck(const CheckOptions& given, StaticCheckOptions options, const CheckOutputs& files,
                   const View& view);

}  // namespace etprof
