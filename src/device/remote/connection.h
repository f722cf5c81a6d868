#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/text/text.h"
#include "device/device.h"

namespace etprof {

// A device with a home folder: etprof's, where DefaultFolder is.
inline constexpr const char* kHomeFolder = "${XDG_CACHE_HOME:-$HOME/.cache}/etprof";

// How a remote device is reached: by a client program of this machine that runs a shell's scripts there. What
// is the same for all of them is in remote.cc.
class Connection {
 public:
  virtual ~Connection() = default;

  virtual std::string Name() const = 0;  // as `--device` takes it: "ssh:pi5", "adb:emulator-5554"
  // Where etprof's files lie on the device unless $ETPROF_DEVICE_DIR there says otherwise: a word that its
  // shell expands.
  virtual std::string DefaultFolder() const = 0;

  // Throws Error (kDeviceFailed, with the remedy) when the device cannot be reached or refuses; DeviceLost
  // never. Closes an earlier connection first.
  virtual void Open() = 0;
  virtual void Close() = 0;

  // The words of the local command that runs `script` with the device's POSIX shell: its stdin, stdout and
  // stderr are the script's.
  virtual std::vector<std::string> Shell(const std::string& script) const = 0;

  // The line of the client's stderr that has the cause of a failure.
  virtual std::string Problem(const std::string& errors) const { return LastLine(errors); }

  // Copies one file. The folder of the target exists. False when it did not work; `why` says the client's or
  // the device's words.
  virtual bool Push(const std::filesystem::path& local, const std::string& remote, std::string& why) = 0;
  // `size`: of the file as the device announced it. A few MB more are written at most.
  virtual bool Pull(const std::string& remote, const std::filesystem::path& local, Bytes size,
                    std::string& why) = 0;

  void SetInterrupted(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }

 protected:
  std::function<bool()> interrupted_;
};

// The time limit of a copy, in seconds: a minute, and what a slow network needs (100 kB per second).
inline double CopySeconds(Bytes bytes) { return 60 + static_cast<double>(bytes) / 100e3; }

// A shell of this machine, as ssh would give one: no files are copied by it.
std::unique_ptr<Connection> MakeLocalConnection();
// The system's OpenSSH client, with its configuration and agent. $ETPROF_SSH has the words to use instead of
// `ssh`.
std::unique_ptr<Connection> MakeSshConnection(const std::string& host);
// The adb client ($ETPROF_ADB instead of `adb`). `serial`: empty where there is one device only; "HOST:PORT"
// is connected to first.
std::unique_ptr<Connection> MakeAdbConnection(const std::string& serial);

}  // namespace etprof
