#include "commands/measurement/measure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <latch>
#include <set>
#include <utility>

#include "commands/measurement/locate.h"
#include "commands/measurement/runtimes.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/parallel.h"
#include "core/units.h"
#include "core/views.h"
#include "device/bundle.h"
#include "device/describe.h"
#include "device/local/local.h"
#include "format/program/read/data_file.h"
#include "format/program/read/program_reader.h"
#include "isa/ladder.h"
#include "measure/conditions/check_device.h"
#include "measure/config/device_groups.h"
#include "measure/config/release.h"
#include "measure/config/variant.h"
#include "measure/measure.h"
#include "measure/participants/emulation.h"
#include "measure/store/run_files.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// --- jobs of the commands --------------------------------------------------------------------------------

Config MakeJobConfig(const ProfileOptions& options, bool several_devices, const Device& device,
                     const DeviceProperties& properties) {
  Config config = MakeProfileConfig(MakeExperimentConfig(options, options.model, device, properties),
                                    MakeVariants(options.vs, properties, options.vs_folder));
  Apply(options, config);
  const fs::path folder = DefaultRunDirectory(options.model, properties.platform);
  if (config.output_root.empty()) config.output_root = several_devices ? folder.parent_path() : folder;
  for (ExperimentConfig& experiment : config.experiments) {
    if (several_devices) experiment.devices = {device.Name()};
  }
  return config;
}

Config ReadConfig(const RunOptions& options, const ConfigContext& context) {
  return options.text.empty() ? ReadConfig(fs::path(options.config), context)
                              : ParseConfig(options.text, options.config, context);
}

Config MakeJobConfig(const RunOptions& options, const Device& device, const DeviceProperties& properties) {
  Config config = ReadConfig(options, MakeConfigContext(device, properties));
  if (!options.only_experiments.empty()) KeepExperiments(config, options.only_experiments);
  Apply(options, config);
  ApplyToExperiments(options, config);
  if (config.output_root.empty())
    config.output_root = DefaultRunDirectory(config.experiments[0].model, RunPlatform(config, properties));
  return config;
}

std::vector<isa::Level> LadderLevels(const protocol::IsaState& state) {
  if (!state.can_mask) {
    throw Error(ExitCode::kDeviceFailed, "features cannot be masked on this device: " + state.masking_problem)
        .Remedy("without a mask there is only one level, which `etprof profile` measures");
  }
  const isa::FeatureSet detected(state.detected.begin(), state.detected.end());
  std::vector<isa::Level> levels = isa::Ladder(isa::DetectArchitecture(detected), detected);
  if (levels.size() < 2) {
    throw Error(ExitCode::kUsage, fmt::format("this CPU has {} and nothing above it that XNNPACK asks for",
                                              levels.front().name))
        .Remedy("run `etprof profile` to measure the model as it is");
  }
  return levels;
}

Config MakeJobConfig(const LadderOptions& options, Device& device, const DeviceProperties& properties) {
  const ExperimentConfig experiment = MakeExperimentConfig(options, options.model, device, properties);
  Config config = MakeLadderConfig(
      experiment, LadderLevels(QueryRunner(device, experiment.runner.string(), options.exec_wrapper).isa));
  Apply(options, config);
  if (!config.max_seconds && !config.launches) config.max_seconds = DefaultLadderSeconds(config);
  if (config.output_root.empty())
    config.output_root = DefaultRunDirectory(options.model, RunPlatform(config, properties) + "-isa");
  return config;
}

Config MakeJobConfig(const VersionsOptions& options, const Device& device,
                     const DeviceProperties& properties) {
  const std::string model = options.programs.empty() ? options.model : options.programs.front().path.string();
  Config config = MakeVersionsConfig(MakeExperimentConfig(options, model, device, properties),
                                     options.Versions(), options.programs);
  Apply(options, config);
  if (config.output_root.empty())
    config.output_root = DefaultRunDirectory(model, RunPlatform(config, properties) + "-versions");
  return config;
}

fs::path DevicesFolder(const Config& config) {
  if (!config.output_root.empty()) return config.output_root;
  return DefaultRunDirectory(config.experiments.at(0).model, "any").parent_path();
}

std::string FileStem(const std::string& path) { return fs::path(path).stem().string(); }

// --- measuring -------------------------------------------------------------------------------------------

