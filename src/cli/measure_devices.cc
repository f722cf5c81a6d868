#include "cli/measure_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <latch>
#include <optional>
#include <set>
#include <thread>

#include "cli/analyze_run.h"
#include "cli/device_progress.h"
#include "cli/devices_report.h"
#include "cli/interruption.h"
#include "cli/measure_and_show.h"
#include "cli/say.h"
#include "cli/show_plan.h"
#include "cli/stdout_terminal.h"
#include "cli/validate_run.h"
#include "core/error.h"
#include "core/file.h"
#include "device/open_device.h"
#include "measure/conditions/check_device.h"
#include "measure/config/device_groups.h"
#include "measure/measure.h"
#include "measure/participants/emulation.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// How far one device has got. Written by its thread alone until all know what they are, by the main thread
// while all wait, and by its thread again until its end.
struct DeviceState {
  std::string device;
  DeviceProperties properties;
  std::string platform;
  Config config;
  std::optional<RunData> run;
  std::optional<Error> error;
  bool measured = false;  // there is a run directory of this time
  bool Interrupted() const {
    return (error && error->exit_code() == ExitCode::kInterrupted) ||
           (run && run->status == RunData::Status::kInterrupted);
  }
};

std::optional<fs::file_time_type> TimeOf(const fs::path& file) {
  std::error_code missing;
  const fs::file_time_type time = fs::last_write_time(file, missing);
  return missing ? std::nullopt : std::optional(time);
}

template <typename Step>
void Guarded(DeviceState& state, Step step) {
  try {
    step();
  } catch (const std::exception& error) {
    state.error = AsError(error);
  }
}

class Measurements {
 public:
  Measurements(const std::vector<DeviceJob>& jobs, const MeasureDevicesOptions& options)
      : jobs_(jobs),
        options_(options),
        states_(jobs.size()),
        known_(static_cast<std::ptrdiff_t>(jobs.size())) {}

  // Returns how far every device got, index by index of the jobs.
  std::vector<DeviceState> Run() {
    const InterruptionScope scope;
    std::vector<std::string> names;
    for (const DeviceJob& job : jobs_) names.push_back(job.device);
    DeviceProgress progress(names, [](const std::string& text) { SayText(ForTerminal(text)); }, SizeOfStderr);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      threads.emplace_back([this, i, &progress] { RunOn(i, progress); });
    known_.wait();
    std::optional<Error> failed;
    try {
      NameFolders();
    } catch (const Error& error) {
      failed = error;
    }
    measure_ = !failed && !options_.dry_run;
    go_.count_down();
    for (std::thread& thread : threads) thread.join();
    if (failed) throw *failed;
    return std::move(states_);
  }

 private:
  // A device's whole life is in one thread: a process that a thread has started ends with that thread
  // (PR_SET_PDEATHSIG), and a connection may be made anew at any time.
  void RunOn(std::size_t i, DeviceProgress& progress) {
    DeviceState& state = states_[i];
    state.device = jobs_[i].device;
    std::unique_ptr<Device> device;
    Guarded(state, [&] {
      progress.State(i, "connecting");
      RemoteOptions remote;
      remote.keep = options_.devices.keep;
      remote.notice = [&progress, i](const std::string& text) { progress.Message(i, text); };
      remote.interrupted = Interrupted;
      device = OpenDevice(state.device, remote);
      const DeviceProperties properties = device->Properties();
      state.config = jobs_[i].configure(*device, properties);
      // Of several devices, those that have power modes get it.
      if (!state.config.power_mode.empty() && !properties.platform.starts_with("android")) {
        progress.Message(i, "has no power modes: it is measured as it is");
        state.config.power_mode.clear();
      }
      state.platform = PlatformOf(state.config, properties);
      MakePlan(state.config);
      CheckFiles(state.config);
      state.properties = properties;
      if (options_.dry_run) {
        CheckForDevice(state.config, state.device, properties);
        CheckMasks(state.config, properties);
      }
    });
    known_.count_down();
    go_.wait();
    if (measure_ && !state.error) Guarded(state, [&] { MeasureOn(i, *device, progress); });
    if (measure_ || state.error) {
      progress.State(i, state.Interrupted() ? "interrupted" : state.error ? "failed" : "done");
    }
    device.reset();
  }

  void MeasureOn(std::size_t i, Device& device, DeviceProgress& progress) {
    DeviceState& state = states_[i];
    const fs::path manifest = state.config.output_root / "manifest.json";
    const auto before = TimeOf(manifest);
    MeasureOptions options;
    options.resume = options_.resume;
    options.counters = options_.counters;
    options.interrupted = Interrupted;
    options.progress = &progress.Of(i);
    options.etprof_version = ETPROF_VERSION;
    options.wait_for_device_seconds = options_.devices.wait_seconds;
    try {
      state.run = Measure(state.config, device, options);
      state.measured = true;
    } catch (...) {
      // Where the device was lost, what was measured before is kept.
      const auto after = TimeOf(manifest);
      state.measured = after && after != before;
      throw;
    }
  }

  // Every device that could be reached gets its run directory.
  void NameFolders() {
    std::vector<DevicePlatform> places;
    for (const DeviceState& state : states_) {
      if (!state.error) places.push_back({state.device, state.platform});
    }
    const std::vector<std::string> folders = DeviceFolders(places);
    std::size_t place = 0;
    for (DeviceState& state : states_) {
      if (state.error) continue;
      const fs::path parent = FolderOfDevices(state.config);
      state.config.output_root = parent / folders[place++];
      if (!options_.resume) continue;
      // Then another device could not be reached, or there was none, and the folders had other names.
      if (Exists(state.config.output_root / "manifest.json")) continue;
      if (const auto earlier = FindRunOfDevice(parent, state.device)) state.config.output_root = *earlier;
    }
  }

