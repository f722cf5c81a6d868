#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "core/error.h"
#include "core/json/json_members.h"

namespace etprof {
namespace {

int RunValidate(const std::vector<std::string>& runs, bool as_json) {
  Validations results;
  for (const std::string& run : runs) results.runs.push_back(ValidateRun(run));
  if (as_json) {
    PrintJson(ToJson(results));
  } else {
    for (const Validation& result : results.runs) Print("{}", ValidationText(result));
  }
  const bool all_well = std::ranges::all_of(results.runs, &Validation::AllWell);
  return static_cast<int>(all_well ? ExitCode::kDone : ExitCode::kCheckFailed);
}

}  // namespace

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
