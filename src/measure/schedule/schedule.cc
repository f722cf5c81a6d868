#include "measure/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "device/device.h"
#include "stats/distribution.h"

namespace etprof {
namespace {

constexpr int kUsualWarmup = 10;  // the kit's default
constexpr Nanoseconds kUsualTarget = 50'000'000;
constexpr double kOpeningRuns = 3;  // what a burst's opening takes, roughly, when planning
constexpr double kConfidence = 0.95;
constexpr int kFailuresInARow = 2;      // of an experiment, until it is given up
constexpr std::size_t kLeastClean = 3;  // runs of a burst, or all that it has
constexpr int kLeastRunsOfBurst = 3;
constexpr int kHopeless = 12;  // repeats in vain after which only every twelfth is tried

// Where runs are paced: a frequency governor looks at the last tens of milliseconds, so it takes some periods
// until its clocks are those of this pace.
constexpr int kPacedRuns = 10;

// A burst's opening runs, and a launch's warm-up, end at the latest after so many seconds (or after one run).
constexpr double kLongestOpening = 0.25;
constexpr double kLongestWarmUp = 0.5;

// splitmix64 (Steele, Lea & Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
std::uint64_t NextRandom(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

int RunsWithin(double seconds, double latency_ns, int low, int high) {
  if (!(latency_ns > 0)) return high;
  return static_cast<int>(std::clamp(std::floor(seconds * 1e9 / latency_ns), double(low), double(high)));
}

}  // namespace

std::vector<std::size_t> RoundOrder(std::uint64_t seed, int launch, int round, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::uint64_t state = seed;
  state = NextRandom(state) ^ static_cast<std::uint64_t>(launch);
  state = NextRandom(state) ^ static_cast<std::uint64_t>(round + 1);
  for (std::size_t i = count; i > 1;
       --i) {  // Fisher and Yates; a count this small makes the modulo's bias nothing
    std::swap(order[i - 1], order[NextRandom(state) % i]);
  }
  return order;
}

int TracedRunsOfBurst(int runs, int launches, int rounds, int launch, int round) {
  const auto share = [](std::int64_t total, std::int64_t parts, std::int64_t part) {
    return total * (part + 1) / parts - total * part / parts;
  };
  const std::int64_t of_launch = launch < launches
                                     ? share(runs, launches, launch)
                                     : (static_cast<std::int64_t>(runs) + launches - 1) / launches;
  return static_cast<int>(share(std::max<std::int64_t>(1, of_launch), rounds, round));
}

Nanoseconds ShortestBurst(Nanoseconds period) { return std::max(kUsualTarget, kPacedRuns * period); }

int MostOpening(double spacing_ns) { return RunsWithin(kLongestOpening, spacing_ns, 1, 30); }

namespace {

// The arithmetic of FitLaunch.
class Fitter {
 public:
  explicit Fitter(const ShapeInput& input) : input_(input) {
    for (std::size_t u = 0; u < input.latency_ns.size(); ++u) {
      const double period = u < input.period.size() ? double(input.period[u]) : 0;
      spacing_.push_back(std::max(input.latency_ns[u], period));
      shortest_.push_back(period > 0 ? kPacedRuns * spacing_[u] : 0);
    }
  }

