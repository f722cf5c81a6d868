#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"

namespace etprof {

inline constexpr std::size_t kMaxOutput = std::size_t{16} << 20U;  // bytes of stdout in memory

// What a process printed, and why reading ended. kEnd: it closed its stdout; kLine: the line `last` came;
// kTimeout, kInterrupted; kTooLong: more than kMaxOutput bytes came, of which the first are in `text`.
struct ProcessOutput {
  Process::Read end = Process::Read::kEnd;
  std::string text;
};
// Reads stdout until it is closed or the line `last` comes, which is left out ("": no line ends it).
// Where another line than `first` comes first ("": any may), 64 kB take the place of kMaxOutput.
// `timeout_seconds` are for all of it, however often the process prints. With `drop_rest` what is above
// kMaxOutput is read and dropped.
ProcessOutput ReadOutput(Process& process, double timeout_seconds, const std::string& last = "",
                         const std::string& first = "", bool drop_rest = false);

// "`Welcome to ...`": the first line of what a device printed, cut, for messages.
std::string QuotedStart(const std::string& text);

struct ToolOptions {
  std::filesystem::path input = {};   // becomes its stdin; empty: it has none
  std::filesystem::path output = {};  // takes its stdout, byte for byte; empty: ToolResult::output does
  double timeout_seconds = 60;        // for the whole run
  std::string first_line = {};        // that it has to print: of other text 64 kB are enough; "": any
  bool limit_output = false;          // end it after kMaxOutput bytes of stdout; false: drop the rest
  // The largest file that it may write, `output` included, to 16 MB (its log may be written, too); absent:
  // any.
  std::optional<Bytes> max_file = {};
  std::function<bool()> interrupted = {};
};

struct ToolResult {
  ExitStatus status;
  std::string output;  // stdout, at most 16 MB of it
  std::string errors;  // the last 4 kB of stderr
  bool timed_out = false;
  bool too_long = false;  // with ToolOptions::limit_output
  bool Success() const { return !timed_out && !too_long && status.Success(); }
};

// Runs a program of this machine (ssh, adb) to its end, or kills it after the time. Throws as Device::Start,
// and Error (kInterrupted).
ToolResult RunTool(const std::vector<std::string>& words, const ToolOptions& options = {});

// The words that start a client program of this machine: those of the environment variable, where it has any,
// else the usual one.
std::vector<std::string> ClientWords(const char* variable, const std::string& usual);

}  // namespace etprof
