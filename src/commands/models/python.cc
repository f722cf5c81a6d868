#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "commands/measurement/locate.h"
#include "commands/terminal/options.h"
#include "core/error.h"
#include "core/file/file.h"
#include "device/tool.h"

// Commands that are implemented in Python, since they need PyTorch or other Python packages.
namespace etprof {
namespace {

// Sets the environment variables that name the programs for the exporter: this program, which finds what is
// delegated, and the runner next to it, which computes the outputs of the .pte.
void SetProgramVariables() {
  const std::filesystem::path etprof_path = ExecutablePath();
  ::setenv("ETPROF", etprof_path.c_str(), 0);
  const std::filesystem::path runner = etprof_path.parent_path() / "etprof-runner";
  if (Exists(runner)) ::setenv("ETPROF_RUNNER", runner.c_str(), 0);
}

// Replaces this process by `PythonProgram() -m MODULE ARGUMENTS...`. Does not return; throws Error
// (kDeviceFailed) if Python cannot be started.
[[noreturn]] void ExecPython(const std::string& module, const std::vector<std::string>& arguments) {
  const std::optional<std::filesystem::path> root = CheckoutRoot();
  const std::string python = PythonProgram(root);
  if (root && EnvironmentVariable("ETPROF_PYTHON").empty()) {
    const std::string inherited = EnvironmentVariable("PYTHONPATH");
    const std::string path = (*root / "python").string() + (inherited.empty() ? "" : ":" + inherited);
    ::setenv("PYTHONPATH", path.c_str(), 1);
  }
  SetProgramVariables();
  std::vector<std::string> command = {python, "-m", module};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  throw Error(ExitCode::kDeviceFailed, std::string("could not be started: ") + std::strerror(errno))
      .InFile(python)
      .Remedy("run `script/bootstrap`");
}

// Passes all arguments on to Python, which defines the options and answers --help.
std::function<int()> PassAllToPython(const char* module, CLI::App& app) {
  app.prefix_command();
  app.set_help_flag();
  return [&app, module]() -> int { ExecPython(module, app.remaining()); };
}

}  // namespace

std::function<int()> ExportCommand(CLI::App& app) { return PassAllToPython("etprof.export", app); }

std::function<int()> AccuracyCommand(CLI::App& app) { return PassAllToPython("etprof.accuracy", app); }

std::function<int()> FleetCommand(CLI::App& app) { return PassAllToPython("etprof.fleet", app); }

std::function<int()> NewModelCommand(CLI::App& app) {
  struct ParsedArguments {
    std::string name, output;
  };
  const auto parsed = std::make_shared<ParsedArguments>();
  AddOption(app, "name NAME", parsed->name, "Name of the model, as a Python module")->required();
  AddOption(app, "--output DIR", parsed->output,
            "Folder to create the package in (default: the current one)");
  return [parsed]() -> int {
    // "--" lets the name begin with a dash.
    std::vector<std::string> arguments;
    if (!parsed->output.empty()) arguments.push_back("--output=" + parsed->output);
    arguments.insert(arguments.end(), {"--", parsed->name});
    // The package's template is part of the Python package, whose tests cover it.
    ExecPython("etprof.new_model", arguments);
  };
}

}  // namespace etprof
