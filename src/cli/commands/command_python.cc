#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options.h"
#include "core/error.h"
#include "core/file/file.h"
#include "workflow/measure/locate.h"

// The commands that are Python's: they need PyTorch, or what only Python has.
namespace etprof {
namespace {

// What the exporter asks: this program what it delegated, and the runner beside it what the .pte computes.
void NamePrograms() {
  const std::filesystem::path own = ExecutablePath();
  ::setenv("ETPROF", own.c_str(), 0);
  const std::filesystem::path runner = own.parent_path() / "etprof-runner";
  if (Exists(runner)) ::setenv("ETPROF_RUNNER", runner.c_str(), 0);
}

// This process becomes `PythonProgram() -m MODULE ARGUMENTS...`. Throws Error (kDeviceFailed) where it cannot
// be started; else it does not return.
[[noreturn]] void BecomePython(const std::string& module, const std::vector<std::string>& arguments) {
  const std::optional<std::filesystem::path> root = CheckoutRoot();
  const std::string python = PythonProgram(root);
  const char* chosen = std::getenv("ETPROF_PYTHON");
  if (root && (chosen == nullptr || *chosen == '\0')) {
    const char* inherited = std::getenv("PYTHONPATH");
    std::string path = (*root / "python").string();
    if (inherited != nullptr && *inherited != '\0') path += std::string(":") + inherited;
    ::setenv("PYTHONPATH", path.c_str(), 1);
  }
  NamePrograms();
  std::vector<std::string> words = {python, "-m", module};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  throw Error(ExitCode::kDeviceFailed, std::string("could not be started: ") + std::strerror(errno))
      .InFile(python)
      .Remedy("run `script/bootstrap`");
}

// Its options are Python's, which also answers --help.
std::function<int()> AllOf(const char* module, CLI::App& app) {
  app.prefix_command();
  app.set_help_flag();
  return [&app, module]() -> int { BecomePython(module, app.remaining()); };
}

}  // namespace

std::function<int()> ExportCommand(CLI::App& app) { return AllOf("etprof.export", app); }

std::function<int()> FleetCommand(CLI::App& app) { return AllOf("etprof.fleet", app); }

std::function<int()> NewModelCommand(CLI::App& app) {
  struct Parsed {
    std::string name, output;
  };
  const auto parsed = std::make_shared<Parsed>();
  AddOption(app, "name NAME", parsed->name, "Name of the model, as a Python module")->required();
  AddOption(app, "--output DIR", parsed->output,
            "Folder to create the package in (default: the current one)");
  return [parsed]() -> int {
    // Where the name begins with a dash it is still a name.
    std::vector<std::string> words;
    if (!parsed->output.empty()) words.push_back("--output=" + parsed->output);
    words.insert(words.end(), {"--", parsed->name});
    // The template of the package is a part of the Python package, where it is tested as any of its files.
    BecomePython("etprof.new_model", words);
  };
}

}  // namespace etprof
