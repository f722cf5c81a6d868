#include "measure/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <tuple>

#include "build/checkout/provenance.h"
#include "build/checkout/runner/runner_binary.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/json/json.h"
#include "core/text/text.h"
#include "core/views.h"
#include "measure/conditions/check_device.h"
#include "measure/conditions/conditions.h"
#include "measure/conditions/load_watch.h"
#include "measure/config/release.h"
#include "measure/extra_runs.h"
#include "measure/participants/emulation.h"
#include "measure/participants/participants.h"
#include "measure/participants/unpacked_program.h"
#include "measure/participants/worker_client.h"
#include "measure/schedule/forecast.h"
#include "measure/schedule/schedule.h"
#include "measure/store/latency_csv.h"
#include "measure/store/outputs.h"
#include "measure/store/run_directory.h"
#include "measure/store/run_files.h"
#include "measure/store/run_warnings.h"

namespace etprof {
namespace {

constexpr int kMaxConnectionLosses = 5;  // with one more loss of the connection, the measurement ends
// Number of experiments up to which the connection has room for one more process.
constexpr std::size_t kMaxExperimentsWithShell = 6;
constexpr double kMemoryShare = 0.8;  // share of the available memory for all workers

// Returns the ExecuTorch version that exported a model, from the `.pte.json` next to it; empty: not known.
// `text` gets the JSON of that file if it exists.
std::string ExportVersion(const std::filesystem::path& model, std::string* text) {
  std::filesystem::path info_file = model;
  info_file += ".json";
  try {
    const nlohmann::json export_info = ParseJson(ReadTextFile(info_file));
    if (!export_info.is_object()) return "";
    if (text != nullptr) *text = export_info.dump();
    const auto versions = export_info.find("versions");
    const nlohmann::json& version_object =
        versions != export_info.end() && versions->is_object() ? *versions : export_info;
    const auto version = version_object.find("executorch");
    return version != version_object.end() && version->is_string() ? version->get<std::string>() : "";
  } catch (const std::exception&) {
    return "";
  }
}

class Measurement {
 public:
  Measurement(const Config& config, Device& device, const MeasureOptions& options)
      : config_(config),
        plan_(MakePlan(config)),
        device_(device),
        options_(options),
        directory_(RunDirectory::Open(std::filesystem::absolute(config.output_root).lexically_normal())) {
    interruption_.requested = options.interrupted;
    device_.SetInterrupted([this] { return interruption_.IsRequested(); });
  }
  ~Measurement() { device_.SetInterrupted({}); }
  Measurement(Measurement&&) = delete;

  RunData Run() {
    const std::string hash = ConfigHash(config_);
    WithReconnection([&] {
      run_.device = device_.Properties();
      CheckForDevice(config_, device_.Name(), *run_.device);
      if (options_.acquire_device) {
        const double start = MonotonicSeconds();
        options_.acquire_device();
        wait_seconds_before_launches_ += MonotonicSeconds() - start;
      }
      if (!config_.power_mode.empty()) run_.power_mode = device_.SetPowerMode(config_.power_mode);
      is_third_party_runner_.clear();
      ProbeRunners();
    });
    InitializeRun(hash);
    RequireDifferentRunners();
    if (options_.resume && config_.sustained > 0) {
      throw Error(ExitCode::kUsage, "a sustained run cannot be resumed: the device has rested since")
          .Remedy("repeat it without --resume");
    }
    const bool resumed = options_.resume && ContinueRun(hash);
    const QuietResult quiet = WaitForQuietDevice();  // Ctrl-C while it waits leaves the directory unchanged
    wait_seconds_before_launches_ += quiet.waited_seconds;
    if (!resumed) {
      const auto names = MapEach(config_.experiments, &ExperimentConfig::name);
      const bool has_old_run = Exists(directory_.folder() / kManifestFile);
      const std::filesystem::path archive = directory_.ArchiveOldRun(names, config_.file);
      // Report moved files that are not from an old run, since they may be the user's own.
      if (!archive.empty() && !has_old_run)
        ShowMessage("files with the names of results were moved to " + archive.string());
    }
    if (!directory_.IsFileOfRun(config_.file, kConfigFile))
      WriteFileAtomically(directory_.folder() / kConfigFile, ToJson(config_).dump(2) + "\n");
    RecordInitialConditions(quiet);
    WarnAboutQuota();
    WarnAboutThreads();
    run_.status = RunData::Status::kRunning;
    directory_.WriteManifest(run_);
    try {
      UnpackPrograms();
      if (options_.run_launches) {
        MeasureTimed();
        MeasureTraceEnabled();
      }
      MeasureExtraRuns();
    } catch (const DeviceLost&) {
      FinishAfterFailure(RunData::Status::kInterrupted);
      throw;
    } catch (const Error&) {
      FinishAfterFailure(Interrupted() ? RunData::Status::kInterrupted : RunData::Status::kFailed);
      throw;
    }
    const bool all_failed =
        std::ranges::all_of(run_.experiments, [](const ExperimentData& data) { return !data.error.empty(); });
    Finish(Interrupted() ? RunData::Status::kInterrupted
           : all_failed  ? RunData::Status::kFailed
                         : RunData::Status::kComplete);
    return run_;
  }

