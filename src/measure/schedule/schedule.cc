#include "measure/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "core/random.h"
#include "core/text/text.h"
#include "device/device.h"
#include "profile/compare/comparison.h"
#include "stats/distribution.h"

namespace etprof {
namespace {

constexpr double kConfidence = 0.95;
constexpr std::size_t kMinCleanRuns = 3;  // clean runs that a burst needs; fewer if it has fewer runs
// After this many repeats in a row without enough clean runs, only every 12th disturbed burst is repeated.
constexpr int kMaxFailedRepeats = 12;

constexpr int kMaxWarmupRuns = 100;
constexpr double kMaxWarmUpSeconds = 0.5;  // one run takes place even if it is longer
// Share of the limit for warming up before the first launch is planned.
constexpr double kFirstWarmUpShare = 0.01;
// Share of the remaining time for a process whose cost is not known yet.
constexpr double kUnknownProcessShare = 0.5;
constexpr double kRefitCostFactor = 3;  // factor of change in a cost at which the launches are fitted again
constexpr double kAllowedExcess = 0.1;  // share of the limit by which a measurement may exceed it
constexpr double kCutExcess = kAllowedExcess / 2;  // excess at which a launch is cut short

// A request that is still running when the time limit is over counts as hung after kHungFactor times its
// expected time plus kHungMarginSeconds.
constexpr double kHungFactor = 10;
constexpr double kHungMarginSeconds = 5;

}  // namespace

std::vector<std::size_t> RoundOrder(std::uint64_t seed, int launch, int round, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::uint64_t state = seed;
  state = Random(state).Next() ^ static_cast<std::uint64_t>(launch);
  state = Random(state).Next() ^ static_cast<std::uint64_t>(round + 1);
  Random random(state);
  // Fisher-Yates; the modulo's bias is negligible for such a small count.
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.Next() % i]);
  return order;
}

std::map<int, stats::LaunchBursts> PairLaunches(const ExperimentData& baseline,
                                                const ExperimentData& candidate) {
  std::map<int, stats::LaunchBursts> launches;
  for (const Launch& a : baseline.launches) {
    if (a.status != Launch::Status::kComplete) continue;
    for (const Launch& b : candidate.launches) {
      if (b.index != a.index || b.status != Launch::Status::kComplete) continue;
      stats::LaunchBursts& bursts = launches[a.index];
      const std::map<int, double> candidate_rounds = b.CleanRounds();
      for (const auto& [round, baseline_median] : a.CleanRounds()) {
        const auto candidate_round = candidate_rounds.find(round);
        if (candidate_round == candidate_rounds.end()) continue;
        bursts.baseline.push_back(baseline_median);
        bursts.candidate.push_back(candidate_round->second);
      }
    }
  }
  return launches;
}

std::optional<stats::RatioEstimate> EstimatePair(const ExperimentData& baseline,
                                                 const ExperimentData& candidate, double confidence) {
  std::vector<stats::LaunchBursts> launches;
  for (auto& [index, bursts] : PairLaunches(baseline, candidate)) launches.push_back(std::move(bursts));
  return stats::EstimateRatio(launches, confidence);
}

std::optional<stats::RatioEstimate> EstimateSingle(const ExperimentData& experiment, double confidence) {
  std::vector<double> effects;
  for (const Launch& launch : experiment.launches) {
    if (launch.status != Launch::Status::kComplete) continue;
    const auto median = launch.CleanLatency();
    if (median && *median > 0) effects.push_back(std::log(*median));
  }
  return stats::EstimateRatio(std::span<const double>(effects), confidence);
}

namespace {

class Scheduler {
 public:
  Scheduler(const ScheduleOptions& options, const std::vector<ScheduleUnit>& units,
            const std::vector<ComparePair>& pairs, const ScheduleHooks& hooks, ScheduleData& data,
            std::vector<std::string>& warnings)
      : options_(options),
        units_(units),
        pairs_(pairs),
        hooks_(hooks),
        data_(data),
        warnings_(warnings),
        stop_rule_(stats::MakeStopRule(kConfidence)),
        start_(hooks.now()),
        experiments_(units.size()) {
    if (!options.launches || options.max_seconds_given) limit_ = options.max_seconds - options.after_seconds;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (!units_[u].data->error.empty()) experiments_[u].state = State::kGivenUp;
      if (units_[u].participant->IsWholeProcess()) {
        one_burst_ = true;
        data_.not_interleaved_reason = "a third-party runner needs one process for each burst";
      }
    }
  }