  LaunchShape Run() {
    LaunchShape shape;
    shape.launches = input_.launches;
    if (!input_.launches_given) {
      const int least = std::max(stats::kLeastLaunches, input_.launches_done + 1);
      while (shape.launches > least && !Fits(shape.launches)) --shape.launches;
    }
    const double budget = Budget(shape.launches);
    const double target = input_.one_burst ? kUsualRounds * kUsualTarget : kUsualTarget;
    shape.target = static_cast<Nanoseconds>(target);
    const double least = Traced(shape.launches, kLeastTraced);
    shape.rounds = input_.one_burst ? 1 : input_.rounds.value_or(kUsualRounds);
    if (!input_.one_burst && !input_.rounds) {
      const auto fits = [&](int rounds) {
        return rounds * Round(LeastRuns(shape.launches, rounds), target) + least <= budget;
      };
      while (shape.rounds > 1 && !fits(shape.rounds)) --shape.rounds;
    }
    shape.min_runs = LeastRuns(shape.launches, shape.rounds);
    while (shape.min_runs > 1 && shape.rounds == 1 && Round(shape.min_runs, 0) + least > budget)
      --shape.min_runs;
    const bool hurried = shape.rounds == 1 && Round(shape.min_runs, target) + least > budget;
    for (std::size_t u = 0; u < spacing_.size(); ++u) {
      const double length = hurried ? 0 : std::max(target, shortest_[u]);
      shape.runs.push_back(RunsWithin(length / 1e9, spacing_[u], shape.min_runs, protocol::kMostRunsOfBurst));
    }
    double seconds = input_.fixed_seconds;
    for (std::size_t u = 0; u < spacing_.size(); ++u)
      seconds += shape.rounds * (Opening(u) + shape.runs[u]) * spacing_[u] / 1e9;
    // What is left is for traced runs.
    const double each = Traced(shape.launches, 1);
    const double left = budget + input_.fixed_seconds - seconds;
    const int affordable = each > 0 ? static_cast<int>(std::clamp(left / each, double(kLeastTraced),
                                                                  double(protocol::kMostRunsOfBurst)))
                                    : protocol::kMostRunsOfBurst;
    for (std::size_t u = 0; u < spacing_.size(); ++u) {
      const int wanted = u < input_.traced.size() ? input_.traced[u] : 0;
      shape.traced.push_back(
          static_cast<int>(std::min<std::int64_t>(wanted, std::int64_t{affordable} * shape.launches)));
      seconds += double(shape.traced[u]) / shape.launches * spacing_[u] / 1e9;
      const double share = 0.1 * budget / double(spacing_.size());
      shape.warmup.push_back(input_.warmup[u] ? *input_.warmup[u]
                                              : RunsWithin(share, spacing_[u], 1, kUsualWarmup));
    }
    shape.seconds = seconds;
    return shape;
  }

 private:
  // Of a burst.
  static int LeastRuns(int launches, int rounds) {
    const int bursts = launches * rounds;
    return std::max(kLeastRunsOfBurst, (kLeastUntraced + bursts - 1) / bursts);
  }
  // For the bursts of one launch, in seconds.
  double Budget(int launches) const {
    return std::max(0.0, input_.budget_seconds / (launches - input_.launches_done) - input_.fixed_seconds);
  }
  double Opening(std::size_t u) const { return std::min(kOpeningRuns + 1, double(MostOpening(spacing_[u]))); }
  // Of one round of all units.
  double Round(int runs, double target_ns) const {
    double seconds = 0;
    for (std::size_t u = 0; u < spacing_.size(); ++u) {
      const double burst = std::max({runs * spacing_[u], target_ns, target_ns > 0 ? shortest_[u] : 0.0});
      seconds += (Opening(u) * spacing_[u] + burst) / 1e9;
    }
    return seconds;
  }
  // Of at most `most` traced runs of each unit in one launch.
  double Traced(int launches, int most) const {
    double seconds = 0;
    for (std::size_t u = 0; u < spacing_.size() && u < input_.traced.size(); ++u)
      seconds += std::min(double(most), double(input_.traced[u]) / launches) * spacing_[u] / 1e9;
    return seconds;
  }
  bool Fits(int launches) const {
    return Round(LeastRuns(launches, 1), 0) + Traced(launches, kLeastTraced) <= Budget(launches);
  }

