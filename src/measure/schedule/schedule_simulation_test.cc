// Simulated measurements with failing processes, machines that become busy, and too little memory. The clock
// is simulated, too, and everything depends on a seed only.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>

#include "core/sanitizer.h"
#include "device/device.h"
#include "measure/schedule/schedule.h"

namespace etprof {
namespace {

constexpr std::uint64_t kSchedules = kHasAddressSanitizer ? 500 : 10'000;
constexpr double kTimeoutSeconds = 60;
constexpr int kMaxLosses = 5;

enum class Step { kBegin, kWarmUp, kBurst, kEnd };

class RandomDraws {
 public:
  explicit RandomDraws(std::uint64_t seed) : engine_(seed) {}
  double Uniform(double low, double high) { return low + (high - low) * double(engine_() >> 11U) * 0x1p-53; }
  double LogUniform(double low, double high) { return std::exp(Uniform(std::log(low), std::log(high))); }
  int Below(int count) { return static_cast<int>(Uniform(0, count)); }
  bool Chance(double probability) { return Uniform(0, 1) < probability; }

 private:
  std::mt19937_64 engine_;
};

// The machine: a clock, and the number of processes that compete for the processor over time.
struct Machine {
  double clock = 0;
  std::vector<std::pair<double, double>> load;  // ascending by time
  double longest_request = 0, longest_start = 0;

  double Load() const {
    double now = 0;
    for (const auto& [time, value] : load)
      if (time <= clock) now = value;
    return now;
  }
};

struct Model {
  double latency_ns = 0;
  double gap_ns = 0;           // between two runs, for copying inputs and reading waits
  double request_seconds = 0;  // overhead of a request
  double start_seconds = 0, end_seconds = 0;
  bool whole_process = false, device_clock = true;
  Nanoseconds period = 0;

  double SpacingSeconds() const { return std::max(latency_ns + gap_ns, double(period)) / 1e9; }
};

class SimulatedParticipant : public Participant {
 public:
  SimulatedParticipant(Machine& machine, const Model& model, double max_burst_seconds)
      : machine_(machine), model_(model), max_burst_seconds_(max_burst_seconds) {}

  std::map<std::pair<int, Step>, WorkerFailure::Kind> failures;
  std::vector<std::string> violations;
  int begun = 0;
  bool hung = false;

  bool IsWholeProcess() const override { return model_.whole_process; }

  void Begin(Launch& launch) override {
    if (++begun > 2000) throw std::logic_error("the measurement does not end");
    if (model_.whole_process) return;
    process_start_ = machine_.clock;
    machine_.clock += model_.start_seconds * (1 + machine_.Load());
    RecordStart();
    MayFail(launch, Step::kBegin);
    launch.load = Nanoseconds(1e9 * (machine_.clock - process_start_));
    launch.rss_after_load = 1000;
  }

  std::optional<Nanoseconds> WarmUp(Launch& launch, int min_runs, int max_runs) override {
    if (model_.whole_process) return std::nullopt;
    const double start = BeginRequest();
    if (min_runs > 2 && !cost_known_) violations.emplace_back("warmed up for long before the cost was known");
    MayFail(launch, Step::kWarmUp);
    const double runs_start = machine_.clock;
    std::vector<Nanoseconds> times, waits;
    const int runs = std::min(max_runs, std::max(min_runs, 3));
    Run(runs, times, waits);
    for (const Nanoseconds time : times) {
      if (launch.first_run) {
        launch.warmup.push_back(time);
      } else {
        launch.first_run = time;
      }
    }
    cost_known_ = true;
    EndRequest(start);
    RecordStart();
    return model_.device_clock ? std::optional(Nanoseconds(1e9 * (machine_.clock - runs_start)))
                               : std::nullopt;
  }

  void RunBurst(Launch& launch, int round, int order, const protocol::BurstRequest& request) override {
    if (!cost_known_ && request.max_runs > 1)
      violations.emplace_back("asked for a burst before the cost was known");
    const double recorded = request.max_runs * model_.SpacingSeconds();
    if (recorded > max_burst_seconds_ && request.max_runs > (model_.whole_process ? 100 : kMinUntracedRuns))
      violations.push_back(fmt::format("a burst of {} runs takes {} s", request.max_runs, recorded));
    const double start = BeginRequest();
    process_start_ = start;
    if (model_.whole_process) machine_.clock += model_.start_seconds * (1 + machine_.Load());
    MayFail(launch, Step::kBurst);
    Burst burst;
    burst.round = round;
    burst.order = order;
    const double runs_start = machine_.clock;
    std::vector<Nanoseconds> waits;
    if (model_.whole_process) {
      Run(1 + request.min_opening, burst.opening, waits);
      launch.first_run = burst.opening.front();
      launch.warmup.assign(burst.opening.begin() + 1, burst.opening.end());
      burst.opening.clear();
      RecordStart();
    } else {
      Run(std::min(request.max_opening, std::max(request.min_opening, machine_.Load() > 0 ? 8 : 3)),
          burst.opening, burst.opening_wait);
    }
    Run(request.max_runs, burst.recorded, burst.recorded_wait);
    if (!model_.whole_process) Run(request.traced_runs, burst.traced, burst.traced_wait);
    if (model_.device_clock && !model_.whole_process) {
      burst.start = Nanoseconds(1e9 * (1 + runs_start));
      burst.end = Nanoseconds(1e9 * (1 + machine_.clock));
    }
    launch.bursts.push_back(std::move(burst));
    cost_known_ = true;
    EndRequest(start);
  }

