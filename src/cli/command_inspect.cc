#include <iostream>
#include <memory>
#include <optional>

#include "cli/analyze_files.h"
#include "cli/commands.h"
#include "cli/stdout_terminal.h"
#include "core/error.h"
#include "core/file.h"
#include "program/data_file.h"
#include "program/program_reader.h"
#include "render/inspect.h"

namespace etprof {
namespace {

struct InspectOptions {
  std::string model;
  std::string data;
  bool json = false, all = false;
};

TerminalOptions ScreenOf(const InspectOptions& options) {
  TerminalOptions screen = OptionsOfStdout();
  screen.all = options.all;
  return screen;
}

void InspectData(const InspectOptions& options, ByteView bytes) {
  if (!options.data.empty())
    throw Error(ExitCode::kUsage, "--data goes with a .pte, and this is a .ptd").InFile(options.model);
  const DataFile data = ReadDataFile(bytes, options.model);
  if (options.json) {
    RenderDataFileJson(data, options.model, std::cout);
  } else {
    RenderDataFileTerminal(data, options.model, ScreenOf(options), std::cout);
  }
}

void InspectProgram(const InspectOptions& options, ByteView bytes) {
  const Program program = ReadProgram(bytes, options.model);
  std::optional<DataFile> data;
  if (!options.data.empty()) data = ReadDataFile(std::filesystem::path(options.data));
  const DataFile* external = data ? &*data : nullptr;
  if (options.json) {
    RenderInspectJson(program, options.model, external, std::cout);
  } else {
    RenderInspectTerminal(program, options.model, external, ScreenOf(options), std::cout);
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
  return {"inspect", "what is in a .pte: what is delegated and what is not, sizes, multiply-adds",
          "etprof inspect model.pte", [](CLI::App& app) -> std::function<int()> {
            const auto options = std::make_shared<InspectOptions>();
            app.add_option("model", options->model, "a .pte, or a .ptd")->required()->type_name("MODEL.pte");
            app.add_option("--data", options->data, "the .ptd that it takes weights from: are they all there")
                ->type_name("FILE.ptd");
            app.add_flag("--json", options->json, "all of it, every node and tensor, as JSON");
            app.add_flag("--all", options->all, "show every step, input and output");
            return [options] { return Inspect(*options); };
          }};
}

}  // namespace etprof
