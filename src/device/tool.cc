#include "device/tool.h"

#include <cstdlib>

#include "device/executable.h"
#include "device/local/local_process.h"
#include "device/shell.h"

namespace etprof {
namespace {

constexpr std::size_t kMostOutput = std::size_t{16} << 20U;

}  // namespace

ToolResult RunTool(const std::vector<std::string>& words, const ToolOptions& options) {
  Command command;
  if (options.input.empty() && options.output.empty()) {
    command.arguments = words;
  } else {
    FindProgram(words.at(0));  // the shell's own message would not say what to do
    std::string script = "exec \"$@\"";
    if (!options.input.empty()) script += " <" + ShellQuoted(options.input.string());
    if (!options.output.empty()) script += " >" + ShellQuoted(options.output.string());
    command.arguments = {"sh", "-c", script, "sh"};
    command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  }
  ToolResult result;
  const std::unique_ptr<Process> process = StartLocalProcess(command, {}, options.interrupted);
  process->CloseInput();
  std::string line;
  while (true) {
    const Process::Read read = process->ReadLine(line, options.timeout_seconds);
    if (read == Process::Read::kEnd) break;
    if (read == Process::Read::kLine) {
      if (result.output.size() < kMostOutput) result.output += line + '\n';
      continue;
    }
    process->Kill();
    if (read == Process::Read::kInterrupted) throw Error(ExitCode::kInterrupted, "interrupted");
    result.timed_out = true;
    break;
  }
  const std::optional<ExitStatus> status = process->Wait(options.timeout_seconds);
  if (!status) {
    process->Kill();
    result.timed_out = true;
  }
  result.status =
      status.value_or(ExitStatus{.code = -1, .signal = 9, .cpu_time = {}, .peak_rss = {}, .run_delay = {}});
  result.errors = process->LastErrors();
  return result;
}

std::vector<std::string> ClientWords(const char* variable, const std::string& usual) {
  const char* given = std::getenv(variable);
  std::vector<std::string> words = CommandWords(given == nullptr ? "" : given);
  if (words.empty()) words.push_back(usual);
  return words;
}

}  // namespace etprof
