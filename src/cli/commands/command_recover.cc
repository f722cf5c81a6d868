#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "measure/store/run_data.h"
#include "workflow/analyze/analyze.h"

namespace etprof {
namespace {

int RunRecover(const std::vector<std::string>& runs) {
  int code = 0;
  for (const std::string& run : runs) {
    const bool recovered = RecoverRunDirectory(run);
    AnalyzeRunDirectory(run);
    Print("{}: {}\n", run,
          recovered ? "partial results are merged and analyzed" : "there is nothing to recover");
    if (const int found = ValidateRecovered(run); found != 0) code = found;
  }
  return code;
}

}  // namespace

std::function<int()> RecoverCommand(CLI::App& app) {
  const auto runs = std::make_shared<std::vector<std::string>>();
  AddAlias(app, "--run-dir", app.add_option("run", *runs, "Results directories")->required());
  return [runs] { return RunRecover(*runs); };
}

}  // namespace etprof
