#include "cli/validate_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "cli/analyze_files.h"
#include "cli/say.h"
#include "core/error.h"
#include "render/page/html.h"
#include "validate/validator.h"

namespace etprof {

std::ptrdiff_t Validation::Count(Finding::Severity severity) const {
  return std::ranges::count_if(findings,
                               [&](const Finding& finding) { return finding.severity == severity; });
}

Validation ValidateRun(const std::string& folder) {
  Validator validator(folder, ETPROF_VERSION);
  if (validator.locked()) return {folder, validator.foreign(), validator.Finish()};
  // The ETDumps that the manifest names, or all where there is none, and how many warnings each has by now.
  std::map<std::filesystem::path, std::size_t> known;
  for (const ExperimentData& data : validator.run().experiments) known[data.etdump] = data.warnings.size();
  const TraceVisitor visit = [&](const ExperimentData& data, const Trace& trace, const Profile& profile) {
    if (known.contains(data.etdump)) validator.CheckTrace(data, trace, profile);
  };
  const auto tell_unread = [&](const ExperimentData& data, bool read) {
    if (data.etdump.empty() || read || !known.contains(data.etdump)) return;
    const bool told = data.warnings.size() > known.at(data.etdump);
    validator.CannotRead(data, told ? data.warnings.back() : "cannot be read");
  };
  if (validator.can_rebuild()) {
    // As `etprof analyze` does it, but what it makes is only looked at.
    RunData run = validator.analysed_with_bare_files() ? OpenRunDirectory(folder) : validator.run();
    OutputFolders folders;
    folders.report = run.folder;
    folders.timeline = validator.analysed_with_timeline();
    std::ifstream page(run.folder / "report.html", std::ios::binary);
    folders.title = ReadTitle(page);
    folders.write = [&](const std::filesystem::path& file, const std::function<void(std::ostream&)>& render) {
      validator.CheckDerived(file, render);
    };
    RunPrograms programs;
    const Report report = AnalyzeInto(std::move(run), folders, /*tolerant=*/true, programs, {}, visit);
    for (const ReportExperiment& experiment : report.experiments)
      tell_unread(report.run.experiments[experiment.index], experiment.profile.has_value());
  } else {
    RunData run = validator.run();
    const auto profiles = ProfileRun(run, /*tolerant=*/true, visit);
    for (std::size_t i = 0; i < run.experiments.size(); ++i)
      tell_unread(run.experiments[i], profiles[i].has_value());
  }
  return {folder, validator.foreign(), validator.Finish()};
}

std::string ValidationText(const Validation& result) {
  std::string text;
  for (const Finding& finding : result.findings) {
    // As an Error's message: names come from files, and control characters stay off the terminal.
    Error line(ExitCode::kCheckFailed, fmt::format("{} [{}]", finding.problem, finding.check));
    text += fmt::format("{}  {}\n", finding.severity == Finding::Severity::kBroken ? "broken " : "warning",
                        line.InFile(finding.file).Message());
  }
  const auto broken = result.Count(Finding::Severity::kBroken);
  const auto warnings = result.Count(Finding::Severity::kWarning);
  const std::string said = warnings == 0   ? ""
                           : warnings == 1 ? ", 1 warning"
                                           : fmt::format(", {} warnings", warnings);
  const std::string well = result.foreign ? "can be read" : "all is well";
  return text +
         fmt::format("{}: {}{}\n", result.run, broken == 0 ? well : fmt::format("{} broken", broken), said);
}

int ValidateRecovered(const std::string& folder) {
  const Validation result = ValidateRun(folder);
  if (result.AllWell()) return static_cast<int>(ExitCode::kDone);
  SayText(ValidationText(result));
  return static_cast<int>(ExitCode::kDeviceFailed);
}

}  // namespace etprof
