#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/locate.h"
#include "core/error.h"

namespace etprof {
namespace {

// What the exporter asks: this program what it delegated, and the runner beside it what the .pte computes.
void NamePrograms() {
  const std::filesystem::path own = ExecutablePath();
  ::setenv("ETPROF", own.c_str(), 0);
  const std::filesystem::path runner = own.parent_path() / "etprof-runner";
  std::error_code error;
  if (std::filesystem::exists(runner, error)) ::setenv("ETPROF_RUNNER", runner.c_str(), 0);
}

// torch.export exists in Python only, so this command becomes `python -m etprof.export`, by the Python of
// $ETPROF_PYTHON (the wheel's own command sets it), else of the checkout's environment, else by python3.
int RunPythonExporter(const std::vector<std::string>& arguments) {
  const std::optional<std::filesystem::path> root = CheckoutRoot();
  std::string python = "python3";
  if (const char* chosen = std::getenv("ETPROF_PYTHON"); chosen != nullptr && *chosen != '\0') {
    python = chosen;
  } else if (root) {
    const std::filesystem::path own = *root / ".venv" / "bin" / "python";
    if (std::filesystem::exists(own)) python = own.string();
    const char* inherited = std::getenv("PYTHONPATH");
    std::string path = (*root / "python").string();
    if (inherited != nullptr && *inherited != '\0') path += std::string(":") + inherited;
    ::setenv("PYTHONPATH", path.c_str(), 1);
  }
  NamePrograms();
  std::vector<std::string> words = {python, "-m", "etprof.export"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  throw Error(ExitCode::kDeviceFailed, std::string("could not be started: ") + std::strerror(errno))
      .InFile(python)
      .Remedy("run script/bootstrap");
}

}  // namespace

CommandSpec ExportCommand() {
  return {"export",
          "export a PyTorch model to a .pte, with its .etrecord and inputs, and check what it computes",
          "etprof export --model mobilenet_v3_small --dtype fp32 --outdir out_mobilenet_v3_small/artifacts",
          [](CLI::App& app) {
            // Its options are those of the Python exporter, which also answers --help.
            app.prefix_command();
            app.set_help_flag();
            return [&app] { return RunPythonExporter(app.remaining()); };
          }};
}

}  // namespace etprof
