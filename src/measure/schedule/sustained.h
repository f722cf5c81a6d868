#pragma once

#include <vector>

#include "measure/schedule/schedule.h"

namespace etprof {

// Approximate maximum length of a burst in a sustained run; conditions are read once per burst. If single
// runs are short enough, there are at least a hundred bursts.
inline constexpr Nanoseconds kSustainedBurst = 1'000'000'000;

// `--sustained`: runs one process of each experiment, one experiment after the other, continuously for
// `duration` from its first run on. Shows latency, clocks, and temperature over time, as for an app that runs
// its model for minutes. The bursts of the single launch follow one another (rounds 0, 1, ...) without
// opening runs. Traced runs are spread evenly over the time. An experiment that ends early (Ctrl-C, a crash,
// a lost connection) keeps its bursts as a partial launch.
void RunSustained(Nanoseconds duration, const std::vector<ScheduleUnit>& units, const ScheduleHooks& hooks,
                  ScheduleData& data);

}  // namespace etprof
