#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/config/config.h"
#include "measure/participants/participant.h"
#include "measure/schedule/progress.h"
#include "measure/store/run_data.h"
#include "stats/ratio/launches.h"
#include "stats/ratio/stop_rule.h"

namespace etprof {

// The order in which `count` experiments run their bursts in a round: a permutation that depends on nothing
// but its arguments, so that a resumed measurement has the order it would have had. `round` -1 is the order
// of starting.
std::vector<std::size_t> RoundOrder(std::uint64_t seed, int launch, int round, std::size_t count);

// How many of `runs` traced runs belong to one burst, so that `launches` launches of `rounds` rounds have
// `runs` together and every launch has one at least. Launches beyond that are like the first ones.
int TracedRunsOfBurst(int runs, int launches, int rounds, int launch, int round);

inline constexpr int kUsualRounds = 7;

// How long a burst is meant to be at least, of an experiment whose runs start `period` apart (0: back to
// back).
Nanoseconds ShortestBurst(Nanoseconds period);

// What a launch consists of, and how many there are to be, fitted to the time there is. The headline comes
// first: at least kLeastUntraced recorded runs of each unit in as many launches as fit, up to those wanted;
// then at least kLeastTraced traced runs of each launch; then rounds; then the traced runs that were asked
// for.
inline constexpr int kLeastUntraced = 20;
inline constexpr int kLeastTraced = 3;
struct LaunchShape {
  int launches = 10;
  int rounds = kUsualRounds;
  int min_runs = 3;                 // recorded runs of a burst
  Nanoseconds target = 50'000'000;  // and at least so long
  // Of each unit: recorded runs of every burst, about `target` long. A fixed number, since with a fixed time
  // a burst in a fast phase of the machine would hold more runs than one in a slow phase, and pooled medians
  // would favor it.
  std::vector<int> runs;
  std::vector<int> warmup;  // of each unit: least number of unrecorded runs before the first round
  std::vector<int> traced;  // of each unit: runs of all `launches` together
  double seconds = 0;       // what one launch will take, about
};
struct ShapeInput {
  std::vector<double> latency_ns;   // of each unit: of one run, roughly
  std::vector<Nanoseconds> period;  // of each unit: its runs start so far apart at least; 0: back to back
  std::vector<std::optional<int>> warmup;  // as configured
  std::vector<int> traced;                 // as configured: of all launches together
  double fixed_seconds = 0;                // of starting, loading and first runs of all units together
  double budget_seconds = 0;               // for all launches that are to come, of all units together
  int launches = 10;                       // wanted, with those that are done
  int launches_done = 0;
  bool launches_given = false;  // there will be so many, however long they take
  std::optional<int> rounds;    // as configured
  bool one_burst = false;       // whole processes alternate: one long burst instead of seven short ones
};
LaunchShape FitLaunch(const ShapeInput& input);

struct ScheduleOptions {
  std::uint64_t seed = 1;
  std::optional<int> launches;
  double look_confidence = 0;  // where `launches` are given: ScheduleData::look_confidence
  std::optional<int> rounds;
  double max_seconds = 60;
  bool max_seconds_given = false;  // else a given number of launches takes as long as it takes
  double precision = 0.005;
  double seconds_used = 0;   // by the measurement that is resumed
  double after_seconds = 0;  // of max_seconds: kept for what follows the last launch (the machine's peaks)
};

struct ScheduleUnit {
  Participant* participant = nullptr;
  ExperimentData* data = nullptr;  // launches are appended here; its `error` is set when it fails for good
  int runs = 100;
  std::optional<int> warmup;
  Nanoseconds period = 0;  // as ShapeInput::period
};

struct ScheduleHooks {
  std::function<double()> now;        // seconds of a monotonic clock
  std::function<bool()> interrupted;  // the user wants to stop
  std::function<void()> save;         // after every launch
  // Before the bursts of a round, or before the burst `order` where whole processes alternate. No process of
  // the launch does anything meanwhile.
  std::function<void(int launch, int round, int order)> before_round;
  std::function<void()> reconnect;  // after a launch whose connection broke; throws when there is no going on
  // Whether `others` more workers like the one that now takes `rss` bytes fit in memory; the reason when not.
  std::function<std::optional<std::string>(Bytes rss, std::size_t others)> enough_memory;
  Progress* progress = nullptr;
};

// The most unrecorded runs that a burst opens with, of runs that start `spacing_ns` apart: within a quarter
// of a second. A run that is longer has warmed the caches by itself before it is half over.
int MostOpening(double spacing_ns);

// How often a burst with too few clean runs is repeated within its round.
inline constexpr int kMostRepeats = 2;

// Whose times tell when to stop: the pairs, and the units without one.
template <typename Pair>
struct Decisive {
  std::vector<const Pair*> pairs;
  std::vector<std::size_t> singles;  // indices of units

  bool Empty() const { return pairs.empty() && singles.empty(); }
};
// Of those that are `measured(unit)`. Not of an `emulated(unit)` CPU, whose times mean nothing, not even on
// the way.
template <typename Pair>
Decisive<Pair> DecisiveOf(const std::vector<Pair>& pairs, std::size_t units, const auto& measured,
                          const auto& emulated) {
  Decisive<Pair> decisive;
  std::vector<bool> paired(units);
  for (const Pair& pair : pairs) {
    if (!measured(pair.baseline) || !measured(pair.candidate)) continue;
    paired[pair.baseline] = paired[pair.candidate] = true;
    if (!emulated(pair.baseline) && !emulated(pair.candidate)) decisive.pairs.push_back(&pair);
  }
  for (std::size_t u = 0; u < units; ++u)
    if (measured(u) && !paired[u] && !emulated(u)) decisive.singles.push_back(u);
  return decisive;
}

// Measures: launch after launch until the stop rule, the time or the user says so; kLeastLaunches where
// nothing is decisive. `data` says how it went (seconds, launches, why it stopped); what was measured is in
// the units' data. Launches that are there already (a resumed measurement) count. Throws what `save` throws.
void RunSchedule(const ScheduleOptions& options, const std::vector<ScheduleUnit>& units,
                 const std::vector<ComparePair>& pairs, const ScheduleHooks& hooks, ScheduleData& data,
                 std::vector<std::string>& warnings);

// The estimate of a pair from its complete launches, at `confidence`; absent below two.
std::optional<stats::RatioEstimate> EstimatePair(const ExperimentData& baseline,
                                                 const ExperimentData& candidate, double confidence);
// How well the median of one experiment is known: interval over its launches' medians. ratio() means nothing
// here.
std::optional<stats::RatioEstimate> EstimateSingle(const ExperimentData& experiment, double confidence);

}  // namespace etprof
