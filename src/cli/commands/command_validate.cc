#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "core/error.h"
#include "show/subjects.h"
#include "workflow/validate.h"

namespace etprof {
namespace {

// The command that calls `validate` for each results directory, and exits with `broken` if any is broken.
std::function<int()> ValidatingCommand(CLI::App& app, const char* aliases,
                                       Validation (*validate)(const std::string& run), ExitCode broken) {
  const auto parsed = std::make_shared<Parsed<std::vector<std::string>>>();
  auto& [runs, view] = *parsed;
  AddAlias(app, aliases, app.add_option("run", runs, "Results directories")->required());
  AddDocumentOptions(app, view, "Show the findings as JSON", {show::MakeValidationDocument({{Validation()}})});
  return [parsed, validate, broken] {
    Validations found;
    for (const std::string& run : parsed->options) found.runs.push_back(validate(run));
    ShowDocument(show::MakeValidationDocument(found), parsed->view, found);
    return static_cast<int>(found.Passes() ? ExitCode::kDone : broken);
  };
}

}  // namespace

std::function<int()> ValidateCommand(CLI::App& app) {
  return ValidatingCommand(app, "--run-dir,--results", ValidateRun, ExitCode::kCheckFailed);
}

std::function<int()> RecoverCommand(CLI::App& app) {
  return ValidatingCommand(app, "--run-dir", RecoverRun, ExitCode::kDeviceFailed);
}

}  // namespace etprof
