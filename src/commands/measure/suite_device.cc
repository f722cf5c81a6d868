#include "commands/measure/suite_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/clock.h"
#include "core/error.h"
#include "core/file/file.h"
#include "measure/measure.h"
#include "measure/schedule/forecast.h"
#include "measure/schedule/schedule.h"
#include "measure/store/run_files.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// Share of max_minutes for all cells together before any cell is extended.
constexpr double kInitialBudgetShare = 0.6;
constexpr double kMinCellSeconds = 1;
// Maximum growth of a cell's time in one extension: the next interim analysis needs 1.4 times the launches.
constexpr double kMaxExtensionFactor = 0.6;

double MeasuringSeconds(double waited_seconds, double start_seconds) {
  return std::max(0.0, MonotonicSeconds() - start_seconds - waited_seconds);
}

}  // namespace

Config MakeCellConfig(const SuiteConfig& suite, const SuiteCell& cell, const fs::path& program,
                      Device& device, const DeviceProperties& properties) {
  ProfileOptions profile;
  profile.model = program.string();
  profile.vs = cell.variants;
  profile.vs_folder = suite.file.parent_path();
  profile.devices = {cell.device};
  profile.power_mode = suite.power_mode;
  profile.max_temp = suite.max_temp;
  profile.max_temp_wait = suite.max_temp_wait;
  profile.wait_minutes = suite.wait_minutes;
  profile.method = suite.models[cell.model].method;
  profile.cpus = suite.cpus;
  profile.period = suite.period;
  profile.runner = suite.runner.string();
  profile.load = suite.load;
  profile.runs = suite.runs;
  profile.warmup = suite.warmup;
  if (suite.threads) profile.threads = {*suite.threads};
  profile.precision = suite.precision;
  profile.margin = suite.margin;
  profile.launches = suite.launches;
  profile.no_peaks = !suite.peaks;
  profile.output_root = cell.folder.string();
  Config config = MakeJobs(profile).jobs.front().configure(device, properties);
  config.rounds = suite.rounds;
  for (ExperimentConfig& experiment : config.experiments)  // the variables of variants take precedence
    experiment.environment.insert(suite.environment.begin(), suite.environment.end());
  // As in a profile of several devices, the power mode applies only to devices with power modes.
  if (!properties.platform.starts_with("android")) config.power_mode.clear();
  return config;
}

StoredCell ReadStoredCell(const fs::path& folder) {
  StoredCell stored;
  if (!Exists(folder / kManifestFile)) return stored;
  try {
    const RunData run = LoadRunDirectory(folder, /*include_unlisted_etdumps=*/false);
    stored.exists = true;
    stored.hash = run.config_hash;
    stored.complete =
        run.status == RunData::Status::kComplete &&
        std::ranges::all_of(run.experiments, [](const ExperimentData& data) { return data.error.empty(); });
    stored.seconds = run.schedule.seconds;
    stored.waited_seconds = run.schedule.TotalWaitedSeconds();
    stored.launches = run.schedule.launches;
    const double precision = run.schedule.precision > 0 ? run.schedule.precision : 0.005;
    const double confidence = run.schedule.IntervalConfidence();
    const auto include_estimate = [&](const std::optional<stats::RatioEstimate>& estimate) {
      const double width =
          estimate ? estimate->half_width() / precision : std::numeric_limits<double>::infinity();
      stored.uncertainty = std::max(stored.uncertainty, width);
    };
    // Emulated CPUs do not count: more time does not make their results more certain.
    for (const ComparePair& pair : run.pairs) {
      const ExperimentData &a = run.experiments[pair.baseline], &b = run.experiments[pair.candidate];
      if (!a.emulated && !b.emulated) include_estimate(EstimatePair(a, b, confidence));
    }
    if (!run.pairs.empty()) return stored;
    for (const ExperimentData& data : run.experiments)
      if (!data.emulated) include_estimate(EstimateSingle(data, confidence));
  } catch (const Error&) {
    // The directory cannot be resumed: the cell is measured again, and the old files move to previous/.
  }
  return stored;
}

SuiteDevice::SuiteDevice(const SuiteConfig& suite, const SuiteOptions& options, std::size_t device_index,
                         std::vector<SuiteTask> tasks,
                         const std::function<void(const std::function<void()>&)>& change,
                         WorkflowProgress& progress)
    : suite_(suite),
      options_(options),
      device_index_(device_index),
      tasks_(std::move(tasks)),
      change_(change),
      progress_(progress) {}

std::string SuiteDevice::CellName(const SuiteTask& task) const {
  const std::string& model = suite_.models[task.cell->model].name;
  return task.cell->is_confirmation ? "frontier of " + model : SuiteProgramName(model, task.cell->dtype);
}

