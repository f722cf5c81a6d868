#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "measure/store/run_data.h"

namespace etprof {

// The time of one experiment's runs, including everything between two runs: reading how long the threads
// waited, and copying inputs, may take longer than the run itself. Both times are above 0.
struct RunCost {
  // From the start of one run to the start of the next without disturbance. Determines the number of runs in
  // a burst.
  double spacing_ns = 1;
  // The spacing of runs under the current load; at least spacing_ns. Used for planning time.
  double wall_ns = 1;
  double request_seconds = 0;  // overhead of a burst's request; for a whole process including its start
  // Unrecorded runs in a request: the opening runs of a burst, or all runs of a whole process before the
  // recorded ones. Absent: there was no burst yet.
  std::optional<double> opening_runs;
  double PlannedOpeningRuns() const;  // opening_runs, or the default for planning
};

// The maximum number of opening runs of a burst if runs start `spacing_ns` apart: as many as fit into a
// quarter of a second. A longer run has warmed the caches before it is half over.
int MaxOpeningRuns(double spacing_ns);

// The number of runs, `spacing_ns` (> 0) apart, that fit into `seconds`, within [low, high].
int RunsWithin(double seconds, double spacing_ns, int low, int high);

// Estimates the cost from the medians of the last requests, so that single disturbed runs or bursts do not
// matter.
class RunCostEstimate {
 public:
  // Adds a warm-up request that took `wall_seconds`. Before it, `launch` had `warmup_before` warm-up runs,
  // and the first run if `first_before`. `runs_ns` is the time of its runs by the device's clock (absent: not
  // known). Warm-ups count until there is a burst. Does nothing if the request ran nothing.
  void AddWarmUp(const Launch& launch, std::size_t warmup_before, bool first_before, double wall_seconds,
                 std::optional<Nanoseconds> runs_ns);
  // Adds the last burst of `launch`, whose request took `wall_seconds` (absent: not known, for stored
  // bursts). In a `whole_process`, the first run and the warm-up are part of the request.
  void AddBurst(const Launch& launch, std::optional<double> wall_seconds, bool whole_process);

  // Absent: nothing has run yet.
  std::optional<RunCost> Get() const;

 private:
  struct Sample {
    double latency_ns = 0, gap_ns = 0, wall_ns = 0, request_seconds = 0;
    std::optional<double> opening_runs;
  };
  void Add(double latency_ns, double total_ns, std::size_t runs, double runs_ns,
           std::optional<double> wall_seconds, std::optional<double> opening_runs);

  bool has_bursts_ = false;
  std::deque<Sample> samples_;  // newest last
};

}  // namespace etprof
