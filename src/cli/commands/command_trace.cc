#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/terminal_progress.h"
#include "core/units.h"
#include "workflow/analyze/trace.h"

namespace etprof {
namespace {

int RunTrace(const TraceOptions& options) {
  const WrittenTrace written = WithProgress(WriteTrace, options);
  PrintMessage("{} of {}; open it at https://ui.perfetto.dev{}\n", CountedText(written.runs, "run"),
               CountedText(written.experiments, "experiment"), written.chrome ? " or in speedscope" : "");
  ShowFile(written.file);
  return 0;
}

}  // namespace

std::function<int()> TraceCommand(CLI::App& app) {
  const auto options = std::make_shared<TraceOptions>();
  options->write = WriteOutput;
  AddAlias(app, "--run-dir,--etdump",
           app.add_option("path", options->paths, "Results directory, or ETDump files and timeline CSVs")
               ->required());
  AddOption(app, "-o,--out FILE", options->output,
            "File to write, or - for stdout. A name with .json gets Chrome's format, one with .gz is "
            "compressed (default: trace.pftrace in the results directory)");
  app.add_option("--format", options->format,
                 "Format: perfetto (exact to the nanosecond) or chrome (JSON) (default: by the file's name)")
      ->check(CLI::IsMember({"perfetto", "chrome"}));
  app.add_option("--run", options->run,
                 "Traced runs of each experiment: all, median, or a number from 0 (default: all)");
  app.add_option("--model", options->model,
                 "Program (.pte) that wrote the ETDump files, for layers, shapes, and MACs")
      ->check(CLI::ExistingFile);
  app.add_option("--etrecord", options->etrecord,
                 "File that maps operators to layers (default: MODEL.pte.etrecord)")
      ->check(CLI::ExistingFile);
  AddTimeScaleOption(app, options->etdump);
  return [options] { return RunTrace(*options); };
}

}  // namespace etprof