  const ShapeInput& input_;
  std::vector<double> spacing_;   // ns from the start of one run to that of the next
  std::vector<double> shortest_;  // ns of a burst
};

}  // namespace

LaunchShape FitLaunch(const ShapeInput& input) { return Fitter(input).Run(); }

std::optional<stats::RatioEstimate> EstimatePair(const ExperimentData& baseline,
                                                 const ExperimentData& candidate, double confidence) {
  std::vector<stats::LaunchBursts> launches;
  for (const Launch& a : baseline.launches) {
    if (a.status != Launch::Status::kComplete) continue;
    for (const Launch& b : candidate.launches) {
      if (b.index != a.index || b.status != Launch::Status::kComplete) continue;
      // Clean rounds are paired with clean rounds.
      stats::LaunchBursts bursts;
      const std::map<int, double> of_candidate = b.CleanRounds();
      for (const auto& [round, median] : a.CleanRounds()) {
        const auto same = of_candidate.find(round);
        if (same == of_candidate.end()) continue;
        bursts.baseline.push_back(median);
        bursts.candidate.push_back(same->second);
      }
      launches.push_back(std::move(bursts));
    }
  }
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
        rule_(stats::MakeStopRule(kConfidence)),
        states_(units.size()) {
    for (std::size_t u = 0; u < units_.size(); ++u) {
      states_[u].failed = !units_[u].data->error.empty();
      if (units_[u].participant->WholeProcess()) {
        one_burst_ = true;
        data_.why_not_interleaved = "a third-party runner needs one process for each burst";
      }
    }
  }

  void Run() {
    const double start = hooks_.now();
    const auto used = [&] { return options_.seconds_used + hooks_.now() - start; };
    int index = 0;
    for (const ScheduleUnit& unit : units_) {
      for (const Launch& launch : unit.data->launches) index = std::max(index, launch.index + 1);
    }
    Refresh(used());
    looking_at_ = Wanted();
    if (data_.rounds > 0) SetShapeOfResumed();

    stats::Decision decision = Decide(used());
    while (!decision.stop && AnyLeft()) {
      if (hooks_.interrupted()) break;
      looking_at_ = shape_known_ ? decision.next_look : looking_at_;
      const double launch_start = hooks_.now();
      RunLaunch(index++, [&] { return used(); });
      seconds_of_launches_.push_back(hooks_.now() - launch_start);
      FitAgain(used());
      Refresh(used());
      hooks_.save();
      Report(0, used(), true);
      if (std::exchange(lost_, false) && hooks_.reconnect && !hooks_.interrupted()) hooks_.reconnect();
      decision = Decide(used());
    }
    data_.stopped = hooks_.interrupted() ? "interrupted"
                    : AnyLeft()          ? decision.reason
                                         : "no experiment is left";
    Refresh(used());
    const int wanted = Wanted();
    if (AnyLeft() && !hooks_.interrupted() && data_.launches < wanted) {
      const bool asked = options_.launches.has_value();
      warnings_.push_back(fmt::format(
          "only {}{} launches fit in the {:.3g} s budget{}: increase --max-seconds for a narrower "
          "interval",
          data_.launches, asked ? fmt::format(" of {}", wanted) : "", options_.max_seconds,
          asked ? "" : fmt::format(" (recommended: {} or more)", wanted)));
    }
  }

 private:
  struct State {
    bool failed = false;
    int failures_in_a_row = 0;
    bool alive = false;  // has a process in this launch
    Launch launch;
    double latency_ns = 0;                         // of one run, roughly
    int repeats_in_vain = 0, skipped_repeats = 0;  // of disturbed bursts
  };

  // For the launches.
  double Limit() const { return options_.max_seconds - options_.after_seconds; }

  // From the start of one run to that of the next, roughly.
  double Spacing(std::size_t u) const { return std::max(states_[u].latency_ns, double(units_[u].period)); }

  bool AnyLeft() const {
    return std::ranges::any_of(states_, [](const State& state) { return !state.failed; });
  }

  std::vector<std::size_t> Order(int launch, int round) const {
    std::vector<std::size_t> order = RoundOrder(options_.seed, launch, round, units_.size());
    std::erase_if(order, [&](std::size_t u) { return states_[u].failed; });
    return order;
  }

  // Whether this launch is to end here.
  bool Stop() const { return lost_ || hooks_.interrupted(); }

  // Whether the pair can still be measured.
  int CompleteLaunches() const {
    int least = std::numeric_limits<int>::max();
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (states_[u].failed) continue;
      const auto& launches = units_[u].data->launches;
      least = std::min(least, static_cast<int>(std::ranges::count_if(launches, [](const Launch& launch) {
                         return launch.status == Launch::Status::kComplete;
                       })));
    }
    return least == std::numeric_limits<int>::max() ? 0 : least;
  }

  void Refresh(double used) {
    data_.seed = options_.seed;
    data_.seconds = used;
    data_.max_seconds = options_.max_seconds;
    data_.precision = options_.precision;
    data_.look_confidence = options_.launches ? options_.look_confidence : rule_.look_confidence;
    data_.launches = CompleteLaunches();
    data_.interleaved = !one_burst_;
    if (shape_known_) data_.rounds = shape_.rounds;
  }

  Decisive<ComparePair> DecisiveNow() const {
    return DecisiveOf(
        pairs_, units_.size(), [&](std::size_t u) { return !states_[u].failed; },
        [&](std::size_t u) { return units_[u].data->emulated; });
  }