  const std::vector<DeviceJob>& jobs_;
  const MeasureDevicesOptions& options_;
  std::vector<DeviceState> states_;
  std::latch known_;     // every thread knows its device, or why there is none
  std::latch go_{1};     // the main thread has named the folders
  bool measure_ = true;  // written before go_
};

// With the device's name, once.
void Tell(const std::string& device, const Error& error) {
  const bool named = error.file() == device || error.problem().starts_with(device + " ");
  SayError(error, named ? "" : device + ": ");
}

int TellInterruptions(const std::vector<DeviceState>& states, const std::string& resume_command) {
  std::vector<std::string> kept;
  for (const DeviceState& state : states) {
    if (state.error && !state.Interrupted()) Tell(state.device, *state.error);
    if (state.measured) kept.push_back(FromHere(state.config.output_root));
  }
  if (kept.empty()) {
    Say("Interrupted before anything was measured\n");
  } else {
    Say("Interrupted. Partial results are in {}.\n  View:    etprof report {}\n  Resume:  {}\n",
        fmt::join(kept, ", "), fmt::join(kept, " "), resume_command);
  }
  return static_cast<int>(ExitCode::kInterrupted);
}

// What went wrong, device by device. Returns the exit code.
int TellProblems(const std::vector<DeviceState>& states) {
  bool failed = false;
  bool all_alike = !states.empty();
  for (const DeviceState& state : states) {
    all_alike = all_alike && state.error && !state.measured &&
                state.error->Message() == states.front().error->Message();
  }
  if (all_alike) throw *states.front().error;
  std::set<ExitCode> codes;
  bool any_measured = false;
  for (const DeviceState& state : states) {
    if (state.error) {
      Tell(state.device, *state.error);
      codes.insert(state.error->exit_code());
      failed = true;
    }
    any_measured = any_measured || !state.error || state.measured;
    if (state.run && TellFailures(*state.run, state.device)) failed = true;
  }
  if (!any_measured && codes.size() == 1) return static_cast<int>(*codes.begin());
  return static_cast<int>(failed ? ExitCode::kDeviceFailed : ExitCode::kDone);
}

void ShowPlansOf(const std::vector<DeviceState>& states, const MeasureDevicesOptions& options) {
  std::vector<DevicePlan> plans;
  for (const DeviceState& state : states) {
    if (!state.error) plans.push_back({state.device, state.properties, state.config});
  }
  if (!plans.empty()) ShowPlans(plans, {.counters = options.counters, .json = options.json});
}

struct Folder {
  std::string device;
  fs::path path;
};

// Analyses what was measured, and shows it. Returns the exit code.
int AnalyzeAndShowFolders(const std::vector<Folder>& folders, bool json, bool all) {
  std::vector<Report> reports;
  bool failed = false;
  for (const Folder& folder : folders) {
    try {
      ShowOptions options;
      options.quiet = true;
      reports.push_back(AnalyzeRunDirectory(folder.path, options));
    } catch (const Error& error) {
      Tell(folder.device, error);
      failed = true;
    }
  }
  if (!reports.empty()) WriteAndShowDevices(std::move(reports), {.json = json, .all = all});
  return static_cast<int>(failed ? ExitCode::kDeviceFailed : ExitCode::kDone);
}

}  // namespace

int MeasureAndShowDevices(const std::vector<DeviceJob>& jobs, const MeasureDevicesOptions& options) {
  const std::vector<DeviceState> states = Measurements(jobs, options).Run();
  if (std::any_of(states.begin(), states.end(), [](const DeviceState& state) { return state.Interrupted(); }))
    return TellInterruptions(states, options.resume_command);
  if (options.dry_run) {
    const int code = TellProblems(states);
    ShowPlansOf(states, options);
    return code;
  }
  std::vector<Folder> folders;
  for (const DeviceState& state : states) {
    const bool nothing = state.run && state.run->status == RunData::Status::kFailed;
    if (state.measured && !nothing) folders.push_back({state.device, state.config.output_root});
  }
  const int shown = AnalyzeAndShowFolders(folders, options.json, options.all);
  if (const int problems = TellProblems(states); problems != 0 || shown != 0 || !options.resume)
    return problems != 0 ? problems : shown;
  int found = static_cast<int>(ExitCode::kDone);
  for (const Folder& folder : folders) found = std::max(found, ValidateRecovered(FromHere(folder.path)));
  return found;
}

fs::path FolderOfDevices(const Config& config) {
  if (!config.output_root.empty()) return config.output_root;
  return DefaultRunDirectory(config.experiments.at(0).model, "any").parent_path();
}

int AnalyzeAndShowDevices(const std::vector<DevicePlace>& places, bool json, bool all) {
  std::vector<Folder> folders;
  bool missing = false;
  for (const DevicePlace& place : places) {
    if (const auto run = FindRunOfDevice(place.folder, place.device)) {
      folders.push_back({place.device, *run});
      continue;
    }
    Tell(place.device, Error(ExitCode::kBadInput, "has no run there")
                           .InFile(place.folder.string())
                           .Remedy("measure it: the same command without --analysis-only"));
    missing = true;
  }
  const int code = AnalyzeAndShowFolders(folders, json, all);
  return missing ? static_cast<int>(ExitCode::kBadInput) : code;
}

void UseRunnerOfDevice(Config& config, const Device& device, const DeviceProperties& properties) {
  for (ExperimentConfig& experiment : config.experiments) {
    if (experiment.runner.empty()) experiment.runner = RunnerFor(device, properties);
  }
}

}  // namespace etprof
