#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "show/gates.h"
#include "workflow/measure/bisect.h"

namespace etprof {
namespace {

int RunBisect(const BisectOptions& options, const View& view) {
  const Bisection bisection = WithProgress(Bisect, options);
  ShowDocument(show::MakeBisectionDocument(bisection), view, bisection.folder);
  const bool found = bisection.result == Bisection::Result::kFound;
  const bool refuted = bisection.result == Bisection::Result::kNotSlower;
  return static_cast<int>(found     ? ExitCode::kDone
                          : refuted ? ExitCode::kCheckFailed
                                    : ExitCode::kInconclusive);
}

}  // namespace

std::function<int()> BisectCommand(CLI::App& app) {
  const auto parsed = std::make_shared<Parsed<BisectOptions>>();
  auto& [options, view] = *parsed;
  app.add_option("command", options.command, "Command that builds a commit. It runs in a separate checkout")
      ->option_text("-- COMMAND...")
      ->expected(-1);
  AddOption(app, "--good SHA", options.good, "Commit that is fast")->required();
  AddOption(app, "--bad SHA", options.bad, "Later commit that is slow")->required();
  AddDescribedOptions(app, options);
  SetMeasureTexts({.max_seconds = "60 for each step",
                   .launches = "10 to 160, until the step is decided",
                   .threads = "1",
                   .output_root = "out_bisect",
                   .several_threads = false},
                  app);
  AddDocumentOptions(app, view, "Show the result as JSON", {show::MakeBisectionDocument({})});
  return [parsed] { return RunBisect(parsed->options, parsed->view); };
}

}  // namespace etprof
