#pragma once

#include <vector>

#include "measure/schedule/schedule.h"

namespace etprof {

// How long one burst of a sustained run is at most, roughly: its conditions are read once a burst. There are
// a hundred bursts at least, where single runs are not longer than that.
inline constexpr Nanoseconds kSustainedBurst = 1'000'000'000;

// `--sustained`: one process of each experiment, one experiment after the other, each running for `duration`
// without a rest, from its first run on: how latency, clocks and temperature go over time, as where an app
// runs its model for minutes. The bursts of its one launch follow one another (rounds 0, 1, ...) without
// opening runs. The traced runs are spread evenly over the time. What ends early (Ctrl-C, a process that
// dies, a connection that breaks) keeps the bursts until then, as a partial launch.
void RunSustained(Nanoseconds duration, const std::vector<ScheduleUnit>& units, const ScheduleHooks& hooks,
                  ScheduleData& data);

}  // namespace etprof
