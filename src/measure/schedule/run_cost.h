#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "measure/store/run_data.h"

namespace etprof {

// What runs of one experiment take, everything that passes between two of them included: reading how long the
// threads waited, and copying inputs, may take longer than a run itself. Both times are above 0.
struct RunCost {
  // From the start of one run to that of the next where nothing disturbs it. The number of runs in a burst
  // follows from this.
  double spacing_ns = 1;
  // The same as the machine is loaded now; at least spacing_ns. Plans of time follow from this.
  double wall_ns = 1;
  double request_seconds = 0;  // asking for a burst, besides its runs; of a whole process: starting it, too
  // Unrecorded runs in a request: those that a burst opens with, all until the recorded ones of a whole
  // process. Absent: there was no burst yet.
  std::optional<double> opening_runs;
  double Opening() const;  // the same, or what is planned with until then
};

// The most unrecorded runs that a burst opens with, of runs that start `spacing_ns` apart: within a quarter
// of a second. A run that is longer has warmed the caches by itself before it is half over.
int MaxOpeningRuns(double spacing_ns);

// How many runs that start `spacing_ns` (> 0) apart fit into `seconds`, within [low, high].
int RunsWithin(double seconds, double spacing_ns, int low, int high);

// Estimates the cost from the last requests: medians, so that a disturbed run or burst does not decide.
class RunCostEstimate {
 public:
  // `launch` has had `warmup_before` warm-up runs, and the first run if `first_before`, before a request that
  // took `wall_seconds`, of which its runs took `runs_ns` by the device's clock (absent: not known).
  // Warm-up counts until there is a burst. Does nothing if the request ran nothing.
  void AddWarmUp(const Launch& launch, std::size_t warmup_before, bool first_before, double wall_seconds,
                 std::optional<Nanoseconds> runs_ns);
  // The last burst of `launch`, whose request took `wall_seconds` (absent: not known, of stored bursts). In a
  // `whole_process`, the first run and the warm-up are part of the request.
  void AddBurst(const Launch& launch, std::optional<double> wall_seconds, bool whole_process);

  // Absent: nothing ran yet.
  std::optional<RunCost> Get() const;

 private:
  struct Sample {
    double latency_ns = 0, gap_ns = 0, wall_ns = 0, request_seconds = 0;
    std::optional<double> opening_runs;
  };
  void Add(double latency_ns, double total_ns, std::size_t runs, double runs_ns,
           std::optional<double> wall_seconds, std::optional<double> opening_runs);

  bool of_bursts_ = false;
  std::deque<Sample> samples_;  // newest last
};

}  // namespace etprof
