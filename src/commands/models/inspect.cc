#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <set>

#include "commands/analyze/analyze.h"
#include "commands/gate/gate_options.h"
#include "commands/terminal/progress.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal.h"
#include "commands/terminal/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/text/text.h"
#include "device/device.h"
#include "format/program/read/data_file.h"
#include "format/program/read/program_reader.h"
#include "format/program/source/export_notes.h"
#include "format/program/static_facts.h"
#include "show/formats/export/model_explorer.h"
#include "show/formats/json/json.h"
#include "show/subjects.h"

namespace etprof {

namespace {

namespace fs = std::filesystem;

struct ModelExplorerOptions {
  std::filesystem::path model;     // the .pte
  std::filesystem::path output;    // file of the graph, ending with .json
  std::vector<std::string> runs;   // a results directory, or ETDumps and timeline CSVs; empty: no times
  std::filesystem::path etrecord;  // empty: MODEL.pte.etrecord
  std::string by;                  // "layer", "delegate"; "": by layer if an .etrecord is found
};

// Returns the model's sources. Absent if there is no .etrecord next to the model, or if it cannot be read,
// which is reported as a message.
std::optional<SourceMap> FindSources(const Program& program, const ModelExplorerOptions& options,
                                     WorkflowProgress& progress) {
  RecordedSources sources = ReadSources(program, options.model, options.etrecord);
  if (sources.map) return std::move(sources.map);
  if (options.by == "layer") {
    throw Error(ExitCode::kBadInput, sources.problem + ": the model's modules are not known")
        .InFile(options.model.string())
        .Remedy("name the .etrecord with --etrecord, or group by delegate (--by delegate)");
  }
  progress.Message("warning: " + sources.problem +
                   ": nodes are grouped by delegate, not by the model's modules");
  return std::nullopt;
}

Report MakeRunReport(const ModelExplorerOptions& options, const WorkflowProgress& progress) {
  RunData run = OpenRun(options.runs, "--run takes one results directory, or ETDump files");
  const bool is_folder = !run.folder.empty();
  const std::string sha256 = Sha256HexOfFile(options.model);
  for (ExperimentData& data : run.experiments) {
    const bool is_other_model = !data.model_sha256.empty() && data.model_sha256 != sha256;
    data.model = is_other_model ? fs::path() : fs::absolute(options.model);
    if (is_other_model)
      data.warnings.push_back("it ran another file than this .pte, so its times are excluded");
  }
  Report report = MakeReport(std::move(run), {.tolerant = is_folder, .etrecord = options.etrecord});
  progress.StopWhenInterrupted();
  return report;
}

void AddRunTimes(const ModelExplorerOptions& options, const Program& program, WorkflowProgress& progress,
                 ExplorerModel& model) {
  const Report& report = *model.report;
  std::string problem = "no experiment has a traced run";
  bool has_times = false;
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const std::optional<Profile>& profile = report.experiments[i].profile;
    for (const std::string& warning : report.DataAt(i).warnings) {
      progress.Message("warning: " + report.experiments[i].label + ": " + warning);
      problem = warning;
    }
    if (profile && profile->program && !profile->program->problem.empty())
      problem = profile->program->problem;
    for (std::size_t method = 0; method < program.methods.size(); ++method) {
      AddTimes(report, i, program.methods[method], model.graphs[method]);
      has_times = has_times || !model.graphs[method].experiments.empty();
    }
  }
  if (!has_times)
    throw Error(ExitCode::kBadInput, problem)
        .InFile(options.runs.front())
        .Remedy("give a run of this .pte with traced runs");
}

// A label as part of a file name: "sme2 on" becomes "sme2_on".
std::string FileNamePart(const std::string& label) {
  std::string name;
  for (const char c : label) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                          c == '.' || c == '-' || c == '_';
    name += is_plain ? c : '_';
  }
  return name.empty() ? "run" : name;
}

