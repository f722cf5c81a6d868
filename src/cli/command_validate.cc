#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/analyze_files.h"
#include "cli/commands.h"
#include "core/error.h"
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
  Validator validator(folder);
  if (!validator.locked()) {
    RunData run = validator.run();
    std::vector<std::size_t> warnings;
    for (const ExperimentData& data : run.experiments) warnings.push_back(data.warnings.size());
    const auto profiles = ProfileRun(
        run, /*tolerant=*/true, [&](const ExperimentData& data, const Trace& trace, const Profile& profile) {
          validator.CheckTrace(data, trace, profile);
        });
    for (std::size_t i = 0; i < run.experiments.size(); ++i) {
      const ExperimentData& data = run.experiments[i];
      if (data.etdump.empty() || profiles[i]) continue;
      validator.CannotRead(data,
                           data.warnings.size() > warnings[i] ? data.warnings.back() : "cannot be read");
    }
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
