#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cli/analyze_files.h"
#include "cli/commands.h"
#include "cli/interruption.h"
#include "cli/say.h"
#include "cli/stdout_terminal.h"
#include "cli/time_scale.h"
#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "render/page/gzip.h"
#include "render/trace/chrome_trace.h"
#include "render/trace/perfetto.h"
#include "render/trace/trace_contents.h"

namespace etprof {
namespace {

struct TraceArguments {
  std::vector<std::string> paths;
  std::string output;
  std::string format;
  std::string run = "all";
  std::string model, etrecord;
  std::string time_scale = "ns";
};

struct Form {
  bool chrome = false;
  bool compressed = false;
};

Form FormOf(const TraceArguments& arguments) {
  std::string name = Lower(std::filesystem::path(arguments.output).filename().string());
  Form form;
  if (name.ends_with(".gz")) {
    form.compressed = true;
    name.resize(name.size() - 3);
  }
  if (arguments.format.empty()) {
    form.chrome = name.ends_with(".json");
  } else {
    form.chrome = arguments.format == "chrome";
  }
  return form;
}

TraceChoice ChoiceOf(const std::string& run) {
  TraceChoice choice;
  if (run == "all") return choice;
  if (run == "median") {
    choice.runs = TraceChoice::Runs::kMedian;
    return choice;
  }
  const auto index = AsNumber<std::size_t>(run);
  if (!index)
    throw Error(ExitCode::kUsage,
                fmt::format("--run `{}` is not \"all\", \"median\", or a number from 0", run));
  choice.runs = TraceChoice::Runs::kOne;
  choice.index = *index;
  return choice;
}

std::filesystem::path DefaultOutput(const std::filesystem::path& path, bool is_folder, bool chrome) {
  const char* ending = chrome ? ".json" : ".pftrace";
  if (is_folder) return path / (std::string("trace") + ending);
  return path.parent_path() / (path.stem().string() + ending);
}

struct Written {
  std::size_t experiments = 0, runs = 0;
};

int RunTrace(TraceArguments arguments) {
  std::error_code ignored;
  const std::filesystem::path& first = arguments.paths.front();
  const bool is_folder = std::filesystem::is_directory(first, ignored);
  for (const std::string& path : arguments.paths) {
    if (arguments.paths.size() > 1 && std::filesystem::is_directory(path, ignored)) {
      throw Error(ExitCode::kUsage, "a trace is of one run directory, or of ETDump files")
          .InFile(path)
          .Remedy(
              "open several .pftrace files together with Perfetto's batch trace processor "
              "(docs/guides/traces.md)");
    }
  }
  const Form form = FormOf(arguments);
  const TraceChoice choice = ChoiceOf(arguments.run);
  EtdumpOptions etdump;
  etdump.nanoseconds_per_tick = NanosecondsPerTick(arguments.time_scale);
  const std::filesystem::path output = arguments.output.empty() ? DefaultOutput(first, is_folder, form.chrome)
                                                                : std::filesystem::path(arguments.output);

  RunData run;
  if (is_folder) {
    run = OpenRunDirectory(first);
  } else {
    run =
        RunOfEtdumps(std::vector<std::filesystem::path>(arguments.paths.begin(), arguments.paths.end()), {});
  }
  if (!arguments.model.empty()) {
    run.model = std::filesystem::absolute(arguments.model);
    for (ExperimentData& data : run.experiments) data.model = run.model;
  }
  RunPrograms programs(arguments.etrecord);

  const InterruptionScope interruptible;  // so that no part of a file stays
  const auto stop_when_interrupted = [] {
    if (Interrupted()) throw Error(ExitCode::kInterrupted, "interrupted: nothing was written");
  };
  Written written;
  const auto write = [&](std::ostream& out) {
    const std::unique_ptr<TraceWriter> writer = form.chrome ? ChromeTraceWriter(out) : PerfettoWriter(out);
    WriteTraceAttributes(run, ETPROF_VERSION, *writer);
    ProfileRun(
        run, is_folder,
        [&](const ExperimentData& data, const Trace& trace, const Profile& profile) {
          written.runs += WriteTraceOf(run, data, trace, profile, choice, stop_when_interrupted, *writer);
          ++written.experiments;
        },
        etdump, &programs);
    writer->Finish();
    if (written.runs == 0) {
      throw Error(ExitCode::kBadInput, "no experiment has a traced run")
          .InFile(first.string())
          .Remedy("measure with etprof run or profile, or give ETDump files");
    }
  };
  const auto write_form = [&](std::ostream& out) {
    if (form.compressed) {
      WriteGzip(out, write);
    } else {
      write(out);
    }
  };
  if (arguments.output.empty()) {
    WriteFileAtomically(output, write_form);
  } else {
    WriteOutput(output, write_form);
  }
  for (const ExperimentData& data : run.experiments) {
    for (const std::string& warning : data.warnings) {
      if (data.etdump.empty()) continue;
      Say("warning: {}: {}\n", data.label.empty() ? data.name : data.label, warning);
    }
  }
  Say("{} of {}; open it at https://ui.perfetto.dev{}\n",
      written.runs == 1 ? "1 run" : fmt::format("{} runs", written.runs),
      written.experiments == 1 ? "1 experiment" : fmt::format("{} experiments", written.experiments),
      form.chrome ? " or in speedscope" : "");
  if (!IsStdout(output)) std::cout << output.string() << '\n';
  FlushStdout();
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

CommandSpec TraceCommand() {
  return {"trace", "write a run as a trace for Perfetto, speedscope or chrome://tracing",
          "etprof trace out_mobilenet_v3_small/runs/linux-x86_64", [](CLI::App& app) -> std::function<int()> {
            auto arguments = std::make_shared<TraceArguments>();
            app.add_option("path,--run-dir,--etdump", arguments->paths,
                           "a run directory, or ETDump files and timeline CSVs")
                ->required();
            app.add_option(
                   "-o,--out", arguments->output,
                   "the file to write, - for the standard output [trace.pftrace in the run directory]; "
                   ".json is Chrome's format, .gz is compressed")
                ->type_name("FILE");
            app.add_option("--format", arguments->format,
                           "perfetto (exact to the nanosecond) or chrome (JSON) [by the file's name]")
                ->check(CLI::IsMember({"perfetto", "chrome"}));
            app.add_option("--run", arguments->run,
                           "which traced run of each experiment: all, median, or its number from 0 [all]");
            app.add_option("--model", arguments->model,
                           "of ETDump files: the .pte that ran, for layers, shapes and work")
                ->check(CLI::ExistingFile);
            app.add_option("--etrecord", arguments->etrecord,
                           "says which layers operators belong to [MODEL.pte.etrecord]")
                ->check(CLI::ExistingFile);
            AddTimeScaleOption(app, arguments->time_scale);
            return [arguments] { return RunTrace(*arguments); };
          }};
}

}  // namespace etprof