  void Run() {
    int index = 0;
    for (const ScheduleUnit& unit : units_) {
      for (const Launch& launch : unit.data->launches) index = std::max(index, launch.index + 1);
    }
    UpdateData();
    next_analysis_ = MinLaunchesWanted();
    if (index > 0) ContinueStored(index);

    stats::StopDecision decision = DecideStop();
    while (!decision.stop && AnyExperimentLeft()) {
      if (hooks_.interrupted()) break;
      if (shape_) next_analysis_ = decision.next_launches;
      const double start = hooks_.now();
      RunLaunch(index++);
      UpdateData();
      hooks_.save();
      launch_seconds_.push_back(hooks_.now() - start);
      launch_start_seconds_ = UsedSeconds();  // the next launch, if there is one, begins now

      FitIfNeeded();
      UpdateData();
      Report(0, true);
      if (early_end_ == EarlyEnd::kConnectionLost && !hooks_.interrupted()) hooks_.reconnect();
      decision = DecideStop();
    }
    data_.stop_reason = hooks_.interrupted()  ? "interrupted"
                        : AnyExperimentLeft() ? decision.reason
                                              : "no experiment is left";
    UpdateData();
    const int wanted_launches = MinLaunchesWanted();
    if (AnyExperimentLeft() && !hooks_.interrupted() && data_.launches < wanted_launches &&
        !reported_seconds_) {
      const bool launches_given = options_.launches.has_value();
      warnings_.push_back(fmt::format(
          "only {}{} launches fit in the {:.3g} s budget{}: increase --max-seconds for a narrower "
          "interval",
          data_.launches, launches_given ? fmt::format(" of {}", wanted_launches) : "", options_.max_seconds,
          launches_given ? "" : fmt::format(" (recommended: {} or more)", wanted_launches)));
    }
  }

 private:
  // When a state changes, the remaining launches are fitted to the remaining time again. The cost of an
  // experiment's runs is known as soon as some of its runs ended, even if their process failed later.
  enum class State {
    kCostUnknown,  // the cost of the experiment's runs is not known
    kMeasured,
    kFailedOnce,  // the last launch failed; after another failure, the experiment is given up
    kLost,        // the connection to the device broke in the last launch
    kGivenUp,
  };
  // The reason why this launch ends before its rounds are complete.
  enum class EarlyEnd { kNone, kConnectionLost, kTimeLimit };
  struct Experiment {
    State state = State::kCostUnknown;
    bool running = false;  // the experiment has a process in this launch
    Launch launch;
    RunCostEstimate cost;
    std::optional<double> fitted_spacing;              // RunCost::spacing_ns to which the shape is fitted
    std::optional<double> start_seconds, end_seconds;  // how long the last process took to start and to end
    std::optional<double> burst_seconds;               // duration of the last burst of this shape
    std::optional<double> probed_seconds_per_run;      // upper bound, from a whole process that ran once
    // Consecutive repeats without enough clean runs, and the repeats that were skipped after them.
    int failed_repeats = 0, skipped_repeats = 0;
  };

  double UsedSeconds() const { return options_.seconds_used + hooks_.now() - start_; }

  // True if `seconds` more would exceed the limit plus the tolerance for running requests.
  bool OutOfTime(double seconds) const {
    return limit_ && UsedSeconds() + seconds > *limit_ * (1 + kCutExcess);
  }

  void SetState(std::size_t u, State state) {
    fit_is_outdated_ = fit_is_outdated_ || experiments_[u].state != state;
    experiments_[u].state = state;
  }

  bool IsGivenUp(std::size_t u) const { return experiments_[u].state == State::kGivenUp; }

  // The cost of the experiment's runs at its period; absent: not known.
  std::optional<RunCost> Cost(std::size_t u) const {
    const std::optional<RunCost> cost = experiments_[u].cost.Get();
    return cost ? std::optional(cost->AtPeriod(units_[u].period)) : std::nullopt;
  }

  bool AnyExperimentLeft() const {
    return std::ranges::any_of(
        experiments_, [](const Experiment& experiment) { return experiment.state != State::kGivenUp; });
  }

  std::vector<std::size_t> Order(int launch, int round) const {
    std::vector<std::size_t> order = RoundOrder(options_.seed, launch, round, units_.size());
    std::erase_if(order, [&](std::size_t u) { return IsGivenUp(u); });
    return order;
  }

  bool MustEndLaunch() const { return early_end_ != EarlyEnd::kNone || hooks_.interrupted(); }

  int CompleteLaunches(std::size_t u) const {
    return static_cast<int>(
        std::ranges::count(units_[u].data->launches, Launch::Status::kComplete, &Launch::status));
  }

  // The number of complete launches of the experiment that has the fewest.
  int CompleteLaunches() const {
    int fewest_launches = std::numeric_limits<int>::max();
    for (std::size_t u = 0; u < units_.size(); ++u)
      if (!IsGivenUp(u)) fewest_launches = std::min(fewest_launches, CompleteLaunches(u));
    return fewest_launches == std::numeric_limits<int>::max() ? 0 : fewest_launches;
  }

  void UpdateData() {
    data_.seed = options_.seed;
    data_.seconds = UsedSeconds();
    data_.max_seconds = options_.max_seconds;
    data_.precision = options_.precision;
    data_.interim_confidence =
        options_.launches ? options_.interim_confidence : stop_rule_.interim_confidence;
    data_.launches = CompleteLaunches();
    data_.interleaved = !one_burst_;
    if (shape_) data_.rounds = shape_->rounds;
  }

  DecisiveUnits<ComparePair> CurrentDecisiveUnits() const {
    return SelectDecisiveUnits(
        pairs_, units_.size(), [&](std::size_t u) { return !IsGivenUp(u); },
        [&](std::size_t u) { return units_[u].data->emulated; });
  }