  void End(Launch& launch, bool) override {
    const double start = BeginRequest();
    machine_.clock += model_.end_seconds * (1 + machine_.Load());
    MayFail(launch, Step::kEnd);
    EndRequest(start);
  }

  void Abandon() override {}

 private:
  double BeginRequest() {
    const double start = machine_.clock;
    machine_.clock += model_.request_seconds;
    return start;
  }
  void EndRequest(double start) {
    machine_.longest_request = std::max(machine_.longest_request, machine_.clock - start);
  }
  void RecordStart() {
    machine_.longest_start = std::max(machine_.longest_start, machine_.clock - process_start_);
  }

  // On a busy machine every second run waits.
  void Run(int runs, std::vector<Nanoseconds>& times, std::vector<Nanoseconds>& waits) {
    for (int run = 0; run < runs; ++run) {
      const double load = machine_.Load();
      const double latency_ns = model_.latency_ns * (run % 2 == 0 ? 1 + 2 * load : 1);
      times.push_back(std::max<Nanoseconds>(1, Nanoseconds(latency_ns)));
      waits.push_back(Nanoseconds(latency_ns - model_.latency_ns));
      machine_.clock += std::max(latency_ns + model_.gap_ns * (1 + load), double(model_.period)) / 1e9;
    }
  }

  void MayFail(const Launch& launch, Step step) {
    const auto failure = failures.find({launch.index, step});
    if (failure == failures.end()) return;
    if (failure->second == WorkerFailure::Kind::kHung) {
      const double waited = RequestTimeout(kTimeoutSeconds);
      machine_.clock += waited;
      machine_.longest_request = std::max(machine_.longest_request, waited);
      if (step != Step::kBurst) machine_.longest_start = std::max(machine_.longest_start, waited);
      hung = true;
    }
    throw WorkerFailure(failure->second, "it broke");
  }