 private:
  // Seconds since the measurement began, without the waiting for a lock, for a quiet or cool device, and for
  // a lost device.
  double MeasuringSeconds() const {
    return MonotonicSeconds() - start_ - wait_seconds_before_launches_ - device_wait_seconds_ -
           (conditions_watch_ ? conditions_watch_->waited_seconds() : 0);
  }

  bool Interrupted() const { return options_.interrupted && options_.interrupted(); }

  void ShowMessage(const std::string& text) const {
    if (options_.progress != nullptr) options_.progress->Message(text);
  }

  void FinishAfterFailure(RunData::Status status) {
    try {
      Finish(status);
    } catch (const Error&) {
      // The caller throws the first error. The directory stays as the last complete launch left it.
    }
  }

  // Waits for the device after its connection broke. Throws DeviceLost if the device does not come back.
  void Reconnect() {
    if (++connection_losses_ > kMaxConnectionLosses) {
      throw DeviceLost(device_.Name(), "the connection breaks again and again", LostDeviceRemedy());
    }
    ShowMessage(fmt::format("{}: the connection was lost; waiting up to {:.0f} s for the device",
                            device_.Name(), options_.wait_for_device_seconds));
    const double start = MonotonicSeconds();
    const bool is_back = device_.WaitUntilBack(options_.wait_for_device_seconds);
    device_wait_seconds_ += MonotonicSeconds() - start;
    if (is_back) return;
    if (Interrupted()) throw Error(ExitCode::kInterrupted, "interrupted");
    throw DeviceLost(device_.Name(), "the connection was lost, and the device did not come back",
                     LostDeviceRemedy());
  }

  // A sustained run cannot be resumed.
  std::string LostDeviceRemedy() const {
    return config_.sustained > 0 ? "partial results are kept; `etprof recover` shows them"
                                 : "partial results are kept, and --resume continues";
  }

  template <typename Step>
  void WithReconnection(Step step) {
    while (true) {
      try {
        return step();
      } catch (const DeviceLost&) {
        Reconnect();
      }
    }
  }

  // Throws Error (kInterrupted) or DeviceLost if an interruption or a lost connection caused the failure.
  void RequireDevice(const WorkerFailure& failure) {
    if (WasInterrupted(failure, device_)) throw Error(ExitCode::kInterrupted, "interrupted");
  }

