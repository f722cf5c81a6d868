#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <system_error>

namespace etprof {

// The process exit codes of every etprof command (docs/concepts/measurement.md lists them for users).
enum class ExitCode : int {
  kDone = 0,
  kCheckFailed = 1,    // a comparison or limit that was checked does not hold
  kUsage = 2,          // wrong command line
  kBadInput = 3,       // a file or configuration cannot be used
  kDeviceFailed = 4,   // a device, a runner or the system underneath failed
  kInconclusive = 5,   // a check could not be decided
  kInterrupted = 130,  // Ctrl-C
};

// The only exception type of etprof: what happened, in which file, where in the file, and what to do about
// it. Any code may throw an Error. Only main catches it, prints two lines, and exits with `exit_code`:
//
//   error: `a.etdump` is not an ETDump: no ED00 identifier (byte 4)
//   hint: Give a file that etprof or executor_runner wrote.
//
// The problem of a file is a clause with the file as its subject ("is not an ETDump"), or a text that can
// follow the file's name and a colon ("no such file").
//
//   throw Error(ExitCode::kBadInput, "is not an ETDump: no ED00 identifier")
//       .InFile(path).AtOffset(4).Remedy("give a file that etprof or executor_runner wrote");
class Error : public std::exception {
 public:
  Error(ExitCode code, std::string problem) : exit_code_(code), problem_(std::move(problem)) { Compose(); }

  Error& InFile(std::string file) { return Set(file_, std::move(file)); }
  Error& AtOffset(std::uint64_t byte) { return Set(offset_, byte); }  // bytes from the start of the file
  Error& AtLine(std::uint64_t line) { return Set(line_, line); }      // counted from 1
  Error& Remedy(std::string remedy) { return Set(remedy_, std::move(remedy)); }

  ExitCode exit_code() const { return exit_code_; }
  const std::string& problem() const { return problem_; }
  const std::string& file() const { return file_; }
  const std::string& remedy() const { return remedy_; }
  std::optional<std::uint64_t> offset() const { return offset_; }

  // The error on one line, for a file or a list: "FILE, byte 4: problem. Remedy." Control characters are
  // escaped here and in the functions below.
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& Message() const { return message_; }

  // The two lines for the terminal: "`FILE` is not an ETDump (byte 4)", and the remedy as a sentence, which
  // may be empty.
  std::string Summary() const;
  std::string Hint() const;

 private:
  Error& Set(auto& member, auto value) {
    member = std::move(value);
    return Compose();
  }
  Error& Compose();

  ExitCode exit_code_;
  std::string problem_;
  std::string file_;
  std::optional<std::uint64_t> offset_;
  std::optional<std::uint64_t> line_;
  std::string remedy_;
  std::string message_;
};

// Returns whether the system refused a request because a limit of the process or the machine is reached
// (memory, open files), not because the request is wrong. kLimitsRemedy is the remedy for that.
bool IsResourceLimit(const std::error_code& code);
inline constexpr const char* kLimitsRemedy = "see the limits of this shell: `ulimit -a`";

// Converts any exception to an Error. An Error stays as it is. A file system error names its file (kBadInput,
// or kDeviceFailed if a limit of the process is reached). Lack of memory and other system errors are
// kDeviceFailed. Anything else is a bug of etprof (kDeviceFailed).
Error ToError(const std::exception& exception);

}  // namespace etprof
