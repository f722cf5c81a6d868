#include "workflow/measure/suite_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/clock.h"
#include "core/error.h"
#include "core/file/file.h"
#include "measure/measure.h"
#include "measure/schedule/schedule.h"
#include "measure/store/run_files.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr double kUsualSecondsOfPair = 60;
constexpr double kShareOfFirst = 0.6;  // of the suite's time, that all cells may use before any gets more
constexpr double kLeastSecondsOfCell = 1;
constexpr double kMostGrowth =
    0.6;  // of a cell's time in one step: its next look needs 1.4 times the launches

double SecondsWithout(double waited, double start) {
  return std::max(0.0, MonotonicSeconds() - start - waited);
}

}  // namespace

ProfileOptions ProfileOf(const SuiteConfig& suite, const SuiteCell& cell, const SuiteOptions& options,
                         const fs::path& program) {
  ProfileOptions profile;
  profile.model = program.string();
  profile.vs = cell.variants;
  MeasureRequest& measure = profile.measure;
  measure.devices = {cell.device};
  measure.use = options.use;
  measure.use.power_mode = suite.power_mode;
  measure.use.max_temp = suite.max_temp;
  measure.use.max_temp_wait = suite.max_temp_wait;
  measure.use.wait_minutes = suite.wait_minutes;
  measure.method = suite.models[cell.model].method;
  measure.cpus = suite.cpus;
  measure.period = suite.period;
  measure.runner = suite.runner.string();
  measure.load = suite.load;
  measure.runs = suite.runs;
  measure.warmup = suite.warmup;
  if (suite.threads) measure.threads = {*suite.threads};
  measure.precision = suite.precision;
  measure.margin = suite.margin;
  measure.launches = suite.launches;
  measure.no_peaks = !suite.peaks;
  measure.output_root = cell.folder.string();
  return profile;
}

Config ConfigOfCell(const SuiteConfig& suite, const ProfileOptions& profile, Device& device,
                    const DeviceProperties& properties) {
  Config config = JobsOf(profile).jobs.front().configure(device, properties);
  config.rounds = suite.rounds;
  for (ExperimentConfig& experiment : config.experiments) experiment.environment = suite.environment;
  // As of several devices that `etprof profile` measures: those that have power modes get it.
  if (!properties.platform.starts_with("android")) config.power_mode.clear();
  return config;
}

StoredCell LookAtCell(const fs::path& folder) {
  StoredCell stored;
  if (!Exists(folder / kManifestFile)) return stored;
  try {
    const RunData run = LoadRunDirectory(folder, /*with_bare_files=*/false);
    stored.there = true;
    stored.hash = run.config_hash;
    stored.complete =
        run.status == RunData::Status::kComplete &&
        std::ranges::all_of(run.experiments, [](const ExperimentData& data) { return data.error.empty(); });
    stored.seconds = run.schedule.seconds;
    stored.waited = run.schedule.Waited();
    stored.launches = run.schedule.launches;
    const double precision = run.schedule.precision > 0 ? run.schedule.precision : 0.005;
    const double confidence = run.schedule.Level();
    const auto take = [&](const std::optional<stats::RatioEstimate>& estimate) {
      const double width =
          estimate ? estimate->half_width() / precision : std::numeric_limits<double>::infinity();
      stored.uncertainty = std::max(stored.uncertainty, width);
    };
    // What more time makes more certain: nothing of an emulated CPU.
    for (const ComparePair& pair : run.pairs) {
      const ExperimentData &a = run.experiments[pair.baseline], &b = run.experiments[pair.candidate];
      if (!a.emulated && !b.emulated) take(EstimatePair(a, b, confidence));
    }
    if (!run.pairs.empty()) return stored;
    for (const ExperimentData& data : run.experiments)
      if (!data.emulated) take(EstimateSingle(data, confidence));
  } catch (const Error&) {
    // Nothing that could be gone on with: it is measured again, and what is there moves to previous/.
  }
  return stored;
}

SuiteDevice::SuiteDevice(const SuiteConfig& suite, const SuiteOptions& options, std::size_t place,
                         std::vector<SuiteTask> tasks,
                         const std::function<void(const std::function<void()>&)>& change,
                         WorkflowProgress& progress)
    : suite_(suite),
      options_(options),
      place_(place),
      tasks_(std::move(tasks)),
      change_(change),
      progress_(progress) {}

