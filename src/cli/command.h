#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace etprof {

// One row of the table of commands (cli/commands.cc). `setup` adds the command's options to its CLI11
// subcommand and returns what runs it after parsing; that returns the process exit code and may throw Error.
struct CommandSpec {
  std::string name;
  std::string summary;  // one line, shown by `etprof --help`
  std::string example;  // a real command line, shown by `etprof <name> --help`
  std::function<std::function<int()>(CLI::App&)> setup;
};

// Every command, in the order of the help text.
std::vector<CommandSpec> AllCommands();

}  // namespace etprof
