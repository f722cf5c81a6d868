#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace etprof {

// Adds a command's options to its CLI11 subcommand. Returns the function that runs the command after parsing;
// that function returns the exit code and may throw Error. Each command defines its setup function in
// its file, as <Name>Command; commands implemented in Python share models/python.cc.
using CommandSetup = std::function<int()>(CLI::App&);

// A row of the table of commands (commands/commands.cc).
struct CommandSpec {
  std::string group;  // a heading of `etprof --help`; empty: not shown
  std::string name;
  std::string summary;  // one line: imperative, capitalized, without a period
  std::string example;  // a real command line
  CommandSetup* setup;
};

// Every command, in the order of the help text.
const std::vector<CommandSpec>& AllCommands();

// Adds the commands and etprof's own options to `root`. Once a command is chosen, its options are added,
// and `run_command` is set to the function that runs it.
void AddCommands(CLI::App& root, std::function<int()>& run_command);

}  // namespace etprof