std::string SuiteDevice::NameOf(const SuiteTask& task) const {
  return NameOfProgram(suite_.models[task.cell->model].name, task.cell->dtype);
}

void SuiteDevice::Set(SuiteTask& task, SuiteCellStatus status, const std::string& reason, double seconds) {
  change_([&] {
    task.state->status = status;
    task.state->reason = reason;
    task.state->seconds += seconds;
  });
  if (!reason.empty()) progress_.Message(place_, fmt::format("{}: {}", NameOf(task), reason));
}

const StoredCell& SuiteDevice::Stored(SuiteTask& task) {
  if (!task.stored) {
    task.stored = LookAtCell(task.cell->folder);
    if (!task.hash.empty() && task.stored->hash != task.hash) task.stored->seconds = 0;
  }
  return *task.stored;
}

std::pair<ProfileOptions, Config> SuiteDevice::Configure(const SuiteTask& task) const {
  ProfileOptions profile = ProfileOf(suite_, *task.cell, options_, task.program);
  Config config = ConfigOfCell(suite_, profile, *device_, properties_);
  MakePlan(config);
  CheckFiles(config);
  return {std::move(profile), std::move(config)};
}

void SuiteDevice::DropOutdatedSeconds() {
  for (SuiteTask& task : tasks_) {
    try {
      task.hash = ConfigHash(Configure(task).second);
    } catch (const Error&) {
      continue;  // the attempt to measure the cell reports it
    }
    task.stored.reset();
    if (Stored(task).hash != task.hash && task.state->seconds > 0) change_([&] { task.state->seconds = 0; });
  }
}

double SuiteDevice::Used() {
  double used = 0;
  for (SuiteTask& task : tasks_)  // of one that was cut off, only the results directory knows
    used += std::max(task.state->seconds, Stored(task).seconds);
  return used;
}

double SuiteDevice::Budget() const {
  return suite_.max_minutes ? 60 * *suite_.max_minutes : std::numeric_limits<double>::infinity();
}

// What the cell may use at first: of a limited time the share of its pairs among those that are to come.
double SuiteDevice::FirstSeconds(std::size_t next) {
  const auto pairs_of = [](const SuiteTask& task) {
    return double(std::max<std::size_t>(1, task.cell->variants.size()));
  };
  const double usual = suite_.max_seconds.value_or(kUsualSecondsOfPair) * pairs_of(tasks_[next]);
  if (!suite_.max_minutes) return usual;
  double to_come = 0;
  for (std::size_t i = next; i < tasks_.size(); ++i) to_come += pairs_of(tasks_[i]);
  const double share = (kShareOfFirst * Budget() - Used()) * pairs_of(tasks_[next]) / to_come;
  return std::min(usual, std::max(kLeastSecondsOfCell, share));
}

bool SuiteDevice::Open() {
  if (device_) return true;
  if (!unreachable_.empty()) return false;
  progress_.State(place_, "connecting");
  try {
    device_ = etprof::Open(tasks_.front().cell->device, options_.use, progress_, place_);
    properties_ = device_->Properties();
    return true;
  } catch (const Error& error) {
    device_.reset();
    unreachable_ = error.Message();
    return false;
  }
}

void SuiteDevice::Measure(SuiteTask& task, DeviceTurn& turn, double max_seconds, bool again) {
  auto [profile, config] = Configure(task);
  const StoredCell before = Stored(task);
  const bool same = before.there && before.hash == ConfigHash(config);
  if (same && before.complete && !again) return Set(task, SuiteCellStatus::kMeasured, "");
  if (before.there && !same)
    progress_.Message(place_, NameOf(task) +
                                  ": was measured with another configuration, model, or runner: "
                                  "it is measured again");
  if (!suite_.launches || suite_.max_seconds || suite_.max_minutes) config.max_seconds = max_seconds;
  if (again) config.peaks = false;  // they are measured
  MeasureRequest request = profile.measure;
  request.resume = same;
  progress_.State(place_, NameOf(task));
  const double start = MonotonicSeconds();
  double waited = 0;
  std::string problem;
  try {
    MeasureOptions measure;
    measure.progress = progress_.Of(place_);
    measure.look_at_load = !again || config.wait_minutes > 0;
    CheckExternalData(config);
    const RunData run = MeasureConfig(config, turn, request, progress_, measure);
    waited = run.schedule.Waited() - before.waited;
    for (const ExperimentData& data : run.experiments) {
      if (problem.empty() && !data.error.empty()) problem = data.label + ": " + data.error;
    }
  } catch (...) {
    const double seconds = SecondsWithout(turn.waited_seconds(), start);
    change_([&] { task.state->seconds += seconds; });
    throw;
  }
  const double seconds = SecondsWithout(turn.waited_seconds() + waited, start);
  if (progress_.Interrupted()) return Set(task, task.state->status, "", seconds);
  Set(task, problem.empty() ? SuiteCellStatus::kMeasured : SuiteCellStatus::kFailed, problem, seconds);
}

