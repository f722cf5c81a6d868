#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/device.h"

namespace etprof {

// Defines `kill_group NUMBER` for the device's POSIX shell: ends the process of StartScript that has this
// number, with what it started. Where the device cannot give it a process group, it ends the process alone.
inline constexpr const char* kDefineKillGroup =
    R"sh(kill_group() { kill -s KILL -- "-$1" 2>/dev/null || kill -s KILL "$1" 2>/dev/null; })sh";

// A script for the device's POSIX shell that runs `command` in `folder` (a path there), with the script's
// stdin, stdout and stderr. Its process number, also that of its process group, is in `pids/<tag>` while it
// runs. What it leaves running is killed at its end. The last line that the
// script writes to stderr says that it came to its end and how (PrintExitMark), so that a broken connection
// is told from the end of the program, whatever the client's own exit code says.
std::string StartScript(const Command& command, const std::string& folder, const std::string& tag);

// The command that ends such a script: it prints "\nETPROF-EXIT <tag> <code>\n" to stderr, with the code that
// the shell's word `code` is then ("$?").
std::string PrintExitMark(const std::string& tag, const std::string& code);

// The exit code that the mark in `errors` tells; it and everything after it is taken out. Absent: no whole
// mark is there.
std::optional<int> TakeExitMark(std::string& errors, const std::string& tag);

// `client` is the local process that runs StartScript on the device; its stderr goes to this object first.
// `kill` ends the process on the device by its number.
class RemoteProcess : public Process {
 public:
  RemoteProcess(std::string tag, Device::Sink on_stderr, std::function<void()> kill);
  ~RemoteProcess() override;
  RemoteProcess(RemoteProcess&&) = delete;

  // What the client's stderr is to be given to.
  Device::Sink ErrorSink();
  void SetClient(std::unique_ptr<Process> client) { client_ = std::move(client); }

  bool Send(std::string_view line, double timeout_seconds) override {
    return client_->Send(line, timeout_seconds);
  }
  Read ReadLine(std::string& line, double timeout_seconds) override {
    return client_->ReadLine(line, timeout_seconds);
  }
  void CloseInput() override { client_->CloseInput(); }
  std::optional<ExitStatus> Wait(double timeout_seconds) override;
  void Kill() override;
  std::string LastErrors() const override { return last_errors_; }
  bool Lost() const override { return ended_ && !code_; }

 private:
  void Take(std::string_view text);
  void PassOn(std::string_view text);

  std::string tag_;
  Device::Sink on_stderr_;
  std::function<void()> kill_;
  std::unique_ptr<Process> client_;
  std::string held_;  // of stderr: may be the beginning of the mark
  std::string last_errors_;
  std::optional<int> code_;
  bool ended_ = false;
};

}  // namespace etprof
