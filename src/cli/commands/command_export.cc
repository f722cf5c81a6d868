#include "cli/commands.h"
#include "cli/python.h"

namespace etprof {

std::function<int()> ExportCommand(CLI::App& app) {
  // Its options are those of the Python exporter, which also answers --help.
  app.prefix_command();
  app.set_help_flag();
  return [&app]() -> int { BecomePython("etprof.export", app.remaining()); };
}

}  // namespace etprof
