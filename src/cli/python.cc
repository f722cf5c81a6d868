#include "cli/python.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "core/error.h"
#include "core/file/file.h"
#include "workflow/measure/locate.h"

namespace etprof {
namespace {

// What the exporter asks: this program what it delegated, and the runner beside it what the .pte computes.
void NamePrograms() {
  const std::filesystem::path own = ExecutablePath();
  ::setenv("ETPROF", own.c_str(), 0);
  const std::filesystem::path runner = own.parent_path() / "etprof-runner";
  if (Exists(runner)) ::setenv("ETPROF_RUNNER", runner.c_str(), 0);
}

}  // namespace

void BecomePython(const std::string& module, const std::vector<std::string>& arguments) {
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

}  // namespace etprof