  void ProbeRunners() {
    std::map<std::tuple<std::vector<std::string>, std::string, std::string>, std::optional<protocol::Ready>>
        ready_by_runner;
    for (const ExperimentConfig& experiment : config_.experiments) {
      const auto key = std::tuple(experiment.exec_wrapper, experiment.runner.string(), experiment.executorch);
      if (!ready_by_runner.contains(key)) {
        try {
          ready_by_runner[key] = ProbeRunner(device_, MakeRunnerCommand(device_, *run_.device, experiment),
                                             interruption_, std::min(config_.timeout_seconds, 120.0));
        } catch (const WorkerFailure& failure) {
          RequireDevice(failure);
          throw Error(ExitCode::kDeviceFailed, failure.what()).InFile(experiment.runner.string());
        }
      }
      is_third_party_runner_.push_back(!ready_by_runner[key].has_value());
      if (is_third_party_runner_.back() && !experiment.isa.empty()) {
        throw Error(ExitCode::kBadInput,
                    fmt::format("experiment \"{}\" has an isa mask, which only etprof-runner can apply",
                                experiment.name))
            .InFile(experiment.runner.string())
            .Remedy("leave out runner_path, or build a runner for each variant");
      }
      const std::string release = ReleaseName(experiment.executorch);
      if (!release.empty() &&
          (is_third_party_runner_.back() || ready_by_runner[key]->executorch_version != release)) {
        throw Error(ExitCode::kBadInput,
                    fmt::format("experiment \"{}\" is to run ExecuTorch {}, and its runner runs {}",
                                experiment.name, release,
                                is_third_party_runner_.back() ? "what was linked into it"
                                                              : ready_by_runner[key]->executorch_version))
            .InFile(experiment.runner.string())
            .Remedy("leave out the runner: the etprof-runner next to etprof takes the release's libraries");
      }
      const bool paced = experiment.period > 0;
      const bool sustained = config_.sustained > 0 && experiment.mode == "timing";
      const bool has_place = experiment.place.has_value();
      if (is_third_party_runner_.back() && (paced || sustained || has_place)) {
        throw Error(ExitCode::kBadInput,
                    fmt::format("experiment \"{}\" {}, which only etprof-runner can do", experiment.name,
                                has_place ? "has a place"
                                : paced   ? "has a period"
                                          : "is to run sustained"))
            .InFile(experiment.runner.string())
            .Remedy("leave out runner_path");
      }
      if (!experiment.isa.empty()) CheckMask(experiment);
    }
  }

  // Before the measurement, reports a mask that the runner refuses, with the runner's message.
  void CheckMask(const ExperimentConfig& experiment) {
    Command command = MakeRunnerCommand(device_, *run_.device, experiment);
    command.arguments.insert(command.arguments.end(), {"--worker", "--isa=" + experiment.isa});
    try {
      WorkerClient(device_, command, {}, interruption_, std::min(config_.timeout_seconds, 120.0)).Quit();
    } catch (const WorkerFailure& failure) {
      RequireDevice(failure);
      throw Error(ExitCode::kBadInput,
                  fmt::format("experiment \"{}\": {}", experiment.name, RunnerMessage(failure.what())))
          .Remedy("correct its `isa`. `etprof isa` shows what this CPU has");
    }
  }

  // Adds the build of an executor_runner that was built in a checkout.
  void AddProvenance(ExperimentData& data) {
    const auto provenance = ReadProvenance(data.runner, options_.interrupted);
    if (!provenance) return;
    data.executorch_version = provenance->executorch_version;
    data.runner_built->preset = provenance->preset;
    // CMake's record of the compiler is better than the file's, which also names the compiler of the C
    // library.
    if (!provenance->compiler.empty()) data.runner_built->compiler = provenance->compiler;
    data.warnings.insert(data.warnings.end(), provenance->warnings.begin(), provenance->warnings.end());
    if (provenance->commit.empty() || !run_.executorch_sha.empty()) return;
    run_.executorch_sha = provenance->commit;
    run_.executorch_dirty = provenance->dirty;
  }