  Machine& machine_;
  const Model model_;
  const double max_burst_seconds_;
  double process_start_ = 0;
  bool cost_known_ = false;
};

// Records the largest time that the schedule reported for the launches of an interval.
struct NeededTimeProgress : Progress {
  double needed = 0;
  void Update(const ProgressUpdate&) override {}
  void Message(const std::string& text) override {
    const std::size_t at = text.find("take about ");
    if (at != std::string::npos) needed = std::max(needed, std::stod(text.substr(at + 11)));
  }
  void Waiting(const std::string&) override {}
};

Model RandomModel(RandomDraws& random, bool whole_process) {
  Model model;
  model.latency_ns = random.LogUniform(100, 60e9);
  const double input_bytes = random.Chance(0.5) ? 0 : random.LogUniform(1e3, 1e8);
  // Reading waits is cheaper for a few runs only, since millions of runs would be simulated.
  model.gap_ns = (random.Chance(0.002) ? 7e3 : 1e6) + input_bytes / 4;
  model.request_seconds = random.Chance(0.3) ? 0.05 : 0.0005;
  model.start_seconds = random.LogUniform(0.01, 5);
  model.end_seconds = random.LogUniform(0.001, 0.5);
  model.whole_process = whole_process;
  model.device_clock = random.Chance(0.8);
  if (!whole_process && random.Chance(0.1)) model.period = Nanoseconds(random.LogUniform(1e6, 1e9));
  return model;
}

void Simulate(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  RandomDraws random(seed);
  Machine machine;
  ScheduleOptions options;
  options.seed = seed;
  if (random.Chance(0.3)) options.launches = 2 + random.Below(6);
  if (random.Chance(0.2)) options.rounds = 1 + random.Below(7);
  if (!options.launches || random.Chance(0.5)) {
    options.max_seconds = random.LogUniform(0.5, 120);
    options.max_seconds_given = true;
    if (random.Chance(0.3)) options.after_seconds = 0.2 * options.max_seconds;
  }
  const bool limited = !options.launches || options.max_seconds_given;
  const double load = random.Chance(0.5) ? 0 : random.Uniform(0, 4);
  machine.load = {{0, load}};
  const bool load_changes = random.Chance(0.4);
  for (int i = random.Below(4); load_changes && i >= 0; --i)
    machine.load.emplace_back(random.Uniform(0, 1.5 * options.max_seconds),
                              random.Chance(0.4) ? 0 : random.Uniform(0, 4));
  std::ranges::sort(machine.load);

  const int count = 1 + random.Below(4);
  const bool whole_process = random.Chance(0.2);
  const bool same_model = random.Chance(0.5);  // variants of one model
  const bool failing = random.Chance(0.5);
  std::vector<std::unique_ptr<SimulatedParticipant>> participants;
  std::vector<ExperimentData> data(static_cast<std::size_t>(count));
  std::vector<ScheduleUnit> units;
  Model model;
  for (int u = 0; u < count; ++u) {
    if (u == 0 || !same_model) model = RandomModel(random, whole_process);
    const double target = std::max(0.35, 10 * double(model.period) / 1e9);
    participants.push_back(std::make_unique<SimulatedParticipant>(machine, model, 2.5 * target));
    if (failing) {
      constexpr WorkerFailure::Kind kKinds[] = {
          WorkerFailure::Kind::kDied, WorkerFailure::Kind::kHung, WorkerFailure::Kind::kRefused,
          WorkerFailure::Kind::kInvalidReply, WorkerFailure::Kind::kLost};
      for (int launch = 0; launch < 3; ++launch)
        for (const Step step : {Step::kBegin, Step::kWarmUp, Step::kBurst, Step::kEnd})
          if (random.Chance(0.1)) participants.back()->failures[{launch, step}] = kKinds[random.Below(5)];
    }
    data[std::size_t(u)].label = fmt::format("experiment {}", u);
    units.push_back({participants.back().get(), &data[std::size_t(u)], 100,
                     random.Chance(0.1) ? std::optional(random.Below(20)) : std::nullopt, model.period});
  }
  std::vector<ComparePair> pairs;
  if (count > 1 && random.Chance(0.8)) pairs.push_back({0, 1, "", "a", "b", std::nullopt});

  int losses = 0;
  const double low_memory = random.Chance(0.3) ? 0.3 : 0;
  NeededTimeProgress progress;
  ScheduleHooks hooks;
  hooks.now = [&] { return machine.clock; };
  hooks.interrupted = [] { return false; };
  hooks.save = [] {};
  hooks.before_round = [&](int, int, int) { machine.clock += 0.001; };
  hooks.reconnect = [&] {
    if (++losses > kMaxLosses) throw DeviceLost("device", "it is lost");
  };
  hooks.memory_shortage = [&](Bytes, std::size_t) {
    return random.Chance(low_memory) ? std::optional<std::string>("memory is low") : std::nullopt;
  };
  hooks.progress = &progress;
  ScheduleData result;
  std::vector<std::string> warnings;
  const bool resumed = random.Chance(0.3);
  for (int part = 0; part < (resumed ? 2 : 1); ++part) {
    if (part == 1) {
      if (options.launches) *options.launches += 2;
      options.seconds_used = result.seconds;
      for (auto& participant : participants) participant->failures.clear();
    }
    try {
      RunSchedule(options, units, pairs, hooks, result, warnings);
    } catch (const DeviceLost&) {
      return;
    }
  }

  bool hung = false, any_left = false;
  std::size_t failed = 0;
  for (int u = 0; u < count; ++u) {
    for (const std::string& violation : participants[std::size_t(u)]->violations) ADD_FAILURE() << violation;
    hung = hung || participants[std::size_t(u)]->hung;
    any_left = any_left || data[std::size_t(u)].error.empty();
    for (const Launch& launch : data[std::size_t(u)].launches)
      failed += launch.status == Launch::Status::kComplete ? 0 : 1;
  }
  if (options.launches && !limited && any_left) {
    // An experiment that is given up late leaves the others with more launches than requested.
    EXPECT_GE(result.launches, *options.launches);
    EXPECT_LE(result.launches, *options.launches + int(failed));
    for (const ExperimentData& experiment : data)
      EXPECT_LE(experiment.launches.size(), std::size_t(*options.launches) + failed + std::size_t(losses));
  }
  if (limited && any_left) {
    EXPECT_GE(result.launches, 2);
    double allowed =
        1.1 * std::max(options.max_seconds - options.after_seconds, progress.needed) + machine.longest_start;
    // Running requests are not aborted if the machine becomes busy or the worker hangs.
    if (load_changes || hung) allowed += machine.longest_request;
    EXPECT_LE(result.seconds, allowed)
        << "limit " << options.max_seconds << ", needed " << progress.needed << ", start "
        << machine.longest_start << ", request " << machine.longest_request << ", launches "
        << result.launches << ", " << count << " experiments of " << model.latency_ns << " ns and "
        << model.gap_ns << " ns" << (whole_process ? ", whole processes" : "") << (failing ? ", failing" : "")
        << (resumed ? ", resumed" : "");
  }
}

TEST(ScheduleSimulation, KeepsLimitsAndEndsDespiteFailures) {
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) Simulate(seed);
}

}  // namespace
}  // namespace etprof
