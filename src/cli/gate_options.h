#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/options.h"
#include "report/static_check.h"
#include "workflow/check.h"
#include "workflow/static_check.h"

// What the commands that are gates share.
namespace etprof {

// Where a gate's result goes, besides the screen; empty: nowhere.
struct GateFiles {
  std::string junit, github_summary;
};
// --junit and --github-summary.
void AddGateFileOptions(CLI::App& app, GateFiles& files);

// --thresholds, and an option for each limit of a program where `limits`.
void AddThresholdOptions(CLI::App& app, StaticCheckOptions& options, bool limits);

// `flag` goes with those options only, by name, among all that `app` has.
void ExcludeOthers(CLI::App& app, CLI::Option* flag, const std::vector<std::string>& with);

// The value of an option: "2%" is 0.02. Below 0, the candidate has to be better by so much. Absent: "".
// Throws Error (kUsage).
std::optional<double> PercentOf(const char* option, const std::string& text);
// The same of a change that has to be one: above 0.
double PercentAboveZero(const char* option, const std::string& text);

// `error`: something could not be measured, which a failed check outweighs.
ExitCode CodeOf(GateDecision decision, bool require_conclusive, bool error = false);

// Checks, writes the files, shows the result, and returns the exit code.
int RunStaticCheck(const StaticCheckOptions& options, const GateFiles& files, const View& view);
// Of the two programs that `given` names. Throws Error (kUsage) where they are not two.
int RunStaticCheck(const CheckOptions& given, StaticCheckOptions options, const GateFiles& files,
                   const View& view);

}  // namespace etprof
