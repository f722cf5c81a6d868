#include "device/tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/tokenizer.hpp>
#include <cstdlib>

#include "core/clock.h"
#include "core/text/escape.h"
#include "core/text/text.h"
#include "device/executable.h"
#include "device/local/local.h"

namespace etprof {
namespace {

constexpr Bytes kMaxLogBytes = 16 << 20;  // a client's log; ToolOptions::max_file limits it, too
constexpr std::size_t kQuotedBytes = 100;
constexpr std::size_t kMaxUnexpectedBytes = std::size_t{64} << 10U;
// The minimum time for a process to exit after it closed stdout or was killed.
constexpr double kMinExitSeconds = 1;

}  // namespace

ProcessOutput ReadOutput(Process& process, double timeout_seconds, const std::string& last_line,
                         const std::string& expected_first_line, bool drop_excess) {
  ProcessOutput output;
  std::size_t max_bytes = kMaxOutputBytes;
  const double deadline = MonotonicSeconds() + timeout_seconds;
  std::string line;
  while (true) {
    const double remaining_seconds = deadline - MonotonicSeconds();
    output.end =
        remaining_seconds < 0 ? Process::ReadResult::kTimeout : process.ReadLine(line, remaining_seconds);
    if (output.end != Process::ReadResult::kLine) return output;
    if (!last_line.empty() && line == last_line) return output;
    if (output.text.empty() && !expected_first_line.empty() && line != expected_first_line)
      max_bytes = kMaxUnexpectedBytes;
    if (output.text.size() + line.size() < max_bytes) {
      output.text += line + '\n';
    } else if (!drop_excess) {
      output.text.append(line, 0, kQuotedBytes);
      output.end = Process::ReadResult::kTooLong;
      return output;
    }
  }
}

std::string QuotedStart(const std::string& text) {
  std::string line(Trimmed(text.substr(0, 4 * kQuotedBytes)));
  line.resize(std::min(line.find('\n'), line.size()));
  const bool truncated = line.size() > kQuotedBytes;
  if (truncated) line.resize(kQuotedBytes);
  return "`" + EscapeToOneLine(line) + (truncated ? "..." : "") + "`";
}

ToolResult RunTool(const std::vector<std::string>& arguments, const ToolOptions& options) {
  Command command;
  if (options.input.empty() && options.output.empty() && !options.max_file) {
    command.arguments = arguments;
  } else {
    FindProgram(arguments.at(0));  // the shell's own message would have no remedy
    std::string script;
    // POSIX's `ulimit -f` counts blocks of 512 bytes.
    if (options.max_file)
      script = fmt::format("ulimit -f {}; ", (*options.max_file + kMaxLogBytes) / 512 + 1);
    script += "exec \"$@\"";
    if (!options.input.empty()) script += " <" + ShellQuoted(options.input.string());
    if (!options.output.empty()) script += " >" + ShellQuoted(options.output.string());
    command.arguments = {"sh", "-c", script, "sh"};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  }
  ToolResult result;
  const std::unique_ptr<Process> process = StartLocalProcess(command, {}, options.interrupted);
  process->CloseInput();
  const double deadline = MonotonicSeconds() + options.timeout_seconds;
  ProcessOutput output =
      ReadOutput(*process, options.timeout_seconds, "", options.first_line, !options.limit_output);
  result.output = std::move(output.text);
  if (output.end != Process::ReadResult::kEnd) {
    process->Kill();
    if (output.end == Process::ReadResult::kInterrupted) throw Error(ExitCode::kInterrupted, "interrupted");
    result.timed_out = output.end == Process::ReadResult::kTimeout;
    result.too_long = output.end == Process::ReadResult::kTooLong;
  }
  const std::optional<ExitStatus> status =
      process->Wait(std::max(kMinExitSeconds, deadline - MonotonicSeconds()));
  if (!status) {
    process->Kill();
    result.timed_out = true;
  }
  result.status =
      status.value_or(ExitStatus{.code = -1, .signal = 9, .cpu_time = {}, .peak_rss = {}, .run_delay = {}});
  result.errors = process->LastErrors();
  return result;
}

std::string EnvironmentVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> ClientCommand(const char* variable, const std::string& default_program) {
  std::vector<std::string> arguments = SplitCommand(EnvironmentVariable(variable));
  if (arguments.empty()) arguments.push_back(default_program);
  return arguments;
}

std::string ShellOutput(Device& device, const std::string& script, double timeout_seconds) {
  const std::unique_ptr<Process> process = device.Start({{"sh", "-c", script}, {}, {}}, {});
  process->CloseInput();
  ProcessOutput output = ReadOutput(*process, timeout_seconds);
  if (output.end == Process::ReadResult::kInterrupted) throw Error(ExitCode::kInterrupted, "interrupted");
  if (output.end != Process::ReadResult::kEnd) return "";
  const std::optional<ExitStatus> status = process->Wait(timeout_seconds);
  if (process->ConnectionLost()) throw DeviceLost(device.Name(), "the connection was lost");
  return status && status->Success() ? std::move(output.text) : "";
}

std::vector<std::string> SplitCommand(const std::string& text) {
  const boost::tokenizer<boost::escaped_list_separator<char>> tokens(
      text, boost::escaped_list_separator<char>("", " \t\n", "\"'"));
  std::vector<std::string> words(tokens.begin(), tokens.end());
  std::erase(words, "");  // two adjacent blanks make an empty word
  return words;
}

}  // namespace etprof