// The remedy for missing external weights: names the .ptd files next to the program.
std::string DataRemedy(const fs::path& model) {
  std::vector<std::string> data_files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(model.parent_path(), error)) {
    if (entry.path().extension() == ".ptd") data_files.push_back(entry.path().filename().string());
  }
  if (data_files.empty()) return "give the .ptd that was exported with it: `--data FILE.ptd`";
  std::ranges::sort(data_files);
  constexpr std::size_t kMaxFiles = 3;
  const bool has_more = data_files.size() > kMaxFiles;
  if (has_more) data_files.resize(kMaxFiles);
  return fmt::format("give the .ptd that was exported with it: `--data FILE.ptd`; next to it {} {}{}",
                     data_files.size() == 1 ? "is" : "are", fmt::join(data_files, ", "),
                     has_more ? ", ..." : "");
}

// Sets the libraries of the experiments that name an ExecuTorch release.
void UseRuntimes(Device& device, Config& config, const StepProgress& progress) {
  const std::unique_ptr<Device> this_machine = device.Name() == "local" ? nullptr : MakeLocalDevice();
  Device& host = this_machine ? *this_machine : device;
  const auto needs_runtime = [](const ExperimentConfig& experiment) {
    return !experiment.executorch.empty() && experiment.runtime.empty();
  };
  // Report what cannot be measured before wheels are fetched.
  std::set<fs::path> runners;
  for (const ExperimentConfig& experiment : config.experiments) {
    if (!experiment.executorch.empty()) RequireUsableRelease(experiment.executorch);
    MappedFile::Open(experiment.model);
    if (!needs_runtime(experiment)) continue;
    if (!device.Properties().platform.starts_with("linux-")) {
      throw Error(ExitCode::kUsage, fmt::format("`executorch=` needs a device with Linux, and `{}` is {}: "
                                                "etprof runs the libraries of Linux wheels only",
                                                device.Name(), device.Properties().platform))
          .Remedy(
              "build a runner in a checkout of each release (etprof build --executorch DIR), and compare "
              "them: `--vs runner=PATH`");
    }
    if (runners.insert(experiment.runner).second) RequireRunnerForReleases(host, experiment.runner);
  }
  for (ExperimentConfig& experiment : config.experiments) {
    if (!needs_runtime(experiment)) continue;
    experiment.runtime = PrepareExecutorchRuntime(experiment.executorch, host, experiment.runner, progress);
    // A bundle with the release's libraries also has the runner.
    if (FindBundle(experiment.runtime / experiment.runner.filename()))
      experiment.runner = experiment.runtime / experiment.runner.filename();
    if (!IsVerifiedRelease(experiment.executorch)) {
      experiment.runtime_warning = fmt::format(
          "ExecuTorch {} was not tried with this etprof: all that is known is that it passed a self-test",
          ReleaseName(experiment.executorch));
    }
  }
}

// Reports steps as messages of the device with this index.
StepProgress MakeStepProgress(WorkflowProgress& progress, std::size_t device) {
  return {[&progress, device](const std::string& text) { progress.Message(device, text); },
          [&progress] { return progress.Interrupted(); }};
}

// Makes the device's configuration and checks all that can be checked before the measurement.
void Configure(const MeasureJob& job, const HistoryRequest& history, bool dry_run, Device& device,
               DeviceMeasurement& state, const StepProgress& progress) {
  state.properties = device.Properties();
  state.config = job.configure(device, state.properties);
  UseRuntimes(device, state.config, progress);
  MakePlan(state.config);
  CheckFiles(state.config);
  CheckExternalData(state.config);
  RequireReference(history, state.config);
  if (!dry_run) return;
  CheckForDevice(state.config, state.device, state.properties);
  CheckMasks(state.config, state.properties);
}

class ParallelMeasurement {
 public:
  ParallelMeasurement(const MeasureJobs& jobs, const MeasureRequest& request, bool dry_run,
                      WorkflowProgress& progress)
      : jobs_(jobs.jobs),
        description_(jobs.description),
        request_(request),
        dry_run_(dry_run),
        progress_(progress),
        states_(jobs_.size()),
        devices_configured_(static_cast<std::ptrdiff_t>(jobs_.size())) {}

