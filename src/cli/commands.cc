#include "cli/commands.h"

namespace etprof {

std::vector<CommandSpec> AllCommands() {
  return {ProfileCommand(), RunCommand(),    AnalyzeCommand(), CompareCommand(), CheckCommand(),
          ReportCommand(),  ExportCommand(), IsaCommand(),     ValidateCommand()};
}

}  // namespace etprof
