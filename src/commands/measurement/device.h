#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "commands/terminal/progress.h"
#include "device/device.h"
#include "measure/config/config.h"
#include "protocol/messages.h"
#include "protocol/peaks.h"

namespace etprof {

// Placeholder in the help for values that are commands.
inline constexpr std::string_view kCommandLine = "\"CMD ..\"";
inline constexpr std::string_view kDeviceHelp =
    "Device to measure on: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT (default: local)";

// Describes an option that is a number from `min` to `max`. `value` is its name in the help.
constexpr MemberInfo NumberOption(std::string_view meaning, double min, double max, std::string_view value) {
  return {.meaning = meaning, .min = min, .max = max, .value = value};
}

// Options of the connection to a device.
struct ConnectionOptions {
  bool keep = false;
  double wait_seconds = 60;  // how long to wait for a device whose connection broke
  std::string power_mode;    // empty: the configuration's, or none

  static void Describe(auto& v) {
    using C = ConnectionOptions;
    v("wait_for_device", &C::wait_seconds,
      NumberOption("Seconds to wait for a lost device to reconnect (default: 60)", 0, 1e6, "S"));
    v("keep", &C::keep, {.meaning = "Keep the run's folder on the device"});
    v("power_mode", &C::power_mode,
      {.meaning = "Power mode of Android devices: unconstrained-boost or app-developer. It is reset at the "
                  "end (docs/concepts/power.md)",
       .choices = "unconstrained-boost|app-developer",
       .value = "MODE"});
  }
};
// Options of a measurement on a device.
struct DeviceOptions : ConnectionOptions {
  std::optional<double> max_temp, max_temp_wait, wait_minutes;

  static void Describe(auto& v) {
    using D = DeviceOptions;
    ConnectionOptions::Describe(v);
    v("max_temp", &D::max_temp,
      NumberOption("Maximum temperature in degrees Celsius: before each round, wait until the skin (the "
                   "hottest CPU sensor if there is none for the skin) is below it",
                   0, 150, "C"));
    v("max_temp_wait", &D::max_temp_wait,
      NumberOption("Maximum seconds to wait for cooling before each round, and six times that in total "
                   "(default: 300)",
                   0, 1e6, "S"));
    v("wait_minutes", &D::wait_minutes,
      NumberOption("Maximum minutes to wait, before the measurement begins, for a device that is hot or busy "
                   "(default: 0)",
                   0, 1e4, "MIN"));
  }
};

// Opens the device; slow steps are reported as messages of the device `device_index` in `progress`, which
// must outlive the device. Throws as OpenDevice.
std::unique_ptr<Device> Open(const std::string& name, const ConnectionOptions& connection,
                             WorkflowProgress& progress, std::size_t device_index = 0);

// Returns etprof-runner for a device: $ETPROF_RUNNER; for this machine the runner next to etprof; for other
// devices the runner in the bundle that `etprof build` made for them. Throws Error (kBadInput) if it does not
// exist.
std::filesystem::path FindRunner(const Device& device, const DeviceProperties& properties);
// Returns the context for reading a configuration on a device. The default runner is empty if the device
// has no runner, since every experiment may name a runner.
ConfigContext MakeConfigContext(const Device& device, const DeviceProperties& properties);

// Exclusive use of a device for one measurement, or for several that belong together. MeasureConfig acquires
// it, so that no two measurements run on a device at the same time. It is acquired after all checks, and
// released by the destructor.
class DeviceLock {
 public:
  // `description` names the measurement for processes that wait for it: "profile toy_cnn". `device_index` is
  // the device's index in `progress`, which shows what this measurement waits for, after `label`. The
  // references must outlive the object.
  DeviceLock(Device& device, std::string description, WorkflowProgress& progress,
             std::size_t device_index = 0, std::string label = {});
  ~DeviceLock();
  DeviceLock(DeviceLock&&) = delete;

  Device& device() const { return device_; }

  // Waits for the device; does nothing if it is already acquired. If this machine has no writable home folder
  // for the queue, prints a warning and goes on. Throws as Device::AcquireLock.
  void Acquire();
  double waited_seconds() const { return waited_seconds_; }
  // Throws as Device::ReleaseLock.
  void Release();

 private:
  Device& device_;
  const std::string description_;
  WorkflowProgress& progress_;
  const std::size_t device_index_;
  const std::string label_;
  bool queued_ = false, acquired_ = false;
  double waited_seconds_ = 0;
};

// Asks etprof-runner for the CPU features of a device (by cpuinfo, which XNNPACK also uses to select kernels)
// and for the libraries that the runner maps. `runner_path` is a path on this machine; empty: the runner of
// FindRunner(). `exec_wrapper` is the command that starts the runner. Throws Error: kBadInput for a runner
// that does not exist or is not an etprof-runner, kDeviceFailed for a runner that does not run.
protocol::Ready QueryRunner(Device& device, const std::string& runner_path, const std::string& exec_wrapper);

// Options for measuring the peaks of a device: its memory bandwidth and arithmetic throughput.
struct PeaksOptions : ConnectionOptions {
  std::string device = "local";
  std::string isa, cpus, runner, exec_wrapper;  // empty: no mask, any CPU, default runner, no wrapper
  int threads = 1;

  static void Describe(auto& v) {
    using O = PeaksOptions;
    v("threads", &O::threads, NumberOption("Number of threads (default: 1)", 1, kMaxThreads, "N"));
    v("isa", &O::isa, {.meaning = "Disable these CPU features, as `--vs isa=` takes them", .value = "MASK"});
    v("cpus", &O::cpus, {.meaning = "Run on these CPUs only: 0,2-3, 0x80, big", .value = "CPUS"});
    v("device", &O::device, {.meaning = kDeviceHelp, .value = "DEVICE"});
    ConnectionOptions::Describe(v);
    v("runner", &O::runner, {.meaning = "Path of the device's etprof-runner", .value = "PATH"});
    v("exec_wrapper", &O::exec_wrapper,
      {.meaning = "Command that starts the runner, such as an emulator on the device",
       .value = kCommandLine});
  }
};
struct MeasuredPeaks {
  protocol::Peaks peaks;
  std::string device;
  bool emulated = false;

  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("device", &MeasuredPeaks::device, {.meaning = "as `--device` takes it"});
    v("emulated", &MeasuredPeaks::emulated, {.meaning = "the CPU: its times mean nothing"});
    v.Flat(&MeasuredPeaks::peaks);
  }
};
// Throws Error (kUsage, kBadInput, kDeviceFailed, kInterrupted).
MeasuredPeaks MeasurePeaks(const PeaksOptions& options, WorkflowProgress& progress);

}  // namespace etprof