  // Fills `run_` with everything that is known before the measurement.
  void InitializeRun(const std::string& hash) {
    run_.folder = directory_.folder();
    run_.generated_at = UtcNow();
    run_.etprof_version = options_.etprof_version;
    run_.config = config_.file;
    run_.config_hash = hash;
    run_.configuration = ToJson(config_).dump();
    run_.model = config_.experiments[0].model;
    run_.model_id = ModelId(run_.model);
    run_.method = config_.experiments[0].method;
    conditions_watch_.emplace([this](bool all) { return vitals_.Read(all); },
                              PinnedCpus(config_, *run_.device), MakeCoolingOptions());
    load_watch_.emplace([this] { return TakeLoadSnapshot(device_); }, MonotonicSeconds, run_.device->cores);
    run_.platform = RunPlatform(config_, *run_.device);
    run_.schedule.margin = config_.margin;
    std::map<std::filesystem::path, RunnerBinary> runner_binaries;
    std::map<std::filesystem::path, std::string> digests;
    const auto digest = [&](const std::filesystem::path& path) {
      if (!digests.contains(path)) {
        write_times_[path] = LastWriteTime(path);
        digests[path] = Sha256HexOfFile(path);
      }
      return digests[path];
    };
    for (const Unit& unit : plan_.units) {
      const ExperimentConfig& experiment = config_.experiments[unit.experiment];
      ExperimentData data;
      data.name = experiment.name;
      data.threads = unit.threads;
      data.label = unit.label;
      data.mode = experiment.mode;
      data.runner = experiment.runner;
      data.runner_sha256 = digest(experiment.runner);
      data.configuration_sha256 = ExperimentDigest(experiment);
      data.model = experiment.model;
      data.model_sha256 = digest(experiment.model);
      data.third_party_runner = is_third_party_runner_[unit.experiment];
      data.trace_enabled = experiment.mode == "xnntrace";
      data.tracer_always_on = data.third_party_runner || data.trace_enabled;
      data.isa = experiment.isa;
      data.cpus = experiment.cpu_affinity;
      data.inputs_sha256 = HashInputs(InputFiles(experiment), experiment.method);
      data.period = experiment.period;
      data.place = experiment.place;
      if (experiment.method != run_.method) data.method = experiment.method;
      data.emulated = IsEmulated(experiment, *run_.device);
      data.export_executorch_version =
          ExportVersion(experiment.model, experiment.model == run_.model ? &run_.model_info : nullptr);
      if (!experiment.runtime_warning.empty()) data.warnings.push_back(experiment.runtime_warning);
      data.log = directory_.folder() / (unit.stem + ".log");
      if (data.trace_enabled) data.xnntrace_log = directory_.folder() / (unit.stem + kKernelLogSuffix);
      if (data.third_party_runner && experiment.inputs && experiment.inputs->kind == "random") {
        data.warnings.push_back("a third-party runner has no random inputs: it runs on ones");
      }
      if (!runner_binaries.contains(data.runner))
        runner_binaries[data.runner] = ReadRunnerBinary(data.runner);
      const RunnerBinary& binary = runner_binaries[data.runner];
      data.runner_built = RunnerBuildInfo{"", binary.compiler, binary.sme};
      if (data.third_party_runner) AddProvenance(data);
      if (data.runner_built == RunnerBuildInfo()) data.runner_built.reset();
      run_.experiments.push_back(std::move(data));
    }
    run_.model_sha256 = run_.experiments[0].model_sha256;
    // The experiments of a sustained run have one launch each, one after the other, so they are not paired.
    if (config_.sustained <= 0) run_.pairs = plan_.pairs;
  }

  void RequireDifferentRunners() const {
    for (const ComparePair& pair : run_.pairs) {
      const ExperimentData& baseline = run_.experiments[pair.baseline];
      const ExperimentData& candidate = run_.experiments[pair.candidate];
      const std::string reason = SmeNotDifferentReason(baseline, candidate);
      if (reason.empty()) continue;
      throw Error(ExitCode::kBadInput, fmt::format("experiments `{}` and `{}` would not differ: {}",
                                                   baseline.name, candidate.name, reason))
          .Remedy(fmt::format("build both again: `etprof build --executorch DIR --preset {} --preset {}`",
                              baseline.runner_built->preset, candidate.runner_built->preset));
    }
  }

  CoolingOptions MakeCoolingOptions() {
    return {
        .max_celsius = config_.max_temp,
        .wait_seconds = config_.max_temp_wait,
        .now = MonotonicSeconds,
        .sleep = [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); },
        .interrupted = [this] { return Interrupted(); },
        .progress = options_.progress};
  }

