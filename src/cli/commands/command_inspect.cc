#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/gate_options.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "format/program/read/data_file.h"
#include "format/program/read/program_reader.h"
#include "format/program/source/export_notes.h"
#include "format/program/static_facts.h"
#include "show/formats/inspect.h"
#include "show/subjects.h"
#include "workflow/analyze/analyze.h"
#include "workflow/analyze/inspect.h"

namespace etprof {
namespace {

struct InspectArguments {
  std::string data;
  View view;
  ModelExplorerOptions explorer;  // used only if it has an output
  StaticCheckOptions limits;      // used only if there are any
  CheckOutputs files;

  bool HasLimits() const { return !limits.limits.limits.empty() || !limits.thresholds.empty(); }
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
  PrintMessage("Open it with: model-explorer {}{}\n", options.output.string(),
               files.empty() ? "" : fmt::format(" --node_data_paths {}", fmt::join(files, ",")));
}

int RunInspect(const InspectArguments& arguments) {
  const std::filesystem::path& model = arguments.explorer.model;
  if (arguments.HasLimits()) {
    if (!arguments.data.empty() || !arguments.explorer.output.empty())
      throw Error(ExitCode::kUsage, "limits go with neither `--data` nor `--model-explorer`")
          .Remedy("check the limits with a command of their own");
    StaticCheckOptions limits = arguments.limits;
    limits.candidate = model;
    return RunStaticCheck(limits, arguments.files, arguments.view);
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
        throw Error(ExitCode::kUsage, fmt::format("`{} {}` is not {}", name, text, info.Expects()))
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
  options.write = WriteOutput;
  AddOption(app, "model MODEL.pte", options.model, "Program (.pte) or external weights (.ptd) to inspect")
      ->required();
  CLI::Option* data =
      AddOption(app, "--data FILE.ptd", arguments->data, "Check external weights in this .ptd file");
  AddDocumentOptions(app, arguments->view, "Show everything as JSON, with every node and tensor");
  app.get_option("--all")->description("Show every step, input, and output");
  AddLimitOptions(app, arguments->limits.limits);
  AddThresholdsOption(app, arguments->limits);
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
