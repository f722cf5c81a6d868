#pragma once

#include "cli/command.h"

namespace etprof {

// One function a command, each in its own file command_<name>.cc.
CommandSpec ProfileCommand();
CommandSpec RunCommand();
CommandSpec AnalyzeCommand();
CommandSpec CompareCommand();
CommandSpec CheckCommand();
CommandSpec ReportCommand();
CommandSpec TraceCommand();
CommandSpec NewModelCommand();
CommandSpec ExportCommand();
CommandSpec BuildCommand();
CommandSpec InspectCommand();
CommandSpec KernelsCommand();
CommandSpec IsaCommand();
CommandSpec PeaksCommand();
CommandSpec ValidateCommand();
CommandSpec RecoverCommand();
CommandSpec DevicesCommand();
CommandSpec DoctorCommand();
CommandSpec QuickTestCommand();
CommandSpec CompletionCommand();
CommandSpec ReferenceCommand();

}  // namespace etprof
