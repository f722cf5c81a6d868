#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>

#include "cli/command.h"
#include "cli/say.h"
#include "cli/stdout_terminal.h"
#include "cli/suggest.h"
#include "core/error.h"
#include "core/escape.h"
#include "core/process_start.h"

namespace {

// Returns the exit code, or throws.
int Main(int argc, char** argv) {
  etprof::PrepareProcess();
  etprof::EscapeStdout();
  CLI::App app("etprof measures ExecuTorch models and says where every nanosecond goes.", "etprof");
  app.set_version_flag("--version", ETPROF_VERSION);
  app.require_subcommand(1);
  const std::vector<etprof::CommandSpec> commands = etprof::AllCommands();
  std::map<CLI::App*, std::function<int()>> run_of;
  for (const etprof::CommandSpec& command : commands) {
    CLI::App* subcommand = app.add_subcommand(command.name, command.summary);
    subcommand->footer("Example:\n  " + command.example);
    run_of[subcommand] = command.setup(*subcommand);
  }
  int code = 0;
  try {
    app.parse(argc, argv);
    code = run_of.at(app.get_subcommands().front())();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      etprof::SayError(etprof::UsageError(app, argc, argv, error.what()));
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
