#include "cli/commands.h"

namespace etprof {

std::vector<CommandSpec> AllCommands() {
  return {ProfileCommand(),  RunCommand(),     AnalyzeCommand(),  CompareCommand(),   CheckCommand(),
          ReportCommand(),   TraceCommand(),   NewModelCommand(), ExportCommand(),    BuildCommand(),
          InspectCommand(),  KernelsCommand(), IsaCommand(),      PeaksCommand(),     ValidateCommand(),
          RecoverCommand(),  DevicesCommand(), DoctorCommand(),   QuickTestCommand(), CompletionCommand(),
          ReferenceCommand()};
}

}  // namespace etprof