  // Gives the estimates of what is decisive.
  template <typename OfPair, typename OfSingle>
  void ForEachMeasured(double confidence, OfPair of_pair, OfSingle of_single) const {
    const Decisive<ComparePair> decisive = DecisiveNow();
    for (const ComparePair* pair : decisive.pairs)
      of_pair(*pair, EstimatePair(*units_[pair->baseline].data, *units_[pair->candidate].data, confidence));
    for (const std::size_t u : decisive.singles)
      of_single(*units_[u].data, EstimateSingle(*units_[u].data, confidence));
  }

  // Launches that suffice, as far as it is known beforehand.
  int Wanted() const {
    return options_.launches.value_or(DecisiveNow().Empty() ? stats::kLeastLaunches : rule_.looks.front());
  }

  // The least precise of what is measured decides.
  struct Worst {
    std::optional<stats::RatioEstimate> estimate;
    int launches = 0;
  };
  Worst LeastPrecise() const {
    Worst worst;
    worst.launches = CompleteLaunches();
    bool first = true;
    const auto consider = [&](const std::optional<stats::RatioEstimate>& estimate) {
      if (first || !estimate || (worst.estimate && estimate->half_width() > worst.estimate->half_width())) {
        worst.estimate = estimate;
      }
      if (estimate) worst.launches = std::min(worst.launches, estimate->launches);
      first = false;
    };
    ForEachMeasured(
        rule_.look_confidence, [&](const ComparePair&, const auto& estimate) { consider(estimate); },
        [&](const ExperimentData&, const auto& estimate) { consider(estimate); });
    return worst;
  }

  stats::Decision Decide(double used) const {
    const Worst worst = LeastPrecise();
    const double per_launch =
        seconds_of_launches_.empty() ? 0 : *stats::Median(std::span<const double>(seconds_of_launches_));
    if (!options_.launches && !DecisiveNow().Empty()) {
      return stats::Decide(rule_, worst.launches, worst.estimate, options_.precision, used, Limit(),
                           per_launch);
    }
    const int wanted = Wanted();
    stats::Decision decision;
    decision.next_look = wanted;
    if (worst.launches >= wanted) {
      decision.stop = true;
      decision.reason = options_.launches ? fmt::format("{} launches were asked for", wanted)
                                          : "times of an emulated CPU are not meaningful";
    } else if (options_.max_seconds_given && worst.launches >= 2 && used + per_launch > Limit()) {
      decision.stop = true;
      decision.reason =
          fmt::format("{} launches would take longer than {:.3g} s", wanted, options_.max_seconds);
    }
    return decision;
  }

  void Fail(std::size_t u, const WorkerFailure& failure) {
    State& state = states_[u];
    ExperimentData& data = *units_[u].data;
    units_[u].participant->Abandon();
    state.alive = false;
    const bool lost = failure.kind() == WorkerFailure::Kind::kLost;
    lost_ = lost_ || lost;
    state.launch.traced_runs.clear();
    state.launch.etdump_part.clear();
    if (lost || failure.kind() == WorkerFailure::Kind::kInterrupted) {
      if (lost) state.launch.problem = failure.what();
      state.launch.status = Launch::Status::kPartial;
      return;
    }
    state.launch.status = Launch::Status::kFailed;
    state.launch.problem = failure.what();
    state.failures_in_a_row++;
    const bool hopeless = failure.kind() == WorkerFailure::Kind::kRefused;
    if (hopeless || state.failures_in_a_row >= kFailuresInARow) {
      state.failed = true;
      data.error = failure.what();
    } else {
      data.warnings.push_back(
          fmt::format("launch {} failed and was tried again: {}", state.launch.index + 1, failure.what()));
    }
    if (hooks_.progress != nullptr) {
      hooks_.progress->Message(fmt::format("{}: {}{}", data.label, failure.what(),
                                           state.failed ? "; giving up" : "; trying once more"));
    }
  }

  template <typename Step>
  void Try(std::size_t u, Step step) {
    if (states_[u].failed || !states_[u].alive) return;
    try {
      step(states_[u]);
    } catch (const WorkerFailure& failure) {
      Fail(u, failure);
    } catch (const DeviceLost& lost) {
      Fail(u, WorkerFailure(WorkerFailure::Kind::kLost, lost.what()));
    }
  }

