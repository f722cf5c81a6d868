#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "measure/config/config.h"
#include "protocol/messages.h"
#include "protocol/peaks.h"
#include "workflow/progress.h"

namespace etprof {

// How a device is used.
struct DeviceUse {
  bool keep = false;
  double wait_seconds = 60;  // for a device whose connection broke
  std::string power_mode;    // empty: none, or the configuration's
  std::optional<double> max_temp, max_temp_wait, wait_minutes;
};

// Opens it; what takes long there is a message of its `place` in `progress`, which outlives the device.
// Throws as OpenDevice.
std::unique_ptr<Device> Open(const std::string& name, const DeviceUse& use, WorkflowProgress& progress,
                             std::size_t place = 0);

// etprof-runner for a device: $ETPROF_RUNNER; for this machine the one beside etprof; for another the one of
// the bundle that `etprof build` made for it. Throws Error (kBadInput) where it is not there.
std::filesystem::path RunnerFor(const Device& device, const DeviceProperties& properties);
// What a configuration is read with on a device: its runner, or none where there is none, since every
// experiment may name its own.
ConfigContext ContextFor(const Device& device, const DeviceProperties& properties);

// What etprof-runner sees of a device: the features come from cpuinfo, as XNNPACK's own choices do.
// `given_runner` is its path on this machine; empty: RunnerFor the device. `exec_wrapper` is put before it.
// Throws Error: kBadInput for a runner that is not there or is none, kDeviceFailed for one that does not run.
protocol::IsaState AskRunner(Device& device, const std::string& given_runner,
                             const std::string& exec_wrapper);

// What a device can do at most.
struct PeaksOptions {
  std::vector<std::string> devices;  // the first one; empty: this machine
  DeviceUse use;
  std::string isa, cpus, runner, exec_wrapper;  // empty: nothing masked, any CPU, RunnerFor the device, none
  int threads = 1;
};
struct MeasuredPeaks {
  protocol::Peaks peaks;
  std::string device;
  bool emulated = false;

  static void Describe(auto& v) {
    v.Constant("schema_version", 1);
    v("device", &MeasuredPeaks::device, {.meaning = "as `--device` takes it"});
    v("emulated", &MeasuredPeaks::emulated, {.meaning = "the CPU: its times mean nothing"});
    v.Flat(&MeasuredPeaks::peaks);
  }
};
// Throws Error (kUsage, kBadInput, kDeviceFailed, kInterrupted).
MeasuredPeaks MeasurePeaks(const PeaksOptions& options, WorkflowProgress& progress);

}  // namespace etprof
