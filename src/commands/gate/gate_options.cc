#include "commands/gate/gate_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>

#include "commands/terminal/show.h"
#include "commands/terminal/terminal.h"
#include "core/error.h"
#include "core/file/file.h"
#include "device/tool.h"
#include "show/formats.h"
#include "show/formats/export/test_suite.h"
#include "show/gates.h"

namespace etprof {

namespace {

Error CannotAppend(const std::string& github_summary, int error) {
  return Error(ExitCode::kDeviceFailed, std::string("cannot be written: ") + std::strerror(error))
      .InFile(github_summary)
      .Remedy("name another file with `--github-summary=FILE`");
}

}  // namespace

CheckOutputs CheckOutputs::WithSummaryFile() const {
  if (github_summary.empty()) return *this;
  const std::string file =
      github_summary == "true" ? EnvironmentVariable("GITHUB_STEP_SUMMARY") : github_summary;
  if (file.empty()) {
    throw Error(ExitCode::kUsage, "`--github-summary` needs GITHUB_STEP_SUMMARY, which is not set")
        .Remedy("name a file: `--github-summary=FILE`");
  }
  const bool is_folder = IsFolder(file);
  if (is_folder || !IsFolder(std::filesystem::absolute(file).parent_path()))
    throw CannotAppend(file, is_folder ? EISDIR : ENOENT);
  return {junit, file};
}

void CheckOutputs::Write(const show::TestSuite& suite, const show::Document& document) const {
  if (!junit.empty()) WriteOutput(junit, [&](std::ostream& out) { RenderJunit(suite, out); });
  if (github_summary.empty()) return;
  // The file collects the output of several commands of a step, and may be impossible to replace: append to
  // it.
  std::ofstream out(github_summary, std::ios::app | std::ios::binary);
  RenderDocumentMarkdown(document, 2, out);
  out.close();
  if (!out) throw CannotAppend(github_summary, errno);
  if (EnvironmentVariable("GITHUB_ACTIONS") != "true") return;
  std::ostringstream annotations;
  RenderGithubAnnotations(suite, EnvironmentVariable("GITHUB_WORKSPACE"), annotations);
  WriteToStderr(annotations.str());
}

void AddGateFileOptions(CLI::App& app, CheckOutputs& files) {
  AddOption(app, "--junit FILE", files.junit, "Write the result as JUnit XML");
  app.add_flag("--github-summary", files.github_summary,
               "Append a Markdown table to $GITHUB_STEP_SUMMARY, or to FILE with --github-summary=FILE. In a "
               "GitHub workflow, also annotate what did not pass, at the model's lines");
}

void AddThresholdsOption(CLI::App& app, StaticCheckOptions& options) {
  AddOption(app, "--thresholds FILE", options.thresholds,
            "Check the limits in this file (docs/guides/ci.md)");
}

double ParsePositivePercentage(const char* option, const std::string& text) {
  const std::optional<double> value = ReadPercentage(option, text.empty() ? "0%" : text);
  if (*value > 0) return *value;
  throw Error(ExitCode::kUsage, fmt::format("`{} {}` is not a percentage above 0%", option, text))
      .Remedy(fmt::format("give one, such as `{} 2%`", option));
}

ExitCode GateExitCode(GateDecision decision, bool require_conclusive, bool has_error) {
  if (IsGateError(decision, has_error)) return ExitCode::kDeviceFailed;
  if (decision == GateDecision::kPass) return ExitCode::kDone;
  return RequireConclusive(decision, require_conclusive) == GateDecision::kFail ? ExitCode::kCheckFailed
                                                                                : ExitCode::kInconclusive;
}

int RunStaticCheck(const StaticCheckOptions& options, const CheckOutputs& files, const View& view) {
  const CheckOutputs outputs = files.WithSummaryFile();
  const StaticCheck check = CheckStaticFiles(options);
  const show::Document document = show::MakeStaticCheckDocument(check);
  outputs.Write(show::MakeTestSuite(check), document);
  ShowDocument(document, view, check);
  return static_cast<int>(GateExitCode(check.decision, check.require_conclusive));
}

int RunStaticCheck(const CheckOptions& check_options, StaticCheckOptions options, const CheckOutputs& files,
                   const View& view) {
  std::tie(options.baseline, options.candidate) = GetInputPaths(check_options);
  if (options.baseline.empty() || options.candidate.empty()) {
    throw Error(ExitCode::kUsage, "`--static` compares two programs")
        .Remedy(
            "run `etprof check --static A.pte B.pte`, or give the limits of one program to `etprof inspect`");
  }
  options.require_conclusive = check_options.limits.require_conclusive;
  return RunStaticCheck(options, files, view);
}

}  // namespace etprof
