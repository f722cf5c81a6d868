#include "device/tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/clock.h"
#include "core/text/escape.h"
#include "core/text/text.h"
#include "device/executable.h"
#include "device/local/local_process.h"
#include "device/shell.h"

namespace etprof {
namespace {

constexpr Bytes kMaxLogBytes = 16 << 20;  // a client's log; ToolOptions::max_file limits it, too
constexpr std::size_t kQuotedBytes = 100;
constexpr std::size_t kMaxUnexpectedBytes = std::size_t{64} << 10U;
constexpr double kEndSeconds = 1;  // least time for a process to exit after it closed stdout or was killed

}  // namespace

ProcessOutput ReadOutput(Process& process, double timeout_seconds, const std::string& last,
                         const std::string& first, bool drop_rest) {
  ProcessOutput output;
  std::size_t max_bytes = kMaxOutputBytes;
  const double deadline = MonotonicSeconds() + timeout_seconds;
  std::string line;
  while (true) {
    const double left = deadline - MonotonicSeconds();
    output.end = left < 0 ? Process::Read::kTimeout : process.ReadLine(line, left);
    if (output.end != Process::Read::kLine) return output;
    if (!last.empty() && line == last) return output;
    if (output.text.empty() && !first.empty() && line != first) max_bytes = kMaxUnexpectedBytes;
    if (output.text.size() + line.size() < max_bytes) {
      output.text += line + '\n';
    } else if (!drop_rest) {
      output.text.append(line, 0, kQuotedBytes);
      output.end = Process::Read::kTooLong;
      return output;
    }
  }
}

std::string QuotedStart(const std::string& text) {
  std::string line(Trimmed(text.substr(0, 4 * kQuotedBytes)));
  line.resize(std::min(line.find('\n'), line.size()));
  const bool cut = line.size() > kQuotedBytes;
  if (cut) line.resize(kQuotedBytes);
  return "`" + EscapeToOneLine(line) + (cut ? "..." : "") + "`";
}

ToolResult RunTool(const std::vector<std::string>& words, const ToolOptions& options) {
  Command command;
  if (options.input.empty() && options.output.empty() && !options.max_file) {
    command.arguments = words;
  } else {
    FindProgram(words.at(0));  // the shell's own message would have no remedy
    std::string script;
    // POSIX's `ulimit -f` counts blocks of 512 bytes.
    if (options.max_file)
      script = fmt::format("ulimit -f {}; ", (*options.max_file + kMaxLogBytes) / 512 + 1);
    script += "exec \"$@\"";
    if (!options.input.empty()) script += " <" + ShellQuoted(options.input.string());
    if (!options.output.empty()) script += " >" + ShellQuoted(options.output.string());
    command.arguments = {"sh", "-c", script, "sh"};
    command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  }
  ToolResult result;
  const std::unique_ptr<Process> process = StartLocalProcess(command, {}, options.interrupted);
  process->CloseInput();
  const double deadline = MonotonicSeconds() + options.timeout_seconds;
  ProcessOutput output =
      ReadOutput(*process, options.timeout_seconds, "", options.first_line, !options.limit_output);
  result.output = std::move(output.text);
  if (output.end != Process::Read::kEnd) {
    process->Kill();
    if (output.end == Process::Read::kInterrupted) throw Error(ExitCode::kInterrupted, "interrupted");
    result.timed_out = output.end == Process::Read::kTimeout;
    result.too_long = output.end == Process::Read::kTooLong;
  }
  const std::optional<ExitStatus> status =
      process->Wait(std::max(kEndSeconds, deadline - MonotonicSeconds()));
  if (!status) {
    process->Kill();
    result.timed_out = true;
  }
  result.status =
      status.value_or(ExitStatus{.code = -1, .signal = 9, .cpu_time = {}, .peak_rss = {}, .run_delay = {}});
  result.errors = process->LastErrors();
  return result;
}

std::vector<std::string> ClientCommand(const char* variable, const std::string& usual) {
  const char* value = std::getenv(variable);
  std::vector<std::string> words = SplitCommand(value == nullptr ? "" : value);
  if (words.empty()) words.push_back(usual);
  return words;
}

}  // namespace etprof
