#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/analyze_run.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "cli/validate_run.h"
#include "core/error.h"
#include "measure/store/run_data.h"

namespace etprof {
namespace {

int RunRecover(const std::vector<std::string>& runs) {
  int code = static_cast<int>(ExitCode::kDone);
  for (const std::string& run : runs) {
    const bool recovered = RecoverRunDirectory(run);
    AnalyzeRunDirectory(run, {});
    Print("{}: {}\n", run,
          recovered ? "what was measured is merged and analysed" : "there was nothing to recover");
    if (const int found = ValidateRecovered(run); found != 0) code = found;
  }
  return code;
}

}  // namespace

CommandSpec RecoverCommand() {
  return {"recover", "merge what a killed measurement left behind in its run directory",
          "etprof recover out_toy_cnn/runs/linux-x86_64", [](CLI::App& app) -> std::function<int()> {
            auto runs = std::make_shared<std::vector<std::string>>();
            app.add_option("run,--run-dir", *runs, "run directories")->required();
            return [runs] { return RunRecover(*runs); };
          }};
}

}  // namespace etprof
