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
  std::vector<std::pair<std::string, std::string>> environment;  // added to the device's environment
  std::vector<int> cpus;                                         // CPU affinity; empty: any CPU
};
// The command as one line for messages and manifests, quoted for a POSIX shell where needed.
std::string CommandText(const Command& command);
// Quotes one word of a POSIX shell's command line. Every text that becomes part of a script passes through
// this function. Throws Error (kBadInput) for a NUL character, which no word can contain.
std::string ShellQuoted(const std::string& text);
// True if `text` is a POSIX name of an environment variable: [A-Za-z_][A-Za-z0-9_]*. A shell would execute
// any other text before a "=".
bool IsVariableName(const std::string& text);

// The connection to the device broke. Processes on the device end by themselves, and a new connection may
// succeed.
class DeviceLost : public Error {
 public:
  DeviceLost(const std::string& device, const std::string& problem, const std::string& remedy = "")
      : Error(ExitCode::kDeviceFailed, problem) {
    // Separate statements, since InFile() and Remedy() return Error: throwing their result would slice this
    // object.
    InFile(device);
    Remedy(remedy);
  }
};

struct ExitStatus {
  int code = 0;    // exit code, or -1 after a signal; a remote device's shell reports 128 + signal here
  int signal = 0;  // signal that ended the process; 0: none
  std::optional<Nanoseconds> cpu_time;  // user and system, of the process and its waited-for children
  std::optional<Bytes> peak_rss;
  // Time that the main thread was runnable but waited for a CPU (Linux's run delay). Absent: not known.
  std::optional<Nanoseconds> run_delay;
  bool Success() const { return signal == 0 && code == 0; }
  // The signal that ended the process, or that its exit code stands for: a shell (a wrapper, or the shell of
  // a remote device) exits with 128 + signal when its child is killed. A program may also exit with such a
  // code by itself. 0: none.
  int PossibleSignal() const;
  // Describes the end of the process: "exited with 1", "was killed by signal 9 (Killed)", "exited with 137, a
  // shell's code for: killed by signal 9 (Killed)".
  std::string Text() const;
};

// A running process on a device, connected by pipes. The destructor kills the process and its descendants,
// and leaves no zombie.
class Process {
 public:
  enum class ReadResult {
    kLine,
    kEnd,  // stdout was closed, or the process exited more than 1 s ago (its children may keep stdout open)
    kTimeout,
    kTooLong,      // the line is longer than all lines that a worker writes
    kInterrupted,  // the function of Device::SetInterrupted returned true
  };
  virtual ~Process() = default;

  // Writes `line` and a newline to stdin. Returns false if the process closed its stdin or did not read for
  // `timeout_seconds`.
  virtual bool Send(std::string_view line, double timeout_seconds) = 0;
  // Reads the next line of stdout, without the newline. A last line without a newline counts as a line. Text
  // that arrives on stderr meanwhile goes to the sink given to Device::Start.
  virtual ReadResult ReadLine(std::string& line, double timeout_seconds) = 0;
  virtual void CloseInput() = 0;
  // Waits for the end of the process and forwards its stderr; absent: still running after `timeout_seconds`.
  virtual std::optional<ExitStatus> Wait(double timeout_seconds) = 0;
  virtual void Kill() = 0;
  // Sends SIGTERM to the process group: a build tool then ends its compilers, which Kill would leave.
  virtual void Terminate() { Kill(); }
  // Terminates the process, and kills it if it has not ended after `seconds`.
  void Stop(double seconds) {
    Terminate();
    if (!Wait(seconds)) Kill();
  }
  // The end of stderr (at most 4 kB), for messages.
  virtual std::string LastErrors() const = 0;
  // Valid after Wait() or Kill(): the connection to the device broke, so the exit status is unknown.
  virtual bool ConnectionLost() const { return false; }
};

