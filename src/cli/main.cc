#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/option_table.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/escape.h"
#include "core/process_start.h"
#include "core/suggest.h"

namespace {

// The error for a command line that does not parse: CLI11's `problem`, or that there is no such command, then
// what was probably meant, and where to read on.
etprof::Error UsageError(const CLI::App& app, int argc, const char* const* argv, const std::string& problem) {
  std::string message = problem, current, suggestion;
  std::map<std::string, std::vector<std::string>> options_of;  // of etprof itself under ""
  const std::vector<etprof::CommandSpec>& all = etprof::AllCommands();
  std::vector<std::string> commands;
  for (const etprof::CommandFacts& command : etprof::CommandsOf(app)) {
    if (!command.name.empty()) commands.push_back(command.name);
    std::vector<std::string>& names = options_of[command.name];
    for (const etprof::OptionFacts& option : command.options)
      names.insert(names.end(), option.names.begin(), option.names.end());
  }
  for (int i = 1; i < argc && suggestion.empty(); ++i) {
    const std::string word = argv[i];
    if (current.empty() && !word.starts_with("-")) {
      if (std::ranges::find(all, word, &etprof::CommandSpec::name) == all.end()) {
        message = fmt::format("unknown command `{}`", word);
        suggestion = etprof::Closest(word, commands);
        break;
      }
      current = word;
    } else if (word.starts_with("--")) {
      const std::string name = word.substr(0, word.find('='));
      const CLI::App& command = current.empty() ? app : *app.get_subcommand(current);
      if (command.get_option_no_throw(name) == nullptr)
        suggestion = etprof::Closest(name, options_of[current]);
    }
  }
  const std::string meant = suggestion.empty() ? "" : fmt::format("did you mean `{}`? See", suggestion);
  return etprof::Error(etprof::ExitCode::kUsage, message)
      .Remedy(fmt::format("{} `etprof {}--help`", meant.empty() ? "see" : meant,
                          current.empty() ? "" : current + " "));
}

// Returns the exit code, or throws.
int Main(int argc, char** argv) {
  etprof::PrepareProcess();
  etprof::EscapeStdout();
  CLI::App app("etprof: a command-line profiler for ExecuTorch", "etprof");
  app.set_version_flag("--version", ETPROF_VERSION);
  app.require_subcommand(1);
  std::map<CLI::App*, std::function<int()>> run_of;
  for (const etprof::CommandSpec& command : etprof::AllCommands()) {
    CLI::App* subcommand = app.add_subcommand(command.name, command.summary)->group(command.group);
    subcommand->footer("Example:\n  " + command.example);
    run_of[subcommand] = command.setup(*subcommand);
  }
  int code = 0;
  try {
    app.parse(argc, argv);
    code = run_of.at(app.get_subcommands().front())();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      etprof::SayError(UsageError(app, argc, argv, error.what()));
      return static_cast<int>(etprof::ExitCode::kUsage);
    }
    code = app.exit(error);  // --help, --version
  }
  etprof::FlushStdout();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  int code = 0;
  try {
    code = Main(argc, argv);
  } catch (const std::exception& exception) {
    const etprof::Error error = etprof::AsError(exception);
    if (error.exit_code() == etprof::ExitCode::kInterrupted) {
      etprof::Say("{}\n", error.Summary());
    } else {
      etprof::SayError(error);
    }
    code = static_cast<int>(error.exit_code());
  }
  if (etprof::MessagesLost() && code == 0) {
    code = static_cast<int>(etprof::ExitCode::kDeviceFailed);
    etprof::Say("error: Messages could not be written to the standard error\n");  // there is room again
  }
  return code;
}