  void Begin(std::size_t u, int index) {
    State& state = states_[u];
    state.launch = {};
    state.launch.index = index;
    state.alive = true;
    Try(u, [&](State& s) { units_[u].participant->Begin(s.launch); });
    if (units_[u].participant->WholeProcess()) return;
    Try(u, [&](State& s) {
      int least = kUsualWarmup;
      int most = 100;
      if (!shape_known_ || s.latency_ns <= 0) {
        // Two runs tell how long the others take. The first run of a process is not like any other.
        units_[u].participant->WarmUp(s.launch, 2, 2);
        s.latency_ns =
            s.launch.warmup.empty() ? double(s.launch.first_run.value_or(0)) : double(s.launch.warmup.back());
        least = units_[u].warmup.value_or(
            RunsWithin(0.01 * options_.max_seconds / double(units_.size()), Spacing(u), 1, kUsualWarmup));
      } else {
        least = shape_.warmup[u];
      }
      const int done = static_cast<int>(s.launch.warmup.size()) + (s.launch.first_run ? 1 : 0);
      most = std::max(least, RunsWithin(kLongestWarmUp, Spacing(u), 1, most));
      if (done < most) units_[u].participant->WarmUp(s.launch, std::max(1, least - done), most - done);
      if (!s.launch.warmup.empty()) s.latency_ns = double(s.launch.warmup.back());
    });
  }

  // A process with few runs, whose results are dropped, tells how long a run takes.
  void Probe(std::size_t u, int index) {
    states_[u].launch = {};
    states_[u].launch.index = index;
    states_[u].alive = true;
    Try(u, [&](State& s) {
      Launch probe = s.launch;
      protocol::BurstRequest request;
      request.max_runs = 1;
      units_[u].participant->Begin(probe);
      units_[u].participant->RunBurst(probe, 0, 0, request);
      const auto median = probe.bursts.back().MedianOfAll();
      s.latency_ns = double(median.value_or(probe.first_run.value_or(0)));
      units_[u].participant->Abandon();
    });
    if (!states_[u].alive && !states_[u].failed)
      states_[u].failures_in_a_row = 1;  // the launch itself is the retry
  }

  void End(std::size_t u) {
    Try(u, [&](State& s) { units_[u].participant->End(s.launch, units_[u].data->output_digests.empty()); });
    if (states_[u].alive) {
      if (states_[u].launch.status == Launch::Status::kComplete) states_[u].failures_in_a_row = 0;
      states_[u].alive = false;
    }
  }

  void RunBurst(std::size_t u, int round, int order, bool repeated = false) {
    Try(u, [&](State& s) {
      protocol::BurstRequest request;
      request.min_opening = 1;
      request.max_opening = MostOpening(Spacing(u));
      request.min_runs = request.max_runs = shape_.runs[u];
      request.target_ns = 0;
      request.traced_runs = repeated ? 0
                                     : TracedRunsOfBurst(shape_.traced[u], shape_.launches, shape_.rounds,
                                                         s.launch.index, round);
      if (units_[u].participant->WholeProcess()) {
        request.min_opening = shape_.warmup[u];
        request.min_runs = shape_.min_runs;
        request.max_runs = std::max(request.min_runs, std::min(shape_.runs[u], units_[u].runs));
        request.target_ns = shape_.target;
      }
      units_[u].participant->RunBurst(s.launch, round, order, request);
      const Burst& burst = s.launch.bursts.back();
      const auto median = burst.Median();
      if (const auto latency = median ? median : burst.MedianOfAll()) s.latency_ns = double(*latency);
    });
  }

  // Whether the unit has enough clean runs in this round.
  bool CleanEnough(std::size_t u, int round) const {
    std::size_t clean = 0, wanted = kLeastClean;
    for (const Burst& burst : states_[u].launch.bursts) {
      if (burst.round != round) continue;
      clean += burst.CleanLatencies().size();
      wanted = std::min(wanted, burst.recorded.size());
    }
    return clean >= wanted;
  }

