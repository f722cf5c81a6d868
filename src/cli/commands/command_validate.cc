#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command_schemas.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "cli/validate_run.h"
#include "core/error.h"
#include "core/json.h"
#include "core/json_schema_of.h"

namespace etprof {
namespace {

struct ValidateArguments {
  std::vector<std::string> runs;
  bool json = false;
};

struct ValidateJson {
  std::vector<Validation> runs;

  static void Describe(auto& v) {
    v.Constant("schema_version", 1);
    v("runs", &ValidateJson::runs, {.some = true});
  }
};

int RunValidate(const ValidateArguments& arguments) {
  std::vector<Validation> results;
  for (const std::string& run : arguments.runs) results.push_back(ValidateRun(run));
  if (arguments.json) {
    Print("{}\n", JsonText(ToJson(ValidateJson{results}), 2));
  } else {
    for (const Validation& result : results) Print("{}", ValidationText(result));
  }
  const bool all_well =
      std::all_of(results.begin(), results.end(), [](const Validation& result) { return result.AllWell(); });
  return static_cast<int>(all_well ? ExitCode::kDone : ExitCode::kCheckFailed);
}

}  // namespace

nlohmann::ordered_json ValidateSchema() {
  return SchemaOf<ValidateJson>("`etprof validate --json`",
                                "What is wrong with run directories (docs/validate.md).");
}

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