  // Returns the state of every device, in the order of the jobs.
  std::vector<DeviceMeasurement> Run() {
    ThreadGroup threads;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (threads.Start([this, i] { RunDevice(i); })) continue;
      states_[i].device = jobs_[i].device;
      states_[i].error = Error(ExitCode::kDeviceFailed, "the system starts no more threads")
                             .Remedy("end other programs, raise `ulimit -u`, or name fewer devices at once");
      devices_configured_.count_down();
    }
    devices_configured_.wait();
    std::optional<Error> folder_error;
    try {
      NameFolders();
    } catch (const std::exception& error) {
      folder_error = ToError(error);
    }
    measure_ = !folder_error && !dry_run_;
    folders_named_.count_down();
    threads.Join();
    if (folder_error) throw *folder_error;
    return std::move(states_);
  }

 private:
  template <typename Step>
  static void CatchErrors(DeviceMeasurement& state, Step step) {
    try {
      step();
    } catch (const std::exception& error) {
      state.error = ToError(error);
    }
  }

  // One thread handles a device from opening to closing: a process ends with the thread that started it
  // (PR_SET_PDEATHSIG), and a connection may be reopened at any time.
  void RunDevice(std::size_t i) {
    DeviceMeasurement& state = states_[i];
    state.device = jobs_[i].device;
    std::unique_ptr<Device> device;
    CatchErrors(state, [&] {
      progress_.State(i, "connecting");
      device = Open(state.device, request_, progress_, i);
      Configure(jobs_[i], request_.history, dry_run_, *device, state, MakeStepProgress(progress_, i));
      // In a measurement on several devices, the power mode applies only to devices with power modes.
      if (!state.config.power_mode.empty() && !state.properties.platform.starts_with("android")) {
        progress_.Message(i, "has no power modes: it is measured as it is");
        state.config.power_mode.clear();
      }
    });
    devices_configured_.count_down();
    folders_named_.wait();
    if (measure_ && !state.error) CatchErrors(state, [&] { MeasureDevice(i, *device); });
    if (measure_ || state.error)
      progress_.State(i, state.Interrupted() ? "interrupted" : state.error ? "failed" : "done");
    device.reset();
  }

  void MeasureDevice(std::size_t i, Device& device) {
    DeviceMeasurement& state = states_[i];
    const fs::path manifest = state.config.output_root / kManifestFile;
    const auto modified_before = LastWriteTime(manifest);
    try {
      MeasureOptions options;
      options.progress = progress_.GetDeviceProgress(i);
      DeviceLock lock(device, description_, progress_, i);
      state.run = MeasureConfig(state.config, lock, request_, progress_, options);
      state.measured = true;
    } catch (...) {
      // A changed manifest shows that launches were stored before the error.
      const auto modified_after = LastWriteTime(manifest);
      state.measured = modified_after && modified_after != modified_before;
      throw;
    }
  }

  // Gives a results directory to every device that could be reached.
  void NameFolders() {
    std::vector<DevicePlatform> platforms;
    for (const DeviceMeasurement& state : states_) {
      if (!state.error) platforms.push_back({state.device, RunPlatform(state.config, state.properties)});
    }
    const std::vector<std::string> folders = DeviceFolders(platforms);
    std::size_t next_folder = 0;
    for (DeviceMeasurement& state : states_) {
      if (state.error) continue;
      const fs::path parent = DevicesFolder(state.config);
      state.config.output_root = parent / folders[next_folder++];
      if (!request_.resume) continue;
      // With other reachable devices, an earlier measurement may have named the folders differently.
      if (Exists(state.config.output_root / kManifestFile)) continue;
      if (const auto earlier_folder = FindRunOfDevice(parent, state.device))
        state.config.output_root = *earlier_folder;
    }
  }

  const std::vector<MeasureJob>& jobs_;
  const std::string& description_;
  const MeasureRequest& request_;
  const bool dry_run_;
  WorkflowProgress& progress_;
  std::vector<DeviceMeasurement> states_;
  std::latch devices_configured_;  // counts down when a thread has configured its device or failed
  std::latch folders_named_{1};    // counts down when the main thread has named the folders
  bool measure_ = true;            // written before folders_named_ counts down
};

// `options` must outlive the jobs.
template <typename Options>
MeasureJobs MakeSingleDeviceJobs(const Options& options, const std::string& command) {
  const auto configure = [&options](Device& device, const DeviceProperties& properties) {
    return MakeJobConfig(options, device, properties);
  };
  return {{{options.FirstDevice(), configure}}, false, command + " " + FileStem(options.model)};
}

}  // namespace