void SuiteDevice::Attempt(SuiteTask& task, double max_seconds, bool again) {
  std::optional<Error> failed;
  bool lost = false;
  {
    DeviceTurn turn(*device_, "suite " + suite_.file.stem().string(), progress_, place_, NameOf(task));
    try {
      Measure(task, turn, max_seconds, again);
    } catch (const DeviceLost& error) {
      failed = error;
      lost = true;
    } catch (const std::exception& error) {
      failed = AsError(error);
    }
    try {
      turn.End();
    } catch (const Error&) {
      lost = true;  // the connection broke, and the turn ends with it
    }
  }
  if (lost) device_.reset();
  task.stored.reset();
  if (failed && !progress_.Interrupted()) {
    // What was measured before more of it was asked for stays measured.
    Set(task, again ? SuiteCellStatus::kMeasured : SuiteCellStatus::kFailed, failed->Message());
  }
}

// What is left of the time goes to the cell that is known least, step by step.
void SuiteDevice::Extend() {
  struct Candidate {
    SuiteTask* task = nullptr;
    bool all_of_it = false;  // a step was too short for its next look: it gets what is left
  };
  std::vector<Candidate> open;
  for (SuiteTask& task : tasks_) {
    if (task.state->status == SuiteCellStatus::kMeasured) open.push_back({&task});
  }
  while (!open.empty() && !progress_.Interrupted() && Open()) {
    const double left = Budget() - Used();
    if (left < kLeastSecondsOfCell) return;
    std::size_t worst = 0;
    StoredCell of_worst;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const StoredCell& stored = Stored(*open[i].task);
      if (i > 0 && stored.uncertainty <= of_worst.uncertainty) continue;
      worst = i;
      of_worst = stored;
    }
    if (!(of_worst.uncertainty > 1)) return;  // all are as precise as was asked for
    Candidate& candidate = open[worst];
    const double step = std::max(kMostGrowth * of_worst.seconds, kLeastSecondsOfCell);
    Attempt(*candidate.task, of_worst.seconds + (candidate.all_of_it ? left : std::min(left, step)), true);
    const bool grew = Stored(*candidate.task).launches > of_worst.launches;
    const bool hopeless = !candidate.task->state->reason.empty() || (!grew && candidate.all_of_it);
    candidate.all_of_it = !grew;
    if (hopeless) open.erase(open.begin() + static_cast<std::ptrdiff_t>(worst));
  }
}

void SuiteDevice::Run() {
  if (suite_.max_minutes && Open()) DropOutdatedSeconds();
  for (std::size_t i = 0; i < tasks_.size() && !progress_.Interrupted(); ++i) {
    SuiteTask& task = tasks_[i];
    if (!Open()) {
      // What is finished needs no device.
      const StoredCell stored = Stored(task);
      if (progress_.Interrupted()) break;
      stored.complete ? Set(task, SuiteCellStatus::kMeasured, "")
                      : Set(task, SuiteCellStatus::kFailed, unreachable_);
      continue;
    }
    if (Used() >= Budget() && !Stored(task).there) {
      Set(task, SuiteCellStatus::kSkipped, "no time was left (max_minutes)");
      continue;
    }
    Attempt(task, FirstSeconds(i), false);
  }
  if (suite_.max_minutes && !suite_.launches) Extend();
  device_.reset();
  progress_.State(place_, progress_.Interrupted() ? "interrupted" : "done");
}

}  // namespace etprof
