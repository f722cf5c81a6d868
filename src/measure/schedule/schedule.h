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

// The order in which `count` experiments run their bursts in a round: a permutation that depends only on the
// arguments, so that a resumed measurement has the same orders. `round` -1 is the order of starting.
std::vector<std::size_t> RoundOrder(std::uint64_t seed, int launch, int round, std::size_t count);

struct ScheduleOptions {
  std::uint64_t seed = 1;
  std::optional<int> launches;
  double interim_confidence = 0;  // only with `launches`: ScheduleData::interim_confidence
  std::optional<int> rounds;
  double max_seconds = 60;
  bool max_seconds_given = false;  // false: a given number of launches has no time limit
  double precision = 0.005;
  double seconds_used = 0;  // seconds before the first launch, including those of a resumed measurement
  // Part of max_seconds that is reserved for the steps after the last launch (the machine's peaks).
  double after_seconds = 0;
};

struct ScheduleUnit {
  Participant* participant = nullptr;
  ExperimentData* data = nullptr;  // launches are appended here; `error` is set if the experiment is given up
  int runs = 100;
  std::optional<int> warmup;
  Nanoseconds period = 0;  // interval between starts of runs; 0: back to back
  // Equal for units that share a process in a launch; null: the unit has a separate process.
  const void* process = nullptr;
};

// All functions are set; only `progress` may be null.
struct ScheduleHooks {
  std::function<double()> now;        // monotonic seconds, without the time spent waiting for the device
  std::function<bool()> interrupted;  // the user wants to stop
  std::function<void()> save;         // after every launch
  // Called before the bursts of a round, or before the burst `order` if whole processes alternate. All
  // processes of the launch are idle meanwhile. Does not throw DeviceLost.
  std::function<void(int launch, int round, int order)> before_round;
  std::function<void()> reconnect;  // after a launch whose connection broke; throws if it cannot be restored
  // Returns a message if `more_workers` more workers of `rss` bytes each do not fit in memory; absent: they
  // fit. May throw DeviceLost.
  std::function<std::optional<std::string>(Bytes rss, std::size_t more_workers)> memory_shortage;
  Progress* progress = nullptr;
};

// Maximum repeats of a burst with too few clean runs within its round.
inline constexpr int kMaxRepeats = 2;

// The pairs and single units whose precision the stop rule checks.
template <typename Pair>
struct DecisiveUnits {
  std::vector<const Pair*> pairs;
  std::vector<std::size_t> singles;  // indices of units that are in no pair

  bool Empty() const { return pairs.empty() && singles.empty(); }
};
// Selects from the units for which `measured(unit)` is true. Units with `emulated(unit)` are excluded, since
// their times are not meaningful.
template <typename Pair>
DecisiveUnits<Pair> SelectDecisiveUnits(const std::vector<Pair>& pairs, std::size_t units,
                                        const auto& measured, const auto& emulated) {
  DecisiveUnits<Pair> decisive;
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

// Runs launches until the stop rule, the time limit, or the user ends the measurement; kMinLaunches if
// nothing is decisive. A given number of launches is exact: each experiment gets this many complete launches,
// unless a time limit was given, too. `data` receives the schedule's data (seconds, launches, why it
// stopped), and the units' data the launches. Existing launches (of a resumed measurement) count.
//
// A time limit is exceeded by at most a tenth plus the start of one process; launches that take longer than
// planned are cut short. The exception is a limit below the time of kMinLaunches launches: as soon as that
// is known, a message and a warning state the time that they will take.
//
// Throws the errors of `save` and `reconnect`.
void RunSchedule(const ScheduleOptions& options, const std::vector<ScheduleUnit>& units,
                 const std::vector<ComparePair>& pairs, const ScheduleHooks& hooks, ScheduleData& data,
                 std::vector<std::string>& warnings);

// `--sustained`: runs one process of each experiment, one experiment after the other, continuously for
// `duration` from its first run on. Shows latency, clocks, and temperature over time, as for an app that runs
// its model for minutes. The bursts of the single launch follow one another (rounds 0, 1, ...) without
// opening runs. Traced runs are spread evenly over the time. An experiment that ends early (Ctrl-C, a crash,
// a lost connection) keeps its bursts as a partial launch.
void RunSustained(Nanoseconds duration, const std::vector<ScheduleUnit>& units, const ScheduleHooks& hooks,
                  ScheduleData& data);

// The clean rounds that both experiments have, of launches that both have completed, by launch.
std::map<int, stats::LaunchBursts> PairLaunches(const ExperimentData& baseline,
                                                const ExperimentData& candidate);
// The estimate of a pair from its complete launches, at `confidence`; absent if there are fewer than two.
std::optional<stats::RatioEstimate> EstimatePair(const ExperimentData& baseline,
                                                 const ExperimentData& candidate, double confidence);
// The precision of one experiment's median: the interval over its launches' medians. ratio() is not
// meaningful here.
std::optional<stats::RatioEstimate> EstimateSingle(const ExperimentData& experiment, double confidence);

}  // namespace etprof