void RequireValidVariants(const std::vector<std::string>& vs, std::size_t numbers_of_threads) {
  std::vector<Variant> variants;
  for (const std::string& spec : vs) {
    variants.push_back(ParseVariant(spec));
    const Variant& variant = variants.back();
    if (std::ranges::count(variants, variant) > 1) {
      throw Error(ExitCode::kUsage, fmt::format("`--vs {}` is given more than once", spec))
          .Remedy("leave one out; variants with different labels may be the same otherwise");
    }
    if (variant.threads && numbers_of_threads > 1) {
      throw Error(ExitCode::kUsage,
                  fmt::format("`--vs {}` and several numbers of `--threads` do not go together", spec))
          .Remedy("give all numbers as `--threads`, which measures them side by side");
    }
  }
}

std::vector<Variant> MakeVariants(const std::vector<std::string>& vs, const DeviceProperties& device,
                                  const fs::path& folder) {
  std::vector<Variant> variants =
      MapEach(vs, [&](const std::string& spec) { return ParseVariant(spec, folder); });
  if (variants.empty() && HasSme2(device)) variants.push_back(ParseVariant("isa=-sme,-sme2"));
  return variants;
}

MeasureJobs MakeJobs(const ProfileOptions& options) {
  const std::vector<std::string>& devices = options.devices;
  CheckDeviceNames(devices);
  RequireValidVariants(options.vs, options.threads.size());
  RequireValidRequest(options);
  MeasureJobs measure_jobs{{}, devices.size() > 1, "profile " + FileStem(options.model)};
  for (const std::string& device_name : devices.empty() ? std::vector<std::string>{"local"} : devices) {
    measure_jobs.jobs.push_back({device_name, [&options, several_devices = measure_jobs.several_devices](
                                                  Device& device, const DeviceProperties& properties) {
                                   return MakeJobConfig(options, several_devices, device, properties);
                                 }});
  }
  return measure_jobs;
}

MeasureJobs MakeJobs(const RunOptions& options) {
  Config config = ReadConfig(options, {.default_runner = {}, .runner_of_device = true});
  // If the configuration names several devices, each has its own folder, even if only one device is selected.
  MeasureJobs measure_jobs{
      {}, GroupByDevice(config, options.devices).size() > 1, "run " + FileStem(options.config)};
  if (!options.only_experiments.empty()) KeepExperiments(config, options.only_experiments);
  for (DeviceGroup& group : GroupByDevice(config, options.devices)) {
    if (!measure_jobs.several_devices) {
      measure_jobs.jobs.push_back(
          {group.device, [&options](Device& device, const DeviceProperties& properties) {
             return MakeJobConfig(options, device, properties);
           }});
      break;
    }
    Apply(options, group.config);
    ApplyToExperiments(options, group.config);
    MakePlan(group.config);
    measure_jobs.jobs.push_back(
        {group.device,
         // ReadConfig ran before the device was known, so experiments may lack the device's etprof-runner.
         [device_config = group.config](Device& device, const DeviceProperties& properties) mutable {
           for (ExperimentConfig& experiment : device_config.experiments) {
             if (experiment.runner.empty()) experiment.runner = FindRunner(device, properties);
           }
           return device_config;
         },
         DevicesFolder(group.config)});
  }
  return measure_jobs;
}

MeasureJobs MakeJobs(const LadderOptions& options) {
  RequireValidRequest(options);
  return MakeSingleDeviceJobs(options, "isa");
}

MeasureJobs MakeJobs(const VersionsOptions& options) {
  RequireValidRequest(options);
  options.RequireValid();
  return MakeSingleDeviceJobs(options, "versions");
}

bool DeviceMeasurement::Interrupted() const {
  return (error && error->exit_code() == ExitCode::kInterrupted) ||
         (run && run->status == RunData::Status::kInterrupted);
}

