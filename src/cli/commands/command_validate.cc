#include <algorithm>
#include <memory>

#include "cli/command_schemas.h"
#include "cli/commands.h"
#include "cli/show.h"
#include "core/error.h"
#include "core/json_schema_of.h"

namespace etprof {
namespace {

struct ValidateJson {
  std::vector<Validation> runs;

  static void Describe(auto& v) {
    v.Constant("schema_version", 1);
    v("runs", &ValidateJson::runs, {.some = true});
  }
};

int RunValidate(const std::vector<std::string>& runs, bool as_json) {
  std::vector<Validation> results;
  for (const std::string& run : runs) results.push_back(ValidateRun(run));
  if (as_json) {
    PrintJson(ToJson(ValidateJson{results}));
  } else {
    for (const Validation& result : results) Print("{}", ValidationText(result));
  }
  const bool all_well = std::ranges::all_of(results, &Validation::AllWell);
  return static_cast<int>(all_well ? ExitCode::kDone : ExitCode::kCheckFailed);
}

}  // namespace

nlohmann::ordered_json ValidateSchema() {
  return SchemaOf<ValidateJson>("`etprof validate --json`",
                                "What is wrong with results directories (docs/reference/files.md).");
}

std::function<int()> ValidateCommand(CLI::App& app) {
  struct Parsed {
    std::vector<std::string> runs;
    bool json = false;
  };
  const auto parsed = std::make_shared<Parsed>();
  AddAlias(app, "--run-dir,--results",
           app.add_option("run", parsed->runs, "Results directories")->required());
  app.add_flag("--json", parsed->json, "Show the findings as JSON");
  return [parsed] { return RunValidate(parsed->runs, parsed->json); };
}

}  // namespace etprof
