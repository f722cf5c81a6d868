#pragma once

#include <optional>
#include <vector>

#include "core/units.h"
#include "measure/schedule/run_cost.h"

namespace etprof {

// Returns the number of traced runs of a burst. `launches` launches of `rounds` rounds have `runs` traced
// runs together, and every launch has at least one. Launches beyond `launches` have as many as the others.
int TracedRunsPerBurst(int runs, int launches, int rounds, int launch, int round);

inline constexpr int kDefaultRounds = 7;

// The target length of a burst if runs start `period` apart (0: back to back).
Nanoseconds MinBurstLength(Nanoseconds period);

inline constexpr int kDefaultWarmup = 10;  // the kit's default

// The number of launches and their composition, fitted to the available time. In order of priority: at least
// kMinUntracedRuns recorded runs of each experiment in as many launches as fit, up to the wanted number; at
// least kMinTracedRuns traced runs in each launch; rounds; the requested traced runs. If not even one round
// of one run fits, each launch has one round of one run and one traced run.
inline constexpr int kMinUntracedRuns = 20;
inline constexpr int kMinTracedRuns = 3;
struct LaunchShape {
  int launches = 10;
  int rounds = kDefaultRounds;
  int min_runs = 3;                 // recorded runs of a burst
  Nanoseconds target = 50'000'000;  // minimum length of a burst, ns
  // Recorded runs in every burst of each experiment, about `target` long; absent if the cost is not known.
  // The number is fixed: with a fixed time, a burst in a fast phase of the machine would hold more runs than
  // a burst in a slow phase, and pooled medians would favor the fast phase.
  std::vector<std::optional<int>> runs;
  std::vector<int> warmup;   // by experiment: minimum unrecorded runs before the first round
  std::vector<int> traced;   // by experiment: traced runs in all `launches` together
  double seconds = 0;        // expected duration of a launch
  double round_seconds = 0;  // expected duration of a round without traced runs
  double least_seconds = 0;  // expected duration of a launch with one round
};
struct ShapeInput {
  struct Experiment {
    std::optional<RunCost> cost;  // absent: not known; planned with the mean of known costs
    Nanoseconds period = 0;       // interval between starts of runs; 0: back to back
    std::optional<int> warmup;    // as configured
    int traced = 0;               // as configured: in all launches together
    bool given_up = false;        // takes no more time, since it is not measured any more
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
