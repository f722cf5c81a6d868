#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "core/units.h"
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
  // The cost of runs that start `period` apart (0: back to back).
  RunCost AtPeriod(Nanoseconds period) const;
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

// Returns the number of traced runs of a burst. `launches` launches of `rounds` rounds have `runs` traced
// runs together, and every launch has at least one. Launches beyond `launches` have as many as the others.
int TracedRunsPerBurst(int runs, int launches, int rounds, int launch, int round);

inline constexpr int kDefaultRounds = 7;

// The target length of a burst if runs start `period` apart (0: back to back).
Nanoseconds MinBurstLength(Nanoseconds period);

inline constexpr int kDefaultWarmup = 10;  // default of the SME2 profiling kit

inline constexpr int kMinUntracedRuns = 20;
inline constexpr int kMinTracedRuns = 3;
// The number of launches and their composition, fitted to the available time. In order of priority: at least
// kMinUntracedRuns recorded runs of each experiment in as many launches as fit, up to the wanted number; at
// least kMinTracedRuns traced runs in each launch; rounds; the requested traced runs. If not even one round
// of one run fits, each launch has one round of one run and one traced run.
struct LaunchShape {
  int launches = 10;
  int rounds = kDefaultRounds;
  int min_runs = 3;                 // recorded runs of a burst
  Nanoseconds target = 50'000'000;  // minimum length of a burst, ns
  // Recorded runs in every burst of each experiment, about `target` long; absent if the cost is not known.
  // The number is fixed: with a fixed time, a burst in a fast phase of the machine would hold more runs than
  // a burst in a slow phase, and pooled medians would favor the fast phase.
  std::vector<std::optional<int>> runs;
  std::vector<int> warmup;         // indexed by experiment: minimum unrecorded runs before the first round
  std::vector<int> traced;         // indexed by experiment: traced runs in all `launches` together
  double seconds = 0;              // expected duration of a launch
  double round_seconds = 0;        // expected duration of a round without traced runs
  double lower_bound_seconds = 0;  // expected duration of a launch with one round
};
struct ShapeInput {
  struct Experiment {
    std::optional<RunCost> cost;  // absent: not known; planned with the mean of known costs
    Nanoseconds period = 0;       // interval between starts of runs; 0: back to back
    std::optional<int> warmup;    // as configured
    int traced = 0;               // as configured: in all launches together
    bool given_up = false;        // no longer measured, so it takes no time
  };
  std::vector<Experiment> experiments;
  double fixed_seconds = 0;              // starting, loading, and first runs of all experiments
  double seconds_between_rounds = 0;     // for reading the device's conditions
  std::optional<double> budget_seconds;  // for all remaining launches; absent: unlimited
  int launches = 10;                     // wanted launches, including `launches_done`
  int launches_done = 0;
  bool launches_given = false;  // exactly this many, whatever time they take
  std::optional<int> rounds;    // as configured
  bool one_burst = false;       // whole processes alternate: one long burst instead of seven short ones
};
LaunchShape FitLaunch(const ShapeInput& input);

}  // namespace etprof
