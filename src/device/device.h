#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "device/conditions/power_mode.h"
#include "device/properties.h"

namespace etprof {

struct Command {
  std::vector<std::string> arguments;                            // [0] is the program, as the device names it
  std::vector<std::pair<std::string, std::string>> environment;  // added to the device's own
  std::vector<int> cpus;  // the process may run on these only; empty: on any
};
// For people and manifests: quoted for a POSIX shell where needed.
std::string CommandText(const Command& command);
// One word of a POSIX shell's command line; the only way by which a text comes into one. Throws Error
// (kBadInput) for a NUL character, which no word can hold.
std::string ShellQuoted(const std::string& text);
// Whether it is a name of an environment variable, as POSIX has them: [A-Za-z_][A-Za-z0-9_]*. A shell would
// run what else stands before a "=".
bool IsVariableName(const std::string& text);

// The device cannot be reached any more: what runs there ends by itself, and another try may find it again.
class DeviceLost : public Error {
 public:
  DeviceLost(const std::string& device, const std::string& problem, const std::string& remedy = "")
      : Error(ExitCode::kDeviceFailed, problem) {
    InFile(device);  // these return an Error: thrown, it would be one no more than that
    Remedy(remedy);
  }
};

struct ExitStatus {
  int code = 0;                         // of exit(), or -1; a remote device's shell adds 128 to a signal
  int signal = 0;                       // that ended it, or 0
  std::optional<Nanoseconds> cpu_time;  // user and system, of the process and its waited-for children
  std::optional<Bytes> peak_rss;
  // For how long its main thread wanted a processor and had none (Linux's run delay). Absent: not known.
  std::optional<Nanoseconds> run_delay;
  bool Success() const { return signal == 0 && code == 0; }
  // The signal that ended it, or, where it exited with 128 and the number of a signal, that one: so a shell
  // reports a signal of what it ran (a wrapper, or the shell of a remote device), but a program may exit with
  // such a code by itself. 0: none.
  int PossibleSignal() const;
  // "exited with 1", "was killed by signal 9 (Killed)",
  // "exited with 137, a shell's code for: killed by signal 9 (Killed)"
  std::string Text() const;
};

// A running process on a device, with live pipes. Its destructor kills it (and what it started) and leaves no
// zombie.
class Process {
 public:
  enum class Read {
    kLine,
    kEnd,  // it closed its stdout, or exited; what it started may write to stdout for 1 s more
    kTimeout,
    kTooLong,      // a line above the cap: not a worker's
    kInterrupted,  // Device::SetInterrupted's function said so
  };
  virtual ~Process() = default;

  // Writes `line` and a newline to its stdin. False when it has closed it, or does not read for
  // `timeout_seconds`.
  virtual bool Send(std::string_view line, double timeout_seconds) = 0;
  // The next line of its stdout, without the newline. A last line without one counts as a line. What the
  // process writes to stderr meanwhile goes to the sink given at its start.
  virtual Read ReadLine(std::string& line, double timeout_seconds) = 0;
  virtual void CloseInput() = 0;
  // Waits for its end, passing on stderr; absent when it still runs after `timeout_seconds`.
  virtual std::optional<ExitStatus> Wait(double timeout_seconds) = 0;
  virtual void Kill() = 0;
  // Asks it, and what it has started, to end: a build tool then ends its compilers, which Kill would leave.
  virtual void Terminate() { Kill(); }
  // The last lines of its stderr (at most 4 kB), for messages.
  virtual std::string LastErrors() const = 0;
  // After its end: the connection to its device broke, so that nothing is known of how it ended.
  virtual bool Lost() const { return false; }
};

// What etprof leaves on a device from one time to the next.
struct StoredFiles {
  Bytes cache = 0;     // Put's files
  Bytes old_runs = 0;  // of runs that are over: `--keep`
  int live_runs = 0;   // of other etprofs, going on now
};

// Where models run. One interface and one file each for this machine, ssh and adb; only here are processes
// started.
class Device {
 public:
  using Sink = std::function<void(std::string_view)>;
  virtual ~Device() = default;

  virtual std::string Name() const = 0;
  virtual DeviceProperties Properties() = 0;
  virtual std::optional<Bytes> AvailableMemory() = 0;
  // As in DeviceProperties::limits, read again. Throws DeviceLost.
  virtual ResourceLimits Limits() { return {}; }
  // ExitStatus::Text of a process of this device; where the kernel killed it for want of memory since
  // `before` was read, with that reason.
  std::string EndText(const ExitStatus& status, const ResourceLimits& before);
  // Puts it into a power mode until CleanUp, or until this etprof or the connection ends; another time after
  // WaitUntilBack by itself. Throws Error: as FindPowerMode and ReadPowerMode; DeviceLost.
  virtual PowerMode SetPowerMode(const std::string& name);

  // Waits until nobody else uses the device who takes turns, too, from whichever host, and keeps it until
  // EndTurn or CleanUp, or until this etprof or the connection ends. Who comes first is first. `who` is what
  // others are told meanwhile, and `waits` is told for whom this one waits. Throws Error: kInterrupted,
  // kDeviceFailed; DeviceLost.
  virtual void TakeTurn(const std::string& who, const std::function<void(const std::string&)>& waits) = 0;
  virtual void EndTurn() = 0;

  // Makes a local file available on the device and returns its path there. Files keep their names, since what
  // belongs to a model (`.inputs`) is found beside it.
  virtual std::string Put(const std::filesystem::path& local) = 0;
  // The same for a program: the words that start it. A program of a bundle (`etprof build`; bundle.json lies
  // beside it) starts by the loader that the bundle brings, with the bundle's libraries.
  // `libraries` lie beside it then.
  virtual std::vector<std::string> PutProgram(const std::filesystem::path& local,
                                              const std::vector<std::filesystem::path>& libraries = {}) = 0;
  // A path on the device for a file that will be fetched to `local`.
  virtual std::string Place(const std::filesystem::path& local) = 0;
  // Fetches what Place named. False when it is not there. Throws Error (kDeviceFailed).
  virtual bool Get(const std::string& remote, const std::filesystem::path& local) = 0;
  virtual void Remove(const std::string& remote) = 0;
  // Removes what Place left on the device (never a local file), and puts back what was changed there. What
  // Put left stays for the next time (docs/reference/devices.md).
  virtual void CleanUp() = 0;

  // Nothing for this machine. Throws Error (kDeviceFailed).
  virtual StoredFiles Stored() { return {}; }
  // Removes that and returns what is gone. While runs go on they keep their own folders, and the cache, which
  // they use, stays.
  virtual StoredFiles RemoveStored() { return {}; }

  // After DeviceLost or Process::Lost: waits until the device answers again, at most `timeout_seconds`.
  // Whether it does.
  virtual bool WaitUntilBack(double timeout_seconds) = 0;

  // Throws Error (kDeviceFailed, or kBadInput when the program is missing or is no program of this device),
  // naming the program and the reason in one line; DeviceLost.
  virtual std::unique_ptr<Process> Start(const Command& command, Sink on_stderr) = 0;

  // Asked while waiting for a process; true makes the wait end with kInterrupted.
  virtual void SetInterrupted(std::function<bool()> interrupted) = 0;
};

}  // namespace etprof
