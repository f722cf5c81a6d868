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
  kCheckFailed = 1,    // what was checked is not so
  kUsage = 2,          // wrong command line
  kBadInput = 3,       // a file or configuration cannot be used
  kDeviceFailed = 4,   // a device, a runner or the system underneath failed
  kInconclusive = 5,   // what was checked could not be decided
  kInterrupted = 130,  // Ctrl-C
};

// The one error type: what happened, in which file and where in it, and what to do about it. Thrown anywhere,
// caught once, in main, which prints two lines and exits with `exit_code`:
//
//   error: `a.etdump` is not an ETDump: no ED00 identifier (byte 4)
//   hint: Give a file that etprof or executor_runner wrote.
//
// A problem of a file is a clause of which the file is the subject ("is not an ETDump"), or a text that can
// follow its name and a colon ("no such file").
//
//   throw Error(ExitCode::kBadInput, "is not an ETDump: no ED00 identifier")
//       .InFile(path).AtOffset(4).Remedy("give a file that etprof or executor_runner wrote");
class Error : public std::exception {
 public:
  Error(ExitCode code, std::string problem) : exit_code_(code), problem_(std::move(problem)) { Compose(); }

  Error& InFile(std::string file) {
    file_ = std::move(file);
    return Compose();
  }
  Error& AtOffset(std::uint64_t byte) {
    offset_ = byte;
    return Compose();
  }  // bytes from the start of the file
  Error& AtLine(std::uint64_t line) {
    line_ = line;
    return Compose();
  }  // counted from 1
  Error& Remedy(std::string remedy) {
    remedy_ = std::move(remedy);
    return Compose();
  }

  ExitCode exit_code() const { return exit_code_; }
  const std::string& problem() const { return problem_; }
  const std::string& file() const { return file_; }
  const std::string& remedy() const { return remedy_; }
  std::optional<std::uint64_t> offset() const { return offset_; }

  // For a file or a list, one line: "FILE, byte 4: problem. Remedy." Control characters are escaped, here and
  // in what follows.
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& Message() const { return message_; }

  // For a person: "`FILE` is not an ETDump (byte 4)", and what to do as a sentence, which may be empty.
  std::string Summary() const;
  std::string Hint() const;

 private:
  Error& Compose();

  ExitCode exit_code_;
  std::string problem_;
  std::string file_;
  std::optional<std::uint64_t> offset_;
  std::optional<std::uint64_t> line_;
  std::string remedy_;
  std::string message_;
};

// Whether the system refused because a limit of the process or the machine is reached (memory, open files):
// nothing is wrong with what was asked for. kSeeLimits is what to do then.
bool IsLimit(const std::error_code& code);
inline constexpr const char* kSeeLimits = "see the limits of this shell: `ulimit -a`";

// Any exception as an Error: one is itself, what the file system refused names its file (kBadInput;
// kDeviceFailed where a limit of the process refused it), too little memory and what else the system refused
// are kDeviceFailed, and anything else is a defect of etprof (kDeviceFailed).
Error AsError(const std::exception& exception);

}  // namespace etprof
