#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "inference/model.h"
#include "protocol/messages.h"

namespace etprof::runner {

// True if the latency of a burst's opening runs no longer falls: there are at least three runs, and neither
// of the last two was faster by more than 2% than the fastest before them. A rule that required equal
// latencies would never end on a noisy machine; this rule ends as soon as noise hides the remaining fall, and
// after three runs if the burst is already warm.
bool IsStable(std::span<const std::int64_t> opening_ns);

// The number of runs that share one reading of waiting: 1 if a run takes at least 5 times as long as a
// reading, else as many as take 20 times as long together. `reading_ns` is the duration of a reading,
// `spacing_ns` the time from the start of one run to the start of the next without readings.
int RunsPerReading(std::int64_t reading_ns, std::int64_t spacing_ns);

// Runs one burst (messages.h). `is_first` is true for the first burst of the launch. `abandoned` is called
// between runs, once per second; if it returns true, the process exits, since nobody waits for the result.
protocol::BurstReply RunBurst(Model& model, const protocol::BurstRequest& request, bool is_first,
                              const std::function<bool()>& abandoned);

}  // namespace etprof::runner
