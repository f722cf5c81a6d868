#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/say.h"
#include "cli/validate_run.h"
#include "core/error.h"
#include "core/json.h"

namespace etprof {
namespace {

struct ValidateArguments {
  std::vector<std::string> runs;
  bool json = false;
};

nlohmann::ordered_json JsonOf(const Validation& result) {
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

int RunValidate(const ValidateArguments& arguments) {
  std::vector<Validation> results;
  for (const std::string& run : arguments.runs) results.push_back(ValidateRun(run));
  if (arguments.json) {
    nlohmann::ordered_json json;
    json["schema_version"] = 1;
    json["runs"] = nlohmann::ordered_json::array();
    for (const Validation& result : results) json["runs"].push_back(JsonOf(result));
    Print("{}\n", JsonText(json, 2));
  } else {
    for (const Validation& result : results) Print("{}", ValidationText(result));
  }
  const bool all_well =
      std::all_of(results.begin(), results.end(), [](const Validation& result) { return result.AllWell(); });
  return static_cast<int>(all_well ? ExitCode::kDone : ExitCode::kCheckFailed);
}

}  // namespace

CommandSpec ValidateCommand() {
  return {"validate", "check every promise of a run directory",
          "etprof validate out_toy_cnn/runs/linux-x86_64", [](CLI::App& app) -> std::function<int()> {
            auto arguments = std::make_shared<ValidateArguments>();
            app.add_option("run,--run-dir,--results", arguments->runs, "run directories")->required();
            app.add_flag("--json", arguments->json, "show the findings as JSON");
            return [arguments] { return RunValidate(*arguments); };
          }};
}

}  // namespace etprof