  // Continues the run in the directory. Returns false if the directory has no run.
  bool ContinueRun(const std::string& hash) {
    if (!Exists(directory_.folder() / kManifestFile)) return false;
    RunData old = LoadRunDirectory(directory_.folder(), /*include_unlisted_etdumps=*/false);
    const auto refusal = [&](const std::string& reason) {
      return Error(ExitCode::kBadInput, "cannot be resumed: " + reason)
          .InFile(directory_.folder().string())
          .Remedy("run without --resume, which moves the earlier run to previous/");
    };
    if (old.config_hash != hash) throw refusal("it was measured with another configuration, model or runner");
    if (old.experiments.size() != run_.experiments.size()) throw refusal("it has other experiments");
    for (std::size_t i = 0; i < old.experiments.size(); ++i) {
      ExperimentData& stored = old.experiments[i];
      ExperimentData& current = run_.experiments[i];
      if (stored.name != current.name || stored.threads != current.threads)
        throw refusal("it has other experiments");
      const auto take = [&](auto... members) { ((current.*members = std::move(stored.*members)), ...); };
      using E = ExperimentData;
      take(&E::launches, &E::command_line, &E::executorch_version, &E::executorch_libraries,
           &E::operator_clock, &E::wait_source, &E::isa_state, &E::backends, &E::inputs, &E::outputs,
           &E::inputs_from, &E::etdump, &E::etdump_runs, &E::output_digests, &E::difference_from_expected,
           &E::warnings);
      DropUnknownLatencies(directory_.folder(), plan_.units[i].stem, current.launches);
      if (!current.launches.empty())
        current.latency_csv = directory_.folder() / (plan_.units[i].stem + kLatencySuffix);
    }
    run_.schedule = old.schedule;
    used_seconds_before_resume_ = old.schedule.seconds;
    wait_seconds_before_resume_ = old.schedule.waited_seconds;
    run_.conditions = std::move(old.conditions);
    run_.other_load_before = std::move(old.other_load_before);
    load_watch_->Continue(std::move(old.other_load_during));
    run_.other_load_during = load_watch_->load();
    run_.schedule.margin = config_.margin;
    run_.generated_at = old.generated_at;
    for (ComparePair& pair : run_.pairs) {
      for (const ComparePair& earlier : old.pairs) {
        if (pair.baseline == earlier.baseline && pair.candidate == earlier.candidate)
          pair.outputs = earlier.outputs;
      }
    }
    for (const ExperimentData& data : run_.experiments) stored_launches_.push_back(data.launches.size());
    return true;
  }

  int MaxThreads() const { return std::ranges::max(plan_.units, {}, &Unit::threads).threads; }

  // Reads how busy the device is, after waiting until it is quiet or the waiting time is over. Throws Error
  // (kInterrupted).
  QuietResult WaitForQuietDevice() {
    if (!options_.check_load || Interrupted()) return {};
    const CoolingOptions cooling = MakeCoolingOptions();
    QuietResult quiet =
        WaitUntilQuiet({.wait_seconds = 60 * config_.wait_minutes,
                        .threads = MaxThreads(),
                        .max_celsius = config_.max_temp,
                        .load = [this] { return MeasureOtherLoad(device_, run_.device->cores); },
                        .vitals = [this] { return vitals_.Read(/*all=*/true); },
                        .now = cooling.now,
                        .sleep = cooling.sleep,
                        .interrupted = cooling.interrupted,
                        .progress = cooling.progress});
    if (quiet.waited_seconds > 0 && Interrupted()) throw Error(ExitCode::kInterrupted, "interrupted");
    return quiet;
  }

  // Warns if a CPU quota is below the experiments' number of threads.
  void WarnAboutQuota() const {
    const ResourceLimits& limits = run_.device->limits;
    if (!limits.quota_cpus || *limits.quota_cpus >= MaxThreads()) return;
    ShowMessage(fmt::format("warning: {}, and the measurement has up to {}. Runs that it stops do not count.",
                            QuotaText(limits), CountedText(MaxThreads(), "thread")));
  }

  void WarnAboutThreads() {
    for (const std::string& warning : ThreadWarnings(config_, *run_.device)) {
      ShowMessage("warning: " + warning);
      AppendUnique(warning, run_.warnings);
    }
  }

  // Records the state before the measurement, and warns if the device is busy. A resumed measurement records
  // the higher of both loads.
  void RecordInitialConditions(const QuietResult& quiet) {
    if (quiet.waited_seconds > 0)
      run_.schedule.quiet_seconds = run_.schedule.quiet_seconds.value_or(0) + quiet.waited_seconds;
    if (!quiet.warning.empty()) run_.warnings.push_back(quiet.warning);
    if (!quiet.load) return;
    const std::string warning = LoadWarningBefore(*quiet.load, MaxThreads());
    if (!warning.empty()) ShowMessage("warning: " + warning);
    if (!run_.other_load_before || run_.other_load_before->CoresUsed() <= quiet.load->CoresUsed())
      run_.other_load_before = quiet.load;
  }

  std::filesystem::path SavedOutputsPath(std::size_t unit) const {
    return directory_.folder() / (plan_.units[unit].stem + "_outputs.safetensors");
  }

  const ExperimentConfig& UnitConfig(std::size_t unit) const {
    return config_.experiments[plan_.units[unit].experiment];
  }

