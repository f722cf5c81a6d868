#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/text/text.h"
#include "device/device.h"

namespace etprof {

// Connection::DefaultFolder of devices that have a home folder.
inline constexpr const char* kHomeFolder = "${XDG_CACHE_HOME:-$HOME/.cache}/etprof";

// The transport to a remote device: a client program of this machine (ssh, adb) that runs shell scripts on
// the device and copies files. remote.cc has everything that does not depend on the transport.
class Connection {
 public:
  virtual ~Connection() = default;

  virtual std::string Name() const = 0;  // as `--device` takes it: "ssh:pi5", "adb:emulator-5554"
  // etprof's folder on the device if $ETPROF_DEVICE_DIR is not set there: a word that the device's shell
  // expands.
  virtual std::string DefaultFolder() const = 0;

  // Connects, after closing an earlier connection. Throws Error (kDeviceFailed, with the remedy) if the
  // device cannot be reached or refuses the connection; never DeviceLost.
  virtual void Open() = 0;
  virtual void Close() = 0;

  // The local command that runs `script` with the device's POSIX shell, connected to the script's stdin,
  // stdout, and stderr.
  virtual std::vector<std::string> Shell(const std::string& script) const = 0;

  // Finds the line of the client's stderr that has the cause of a failure.
  virtual std::string FindProblem(const std::string& errors) const { return LastLine(errors); }

  // Copies a local file into an existing folder of the device. Returns false on failure, and the message of
  // the client or the device in `reason`.
  virtual bool Push(const std::filesystem::path& local, const std::string& remote, std::string& reason) = 0;
  // Copies a file from the device to `local`. Fails like Push. `size` is the size that the device announced;
  // at most a few MB more are written.
  virtual bool Pull(const std::string& remote, const std::filesystem::path& local, Bytes size,
                    std::string& reason) = 0;

  void SetInterrupted(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }

 protected:
  std::function<bool()> interrupted_;
};

// The time limit of a copy in seconds: one minute plus the time that a slow network (100 kB/s) needs.
inline double CopySeconds(Bytes bytes) { return 60 + static_cast<double>(bytes) / 100e3; }

// A connection to the shell of this machine, for the device lock. Push and Pull fail.
std::unique_ptr<Connection> MakeLocalConnection();
// A connection by the system's OpenSSH client, with its configuration and agent. $ETPROF_SSH overrides the
// command `ssh`.
std::unique_ptr<Connection> MakeSshConnection(const std::string& host);
// A connection by the adb client; $ETPROF_ADB overrides the command `adb`. An empty `serial` means the only
// device; for "HOST:PORT", Open() runs `adb connect` if needed.
std::unique_ptr<Connection> MakeAdbConnection(const std::string& serial);

struct RemoteOptions {
  bool keep = false;  // leave the run's private folder on the device
  // Called with one line before operations that take long ("pushing etprof-runner, 17 MB"), and for warnings.
  std::function<void(const std::string&)> notice;
  std::function<bool()> interrupted;  // as for Device::SetInterrupted, also used while connecting
};

// Opens the connection and returns its device. Throws Error (kDeviceFailed). The device has one folder for
// etprof (docs/reference/devices.md), in which etprof removes only folders with names that etprof gives:
//   cache/<digest>/   files of Put, by content, so that nothing is sent twice; complete or absent
//   runs/<id>/        private to this object: running processes (pids/), files of ReserveOutputPath
// A guard, which is a shell that waits for the end of its stdin, runs on the device as long as this object
// lives. When its stdin ends, by CleanUp or by a broken connection, the guard kills the run's processes and
// removes the run's folder. If the guard was killed, the next etprof process that connects does this.
std::unique_ptr<Device> MakeRemoteDevice(std::unique_ptr<Connection> connection, RemoteOptions options = {});

}  // namespace etprof
