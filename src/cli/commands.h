#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace etprof {

// Adds a command's options to its CLI11 subcommand and returns what runs it after parsing; that returns the
// process exit code and may throw Error. One for each command, in its file commands/command_<name>.cc (of
// those that are Python's command_python.cc).
using CommandSetup = std::function<int()>(CLI::App&);
CommandSetup AnalyzeCommand, BisectCommand, BuildCommand, CheckCommand, CompareCommand, CompletionCommand,
    DevicesCommand, DiffCommand, DoctorCommand, ExportCommand, FleetCommand, HistoryCommand, InspectCommand,
    IsaCommand, KernelsCommand, NewModelCommand, PeaksCommand, ProfileCommand, QuickTestCommand,
    RecoverCommand, ReferenceCommand, ReportCommand, RunCommand, SuiteCommand, TraceCommand, ValidateCommand;

// One row of the table of commands (cli/commands.cc).
struct CommandSpec {
  std::string group;  // a heading of `etprof --help`; empty: not shown
  std::string name;
  std::string summary;  // one line: imperative, capitalized, without a period
  std::string example;  // a real command line
  CommandSetup* setup;
};

// Every command, in the order of the help text.
const std::vector<CommandSpec>& AllCommands();

// Adds them to `root`, and its own options. A command's are added once it is chosen, and `chosen` is what
// runs it.
void AddCommands(CLI::App& root, std::function<int()>& chosen);

}  // namespace etprof
