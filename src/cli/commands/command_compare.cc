#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "workflow/analyze/compare.h"

namespace etprof {

std::function<int()> CompareCommand(CLI::App& app) {
  const auto parsed = std::make_shared<Parsed<CompareRunsOptions>>();
  auto& [options, view] = *parsed;
  // Aliases for the two paths, and below for --all, are those of the SME2 profiling kit.
  AddAlias(app, "--timeline-csv",
           app.add_option("baseline", options.baseline,
                          "ETDump, timeline CSV, experiment's folder, or results directory")
               ->required());
  AddAlias(
      app, "--compare",
      app.add_option(
             "candidate", options.candidate,
             "ETDump, timeline CSV, experiment's folder, or results directory to compare with the baseline")
          ->required());
  app.add_option("--name1", options.name1, "Name of the baseline");
  app.add_option("--name2", options.name2, "Name of the candidate");
  AddOption(app, "-o,--output-dir DIR", options.output,
            "Write comparison.json, comparison.md, and tables of the two variants here");
  AddViewOptions(app, view, "Show the comparison as JSON", "comparison", ByOption::kYes);
  app.add_flag("--verbose", view.all)->group("");
  AddTimeScaleOption(app, options.etdump);
  return [parsed] {
    const auto& [given, shown] = *parsed;
    ShowReport(CompareRuns(given), shown,
               given.output.empty() ? "-o DIR writes the whole comparison, operator by operator"
                                    : (given.output / "comparison.md").string());
    return 0;
  };
}

}  // namespace etprof
