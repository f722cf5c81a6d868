#include <iostream>
#include <memory>

#include "cli/analyze_files.h"
#include "cli/commands.h"
#include "core/error.h"
#include "program/program_reader.h"
#include "render/inspect.h"

namespace etprof {
namespace {

int Inspect(const std::string& model, bool json) {
  const Program program = ReadProgramFile(model);
  if (json) {
    RenderInspectJson(program, model, std::cout);
  } else {
    RenderInspectTerminal(program, model, OptionsOfStdout(), std::cout);
  }
  std::cout.flush();
  if (!std::cout) throw Error(ExitCode::kDeviceFailed, "could not write to the standard output");
  return static_cast<int>(ExitCode::kDone);
}

struct InspectOptions {
  std::string model;
  bool json = false;
};

}  // namespace

CommandSpec InspectCommand() {
  return {"inspect", "what is in a .pte: what is delegated and what is not, sizes, multiply-adds",
          "etprof inspect model.pte", [](CLI::App& app) -> std::function<int()> {
            const auto options = std::make_shared<InspectOptions>();
            app.add_option("model", options->model, "a .pte")->required()->type_name("MODEL.pte");
            app.add_flag("--json", options->json, "all of it, every node and tensor, as JSON");
            return [options] { return Inspect(options->model, options->json); };
          }};
}

}  // namespace etprof