  // Runs the bursts of a round, and again those with too few clean runs: shorter, so that one fits into a
  // quiet moment. Where that has never helped in a while it is not tried each time.
  template <typename Used>
  void RunRound(int index, int round, const Used& used) {
    int place = 0;
    const std::vector<std::size_t> order = Order(index, round);
    for (const std::size_t u : order) {
      if (Stop()) return;
      RunBurst(u, round, place++);
    }
    for (int repeat = 0; repeat < kMostRepeats; ++repeat) {
      for (const std::size_t u : order) {
        State& state = states_[u];
        if (Stop() || used() > Limit()) return;
        if (!state.alive || CleanEnough(u, round)) continue;
        const bool hopeless = state.repeats_in_vain >= kHopeless && ++state.skipped_repeats % kHopeless != 0;
        if (hopeless) continue;
        const int runs = shape_.runs[u];
        // The clocks of paced runs are those of their pace only after a while.
        if (units_[u].period == 0)
          shape_.runs[u] = std::max(std::min(runs, static_cast<int>(kLeastClean)), runs / 2);
        RunBurst(u, round, place++, /*repeated=*/true);
        shape_.runs[u] = runs;
        ++data_.repeated_bursts;
        state.repeats_in_vain = CleanEnough(u, round) ? 0 : state.repeats_in_vain + 1;
      }
    }
  }

  // Fits the launches that are still to come into the time that is left after `used` seconds. `fixed_seconds`
  // is what a launch takes beside its bursts.
  void SetShape(double fixed_seconds, double used) {
    ShapeInput input;
    input.fixed_seconds = fixed_seconds;
    input.rounds = options_.rounds;
    input.one_burst = one_burst_;
    const int launches = Wanted();
    const bool timeless = options_.launches && !options_.max_seconds_given;
    input.launches = launches;
    input.launches_done = std::min(CompleteLaunches(), launches - 1);
    input.launches_given = options_.launches.has_value();
    input.budget_seconds = timeless ? 1e9 : std::max(0.0, Limit() - used);
    for (std::size_t u = 0; u < units_.size(); ++u) {
      input.latency_ns.push_back(states_[u].failed ? 0 : states_[u].latency_ns);
      input.period.push_back(states_[u].failed ? 0 : units_[u].period);
      input.warmup.push_back(units_[u].warmup);
      input.traced.push_back(units_[u].runs);
    }
    shape_ = FitLaunch(input);
    fixed_seconds_ = fixed_seconds;
    shape_known_ = true;
    looking_at_ = shape_.launches;
  }

  // What a launch takes is known after the first one: where the others would not fit as planned they get
  // another shape.
  void FitAgain(double used) {
    if (one_burst_ || !shape_known_ || options_.launches || seconds_of_launches_.size() != 1) return;
    const double took = seconds_of_launches_.front();
    if (used + took * (shape_.launches - CompleteLaunches()) <= Limit()) return;
    SetShape(std::max(0.0, fixed_seconds_ + took - shape_.seconds), used);
  }

  void SetShapeOfResumed() {
    // The number of rounds stays; the rest is found anew from the latencies that were measured.
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const auto latencies = units_[u].data->AllLatencies();
      if (!latencies.empty()) states_[u].latency_ns = double(latencies.back());
    }
    one_burst_ = one_burst_ || !data_.interleaved;
    // Of what was never run (the first launch was lost), the next launch tells how long it takes.
    if (std::ranges::any_of(states_,
                            [](const State& state) { return !state.failed && state.latency_ns <= 0; }))
      return;
    const int rounds = data_.rounds;
    SetShape(0, 0);
    if (!one_burst_) shape_.rounds = rounds;
  }

  template <typename Used>
  void RunLaunch(int index, const Used& used) {
    for (State& state : states_) {
      state.alive = false;
      state.launch = {};
    }
    Report(0, used(), false);
    if (one_burst_) {
      RunAlternating(index, used);
    } else {
      RunInterleaved(index, used);
    }
    for (std::size_t u = 0; u < units_.size(); ++u) {
      State& state = states_[u];
      const bool there = state.launch.load || state.launch.first_run || !state.launch.bursts.empty() ||
                         state.launch.status == Launch::Status::kFailed;
      if (there) units_[u].data->launches.push_back(std::move(state.launch));
      state.launch = {};
    }
  }

  template <typename Used>
  void RunInterleaved(int index, const Used& used) {
    const double start = hooks_.now();
    const std::vector<std::size_t> order = Order(index, -1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (Stop()) break;
      Begin(order[i], index);
      if (i == 0 && order.size() > 1 && !shape_known_ && states_[order[0]].alive && !FitsInMemory(order)) {
        End(order[0]);  // counts as no launch: everything starts again, one process at a time
        states_[order[0]].launch = {};
        RunAlternating(index, used);
        return;
      }
    }
    if (!shape_known_ && !Stop()) SetShape(hooks_.now() - start, used() - (hooks_.now() - start));
    for (int round = 0; round < shape_.rounds && !Stop(); ++round) {
      if (hooks_.before_round) hooks_.before_round(index, round, 0);
      Report(round + 1, used(), false);
      RunRound(index, round, used);
    }
    for (const std::size_t u : order) {
      MarkIfCutShort(u);
      End(u);
    }
  }