void SuiteDevice::SetStatus(SuiteTask& task, SuiteCellStatus status, const std::string& reason,
                            double seconds) {
  change_([&] {
    task.state->status = status;
    task.state->reason = reason;
    task.state->seconds += seconds;
  });
  if (!reason.empty()) progress_.Message(device_index_, fmt::format("{}: {}", CellName(task), reason));
}

const StoredCell& SuiteDevice::GetStoredCell(SuiteTask& task) {
  if (!task.stored) {
    task.stored = ReadStoredCell(task.cell->folder);
    if (!task.hash.empty() && task.stored->hash != task.hash) task.stored->seconds = 0;
  }
  return *task.stored;
}

Config SuiteDevice::Configure(const SuiteTask& task) const {
  Config config = MakeCellConfig(suite_, *task.cell, task.program, *device_, properties_);
  MakePlan(config);
  CheckFiles(config);
  return config;
}

void SuiteDevice::DropOutdatedSeconds() {
  for (SuiteTask& task : tasks_) {
    try {
      task.hash = ConfigHash(Configure(task));
    } catch (const Error&) {
      continue;  // the attempt to measure the cell reports the error
    }
    task.stored.reset();
    if (GetStoredCell(task).hash != task.hash && task.state->seconds > 0)
      change_([&] { task.state->seconds = 0; });
  }
}

double SuiteDevice::UsedSeconds() {
  double used_seconds = 0;
  for (SuiteTask& task : tasks_)  // the state file lacks the seconds of an interrupted cell
    used_seconds += std::max(task.state->seconds, GetStoredCell(task).seconds);
  return used_seconds;
}

double SuiteDevice::BudgetSeconds() const {
  return suite_.max_minutes ? 60 * *suite_.max_minutes : std::numeric_limits<double>::infinity();
}

// Seconds that the cell may use before any cell is extended: its share, by number of pairs, of the limited
// time that is left.
double SuiteDevice::InitialSeconds(std::size_t next) {
  const auto count_pairs = [](const SuiteTask& task) {
    return double(std::max<std::size_t>(1, task.cell->variants.size()));
  };
  const double default_seconds = suite_.max_seconds.value_or(kSecondsPerPair) * count_pairs(tasks_[next]);
  if (!suite_.max_minutes) return default_seconds;
  double remaining_pairs = 0;
  for (std::size_t i = next; i < tasks_.size(); ++i) remaining_pairs += count_pairs(tasks_[i]);
  const double share =
      (kInitialBudgetShare * BudgetSeconds() - UsedSeconds()) * count_pairs(tasks_[next]) / remaining_pairs;
  return std::min(default_seconds, std::max(kMinCellSeconds, share));
}

bool SuiteDevice::Open() {
  if (device_) return true;
  if (!connection_error_.empty()) return false;
  progress_.State(device_index_, "connecting");
  try {
    device_ = etprof::Open(tasks_.front().cell->device, options_, progress_, device_index_);
    properties_ = device_->Properties();
    return true;
  } catch (const Error& error) {
    device_.reset();
    connection_error_ = error.Message();
    return false;
  }
}

void SuiteDevice::Measure(SuiteTask& task, DeviceLock& lock, double max_seconds, bool extending) {
  Config config = Configure(task);
  const StoredCell stored_before = GetStoredCell(task);
  const bool is_same_config = stored_before.exists && stored_before.hash == ConfigHash(config);
  // Without a time limit, the number of launches is exact, so a larger number than before adds launches.
  const bool has_launches =
      suite_.max_seconds || suite_.max_minutes || stored_before.launches >= suite_.launches.value_or(0);
  if (is_same_config && stored_before.complete && has_launches && !extending)
    return SetStatus(task, SuiteCellStatus::kMeasured, "");
  if (stored_before.exists && !is_same_config)
    progress_.Message(device_index_, CellName(task) +
                                         ": was measured with another configuration, model, or runner: "
                                         "it is measured again");
  if (!suite_.launches || suite_.max_seconds || suite_.max_minutes) config.max_seconds = max_seconds;
  if (extending) config.peaks = false;  // the first measurement has measured the peaks
  MeasureRequest request;
  static_cast<DeviceOptions&>(request) = options_;
  request.resume = is_same_config;
  progress_.State(device_index_, CellName(task));
  const double start = MonotonicSeconds();
  double waited_seconds = 0;
  std::string problem;
  try {
    MeasureOptions measure;
    measure.progress = progress_.GetDeviceProgress(device_index_);
    measure.check_load = !extending || config.wait_minutes > 0;
    CheckExternalData(config);
    RequireReference(options_.history, config);
    const RunData run = MeasureConfig(config, lock, request, progress_, measure);
    waited_seconds = run.schedule.TotalWaitedSeconds() - stored_before.waited_seconds;
    for (const ExperimentData& data : run.experiments) {
      if (problem.empty() && !data.error.empty()) problem = data.label + ": " + data.error;
    }
  } catch (...) {
    const double seconds = MeasuringSeconds(lock.waited_seconds(), start);
    change_([&] { task.state->seconds += seconds; });
    throw;
  }
  const double seconds = MeasuringSeconds(lock.waited_seconds() + waited_seconds, start);
  if (progress_.Interrupted()) return SetStatus(task, task.state->status, "", seconds);
  SetStatus(task, problem.empty() ? SuiteCellStatus::kMeasured : SuiteCellStatus::kFailed, problem, seconds);
}

