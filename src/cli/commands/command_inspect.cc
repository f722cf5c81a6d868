#include <iostream>
#include <memory>
#include <optional>

#include "cli/analyze_files.h"
#include "cli/commands.h"
#include "cli/model_explorer_files.h"
#include "cli/show_document.h"
#include "cli/stdout_terminal.h"
#include "core/error.h"
#include "core/file.h"
#include "program/data_file.h"
#include "program/program_reader.h"
#include "render/inspect.h"
#include "say/inspect.h"

namespace etprof {
namespace {

struct InspectOptions {
  std::string model;
  std::string data;
  bool json = false, all = false;
  std::string model_explorer;  // the file to write; "": none
  std::vector<std::string> runs;
  std::string etrecord, by, table;
};

void InspectData(const InspectOptions& options, ByteView bytes) {
  if (!options.data.empty())
    throw Error(ExitCode::kUsage, "--data goes with a .pte, and this is a .ptd").InFile(options.model);
  if (!options.model_explorer.empty())
    throw Error(ExitCode::kUsage, "--model-explorer draws a .pte, and this is a .ptd").InFile(options.model);
  const DataFile data = ReadDataFile(bytes, options.model);
  if (options.json) {
    RenderDataFileJson(data, options.model, std::cout);
  } else {
    ShowDocument(say::SayInspect(data, options.model), options.table, "", options.all);
  }
}

void InspectProgram(const InspectOptions& options, ByteView bytes) {
  const Program program = ReadProgram(bytes, options.model);
  if (!options.model_explorer.empty()) {
    WriteModelExplorer(program, {.model = options.model,
                                 .output = options.model_explorer,
                                 .runs = options.runs,
                                 .etrecord = options.etrecord,
                                 .by = options.by});
    return;
  }
  std::optional<DataFile> data;
  if (!options.data.empty()) data = ReadDataFile(std::filesystem::path(options.data));
  const DataFile* external = data ? &*data : nullptr;
  if (options.json) {
    RenderInspectJson(program, options.model, external, std::cout);
  } else {
    ShowDocument(say::SayInspect(program, options.model, external), options.table, "", options.all);
  }
}

int Inspect(const InspectOptions& options) {
  const MappedFile file = MappedFile::Open(options.model);
  if (IsDataFile(file.bytes())) {
    InspectData(options, file.bytes());
  } else {
    InspectProgram(options, file.bytes());
  }
  FlushStdout();
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

CommandSpec InspectCommand() {
  return {
      "inspect", "what is in a .pte: what is delegated and what is not, sizes, multiply-adds",
      "etprof inspect model.pte", [](CLI::App& app) -> std::function<int()> {
        const auto options = std::make_shared<InspectOptions>();
        app.add_option("model", options->model, "a .pte, or a .ptd")->required()->type_name("MODEL.pte");
        CLI::Option* data =
            app.add_option("--data", options->data, "the .ptd that it takes weights from: are they all there")
                ->type_name("FILE.ptd");
        CLI::Option* json =
            app.add_flag("--json", options->json, "all of it, every node and tensor, as JSON");
        AddTableOption(app, options->table);
        app.add_flag("--all", options->all, "show every step, input and output");
        CLI::Option* explorer =
            app.add_option("--model-explorer", options->model_explorer,
                           "write the graph for Model Explorer (PyPI ai-edge-model-explorer) to this file, "
                           "and node data beside it")
                ->type_name("OUT.json")
                ->excludes(data)
                ->excludes(json)
                ->excludes(app.get_option("--csv"));
        app.add_option("--run", options->runs,
                       "the run whose times stand on the graph: a run directory, or ETDump files")
            ->needs(explorer)
            ->type_name("RUN...");
        app.add_option("--etrecord", options->etrecord,
                       "says which modules the graph's nodes belong to [MODEL.pte.etrecord]")
            ->needs(explorer)
            ->check(CLI::ExistingFile);
        app.add_option("--by", options->by,
                       "what the graph's nodes are grouped by [layer where the .etrecord tells them, else "
                       "delegate]")
            ->needs(explorer)
            ->check(CLI::IsMember({"layer", "delegate"}));
        return [options] { return Inspect(*options); };
      }};
}

}  // namespace etprof
