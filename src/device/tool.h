#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"

namespace etprof {

inline constexpr std::size_t kMaxOutputBytes = std::size_t{16} << 20U;  // maximum stdout kept in memory

// The stdout of a process, and why reading ended: kEnd (stdout was closed), kLine (the line `last_line` was
// read), kTimeout, kInterrupted, or kTooLong (more than kMaxOutputBytes bytes; `text` has the first ones).
struct ProcessOutput {
  Process::ReadResult end = Process::ReadResult::kEnd;
  std::string text;
};
// Reads stdout until it is closed or until the line `last_line`, which is not part of the result. An empty
// `last_line` means until stdout is closed. If the first line is not `expected_first_line`, the limit is 64
// kB instead of kMaxOutputBytes; an empty `expected_first_line` means that any line is expected.
// `timeout_seconds` limits the whole call. With `drop_excess`, output above the limit is read and dropped.
ProcessOutput ReadOutput(Process& process, double timeout_seconds, const std::string& last_line = "",
                         const std::string& expected_first_line = "", bool drop_excess = false);

// The first line of a device's output, quoted and truncated, for messages: "`Welcome to ...`".
std::string QuotedStart(const std::string& text);

struct ToolOptions {
  std::filesystem::path input = {};   // file for stdin; empty: closed stdin
  std::filesystem::path output = {};  // file for stdout; empty: stdout goes to ToolResult::output
  double timeout_seconds = 60;        // time limit for the whole run
  std::string first_line = {};        // ReadOutput's expected_first_line
  bool limit_output = false;  // end the tool after kMaxOutputBytes bytes of stdout; false: drop further bytes
  // The largest file that the tool may write, `output` included, plus 16 MB, since the limit also applies to
  // its log. Absent: no limit.
  std::optional<Bytes> max_file = {};
  std::function<bool()> interrupted = {};
};

struct ToolResult {
  ExitStatus status;
  std::string output;  // the first 16 MB of stdout
  std::string errors;  // the last 4 kB of stderr
  bool timed_out = false;
  bool too_long = false;  // ToolOptions::limit_output ended the tool
  bool Success() const { return !timed_out && !too_long && status.Success(); }
};

// Runs a program of this machine (ssh, adb) and waits for its end, or kills it after the time limit. Throws
// as Device::Start does, and Error (kInterrupted).
ToolResult RunTool(const std::vector<std::string>& arguments, const ToolOptions& options = {});

// The value of an environment variable; empty if it is not set.
std::string EnvironmentVariable(const char* name);

// The command that starts a client program of this machine: the words of the environment variable, or
// `default_program` if the variable is unset or blank.
std::vector<std::string> ClientCommand(const char* variable, const std::string& default_program);

// Runs a POSIX shell script on the device and returns its stdout; empty if the script failed or timed out.
// Throws as Device::Start does, Error (kInterrupted), DeviceLost.
std::string ShellOutput(Device& device, const std::string& script, double timeout_seconds);

// Splits a command of a user at blanks, except between single or double quotes. Empty words are dropped.
std::vector<std::string> SplitCommand(const std::string& text);

}  // namespace etprof