  // Extracts bundled programs, which runners cannot load, into the results directory until the measurement
  // ends.
  void UnpackPrograms() {
    for (std::size_t u = 0; u < plan_.units.size(); ++u) {
      const std::filesystem::path& model = UnitConfig(u).model;
      if (unpacked_programs_.contains(model)) continue;
      if (auto program = UnpackProgram(model, directory_.folder() / (plan_.units[u].stem + ".pte")))
        unpacked_programs_.emplace(model, std::move(*program));
    }
  }

  void CompareWithTestCases() {
    for (std::size_t u = 0; u < run_.experiments.size(); ++u) {
      const ExperimentConfig& config = UnitConfig(u);
      const auto found = unpacked_programs_.find(config.model);
      if (found == unpacked_programs_.end() || config.inputs ||
          !found->second.tested_methods.contains(config.method))
        continue;
      ExperimentData& data = run_.experiments[u];
      if (!data.inputs_from.empty()) data.inputs_from = "the first test case of " + config.model.string();
      if (!found->second.expected_outputs.empty() && Exists(SavedOutputsPath(u)))
        data.difference_from_expected =
            CompareWithExpected(found->second.expected_outputs, SavedOutputsPath(u));
    }
  }

  ParticipantSetup MakeSetup(std::size_t u) {
    const Unit& unit = plan_.units[u];
    const ExperimentConfig& config = UnitConfig(u);
    const auto unpacked = unpacked_programs_.find(config.model);
    ParticipantSetup setup;
    setup.device = &device_;
    setup.properties = &*run_.device;
    setup.interruption = &interruption_;
    setup.config = &config;
    setup.model = unpacked == unpacked_programs_.end() ? config.model : unpacked->second.program;
    setup.inputs = config.inputs;
    // The .inputs file next to the extracted program has no inputs for this method.
    if (!config.inputs && unpacked != unpacked_programs_.end() &&
        !unpacked->second.tested_methods.contains(config.method))
      setup.inputs = protocol::InputSpec{.kind = "random", .paths = {}, .seed = 0};
    setup.threads = unit.threads;
    setup.timeout_seconds = config_.timeout_seconds;
    setup.folder = directory_.folder();
    setup.stem = unit.stem;
    setup.data = &run_.experiments[u];
    if (config.place) setup.shared = GetSharedWorker(u);
    if (!run_.pairs.empty() || unpacked != unpacked_programs_.end())
      setup.saved_outputs = SavedOutputsPath(u).string();
    return setup;
  }

  // The worker process shared by all units that differ only in the step of the language model (`place`).
  std::shared_ptr<SharedWorker> GetSharedWorker(std::size_t u) {
    const ExperimentConfig& config = UnitConfig(u);
    ExperimentConfig process_config = config;
    process_config.name = process_config.label = process_config.method = "";
    process_config.place.reset();
    std::shared_ptr<SharedWorker>& worker =
        shared_workers_[fmt::format("{} {}", plan_.units[u].threads, ExperimentDigest(process_config))];
    if (worker == nullptr) worker = std::make_shared<SharedWorker>();
    worker->max_cache_tokens = std::max(worker->max_cache_tokens, config.place->position);
    if (config.place->generate_text) {
      worker->cold_request = config.place->generate_text;
      worker->cold_request->generate = 1;
    }
    return worker;
  }