  // Calls `visit_pair` and `visit_single` with the estimates that the stop rule checks.
  template <typename VisitPair, typename VisitSingle>
  void ForEachEstimate(double confidence, VisitPair visit_pair, VisitSingle visit_single) const {
    const DecisiveUnits<ComparePair> decisive = CurrentDecisiveUnits();
    for (const ComparePair* pair : decisive.pairs)
      visit_pair(*pair,
                 EstimatePair(*units_[pair->baseline].data, *units_[pair->candidate].data, confidence));
    for (const std::size_t u : decisive.singles)
      visit_single(*units_[u].data, EstimateSingle(*units_[u].data, confidence));
  }

  // Adds the error by waiting that the final comparison will add. The traces, which show the differing
  // operators, are not read yet, so their share of the time is estimated: it is about as large as the
  // difference of variants with equal settings.
  stats::RatioEstimate AddWaitingError(const ComparePair& pair, const stats::RatioEstimate& estimate) const {
    const ExperimentData &a = *units_[pair.baseline].data, &b = *units_[pair.candidate].data;
    const double differing = a.Settings() == b.Settings() ? -std::expm1(-std::abs(estimate.log_ratio)) : 1;
    return WithWaitingError(estimate, a.WaitedShare(), b.WaitedShare(), differing);
  }

  // The number of launches at which the stop rule may first stop.
  int MinLaunchesWanted() const {
    return options_.launches.value_or(CurrentDecisiveUnits().Empty() ? stats::kMinLaunches
                                                                     : stop_rule_.interim_launches.front());
  }

  // The least precise of the estimates that the stop rule checks.
  struct LeastPreciseEstimate {
    std::optional<stats::RatioEstimate> estimate;
    int launches = 0;
  };
  LeastPreciseEstimate LeastPrecise() const {
    LeastPreciseEstimate least_precise;
    least_precise.launches = CompleteLaunches();
    bool first = true;
    const auto keep_least_precise = [&](const std::optional<stats::RatioEstimate>& estimate) {
      if (first || !estimate ||
          (least_precise.estimate && estimate->half_width() > least_precise.estimate->half_width())) {
        least_precise.estimate = estimate;
      }
      if (estimate) least_precise.launches = std::min(least_precise.launches, estimate->launches);
      first = false;
    };
    ForEachEstimate(
        stop_rule_.interim_confidence,
        [&](const ComparePair&, const auto& estimate) { keep_least_precise(estimate); },
        [&](const ExperimentData&, const auto& estimate) { keep_least_precise(estimate); });
    return least_precise;
  }

  // The expected duration of the next launch; 0: not known.
  double LaunchSeconds() const {
    const std::size_t last = std::min<std::size_t>(3, launch_seconds_.size());
    if (last > 0) return *stats::Median(std::span<const double>(launch_seconds_).last(last));
    return shape_ ? shape_->seconds : 0;
  }

  stats::StopDecision DecideStop() const {
    if (!options_.launches && !CurrentDecisiveUnits().Empty()) {
      const LeastPreciseEstimate least_precise = LeastPrecise();
      return stats::DecideStop(stop_rule_, least_precise.launches, least_precise.estimate, options_.precision,
                               UsedSeconds(), *limit_, LaunchSeconds());
    }
    // Count all complete launches, clean or not: on a busy machine there may never be enough clean ones.
    const int wanted_launches = MinLaunchesWanted(), complete_launches = CompleteLaunches();
    stats::StopDecision decision;
    decision.next_launches = wanted_launches;
    if (complete_launches >= wanted_launches) {
      decision.stop = true;
      decision.reason = options_.launches ? fmt::format("{} launches were asked for", wanted_launches)
                                          : "times of an emulated CPU are not meaningful";
    } else if (limit_ && complete_launches >= stats::kMinLaunches &&
               UsedSeconds() + LaunchSeconds() > *limit_) {
      decision.stop = true;
      decision.reason =
          fmt::format("{} launches would take longer than {:.3g} s", wanted_launches, options_.max_seconds);
    }
    return decision;
  }

  void Fail(std::size_t u, const WorkerFailure& failure) {
    Experiment& experiment = experiments_[u];
    ExperimentData& data = *units_[u].data;
    units_[u].participant->Abandon();
    experiment.running = false;
    experiment.launch.traced_runs.clear();
    experiment.launch.etdump_part.clear();
    const bool lost = failure.kind() == WorkerFailure::Kind::kLost;
    if (lost || failure.kind() == WorkerFailure::Kind::kInterrupted) {
      if (lost) {
        early_end_ = EarlyEnd::kConnectionLost;
        experiment.launch.problem = failure.what();
        SetState(u, State::kLost);
      }
      experiment.launch.status = Launch::Status::kPartial;
      return;
    }
    experiment.launch.status = Launch::Status::kFailed;
    experiment.launch.problem = failure.what();
    // After complete launches a refusal may be temporary, so try again.
    const bool refused = failure.kind() == WorkerFailure::Kind::kRefused && CompleteLaunches(u) == 0;
    const bool is_out_of_time = failure.kind() == WorkerFailure::Kind::kHung && OutOfTime(0);
    if (refused || is_out_of_time || experiment.state == State::kFailedOnce) {
      SetState(u, State::kGivenUp);
      data.error = failure.what();
    } else {
      SetState(u, State::kFailedOnce);
      data.warnings.push_back(fmt::format("launch {} failed and was tried again: {}",
                                          experiment.launch.index + 1, failure.what()));
    }
    if (hooks_.progress != nullptr) {
      hooks_.progress->Message(fmt::format("{}: {}{}", data.label, failure.what(),
                                           IsGivenUp(u) ? "; giving up" : "; trying once more"));
    }
  }