// Disk space that etprof occupies on a device between runs.
struct StoredFiles {
  Bytes cache = 0;     // files that Device::Put copied
  Bytes old_runs = 0;  // folders of finished runs (`--keep`)
  int live_runs = 0;   // runs of other etprof processes that are still going on
};

// A machine that runs models: this machine, or one that ssh or adb reaches. Only devices start processes.
class Device {
 public:
  using Sink = std::function<void(std::string_view)>;
  virtual ~Device() = default;

  virtual std::string Name() const = 0;
  virtual DeviceProperties Properties() = 0;
  virtual std::optional<Bytes> AvailableMemory() = 0;
  // Reads the current values of DeviceProperties::limits. Throws DeviceLost.
  virtual ResourceLimits Limits() { return {}; }
  // ExitStatus::Text(), or the reason if the kernel killed the process for lack of memory after `before` was
  // read.
  std::string EndText(const ExitStatus& status, const ResourceLimits& before);
  // Sets a power mode until ReleaseLock or CleanUp, or until this process or the connection ends. The device
  // must be locked. WaitUntilBack sets the mode again. Throws Error as FindPowerMode and ReadPowerMode do;
  // DeviceLost.
  virtual PowerMode SetPowerMode(const std::string& name);

  // Locks the device against all other etprof processes, on this and other hosts, until ReleaseLock or
  // CleanUp, or until this process or the connection ends. The first process that waits gets the lock next.
  // Other processes see `owner` as the holder while they wait. This call passes a message with the current
  // holder's name to `on_wait` while it waits. Throws Error: kInterrupted, kDeviceFailed; DeviceLost.
  virtual void AcquireLock(const std::string& owner,
                           const std::function<void(const std::string&)>& on_wait) = 0;
  virtual void ReleaseLock() = 0;

  // Makes a local file available on the device and returns its path there. Files keep their names, since a
  // model's companion file (`.inputs`) must be next to the model.
  virtual std::string Put(const std::filesystem::path& local) = 0;
  // Makes a program and the `libraries` next to it available on the device, and returns the command that
  // starts the program. A program of a bundle (`etprof build`; bundle.json is next to the program) is started
  // by the bundle's loader with the bundle's libraries.
  virtual std::vector<std::string> PutProgram(const std::filesystem::path& local,
                                              const std::vector<std::filesystem::path>& libraries = {}) = 0;
  // Returns a path on the device for a file that Get will fetch to `local`.
  virtual std::string ReserveOutputPath(const std::filesystem::path& local) = 0;
  // Fetches the file at a path that ReserveOutputPath returned. Returns false if there is no such file.
  // Throws Error (kDeviceFailed).
  virtual bool Get(const std::string& remote, const std::filesystem::path& local) = 0;
  // Removes the files at paths of ReserveOutputPath from the device (never a local file), and restores
  // settings. Files of Put stay cached (docs/reference/devices.md).
  virtual void CleanUp() = 0;

  // The sizes of the files that etprof stores on the device; 0 for this machine. Throws Error
  // (kDeviceFailed).
  virtual StoredFiles GetStoredFiles() { return {}; }
  // Removes the files that etprof stores on the device, and returns their sizes. The folders of live runs
  // stay, and so does the cache while there is a live run, which may use it.
  virtual StoredFiles RemoveStoredFiles() { return {}; }

  // Waits until the device answers again after DeviceLost or Process::ConnectionLost. Returns false after
  // `timeout_seconds`.
  virtual bool WaitUntilBack(double timeout_seconds) = 0;

  // Starts a process. The message of an Error names the program and the reason in one line. Throws Error
  // (kDeviceFailed, or kBadInput if the program is missing or not for this device); DeviceLost.
  virtual std::unique_ptr<Process> Start(const Command& command, Sink on_stderr) = 0;

  // Sets a function that every wait for a process calls repeatedly; if it returns true, the wait ends with
  // kInterrupted.
  virtual void SetInterrupted(std::function<bool()> interrupted) = 0;
};

}  // namespace etprof