void SuiteDevice::Attempt(SuiteTask& task, double max_seconds, bool extending) {
  std::optional<Error> measure_error;
  bool is_lost = false;
  {
    DeviceLock lock(*device_, "suite " + suite_.file.stem().string(), progress_, device_index_,
                    CellName(task));
    try {
      Measure(task, lock, max_seconds, extending);
    } catch (DeviceLost& error) {
      measure_error = error.Remedy("the same command continues");  // `etprof suite` has no --resume
      is_lost = true;
    } catch (const std::exception& error) {
      measure_error = ToError(error);
    }
    try {
      lock.Release();
    } catch (const Error&) {
      is_lost = true;  // the connection broke, which also releases the lock
    }
  }
  if (is_lost) device_.reset();
  task.stored.reset();
  if (measure_error && !progress_.Interrupted()) {
    // If an extension fails, the cell keeps its earlier measurement.
    SetStatus(task, extending ? SuiteCellStatus::kMeasured : SuiteCellStatus::kFailed,
              measure_error->Message());
  }
}

void SuiteDevice::ExtendLeastCertainCells() {
  struct Candidate {
    SuiteTask* task = nullptr;
    bool use_all_remaining = false;  // the last step was too short for an interim analysis
  };
  std::vector<Candidate> candidates;
  for (SuiteTask& task : tasks_) {
    if (task.state->status == SuiteCellStatus::kMeasured) candidates.push_back({&task});
  }
  while (!candidates.empty() && !progress_.Interrupted() && Open()) {
    const double remaining_seconds = BudgetSeconds() - UsedSeconds();
    if (remaining_seconds < kMinCellSeconds) return;
    std::size_t worst_index = 0;
    StoredCell worst_stored;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const StoredCell& stored = GetStoredCell(*candidates[i].task);
      if (i > 0 && stored.uncertainty <= worst_stored.uncertainty) continue;
      worst_index = i;
      worst_stored = stored;
    }
    if (!(worst_stored.uncertainty > 1)) return;  // all cells have the requested precision
    Candidate& candidate = candidates[worst_index];
    const double step = std::max(kMaxExtensionFactor * worst_stored.seconds, kMinCellSeconds);
    Attempt(*candidate.task,
            worst_stored.seconds +
                (candidate.use_all_remaining ? remaining_seconds : std::min(remaining_seconds, step)),
            true);
    const bool grew = GetStoredCell(*candidate.task).launches > worst_stored.launches;
    const bool give_up = !candidate.task->state->reason.empty() || (!grew && candidate.use_all_remaining);
    candidate.use_all_remaining = !grew;
    if (give_up) candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(worst_index));
  }
}

void SuiteDevice::Run() {
  if (suite_.max_minutes && Open()) DropOutdatedSeconds();
  for (std::size_t i = 0; i < tasks_.size() && !progress_.Interrupted(); ++i) {
    SuiteTask& task = tasks_[i];
    if (!Open()) {
      // Finished cells do not need the device.
      const StoredCell stored = GetStoredCell(task);
      if (progress_.Interrupted()) break;
      stored.complete ? SetStatus(task, SuiteCellStatus::kMeasured, "")
                      : SetStatus(task, SuiteCellStatus::kFailed, connection_error_);
      continue;
    }
    if (UsedSeconds() >= BudgetSeconds() && !GetStoredCell(task).exists) {
      SetStatus(task, SuiteCellStatus::kSkipped, "no time was left (max_minutes)");
      continue;
    }
    Attempt(task, InitialSeconds(i), false);
  }
  if (suite_.max_minutes && !suite_.launches) ExtendLeastCertainCells();
  device_.reset();
  progress_.State(device_index_, progress_.Interrupted() ? "interrupted" : "done");
}

}  // namespace etprof