  // Runs a step of the experiment's process, if it has one. Returns whether it succeeded.
  template <typename Step>
  bool RunExperimentStep(std::size_t u, Step step) {
    if (!experiments_[u].running) return false;
    try {
      step(experiments_[u]);
      return true;
    } catch (const WorkerFailure& failure) {
      Fail(u, failure);
    } catch (const DeviceLost& lost) {
      Fail(u, WorkerFailure(WorkerFailure::Kind::kLost, lost.what()));
    }
    return false;
  }

  // Sets the request's timeout: as configured within the time limit, and shortened after it. `expected`:
  // expected seconds of the request.
  void SetTimeout(std::size_t u, std::optional<double> expected) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double seconds_left = limit_ ? *limit_ - UsedSeconds() : kInfinity;
    const double timeout_seconds =
        expected ? std::max(seconds_left, kHungFactor * *expected + kHungMarginSeconds) : kInfinity;
    units_[u].participant->SetTimeout(timeout_seconds, seconds_left);
  }

  void WarmUp(std::size_t u, Experiment& experiment, int min_runs, int max_runs) {
    const std::size_t warmup_before = experiment.launch.warmup.size();
    const bool first_before = experiment.launch.first_run.has_value();
    const double start = hooks_.now();
    const auto runs_ns = units_[u].participant->WarmUp(experiment.launch, min_runs, max_runs);
    experiment.cost.AddWarmUp(experiment.launch, warmup_before, first_before, hooks_.now() - start, runs_ns);
  }

  Experiment& BeginLaunch(std::size_t u, int index) {
    Experiment& experiment = experiments_[u];
    experiment.launch = {};
    experiment.launch.index = index;
    experiment.running = true;
    SetTimeout(u, std::nullopt);
    return experiment;
  }

  // Starts a process, loads the model, and warms it up.
  void Begin(std::size_t u, int index) {
    Experiment& experiment = BeginLaunch(u, index);
    const double start = hooks_.now();
    const bool begun = RunExperimentStep(u, [&](Experiment& e) {
      units_[u].participant->Begin(e.launch);
      if (units_[u].participant->IsWholeProcess()) return;
      int min_runs = 0;
      if (shape_ && shape_->runs[u]) {
        min_runs = shape_->warmup[u];
      } else {
        // Two runs show how long runs take. The first run of a process is not representative.
        if (!Cost(u)) WarmUp(u, e, 2, 2);
        if (!Cost(u))
          throw WorkerFailure(WorkerFailure::Kind::kInvalidReply, "the worker ran nothing to warm up");
        const double seconds = limit_ ? kFirstWarmUpShare * *limit_ / double(units_.size())
                                      : std::numeric_limits<double>::infinity();
        min_runs = units_[u].warmup.value_or(RunsWithin(seconds, Cost(u)->wall_ns, 1, kDefaultWarmup));
      }
      const RunCost cost = *Cost(u);
      const int runs_done = static_cast<int>(e.launch.warmup.size()) + (e.launch.first_run ? 1 : 0);
      const int max_runs = std::max(min_runs, RunsWithin(kMaxWarmUpSeconds, cost.wall_ns, 1, kMaxWarmupRuns));
      if (runs_done >= max_runs) return;
      SetTimeout(u, (max_runs - runs_done) * cost.wall_ns / 1e9);
      WarmUp(u, e, std::max(1, min_runs - runs_done), max_runs - runs_done);
    });
    if (!begun) return;
    experiment.start_seconds = hooks_.now() - start;
    UpdateState(u);
  }

  // A newly known cost changes the fit. An earlier failure is forgotten after a complete launch.
  void UpdateState(std::size_t u) {
    if (!Cost(u)) return;
    if (!shape_ || !shape_->runs[u]) fit_is_outdated_ = true;
    if (experiments_[u].state != State::kFailedOnce) SetState(u, State::kMeasured);
  }

  // Runs a process with two runs and drops its results, to learn how long runs take.
  void Probe(std::size_t u, int index) {
    Experiment& experiment = BeginLaunch(u, index);
    RunExperimentStep(u, [&](Experiment& e) {
      Launch probe = e.launch;
      protocol::BurstRequest request;
      request.min_runs = request.max_runs = 1;
      request.min_opening = 0;
      request.target_ns = 0;
      const double start = hooks_.now();
      units_[u].participant->Begin(probe);
      units_[u].participant->RunBurst(probe, 0, 0, request);
      const double seconds = hooks_.now() - start;
      if (!probe.bursts.empty()) e.cost.AddBurst(probe, seconds, /*whole_process=*/true);
      units_[u].participant->Abandon();
      if (!Cost(u))
        throw WorkerFailure(WorkerFailure::Kind::kInvalidReply, "it is not known how long its runs take");
      // The next process shows whether the process or its runs took this time.
      e.probed_seconds_per_run = seconds / 2;
    });
    if (experiment.running) UpdateState(u);
  }

  void End(std::size_t u) {
    Experiment& experiment = experiments_[u];
    const double start = hooks_.now();
    SetTimeout(u, std::nullopt);
    const bool ended = RunExperimentStep(u, [&](Experiment& e) {
      units_[u].participant->End(e.launch, units_[u].data->output_digests.empty());
    });
    if (!ended) return;
    experiment.running = false;
    experiment.end_seconds = hooks_.now() - start;
    if (experiment.launch.status == Launch::Status::kComplete) SetState(u, State::kMeasured);
  }

  // The expected duration of a burst.
  double BurstSeconds(std::size_t u) const {
    if (experiments_[u].burst_seconds) return *experiments_[u].burst_seconds;
    const auto cost = Cost(u);
    if (!cost || !shape_ || !shape_->runs[u]) return 0;
    return cost->request_seconds + (cost->PlannedOpeningRuns() + *shape_->runs[u]) * cost->wall_ns / 1e9;
  }

  void RunBurst(std::size_t u, int round, int order, int runs, bool repeated = false) {
    RunExperimentStep(u, [&](Experiment& experiment) {
      const RunCost cost = *Cost(u);
      protocol::BurstRequest request;
      request.min_opening = 1;
      request.max_opening = MaxOpeningRuns(cost.wall_ns);
      request.min_runs = request.max_runs = runs;
      request.target_ns = 0;
      request.traced_runs = repeated ? 0
                                     : TracedRunsPerBurst(shape_->traced[u], shape_->launches, shape_->rounds,
                                                          experiment.launch.index, round);
      const bool whole_process = units_[u].participant->IsWholeProcess();
      if (whole_process) {
        request.min_opening = shape_->warmup[u];
        request.max_runs = std::max(std::min(shape_->min_runs, runs), std::min(runs, units_[u].runs));
        request.min_runs = std::min(shape_->min_runs, request.max_runs);
        request.target_ns = shape_->target;
        if (const auto probed = std::exchange(experiment.probed_seconds_per_run, {}); limit_ && probed) {
          const double seconds = kUnknownProcessShare * (*limit_ - UsedSeconds()) / double(units_.size()) -
                                 *probed * (request.min_opening + 1);
          request.max_runs = RunsWithin(seconds, *probed * 1e9, 1, request.max_runs);
          request.min_runs = std::min(request.min_runs, request.max_runs);
        }
      }
      const double all_runs = request.max_opening + request.max_runs + request.traced_runs;
      SetTimeout(u, cost.request_seconds + all_runs * cost.wall_ns / 1e9);
      const double start = hooks_.now();
      units_[u].participant->RunBurst(experiment.launch, round, order, request);
      const double seconds = hooks_.now() - start;
      if (!repeated) experiment.burst_seconds = seconds;
      ReportShortLimit();
      experiment.cost.AddBurst(experiment.launch, seconds, whole_process);
    });
  }

  // True if the experiment has enough clean runs in this round.
  bool HasEnoughCleanRuns(std::size_t u, int round) const {
    std::size_t clean_runs = 0, wanted_runs = kMinCleanRuns;
    for (const Burst& burst : experiments_[u].launch.bursts) {
      if (burst.round != round) continue;
      clean_runs += burst.CleanLatencies().size();
      wanted_runs = std::min(wanted_runs, burst.recorded.size());
    }
    return clean_runs >= wanted_runs;
  }

  // Ends the launch if the time limit leaves no time for `seconds` more. The first rounds of the launches
  // that an interval needs are never cut, and their time is reserved.
  bool CutIfOutOfTime(double seconds, bool is_first_round) {
    if (is_first_round && interval_needs_launch_) return false;
    const int needed_later = stats::kMinLaunches - CompleteLaunches() - 1;
    const double reserve = shape_ ? std::max(0, needed_later) * shape_->lower_bound_seconds : 0;
    if (!OutOfTime(seconds + reserve)) return false;
    early_end_ = EarlyEnd::kTimeLimit;
    return true;
  }

  double EndSeconds() const {
    double seconds = 0;
    for (const Experiment& experiment : experiments_)
      if (experiment.running) seconds += experiment.end_seconds.value_or(0);
    return seconds;
  }

  // Runs the bursts of a round, and repeats those with too few clean runs: shorter, so that they fit into a
  // quiet moment. If repeats have not helped for a while, most are skipped.
  void RunRound(int index, int round) {
    int order_in_round = 0;
    const std::vector<std::size_t> order = Order(index, round);
    for (const std::size_t u : order) {
      if (!experiments_[u].running) continue;
      if (MustEndLaunch() || CutIfOutOfTime(BurstSeconds(u) + EndSeconds(), round == 0)) return;
      RunBurst(u, round, order_in_round++, *shape_->runs[u]);
    }
    for (int repeat = 0; repeat < kMaxRepeats; ++repeat) {
      for (const std::size_t u : order) {
        Experiment& experiment = experiments_[u];
        if (!experiment.running || HasEnoughCleanRuns(u, round)) continue;
        if (MustEndLaunch() || (limit_ && UsedSeconds() + BurstSeconds(u) + EndSeconds() > *limit_)) return;
        const bool is_skipped = experiment.failed_repeats >= kMaxFailedRepeats &&
                                ++experiment.skipped_repeats % kMaxFailedRepeats != 0;
        if (is_skipped) continue;
        int runs = *shape_->runs[u];
        // Paced runs need a while until the clocks settle, so their repeats are not shorter.
        if (units_[u].period == 0) runs = std::max(std::min(runs, static_cast<int>(kMinCleanRuns)), runs / 2);
        RunBurst(u, round, order_in_round++, runs, /*repeated=*/true);
        ++data_.repeated_bursts;
        experiment.failed_repeats = HasEnoughCleanRuns(u, round) ? 0 : experiment.failed_repeats + 1;
      }
    }
  }

  // The time for starting and ending the processes of a launch. Experiments without known times count with
  // the mean of the others.
  double FixedSeconds() const {
    const auto sum = [&](std::optional<double> Experiment::*member) {
      double seconds = 0;
      int known_count = 0, total_count = 0;
      for (const Experiment& experiment : experiments_) {
        if (experiment.state == State::kGivenUp) continue;
        ++total_count;
        if (!(experiment.*member)) continue;
        ++known_count;
        seconds += *(experiment.*member);
      }
      return known_count > 0 ? seconds * total_count / known_count : 0;
    };
    return sum(&Experiment::start_seconds) + sum(&Experiment::end_seconds);
  }

  // Fits the remaining launches into the remaining time.
  void Fit() {
    ShapeInput input;
    input.fixed_seconds = FixedSeconds();
    input.seconds_between_rounds = seconds_between_rounds_;
    input.rounds = options_.rounds;
    input.one_burst = one_burst_;
    input.launches = MinLaunchesWanted();
    input.launches_done = std::min(CompleteLaunches(), input.launches - 1);
    input.launches_given = options_.launches.has_value();
    if (limit_) input.budget_seconds = std::max(0.0, *limit_ - launch_start_seconds_);
    for (std::size_t u = 0; u < units_.size(); ++u) {
      experiments_[u].burst_seconds.reset();
      const auto cost = experiments_[u].cost.Get();
      input.experiments.push_back({cost, units_[u].period, units_[u].warmup, units_[u].runs, IsGivenUp(u)});
      experiments_[u].fitted_spacing = cost ? std::optional(cost->spacing_ns) : std::nullopt;
    }
    if (shape_) launch_seconds_.clear();  // durations of launches with another shape
    shape_ = FitLaunch(input);
    fitted_fixed_seconds_ = input.fixed_seconds;
    fit_is_outdated_ = false;
    next_analysis_ = shape_->launches;
    ReportShortLimit();
  }

  // Keeps the run counts unless an experiment's state or cost changed, or the launches would exceed the
  // limit.
  void FitIfNeeded() {
    bool needed = fit_is_outdated_;
    for (std::size_t u = 0; shape_ && u < units_.size() && !needed; ++u) {
      const auto cost = experiments_[u].cost.Get();
      if (!cost || IsGivenUp(u)) continue;
      const double change = cost->spacing_ns / experiments_[u].fitted_spacing.value_or(0);
      needed = change > kRefitCostFactor || change < 1 / kRefitCostFactor;
    }
    if (shape_ && limit_ && !launch_seconds_.empty()) {
      const int remaining_launches = std::max(0, shape_->launches - CompleteLaunches());
      needed = needed || UsedSeconds() + remaining_launches * LaunchSeconds() > *limit_ * (1 + kCutExcess);
    }
    if (needed) Fit();
  }

  // Reports the time that the launches of an interval need as soon as it is known that the limit is too short
  // for them, and again if it turns out to be longer.
  void ReportShortLimit() {
    const int remaining_launches = stats::kMinLaunches - CompleteLaunches();
    if (!limit_ || !shape_ || remaining_launches <= 0) return;
    // The machine may have become slower since the fit, and this launch may already have taken longer.
    const double min_launch_seconds = shape_->lower_bound_seconds + FixedSeconds() - fitted_fixed_seconds_;
    const double needed_seconds =
        std::max(launch_start_seconds_ + remaining_launches * min_launch_seconds,
                 UsedSeconds() + EndSeconds() + (remaining_launches - 1) * min_launch_seconds) +
        options_.after_seconds;
    const double reported = reported_seconds_.value_or(options_.max_seconds);
    if (needed_seconds <= reported * (1 + kAllowedExcess)) return;
    reported_seconds_ = needed_seconds;
    std::erase(warnings_, short_limit_warning_);
    short_limit_warning_ = fmt::format(
        "the time limit of {:.3g} s is too short: {} launches of each experiment, the least for an interval, "
        "take about {:.3g} s",
        options_.max_seconds, stats::kMinLaunches, needed_seconds);
    warnings_.push_back(short_limit_warning_);
    if (hooks_.progress != nullptr) hooks_.progress->Message("warning: " + short_limit_warning_);
  }

  // Initializes the costs from the stored data of a resumed measurement with `launches` launches.
  void ContinueStored(int launches) {
    one_burst_ = one_burst_ || !data_.interleaved;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      Experiment& experiment = experiments_[u];
      const bool whole_process = units_[u].participant->IsWholeProcess();
      for (const Launch& launch : units_[u].data->launches) {
        Launch single_burst;  // like `launch`, but with a single burst
        single_burst.first_run = launch.first_run;
        single_burst.warmup = launch.warmup;
        for (const Burst& burst : launch.bursts) {
          single_burst.bursts = {burst};
          experiment.cost.AddBurst(single_burst, std::nullopt, whole_process);
        }
        if (whole_process || !launch.load) continue;
        Nanoseconds start = *launch.load + launch.first_run.value_or(0);
        for (const Nanoseconds run : launch.warmup) start += run;
        experiment.start_seconds = double(start) / 1e9;
      }
      if (Cost(u) && !IsGivenUp(u)) SetState(u, State::kMeasured);
    }
    if (options_.seconds_used > 0) launch_seconds_.push_back(options_.seconds_used / launches);
    launch_start_seconds_ = UsedSeconds();
    FitIfNeeded();
  }

  void RunLaunch(int index) {
    for (Experiment& experiment : experiments_) {
      experiment.running = false;
      experiment.launch = {};
    }
    early_end_ = EarlyEnd::kNone;
    launch_start_seconds_ = UsedSeconds();
    interval_needs_launch_ = CompleteLaunches() < stats::kMinLaunches;
    ReportShortLimit();
    Report(0, false);
    if (one_burst_) {
      RunAlternating(index);
    } else {
      RunInterleaved(index);
    }
    for (std::size_t u = 0; u < units_.size(); ++u) {
      Launch& launch = experiments_[u].launch;
      const bool has_data = launch.load || launch.first_run || !launch.bursts.empty() ||
                            launch.status == Launch::Status::kFailed;
      if (has_data) units_[u].data->launches.push_back(std::move(launch));
      launch = {};
    }
  }

  void BeforeRound(int index, int round, int order) {
    const double start = hooks_.now();
    hooks_.before_round(index, round, order);
    seconds_between_rounds_ = hooks_.now() - start;
  }

  void RunInterleaved(int index) {
    const std::vector<std::size_t> order = Order(index, -1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (MustEndLaunch() || CutIfOutOfTime(0, /*is_first_round=*/true)) break;
      Begin(order[i], index);
      if (i == 0 && order.size() > 1 && experiments_[order[0]].running && !FitsInMemory(order)) {
        End(order[0]);  // not enough memory: start the launch again with one process at a time
        if (experiments_[order[0]].launch.status == Launch::Status::kComplete)
          experiments_[order[0]].launch = {};
        if (!MustEndLaunch()) RunAlternating(index);
        return;
      }
      // In the first launch, the costs become known one by one.
      if (!shape_ || fit_is_outdated_) Fit();
      ReportShortLimit();
    }
    const bool any_running = std::ranges::any_of(experiments_, &Experiment::running);
    for (int round = 0; any_running && round < shape_->rounds && !MustEndLaunch(); ++round) {
      double seconds = EndSeconds();
      for (const std::size_t u : order)
        if (experiments_[u].running) seconds += BurstSeconds(u);
      if (CutIfOutOfTime(seconds, round == 0)) break;
      BeforeRound(index, round, 0);
      if (MustEndLaunch()) break;
      Report(round + 1, false);
      RunRound(index, round);
    }
    for (const std::size_t u : order) {
      ReportCutLaunch(u);
      End(u);
    }
  }

  void RunAlternating(int index) {
    int order_in_round = 0;
    for (const std::size_t u : Order(index, 0)) {
      if (experiments_[u].launch.status == Launch::Status::kFailed) continue;
      const double start_seconds = experiments_[u].start_seconds.value_or(0);
      if (MustEndLaunch() || CutIfOutOfTime(start_seconds + BurstSeconds(u), /*is_first_round=*/true)) return;
      BeforeRound(index, 0, order_in_round);
      if (MustEndLaunch()) return;
      if (units_[u].participant->IsWholeProcess() && !Cost(u)) {
        Probe(u, index);
        if (!experiments_[u].running) continue;
      }
      Begin(u, index);
      if (!shape_ || fit_is_outdated_) Fit();
      Report(1, false);
      if (experiments_[u].running) RunBurst(u, 0, order_in_round++, *shape_->runs[u]);
      ReportCutLaunch(u);
      End(u);
    }
  }

  // Reports that a launch has fewer rounds than the others.
  void ReportCutLaunch(std::size_t u) {
    Experiment& experiment = experiments_[u];
    if (!experiment.running) return;
    int rounds = 0;
    for (const Burst& burst : experiment.launch.bursts) rounds = std::max(rounds, burst.round + 1);
    const int planned = shape_ ? std::max(1, shape_->rounds) : 1;
    if (rounds >= planned) return;
    const bool out_of_time = early_end_ == EarlyEnd::kTimeLimit;
    if (out_of_time && interval_needs_launch_ && rounds > 0 && !hooks_.interrupted()) {
      AppendUnique(fmt::format("launch {} has {} of {} rounds: the time limit was nearly over",
                               experiment.launch.index + 1, rounds, planned),
                   warnings_);
      return;
    }
    experiment.launch.status = Launch::Status::kPartial;
    if (out_of_time)
      experiment.launch.problem =
          fmt::format("the time limit ended it after {} of {} rounds", rounds, planned);
  }

  bool FitsInMemory(const std::vector<std::size_t>& order) {
    const auto rss = experiments_[order[0]].launch.rss_after_load;
    if (!rss) return true;
    std::optional<std::string> reason;
    std::set<const void*> processes;
    for (const std::size_t u : order)
      processes.insert(units_[u].process != nullptr ? units_[u].process : &units_[u]);
    try {
      reason = hooks_.memory_shortage(*rss, processes.size() - 1);
    } catch (const DeviceLost&) {
      early_end_ = EarlyEnd::kConnectionLost;
    }
    if (!reason) return true;
    one_burst_ = true;
    fit_is_outdated_ = true;
    data_.not_interleaved_reason = *reason;
    warnings_.push_back(*reason + ": whole processes alternate instead of short bursts");
    return false;
  }

  // The share of clean runs among those recorded so far; absent: there are none.
  std::optional<double> CleanShare() const {
    std::size_t clean = 0, total = 0;
    const auto add = [&](const Launch& launch) {
      for (const Burst& burst : launch.bursts) {
        total += burst.recorded.size();
        for (std::size_t run = 0; run < burst.recorded.size(); ++run) clean += burst.IsClean(run) ? 1U : 0U;
      }
    };
    for (std::size_t u = 0; u < units_.size(); ++u) {
      std::ranges::for_each(units_[u].data->launches, add);
      add(experiments_[u].launch);
    }
    return total > 0 ? std::optional(static_cast<double>(clean) / static_cast<double>(total)) : std::nullopt;
  }

  void Report(int round, bool finished) {
    if (hooks_.progress == nullptr) return;
    ProgressUpdate update;
    update.launch = CompleteLaunches() + (finished ? 0 : 1);
    update.launches = std::max(next_analysis_, update.launch);
    update.round = round;
    update.rounds = shape_ ? shape_->rounds : kDefaultRounds;
    update.seconds = UsedSeconds();
    // A caller with interim analyses of its own (interim_confidence) may add launches.
    update.launches_given = options_.launches && options_.interim_confidence == 0;
    update.max_seconds = limit_ ? options_.max_seconds : 0;
    update.launch_finished = finished;
    update.clean_share = CleanShare();
    ForEachEstimate(
        kConfidence,
        [&](const ComparePair& pair, const auto& estimate) {
          update.estimates.push_back(
              {pair.baseline_label, pair.candidate_label, std::nullopt,
               estimate ? std::optional(AddWaitingError(pair, *estimate)) : std::nullopt});
        },
        [&](const ExperimentData& data, const auto& estimate) {
          const auto median = estimate ? std::optional(std::exp(estimate->log_ratio)) : std::nullopt;
          update.estimates.push_back({"", data.label, median, estimate});
        });
    hooks_.progress->Update(update);
  }

  const ScheduleOptions& options_;
  const std::vector<ScheduleUnit>& units_;
  const std::vector<ComparePair>& pairs_;
  const ScheduleHooks& hooks_;
  ScheduleData& data_;
  std::vector<std::string>& warnings_;
  const stats::StopRule stop_rule_;
  const double start_;
  std::optional<double> limit_;  // seconds for all launches; absent: no limit
  std::vector<Experiment> experiments_;
  std::vector<double> launch_seconds_;  // durations of launches with this shape
  std::optional<LaunchShape> shape_;    // absent until an experiment's cost is known
  double fitted_fixed_seconds_ = 0;
  bool fit_is_outdated_ = false;
  bool one_burst_ = false;
  EarlyEnd early_end_ = EarlyEnd::kNone;
  bool interval_needs_launch_ = true;  // the confidence interval needs this launch
  double launch_start_seconds_ = 0;    // seconds used when the launch began

  double seconds_between_rounds_ = 0;
  int next_analysis_ = 10;                  // number of launches at the next interim analysis
  std::optional<double> reported_seconds_;  // reported seconds for the launches that an interval needs
  std::string short_limit_warning_;         // the text of the last report
};

}  // namespace

void RunSchedule(const ScheduleOptions& options, const std::vector<ScheduleUnit>& units,
                 const std::vector<ComparePair>& pairs, const ScheduleHooks& hooks, ScheduleData& data,
                 std::vector<std::string>& warnings) {
  Scheduler(options, units, pairs, hooks, data, warnings).Run();
}

}  // namespace etprof
