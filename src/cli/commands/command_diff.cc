#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "say/diff.h"
#include "workflow/diff.h"

namespace etprof {

std::function<int()> DiffCommand(CLI::App& app) {
  struct Parsed {
    DiffFilesOptions options;
    View view;
  };
  const auto parsed = std::make_shared<Parsed>();
  auto& [options, view] = *parsed;
  app.add_option("baseline", options.baseline, "Program, a .pte")->required()->type_name("A.pte");
  app.add_option("candidate", options.candidate, "Program to compare it with")
      ->required()
      ->type_name("B.pte");
  app.add_option(
         "--run", options.runs,
         "Show each operator's time: the results directory that measured both programs, one for each, or "
         "an ETDump of A.pte and one of B.pte")
      ->type_name("RUN...");
  app.add_flag("--json", view.json, "Show the differences as JSON");
  AddDocumentOptions(app, view);
  AddAllOption(app, view.all);
  return [parsed] {
    const auto& [given, shown] = *parsed;
    const DiffOfFiles result = DiffFiles(given);
    ShowDocument(
        say::SayDiff(result.diff, given.baseline.string(), given.candidate.string(), result.warnings), shown,
        "");
    FlushStdout();
    return 0;
  };
}

}  // namespace etprof
