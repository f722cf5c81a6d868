#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <utility>

#include "commands/analyze/analyze.h"
#include "commands/terminal/show.h"
#include "core/error.h"
#include "core/file/file.h"
#include "measure/store/run_files.h"
#include "show/formats/report.h"
#include "show/subjects.h"
#include "validate/validator.h"

namespace etprof {

Validation ValidateRun(const std::string& folder) {
  Validator validator(folder, ETPROF_VERSION);
  if (validator.locked()) return {folder, validator.has_foreign_layout(), validator.Finish()};
  // The number of warnings of each ETDump that the manifest names (of all ETDumps if there is no manifest).
  std::map<std::filesystem::path, std::size_t> warning_counts;
  for (const ExperimentData& data : validator.run().experiments)
    warning_counts[data.etdump] = data.warnings.size();
  const TraceVisitor visit = [&](const ExperimentData& data, const Trace& trace, const Profile& profile) {
    if (warning_counts.contains(data.etdump)) validator.CheckTrace(data, trace, profile);
  };
  const auto report_if_unread = [&](const ExperimentData& data, bool was_read) {
    if (data.etdump.empty() || was_read || !warning_counts.contains(data.etdump)) return;
    const bool has_warning = data.warnings.size() > warning_counts.at(data.etdump);
    std::string problem = has_warning ? data.warnings.back() : "cannot be read";
    const std::string file = data.etdump.string();  // the finding already names the file
    if (problem.starts_with(file)) problem.erase(0, file.size() + std::string_view(", ").size());
    validator.ReportUnreadable(data, problem);
  };
  if (validator.can_rebuild()) {
    // Repeats `etprof analyze`, but compares its files with those on disk instead of writing them.
    RunData run = validator.analyzed_with_unlisted_etdumps() ? OpenRunDirectory(folder) : validator.run();
    OutputFolders folders;
    folders.report = run.folder;
    folders.write_timelines = validator.analyzed_with_timeline();
    std::error_code ignored;
    if (const std::filesystem::path file = run.folder / kReportPage;
        std::filesystem::is_regular_file(file, ignored)) {
      std::ifstream page(file, std::ios::binary);
      folders.title = ReadTitle(page);
    }
    folders.write = [&](const std::filesystem::path& file, const std::function<void(std::ostream&)>& render) {
      validator.CheckDerived(file, render);
    };
    const Report report = AnalyzeAndWrite(std::move(run), folders, {}, visit);
    for (const ReportExperiment& experiment : report.experiments)
      report_if_unread(report.run.experiments[experiment.index], experiment.profile.has_value());
  } else {
    RunData run = validator.run();
    const auto profiles = ProfileRun(run, {.join = false}, visit);
    for (std::size_t i = 0; i < run.experiments.size(); ++i)
      report_if_unread(run.experiments[i], profiles[i].has_value());
  }
  return {folder, validator.has_foreign_layout(), validator.Finish()};
}

Validation RecoverRun(const std::string& folder) {
  const bool recovered = RecoverRunDirectory(folder);
  AnalyzeRunDirectory(folder);
  Validation validation = ValidateRun(folder);
  validation.recovered = recovered;
  return validation;
}

namespace {

// Makes a command that calls `validate` for each results directory. Its exit code is `failure_code` if any
// directory is broken.
std::function<int()> MakeValidateCommand(CLI::App& app, const char* aliases,
                                         Validation (*validate)(const std::string& run),
                                         ExitCode failure_code) {
  const auto parsed = std::make_shared<ParsedArguments<std::vector<std::string>>>();
  auto& [runs, view] = *parsed;
  AddAlias(app, aliases, app.add_option("run", runs, "Results directories")->required());
  AddDocumentOptions(app, view, "Show the findings as JSON",
                     {show::MakeValidationDocument({{Validation()}})});
  return [parsed, validate, failure_code] {
    Validations validations;
    for (const std::string& run : parsed->options) validations.runs.push_back(validate(run));
    ShowDocument(show::MakeValidationDocument(validations), parsed->view, validations);
    return static_cast<int>(validations.Passes() ? ExitCode::kDone : failure_code);
  };
}

}  // namespace

std::function<int()> ValidateCommand(CLI::App& app) {
  return MakeValidateCommand(app, "--run-dir,--results", ValidateRun, ExitCode::kCheckFailed);
}

std::function<int()> RecoverCommand(CLI::App& app) {
  return MakeValidateCommand(app, "--run-dir", RecoverRun, ExitCode::kDeviceFailed);
}

}  // namespace etprof
