#include "cli/commands.h"

namespace etprof {

std::vector<CommandSpec> AllCommands() {
  return {ProfileCommand(), RunCommand(),    AnalyzeCommand(),  CompareCommand(), CheckCommand(),
          ReportCommand(),  ExportCommand(), BuildCommand(),    InspectCommand(), KernelsCommand(),
          IsaCommand(),     PeaksCommand(),  ValidateCommand(), DevicesCommand(), DoctorCommand()};
}

}  // namespace etprof
