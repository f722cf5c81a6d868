#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <system_error>

#include "cli/command.h"
#include "cli/stdout_terminal.h"
#include "cli/suggest.h"
#include "core/error.h"

namespace {

// fmt::print throws what the system says where stdout is full or closed.
int Run(const std::function<int()>& command) {
  try {
    return command();
  } catch (const std::system_error&) {
    if (std::ferror(stdout) != 0) etprof::FailStdout();
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
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
  try {
    app.parse(argc, argv);
    const int code = Run(run_of.at(app.get_subcommands().front()));
    etprof::FlushStdout();
    return code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    fmt::print(stderr, "etprof: {}\n", etprof::UsageMessage(app, argc, argv, error.what()));
    return static_cast<int>(etprof::ExitCode::kUsage);
  } catch (const std::exception& exception) {
    const etprof::Error error = etprof::AsError(exception);
    fmt::print(stderr, "etprof: {}\n", error.Message());
    return static_cast<int>(error.exit_code());
  }
}