  void MeasureTimed() {
    std::vector<std::unique_ptr<Participant>> participants;
    std::vector<ScheduleUnit> units;
    std::vector<std::size_t> timed_index(plan_.units.size());  // index among the timed units, by unit
    for (std::size_t u = 0; u < plan_.units.size(); ++u) {
      if (run_.experiments[u].trace_enabled) continue;
      participants.push_back(run_.experiments[u].third_party_runner ? MakeThirdPartyParticipant(MakeSetup(u))
                                                                    : MakeWorkerParticipant(MakeSetup(u)));
      timed_index[u] = units.size();
      const ExperimentConfig& experiment = UnitConfig(u);
      units.push_back({participants.back().get(), &run_.experiments[u], experiment.runs, experiment.warmup,
                       experiment.period, experiment.place ? GetSharedWorker(u).get() : nullptr});
    }
    if (units.empty()) return;
    ScheduleHooks hooks;
    hooks.now = [this] { return MeasuringSeconds(); };
    hooks.interrupted = [this] { return Interrupted(); };
    hooks.save = [this] {
      RequireUnchangedFiles();
      load_watch_->AfterLaunch();
      run_.other_load_during = load_watch_->load();
      Save();
    };
    hooks.before_round = [this](int launch, int round, int order) {
      if (auto conditions = conditions_watch_->BeforeRound(launch, round, order))
        run_.conditions.push_back(std::move(*conditions));
      run_.schedule.waited_seconds = wait_seconds_before_resume_ + conditions_watch_->waited_seconds();
    };
    hooks.reconnect = [this] { Reconnect(); };
    hooks.memory_shortage = [this](Bytes rss, std::size_t more_workers) {
      return MemoryShortage(rss, more_workers);
    };
    hooks.progress = options_.progress;
    load_watch_->Begin();
    if (config_.sustained > 0) {
      RunSustained(config_.sustained, units, hooks, run_.schedule);
      return EndLoadWatch();
    }
    std::vector<ComparePair> pairs = run_.pairs;
    for (ComparePair& pair : pairs) {
      pair.baseline = timed_index[pair.baseline];
      pair.candidate = timed_index[pair.candidate];
    }
    ScheduleOptions options;
    options.seed = config_.seed;
    options.launches = config_.launches;
    options.interim_confidence = options_.interim_confidence;
    options.rounds = config_.rounds;
    options.max_seconds = AllowedSeconds(config_, run_.pairs.size());
    options.max_seconds_given = config_.max_seconds.has_value();
    options.precision = config_.Precision();
    // The time before the first launch counts, too.
    options.seconds_used = run_.schedule.seconds + MeasuringSeconds();
    options.after_seconds = MakeForecast(config_, plan_, *run_.device).peaks_seconds;
    RunSchedule(options, units, pairs, hooks, run_.schedule, run_.warnings);
    EndLoadWatch();
  }

  void EndLoadWatch() {
    load_watch_->End();
    run_.other_load_during = load_watch_->load();
  }

  std::optional<std::string> MemoryShortage(Bytes rss, std::size_t more_workers) {
    const auto available = device_.AvailableMemory();
    if (!available || double(rss) * double(more_workers) <= kMemoryShare * double(*available))
      return std::nullopt;
    return fmt::format("{} more workers of {} do not fit in {} of free memory", more_workers,
                       FormatBytes(double(rss)), FormatBytes(double(*available)));
  }

  void MeasureTraceEnabled() {
    for (std::size_t u = 0; u < plan_.units.size(); ++u) {
      ExperimentData& data = run_.experiments[u];
      if (!data.trace_enabled || !data.launches.empty() || Interrupted()) continue;
      WithReconnection([&] {
        try {
          RunTraceEnabled(MakeSetup(u));
        } catch (const WorkerFailure& failure) {
          if (WasInterrupted(failure, device_)) return;
          data.error = failure.what();
          ShowMessage(fmt::format("{}: {}", data.label, data.error));
        }
      });
      Save();
    }
  }

  // Makes the extra runs, whose times are not latencies. The machine's peaks are measured last, since no
  // other step depends on them.
  void MeasureExtraRuns() {
    const ExtraRunsSetup setup{plan_, [this](std::size_t u) { return MakeSetup(u); },
                               [this](const std::function<void()>& step) { WithReconnection(step); },
                               options_.progress, run_};
    if (options_.counters) MeasureCounters(setup);
    if (options_.instructions) MeasureInstructions(setup, options_.emulator_plugin);
    if (options_.watch) MeasureWatch(setup);
    if (options_.values) MeasureValues(setup);
    if (!config_.peaks || Interrupted()) return;
    const bool limited = options_.run_launches && (!config_.launches || config_.max_seconds);
    const double limit = AllowedSeconds(config_, run_.pairs.size()) - used_seconds_before_resume_;
    const auto seconds_left = [&] {
      return limited ? limit - MeasuringSeconds() : std::numeric_limits<double>::infinity();
    };
    WithReconnection([&] { MeasurePeaks(setup, config_, seconds_left); });
  }

  // Throws Error if a model or a runner was replaced, since the launches before and after ran different
  // programs. Other devices run copies, which do not change.
  void RequireUnchangedFiles() {
    if (device_.Name() != "local") return;
    for (const ExperimentData& data : run_.experiments) {
      for (const auto& [file, sha256] :
           {std::pair(data.model, data.model_sha256), {data.runner, data.runner_sha256}}) {
        const auto time = LastWriteTime(file);
        if (!time || time == write_times_[file]) continue;
        if (Sha256HexOfFile(file) != sha256) {
          run_.warnings.push_back(
              fmt::format("{} was replaced during the measurement: the last launches ran another program",
                          file.filename().string()));
          throw Error(ExitCode::kBadInput, "was replaced during the measurement")
              .InFile(file.string())
              .Remedy("measure again");
        }
        write_times_[file] = time;
      }
    }
  }