void CheckExternalData(const Config& config) {
  std::set<std::pair<fs::path, fs::path>> checked_files;
  for (const ExperimentConfig& experiment : config.experiments) {
    if (!checked_files.emplace(experiment.model, experiment.data).second) continue;
    std::vector<std::string> names;
    try {
      names = ExternalTensorKeys(ReadProgramFile(experiment.model));
    } catch (const Error&) {
      continue;  // the runner, which loads the program, reports the error
    }
    if (names.empty()) continue;
    if (experiment.data.empty()) {
      throw Error(ExitCode::kBadInput,
                  fmt::format("has {} outside of it, in a .ptd", CountedText(names.size(), "weight")))
          .InFile(experiment.model.string())
          .Remedy(DataRemedy(experiment.model));
    }
    const std::vector<std::string> missing = FindMissing(ReadDataFile(experiment.data), names);
    if (missing.empty()) continue;
    throw Error(ExitCode::kBadInput, fmt::format("has not {} of {} that {} needs (\"{}\")", missing.size(),
                                                 CountedText(names.size(), "weight"),
                                                 experiment.model.filename().string(), missing.front()))
        .InFile(experiment.data.string())
        .Remedy(DataRemedy(experiment.model));
  }
}

RunData MeasureConfig(Config& config, DeviceLock& lock, const MeasureRequest& request,
                      WorkflowProgress& progress, MeasureOptions options) {
  UseRuntimes(lock.device(), config, MakeStepProgress(progress, 0));
  options.resume = options.resume || request.resume;
  options.counters = request.counters;
  options.instructions = request.instructions;
  options.emulator_plugin = ExecutablePath().parent_path() / "etprof-qemu-counts.so";
  options.watch = request.watch;
  options.values = request.values;
  options.interrupted = [&progress] { return progress.Interrupted(); };
  if (options.progress == nullptr) options.progress = progress.GetDeviceProgress(0);
  options.etprof_version = ETPROF_VERSION;
  options.wait_for_device_seconds = request.wait_seconds;
  options.acquire_device = [&lock] { lock.Acquire(); };
  return Measure(config, lock.device(), options);
}

std::vector<DeviceMeasurement> MeasureOnDevices(const MeasureJobs& jobs, const MeasureRequest& request,
                                                bool dry_run, WorkflowProgress& progress) {
  const HistoryRecorder history(request.history);
  std::vector<DeviceMeasurement> states;
  const auto add_to_history = [&] {
    for (DeviceMeasurement& state : states) {
      if (state.run && state.run->status == RunData::Status::kComplete)
        state.history_update = history.Record(state.run->folder);
    }
  };
  if (!jobs.several_devices) {
    const MeasureJob& job = jobs.jobs.front();
    const std::unique_ptr<Device> device = Open(job.device, request, progress);
    DeviceMeasurement& state = states.emplace_back();
    state.device = job.device;
    Configure(job, request.history, dry_run, *device, state, MakeStepProgress(progress, 0));
    if (dry_run) return states;
    DeviceLock lock(*device, jobs.description, progress);
    state.run = MeasureConfig(state.config, lock, request, progress, {});
    state.measured = true;
    add_to_history();
    return states;
  }
  states = ParallelMeasurement(jobs, request, dry_run, progress).Run();
  add_to_history();
  const DeviceMeasurement& first_state = states.front();
  const bool all_failed_equally = std::ranges::all_of(states, [&](const DeviceMeasurement& state) {
    return state.error && !state.measured && state.error->Message() == first_state.error->Message();
  });
  const bool interrupted = std::ranges::any_of(states, &DeviceMeasurement::Interrupted);
  if (all_failed_equally && !interrupted) throw *first_state.error;
  return states;
}

std::vector<DeviceMeasurement> FindStoredRuns(const MeasureJobs& jobs, const MeasureRequest& request,
                                              WorkflowProgress& progress) {
  std::vector<DeviceMeasurement> states;
  for (const MeasureJob& job : jobs.jobs) {
    DeviceMeasurement& state = states.emplace_back();
    state.device = job.device;
    if (!jobs.several_devices) {
      const std::unique_ptr<Device> device = Open(job.device, request, progress);
      state.properties = device->Properties();
      state.config = job.configure(*device, state.properties);
      MakePlan(state.config);
    } else if (const auto run = FindRunOfDevice(job.folder, job.device)) {
      state.config.output_root = *run;
    } else {
      state.error = Error(ExitCode::kBadInput, "has no run there")
                        .InFile(job.folder.string())
                        .Remedy("measure it: the same command without --analysis-only");
      continue;
    }
    state.measured = true;
  }
  return states;
}

}  // namespace etprof
