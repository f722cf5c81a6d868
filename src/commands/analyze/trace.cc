#include "commands/analyze/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "commands/analyze/analyze.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal.h"
#include "commands/terminal/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"
#include "core/units.h"
#include "measure/store/run_files.h"
#include "show/formats/page/gzip.h"
#include "show/formats/trace/trace_writer.h"

namespace etprof {

namespace {

namespace fs = std::filesystem;

TraceSelection ParseTraceSelection(const std::string& run) {
  TraceSelection selection;
  if (run == "all") return selection;
  if (run == "median") {
    selection.runs = TraceSelection::Runs::kMedian;
    return selection;
  }
  const auto index = AsNumber<std::size_t>(run);
  if (!index)
    throw Error(ExitCode::kUsage, fmt::format("`--run {}` is not a run", run))
        .Remedy("give all, median, or a number from 0");
  selection.runs = TraceSelection::Runs::kSingle;
  selection.index = *index;
  return selection;
}

// A configuration, or any other JSON of the user, may have the name of the ETDump with the extension .json.
fs::path DefaultOutput(const fs::path& path, bool is_folder, bool chrome) {
  if (is_folder) return path / (chrome ? kChromeTraceFile : kPerfettoTraceFile);
  return path.parent_path() / (path.stem().string() + (chrome ? ".trace.json" : ".pftrace"));
}

}  // namespace

WrittenTrace WriteTrace(const TraceOptions& options, WorkflowProgress& progress) {
  std::string name = Lower(fs::path(options.output).filename().string());
  const bool compressed = name.ends_with(".gz");
  if (compressed) name.resize(name.size() - 3);
  WrittenTrace written;
  written.chrome = options.format.empty() ? name.ends_with(".json") : options.format == "chrome";
  const TraceSelection selection = ParseTraceSelection(options.run);
  RunData run = OpenRun(options.paths,
                        "a trace is of one results directory, or of ETDump files. Perfetto's batch trace "
                        "processor opens several .pftrace files together (docs/guides/traces.md)");
  const bool is_folder = !run.folder.empty();
  const fs::path first = options.paths.front();
  written.file =
      options.output.empty() ? DefaultOutput(first, is_folder, written.chrome) : fs::path(options.output);
  if (!options.model.empty()) {
    if (is_folder && std::ranges::any_of(run.experiments,
                                         [](const ExperimentData& data) { return !data.model.empty(); })) {
      throw Error(ExitCode::kUsage, "`--model` is not used: a results directory names its own programs")
          .Remedy("leave it out");
    }
    run.model = fs::absolute(options.model);
    for (ExperimentData& data : run.experiments) data.model = run.model;
  }
  const auto write = [&](std::ostream& out) {
    const std::unique_ptr<TraceWriter> writer = written.chrome ? ChromeTraceWriter(out) : PerfettoWriter(out);
    WriteTraceAttributes(run, ETPROF_VERSION, *writer);
    ProfileRun(run, {.tolerant = is_folder, .etdump = options.etdump, .etrecord = options.etrecord},
               [&](const ExperimentData& data, const Trace& trace, const Profile& profile) {
                 written.runs += WriteExperimentTrace(
                     run, data, trace, profile, selection,
                     [&] { progress.StopWhenInterrupted("interrupted: nothing was written"); }, *writer);
                 ++written.experiments;
               });
    writer->Finish();
    if (written.runs == 0) {
      throw Error(ExitCode::kBadInput, "no experiment has a traced run")
          .InFile(first.string())
          .Remedy("measure with etprof run or profile, or give ETDump files");
    }
  };
  std::function<void(std::ostream&)> write_file = write;
  if (compressed) write_file = [&](std::ostream& out) { WriteGzip(out, write); };
  if (options.output.empty()) {
    WriteFileAtomically(written.file, write_file);
  } else {
    options.write(written.file, write_file);
  }
  for (const ExperimentData& data : run.experiments) {
    for (const std::string& warning : data.warnings) {
      if (data.etdump.empty()) continue;
      progress.Message(fmt::format("warning: {}: {}", data.LabelOrName(), warning));
    }
  }
  return written;
}

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