  // Writes the launches that are not stored yet. Throws Error if a file of earlier launches is gone.
  void Save() {
    for (const std::filesystem::path& file : saved_files_) {
      if (Exists(file)) continue;
      throw Error(ExitCode::kDeviceFailed, "was removed during the measurement")
          .InFile(file.string())
          .Remedy("measure again, into a folder that nothing else changes");
    }
    stored_launches_.resize(run_.experiments.size());
    for (std::size_t u = 0; u < run_.experiments.size(); ++u) {
      ExperimentData& data = run_.experiments[u];
      for (; stored_launches_[u] < data.launches.size(); ++stored_launches_[u]) {
        const std::filesystem::path path = directory_.folder() / (plan_.units[u].stem + kLatencySuffix);
        AppendLatencies(path, data.launches[stored_launches_[u]], data.tracer_always_on);
        data.latency_csv = path;
        saved_files_.insert(path);
      }
    }
    directory_.WriteManifest(run_);
    saved_files_.insert(directory_.folder() / kManifestFile);
  }

  // Completes and stores the run with its final `status`.
  void Finish(RunData::Status status) {
    try {
      run_.limits_after = device_.Limits();
    } catch (const Error&) {
      // The connection is lost: the limits stay unknown.
    }
    AddWarnings(run_, conditions_watch_->warnings());
    CompareWithTestCases();
    for (ComparePair& pair : run_.pairs) {
      if (pair.outputs) continue;
      pair.outputs = CompareOutputs(run_.experiments[pair.baseline], run_.experiments[pair.candidate],
                                    SavedOutputsPath(pair.baseline), SavedOutputsPath(pair.candidate));
    }
    Save();
    for (std::size_t u = 0; u < run_.experiments.size(); ++u)
      MergeParts(directory_.folder(), plan_.units[u].stem, run_.experiments[u]);
    run_.status = status;
    directory_.WriteManifest(run_);
    for (std::size_t u = 0; u < run_.experiments.size(); ++u) {
      RemoveParts(directory_.folder(), plan_.units[u].stem, run_.experiments[u]);
      std::error_code ignored;
      std::filesystem::remove(SavedOutputsPath(u), ignored);
    }
    for (const auto& [model, program] : unpacked_programs_) program.Remove();
  }

  const Config& config_;
  const Plan plan_;
  Device& device_;
  const MeasureOptions& options_;
  RunDirectory directory_;
  Interruption interruption_;
  std::vector<bool> is_third_party_runner_;  // indexed by experiment
  std::set<std::filesystem::path> saved_files_;
  // The key consists of the number of threads and the digest of the configuration without name, method, and
  // place.
  std::map<std::string, std::shared_ptr<SharedWorker>> shared_workers_;
  std::map<std::filesystem::path, UnpackedProgram>
      unpacked_programs_;  // programs in models that are bundled programs
  // When the models and runners were written for the last time.
  std::map<std::filesystem::path, std::optional<std::filesystem::file_time_type>> write_times_;
  RunData run_;
  VitalsReader vitals_{device_, plan_.units.size() <= kMaxExperimentsWithShell};
  std::optional<ConditionsWatch> conditions_watch_;  // set when the device is known
  std::optional<LoadWatch> load_watch_;              // set when the device is known
  double start_ = MonotonicSeconds();
  double used_seconds_before_resume_ = 0;    // seconds that the resumed measurement had used
  double wait_seconds_before_launches_ = 0;  // seconds of waiting before the first launch
  double wait_seconds_before_resume_ = 0;    // seconds that the resumed measurement had waited
  int connection_losses_ = 0;
  double device_wait_seconds_ = 0;            // seconds of waiting for a lost device
  std::vector<std::size_t> stored_launches_;  // number of launches on disk, by unit
};

}  // namespace

RunData Measure(const Config& config, Device& device, const MeasureOptions& options) {
  CheckFiles(config);
  return Measurement(config, device, options).Run();
}

}  // namespace etprof