// Writes the program's graph for Model Explorer, and next to it a file of node data for each experiment and
// comparison of the runs. Returns the files, the graph's first. Throws Error (kUsage, kBadInput) for invalid
// options, programs that cannot be read, and runs of another program; Error (kInterrupted), in which case no
// file is left half-written.
std::vector<fs::path> WriteModelExplorer(const ModelExplorerOptions& options, WorkflowProgress& progress) {
  if (IsStdout(options.output) && !options.runs.empty()) {
    throw Error(ExitCode::kUsage, "`--model-explorer -` writes one file, and with `--run` there are several")
        .Remedy("name a file");
  }
  if (!IsStdout(options.output) && !Lower(options.output.filename().string()).ends_with(".json")) {
    throw Error(ExitCode::kUsage,
                fmt::format("`--model-explorer {}`: Model Explorer opens only files that end with .json",
                            options.output.string()))
        .Remedy(fmt::format("give `--model-explorer {}.json`", options.output.string()));
  }
  const Program program = ReadProgramFile(options.model);
  const std::optional<SourceMap> sources = FindSources(program, options, progress);
  ExplorerModel model;
  model.file = options.model.filename().string();
  for (const Method& method : program.methods) {
    model.graphs.push_back(BuildModelGraph(method, program,
                                           FindMethodSources(sources ? &*sources : nullptr, method.name),
                                           options.by == "delegate"));
  }
  std::optional<Report> report;
  if (!options.runs.empty()) {
    report = MakeRunReport(options, progress);
    model.report = &*report;
    AddRunTimes(options, program, progress, model);
  }
  std::vector<fs::path> files;
  const auto write = [&](const fs::path& file, const std::function<void(std::ostream&)>& render) {
    progress.StopWhenInterrupted();
    WriteOutput(file, render);
    files.push_back(file);
  };
  // Node data are written next to the graphs, as GRAPH.LABEL.json.
  std::set<std::string> used_names = {options.output.string()};
  const auto write_node_data = [&](const std::string& name,
                                   const std::function<void(std::ostream&)>& render) {
    const fs::path& graphs = options.output;
    const std::string stem = (graphs.parent_path() / graphs.stem()).string() + "." + FileNamePart(name);
    std::string file = stem + ".json";
    for (int i = 2; !used_names.insert(file).second; ++i) file = fmt::format("{}_{}.json", stem, i);
    write(file, render);
  };
  write(options.output, [&](std::ostream& out) { RenderExplorerGraphs(model, out); });
  std::set<std::size_t> timed_experiments;
  for (const ModelGraph& graph : model.graphs)
    timed_experiments.insert(graph.experiments.begin(), graph.experiments.end());
  for (const std::size_t experiment : timed_experiments) {
    write_node_data(report->experiments[experiment].label,
                    [&](std::ostream& out) { RenderExplorerTimes(model, experiment, out); });
  }
  for (const std::size_t comparison : ExplorerComparisons(model)) {
    const ReportComparison& pair = report->comparisons[comparison];
    write_node_data(fmt::format("{}_against_{}", report->experiments[pair.candidate].label,
                                report->experiments[pair.baseline].label),
                    [&](std::ostream& out) { RenderExplorerRatios(model, comparison, out); });
  }
  return files;
}

struct InspectArguments {
  std::string data;
  View view;
  ModelExplorerOptions explorer;  // used only if `output` is set
  StaticCheckOptions check;       // used only if a limit is given
  CheckOutputs files;

  bool HasLimits() const { return !check.limits.limits.empty() || !check.thresholds.empty(); }
};

void ShowDataFile(const DataFile& data, const InspectArguments& arguments) {
  const std::string model = arguments.explorer.model.string();
  if (!arguments.data.empty())
    throw Error(ExitCode::kUsage, "is external data, which `--data` does not go with")
        .InFile(model)
        .Remedy("give the .pte, and this file as `--data`");
  if (!arguments.explorer.output.empty())
    throw Error(ExitCode::kUsage, "is external data, which has no graph")
        .InFile(model)
        .Remedy("give a .pte with `--model-explorer`");
  ShowDocument(show::MakeInspectDocument(data, model), arguments.view, "",
               [&](std::ostream& out) { RenderDataFileJson(data, model, out); });
}

void ShowProgram(const Program& program, const InspectArguments& arguments) {
  const std::string model = arguments.explorer.model.string();
  std::optional<DataFile> data;
  if (!arguments.data.empty()) data = ReadDataFile(std::filesystem::path(arguments.data));
  const DataFile* external = data ? &*data : nullptr;
  RecordedSources sources = ReadSources(program, model);
  if (!sources.map) AddExportNotes(model + ".json", sources.map.emplace());
  ShowDocument(show::MakeInspectDocument(program, model, external, &*sources.map), arguments.view, "",
               [&](std::ostream& out) { RenderInspectJson(program, model, external, out); });
}

