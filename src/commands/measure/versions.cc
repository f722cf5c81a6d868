#include <memory>

#include "commands/commands.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal_progress.h"

namespace etprof {

std::function<int()> VersionsCommand(CLI::App& app) {
  const auto parsed = std::make_shared<Parsed<VersionsOptions>>();
  auto& [options, view] = *parsed;
  AddOption(app, "model,--model MODEL", options.model,
            "Program (.pte) to measure, or a model that each release exports, as `etprof export` takes it")
      ->required();
  AddDescribedOptions(app, options);
  app.get_option("--versions")->delimiter(',');
  SetMeasureTexts({.max_seconds = "60 for each pair",
                   .threads = "1; several measure every release with each",
                   .output_root = "out_<model>/runs/<platform>-versions"},
                  app);
  AddViewOptions(app, view, "Show the analysis as JSON", "comparison");
  return [parsed] {
    WithProgress(ExportWithReleases, parsed->options);
    return MeasureAndShow(MakeJobs(parsed->options), parsed->options.measure, parsed->view);
  };
}

}  // namespace etprof
