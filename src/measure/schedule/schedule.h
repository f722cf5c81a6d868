#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/config/config.h"
#include "measure/participants/participant.h"
#include "measure/schedule/launch_shape.h"
#include "measure/schedule/progress.h"
#include "measure/store/run_data.h"
#include "stats/ratio/launches.h"
#include "stats/ratio/stop_rule.h"

namespace etprof {

// The order in which `count` experiments run their bursts in a round: a permutation that depends on nothing
// but its arguments, so that a resumed measurement has the order it would have had. `round` -1 is the order
// of starting.
std::vector<std::size_t> RoundOrder(std::uint64_t seed, int launch, int round, std::size_t count);

struct ScheduleOptions {
  std::uint64_t seed = 1;
  std::optional<int> launches;
  double look_confidence = 0;  // where `launches` are given: ScheduleData::look_confidence
  std::optional<int> rounds;
  double max_seconds = 60;
  bool max_seconds_given = false;  // else a given number of launches takes as long as it takes
  double precision = 0.005;
  double seconds_used = 0;   // by the measurement that is resumed, and before the first launch
  double after_seconds = 0;  // of max_seconds: kept for what follows the last launch (the machine's peaks)
};

struct ScheduleUnit {
  Participant* participant = nullptr;
  ExperimentData* data = nullptr;  // launches are appended here; its `error` is set when it fails for good
  int runs = 100;
  std::optional<int> warmup;
  Nanoseconds period = 0;  // as ShapeInput::Experiment::period
};

struct ScheduleHooks {
  std::function<double()> now;        // seconds of a monotonic clock, without waiting that does not count
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

// How often a burst with too few clean runs is repeated within its round.
inline constexpr int kMaxRepeats = 2;

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
// nothing is decisive. A given number of launches is exact: so many complete ones of each experiment, unless
// the user gave a limit of time as well. `data` says how it went (seconds, launches, why it stopped); what
// was measured is in the units' data. Launches that are there already (a resumed measurement) count.
//
// A limit of time is exceeded by at most a tenth and the start of one process, for which a launch that takes
// longer than planned is cut short. The exception is a limit below what kLeastLaunches launches take: as soon
// as that is known, a message and a warning say so, and how long they will take.
//
// Throws what `save` and `reconnect` throw.
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
