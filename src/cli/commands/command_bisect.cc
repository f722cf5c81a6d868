#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "say/bisection.h"
#include "workflow/bisect.h"

namespace etprof {
namespace {

struct BisectArguments {
  BisectOptions options;
  View view;
};

int RunBisect(const BisectArguments& arguments) {
  const Bisection bisection = [&] {
    TerminalProgress progress;
    return Bisect(arguments.options, progress);
  }();
  ShowDocument(say::SayBisection(bisection), arguments.view, bisection.folder);
  const bool found = bisection.result == Bisection::Result::kFound;
  const bool refuted = bisection.result == Bisection::Result::kNotSlower;
  return static_cast<int>(found     ? ExitCode::kDone
                          : refuted ? ExitCode::kCheckFailed
                                    : ExitCode::kInconclusive);
}

}  // namespace

std::function<int()> BisectCommand(CLI::App& app) {
  const auto arguments = std::make_shared<BisectArguments>();
  BisectOptions& options = arguments->options;
  app.add_option("command", options.command, "Builds a commit; runs in a checkout of its own")
      ->option_text("-- COMMAND...")
      ->expected(-1);
  app.add_option("--good", options.good, "Commit that is fast")->required()->type_name("SHA");
  app.add_option("--bad", options.bad, "Later commit that is slow")->required()->type_name("SHA");
  app.add_option("--repository", options.repository, "Where the commits are (default: the working directory)")
      ->type_name("DIR");
  app.add_option("--built-model", options.built_model, "Model that COMMAND leaves, relative to the checkout")
      ->type_name("FILE");
  app.add_option("--built-runner", options.built_runner,
                 "Runner that COMMAND leaves, relative to the checkout")
      ->type_name("FILE");
  app.add_option("--model", options.model, "Model that stays the same")->type_name("FILE");
  AddMeasureOptions(app, options.measure,
                    {.max_seconds = "60 for each step",
                     .launches = "10 to 160, until a step is decided",
                     .threads = "1",
                     .output_root = "out_bisect",
                     .several_threads = false});
  AddModelOptions(app, options.measure);
  AddViewOptions(app, arguments->view, "Show the result as JSON");
  AddDocumentOptions(app, arguments->view, {"steps"});
  return [arguments] { return RunBisect(*arguments); };
}

}  // namespace etprof
