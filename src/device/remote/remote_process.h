#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/device.h"

namespace etprof {

// Defines `kill_group PID` for the device's POSIX shell: kills the process group that StartScript created, or
// the process alone if the device could not create a process group.
inline constexpr const char* kDefineKillGroup =
    R"sh(kill_group() { kill -s KILL -- "-$1" 2>/dev/null || kill -s KILL "$1" 2>/dev/null; })sh";

// A script for the device's POSIX shell that runs `command` in `folder` (a path on the device), with the
// script's stdin, stdout, and stderr. While the command runs, `pids/<tag>` has its PID, which is also its
// process group. Processes that the command leaves running are killed at its end. The last line that the
// script writes to stderr is an exit mark (PrintExitMark), which distinguishes the end of the program from a
// broken connection whatever the client's own exit code is.
std::string StartScript(const Command& command, const std::string& folder, const std::string& tag);

// The shell command that prints the exit mark "\nETPROF-EXIT <tag> <code>\n" to stderr. `code` is a word that
// the shell expands ("$?").
std::string PrintExitMark(const std::string& tag, const std::string& code);

// Removes the exit mark and all text after it from `errors`, and returns its exit code. Absent: there is no
// complete mark.
std::optional<int> ExtractExitMark(std::string& errors, const std::string& tag);

// A process on a device, behind a local client process that runs StartScript there. `kill` kills the process
// on the device, and returns false if the device does not answer.
class RemoteProcess : public Process {
 public:
  RemoteProcess(std::string tag, Device::Sink on_stderr, std::function<bool()> kill);
  ~RemoteProcess() override;
  RemoteProcess(RemoteProcess&&) = delete;

  // The sink for the client's stderr, to be given to SetClient's process at its start.
  Device::Sink ErrorSink();
  void SetClient(std::unique_ptr<Process> client) { client_ = std::move(client); }

  bool Send(std::string_view line, double timeout_seconds) override {
    return client_->Send(line, timeout_seconds);
  }
  ReadResult ReadLine(std::string& line, double timeout_seconds) override {
    return client_->ReadLine(line, timeout_seconds);
  }
  void CloseInput() override { client_->CloseInput(); }
  std::optional<ExitStatus> Wait(double timeout_seconds) override;
  void Kill() override;
  std::string LastErrors() const override { return last_errors_; }
  bool ConnectionLost() const override { return unreachable_ || (ended_ && !code_); }

 private:
  void ReceiveErrors(std::string_view text);
  void ForwardErrors(std::string_view text);

  std::string tag_;
  Device::Sink on_stderr_;
  std::function<bool()> kill_;
  std::unique_ptr<Process> client_;
  std::string unforwarded_;  // end of stderr that may be the beginning of the exit mark
  std::string last_errors_;
  std::optional<int> code_;
  bool ended_ = false;
  bool unreachable_ = false;  // the device did not answer Kill()
};

}  // namespace etprof
