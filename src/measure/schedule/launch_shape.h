#pragma once

#include <optional>
#include <vector>

#include "core/units.h"
#include "measure/schedule/run_cost.h"

namespace etprof {

// How many of `runs` traced runs belong to one burst, so that `launches` launches of `rounds` rounds have
// `runs` together and every launch has one at least. Launches beyond that are like the first ones.
int TracedRunsOfBurst(int runs, int launches, int rounds, int launch, int round);

inline constexpr int kDefaultRounds = 7;

// How long a burst is meant to be at least, of an experiment whose runs start `period` apart (0: back to
// back).
Nanoseconds ShortestBurst(Nanoseconds period);

inline constexpr int kDefaultWarmup = 10;  // the kit's default

// What a launch consists of, and how many there are to be, fitted to the time there is. The headline comes
// first: at least kLeastUntraced recorded runs of each experiment in as many launches as fit, up to those
// wanted; then at least kLeastTraced traced runs of each launch; then rounds; then the traced runs that were
// asked for. Where not even one round of one run fits, each launch has that and one traced run.
inline constexpr int kLeastUntraced = 20;
inline constexpr int kLeastTraced = 3;
struct LaunchShape {
  int launches = 10;
  int rounds = kDefaultRounds;
  int min_runs = 3;                 // recorded runs of a burst
  Nanoseconds target = 50'000'000;  // and at least so long
  // Recorded runs in every burst of each experiment, about `target` long; absent where the cost is unknown. A
  // fixed number, since with a fixed time a burst in a fast phase of the machine would hold more runs than
  // one in a slow phase, and pooled medians would favor it.
  std::vector<std::optional<int>> runs;
  std::vector<int> warmup;   // of each experiment: least number of unrecorded runs before the first round
  std::vector<int> traced;   // of each experiment: runs of all `launches` together
  double seconds = 0;        // what one launch is expected to take
  double round_seconds = 0;  // what one round of that is expected to take, without traced runs
  double least_seconds = 0;  // what a launch of one round is expected to take
};
struct ShapeInput {
  struct Experiment {
    std::optional<RunCost>
        cost;                   // absent: not known. Planned to take as long as the known ones do on average
    Nanoseconds period = 0;     // its runs start so far apart at least; 0: back to back
    std::optional<int> warmup;  // as configured
    int traced = 0;             // as configured: of all launches together
    bool given_up = false;      // takes no time any more
  };
  std::vector<Experiment> experiments;
  double fixed_seconds = 0;              // of starting, loading, and first runs of all experiments together
  double seconds_between_rounds = 0;     // for reading the device's conditions
  std::optional<double> budget_seconds;  // for all launches that are to come; absent: unlimited
  int launches = 10;                     // wanted, with those that are done
  int launches_done = 0;
  bool launches_given = false;  // there will be so many, however long they take
  std::optional<int> rounds;    // as configured
  bool one_burst = false;       // whole processes alternate: one long burst instead of seven short ones
};
LaunchShape FitLaunch(const ShapeInput& input);

}  // namespace etprof