  template <typename Used>
  void RunAlternating(int index, const Used& used) {
    int place = 0;
    for (const std::size_t u : Order(index, 0)) {
      if (Stop()) return;
      if (hooks_.before_round) hooks_.before_round(index, 0, place);
      if (Stop()) return;
      const double start = hooks_.now();
      if (units_[u].participant->WholeProcess() && states_[u].latency_ns <= 0) Probe(u, index);
      Begin(u, index);
      if (!shape_known_)
        SetShape((hooks_.now() - start) * double(units_.size()), used() - (hooks_.now() - start));
      Report(1, used(), false);
      RunBurst(u, 0, place++);
      MarkIfCutShort(u);
      End(u);
      // Known by now: how long this one's runs take.
      if (index == 0) SetShape(0, used());
    }
  }

  void MarkIfCutShort(std::size_t u) {
    State& state = states_[u];
    if (state.alive && static_cast<int>(state.launch.bursts.size()) < std::max(1, shape_.rounds)) {
      state.launch.status = Launch::Status::kPartial;
    }
  }

  bool FitsInMemory(const std::vector<std::size_t>& order) {
    const auto rss = states_[order[0]].launch.rss_after_load;
    if (!hooks_.enough_memory || !rss) return true;
    const auto reason = hooks_.enough_memory(*rss, order.size() - 1);
    if (!reason) return true;
    one_burst_ = true;
    data_.why_not_interleaved = *reason;
    warnings_.push_back(*reason + ": whole processes alternate instead of short bursts");
    return false;
  }

  // Of the runs recorded so far; absent: there are none.
  std::optional<double> CleanShare() const {
    std::size_t clean = 0, all = 0;
    const auto add = [&](const Launch& launch) {
      for (const Burst& burst : launch.bursts) {
        all += burst.recorded.size();
        for (std::size_t run = 0; run < burst.recorded.size(); ++run) clean += burst.IsClean(run) ? 1 : 0;
      }
    };
    for (std::size_t u = 0; u < units_.size(); ++u) {
      std::ranges::for_each(units_[u].data->launches, add);
      add(states_[u].launch);
    }
    return all > 0 ? std::optional(static_cast<double>(clean) / static_cast<double>(all)) : std::nullopt;
  }

  void Report(int round, double used, bool finished) {
    if (hooks_.progress == nullptr) return;
    ProgressUpdate update;
    update.launch = CompleteLaunches() + (finished ? 0 : 1);
    update.launches = std::max(looking_at_, update.launch);
    update.round = round;
    update.rounds = shape_.rounds;
    update.seconds = used;
    // Whoever looks by himself (look_confidence) may go on with more launches.
    update.launches_given = options_.launches && options_.look_confidence == 0;
    update.max_seconds = options_.launches && !options_.max_seconds_given ? 0 : options_.max_seconds;
    update.launch_finished = finished;
    update.clean_share = CleanShare();
    ForEachMeasured(
        kConfidence,
        [&](const ComparePair& pair, const auto& estimate) {
          update.estimates.push_back({pair.baseline_label, pair.candidate_label, std::nullopt, estimate});
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
  const stats::StopRule rule_;
  std::vector<State> states_;
  std::vector<double> seconds_of_launches_;
  LaunchShape shape_;
  bool shape_known_ = false;
  bool one_burst_ = false;
  bool lost_ = false;         // the connection to the device broke in this launch
  double fixed_seconds_ = 0;  // of a launch, beside its bursts
  int looking_at_ = 10;       // launches at which the stop rule looks next
};

}  // namespace

void RunSchedule(const ScheduleOptions& options, const std::vector<ScheduleUnit>& units,
                 const std::vector<ComparePair>& pairs, const ScheduleHooks& hooks, ScheduleData& data,
                 std::vector<std::string>& warnings) {
  Scheduler(options, units, pairs, hooks, data, warnings).Run();
}

}  // namespace etprof