void ExportGraph(const ModelExplorerOptions& options) {
  std::vector<std::string> files;
  for (const std::filesystem::path& file : WithProgress(WriteModelExplorer, options)) {
    ShowFile(file);
    files.push_back(file.string());
  }
  files.erase(files.begin());
  PrintMessage(
      "Open it with: model-explorer {}{}\n", ShellQuoted(options.output.string()),
      files.empty() ? "" : " --node_data_paths " + ShellQuoted(fmt::format("{}", fmt::join(files, ","))));
}

int RunInspect(const InspectArguments& arguments) {
  const std::filesystem::path& model = arguments.explorer.model;
  if (arguments.HasLimits()) {
    if (!arguments.data.empty() || !arguments.explorer.output.empty())
      throw Error(ExitCode::kUsage, "limits go with neither `--data` nor `--model-explorer`")
          .Remedy("check the limits with a command of their own");
    StaticCheckOptions check = arguments.check;
    check.candidate = model;
    return RunStaticCheck(check, arguments.files, arguments.view);
  }
  if (!arguments.files.junit.empty() || !arguments.files.github_summary.empty()) {
    throw Error(ExitCode::kUsage, "`--junit` and `--github-summary` are for limits, and none is given")
        .Remedy("give one, such as `--require-delegated 100%`");
  }
  const MappedFile file = MappedFile::Open(model);
  if (IsDataFile(file.bytes())) {
    ShowDataFile(ReadDataFile(file.bytes(), model.string()), arguments);
  } else if (!arguments.explorer.output.empty()) {
    ExportGraph(arguments.explorer);
  } else {
    ShowProgram(ReadProgram(file.bytes(), model.string()), arguments);
  }
  return 0;
}

void AddLimitOptions(CLI::App& app, StaticLimits& limits) {
  for (const FactInfo& info : AllFacts()) {
    const std::string name = fmt::format("--{}", info.limit);
    const auto parse = [&limits, &info, name](const std::string& text) {
      const auto limit = info.Parse(text);
      if (!limit)
        throw Error(ExitCode::kUsage, fmt::format("`{} {}` is not {}", name, text, info.ValidValues()))
            .Remedy("see `etprof inspect --help`");
      limits.limits[info.key] = *limit;
    };
    const char* const value = info.unit == FactInfo::Unit::kShare   ? kPercent
                              : info.unit == FactInfo::Unit::kCount ? "N"
                                                                    : "SIZE";
    app.add_option_function<std::string>(name, parse, info.help)->type_name(value);
  }
}

}  // namespace

std::function<int()> InspectCommand(CLI::App& app) {
  const auto arguments = std::make_shared<InspectArguments>();
  ModelExplorerOptions& options = arguments->explorer;
  AddOption(app, "model MODEL.pte", options.model, "Program (.pte) or external weights (.ptd) to inspect")
      ->required();
  CLI::Option* data =
      AddOption(app, "--data FILE.ptd", arguments->data, "Check external weights in this .ptd file");
  AddDocumentOptions(app, arguments->view, "Show everything as JSON, with every node and tensor");
  app.get_option("--all")->description("Show every step, input, and output");
  AddLimitOptions(app, arguments->check.limits);
  AddThresholdsOption(app, arguments->check);
  AddGateFileOptions(app, arguments->files);
  CLI::Option* explorer =
      AddOption(app, "--model-explorer OUT.json", options.output,
                "Write the graph for Model Explorer (PyPI ai-edge-model-explorer) to this file, and node "
                "data next to it")
          ->excludes(data)
          ->excludes(app.get_option("--json"))
          ->excludes(app.get_option("--csv"));
  AddOption(app, "--run RUN...", options.runs,
            "Show the times of this run on the graph: a results directory, or ETDump files")
      ->needs(explorer);
  app.add_option("--etrecord", options.etrecord,
                 "File that maps the graph's nodes to modules (default: MODEL.pte.etrecord)")
      ->needs(explorer)
      ->check(CLI::ExistingFile);
  app.add_option("--by", options.by,
                 "Group the graph's nodes by this (default: layer if the .etrecord has them, else delegate)")
      ->needs(explorer)
      ->check(CLI::IsMember({"layer", "delegate"}));
  return [arguments] { return RunInspect(*arguments); };
}

}  // namespace etprof
