#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "show/subjects.h"
#include "workflow/analyze/diff.h"

namespace etprof {

std::function<int()> DiffCommand(CLI::App& app) {
  const auto parsed = std::make_shared<Parsed<DiffFilesOptions>>();
  auto& [options, view] = *parsed;
  AddOption(app, "baseline A.pte", options.baseline, "Baseline program (.pte)")->required();
  AddOption(app, "candidate B.pte", options.candidate, "Candidate program (.pte)")->required();
  AddOption(app, "--run RUN...", options.runs,
            "Show each operator's time from this run: a results directory with both programs, one directory "
            "for each, or an ETDump of A.pte and one of B.pte");
  AddDocumentOptions(app, view, "Show the differences as JSON");
  return [parsed] {
    const auto& [given, shown] = *parsed;
    const DiffOfFiles result = DiffFiles(given);
    ShowDocument(show::MakeDiffDocument(result.diff, given.baseline.string(), given.candidate.string(),
                                       result.warnings),
                 shown, "");
    return 0;
  };
}

}  // namespace etprof
