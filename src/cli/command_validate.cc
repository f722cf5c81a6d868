#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/analyze_files.h"
#include "cli/commands.h"
#include "core/error.h"
#include "render/html.h"
#include "validate/validator.h"

namespace etprof {
namespace {

struct Arguments {
  std::vector<std::string> runs;
  bool json = false;
};

struct Result {
  std::string run;
  bool foreign = false;
  std::vector<Finding> findings;

  std::ptrdiff_t Count(Finding::Severity severity) const {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& finding) { return finding.severity == severity; });
  }
  bool AllWell() const { return Count(Finding::Severity::kBroken) == 0; }
};

Result Validate(const std::string& folder) {
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
    RunData run = validator.analysed_with_bare_files() ? LoadRunDirectory(folder) : validator.run();
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

void ShowText(const Result& result) {
  for (const Finding& finding : result.findings) {
    // As an Error's message: names come from files, and control characters stay off the terminal.
    Error line(ExitCode::kCheckFailed, fmt::format("{} [{}]", finding.problem, finding.check));
    fmt::print("{}  {}\n", finding.severity == Finding::Severity::kBroken ? "broken " : "warning",
               line.InFile(finding.file).Message());
  }
  const auto broken = result.Count(Finding::Severity::kBroken);
  const auto warnings = result.Count(Finding::Severity::kWarning);
  const std::string said = warnings == 0   ? ""
                           : warnings == 1 ? ", 1 warning"
                                           : fmt::format(", {} warnings", warnings);
  if (broken == 0) {
    fmt::print("{}: {}{}\n", result.run, result.foreign ? "can be read" : "all is well", said);
  } else {
    fmt::print("{}: {} broken{}\n", result.run, broken, said);
  }
}

nlohmann::ordered_json JsonOf(const Result& result) {
  nlohmann::ordered_json json;
  json["run"] = result.run;
  json["ok"] = result.AllWell();
  json["foreign"] = result.foreign;
  json["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : result.findings) {
    json["findings"].push_back(
        {{"severity", finding.severity == Finding::Severity::kBroken ? "broken" : "warning"},
         {"check", finding.check},
         {"file", finding.file},
         {"problem", finding.problem}});
  }
  return json;
}

int Run(const Arguments& arguments) {
  std::vector<Result> results;
  for (const std::string& run : arguments.runs) results.push_back(Validate(run));
  if (arguments.json) {
    nlohmann::ordered_json json;
    json["schema_version"] = 1;
    json["runs"] = nlohmann::ordered_json::array();
    for (const Result& result : results) json["runs"].push_back(JsonOf(result));
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    for (const Result& result : results) ShowText(result);
  }
  const bool all_well =
      std::all_of(results.begin(), results.end(), [](const Result& result) { return result.AllWell(); });
  return static_cast<int>(all_well ? ExitCode::kDone : ExitCode::kCheckFailed);
}

}  // namespace

CommandSpec ValidateCommand() {
  return {"validate", "check every promise of a run directory",
          "etprof validate out_toy_cnn/runs/linux-x86_64", [](CLI::App& app) -> std::function<int()> {
            auto arguments = std::make_shared<Arguments>();
            app.add_option("run,--run-dir,--results", arguments->runs, "run directories")->required();
            app.add_flag("--json", arguments->json, "show the findings as JSON");
            return [arguments] { return Run(*arguments); };
          }};
}

}  // namespace etprof
