#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "core/error.h"
#include "say/subjects.h"
#include "workflow/validate.h"

namespace etprof {
namespace {

int RunValidate(const std::vector<std::string>& runs, const View& view) {
  Validations found;
  for (const std::string& run : runs) found.runs.push_back(ValidateRun(run));
  ShowDocument(say::SayValidations(found), view, found);
  return static_cast<int>(found.AllWell() ? ExitCode::kDone : ExitCode::kCheckFailed);
}

}  // namespace

std::function<int()> ValidateCommand(CLI::App& app) {
  const auto parsed = std::make_shared<Parsed<std::vector<std::string>>>();
  auto& [runs, view] = *parsed;
  AddAlias(app, "--run-dir,--results", app.add_option("run", runs, "Results directories")->required());
  AddDocumentOptions(app, view, "Show the findings as JSON", {say::SayValidations({{Validation()}})});
  return [parsed] { return RunValidate(parsed->options, parsed->view); };
}

}  // namespace etprof
