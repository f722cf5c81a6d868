#include "cli/commands.h"
#include "cli/python.h"

namespace etprof {

std::function<int()> FleetCommand(CLI::App& app) {
  // Its options are those of python/etprof/fleet/options.py, which also answers --help.
  app.prefix_command();
  app.set_help_flag();
  return [&app]() -> int { BecomePython("etprof.fleet", app.remaining()); };
}

}  // namespace etprof
