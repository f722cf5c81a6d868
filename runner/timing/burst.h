#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "inference/model.h"
#include "protocol/messages.h"

namespace etprof::runner {

// Whether the opening runs of a burst have become level: at least three, and neither of the last two was
// faster by more than 2 % than the fastest before them. That is: the latency no longer falls. A rule that
// asked the runs to be alike would never end on a noisy machine; one that looks for falling ends as soon as
// noise hides what is left of the fall, and a burst that is already warm passes with three runs.
bool IsLevel(std::span<const std::int64_t> opening_ns);

// How many runs share one reading of waiting: 1 where a run takes 5 times as long as a reading, else as many
// as take 20 times as long together. `reading_ns` is what one reading takes, `spacing_ns` the time from the
// start of one run to that of the next without it.
int RunsPerReading(std::int64_t reading_ns, std::int64_t spacing_ns);

// Refuses what no measurement needs and what would hold the worker for hours or exhaust its memory.
// Throws Error (kUsage) naming the field.
void CheckBurst(const protocol::BurstRequest& request);

// Runs one burst (messages.h). `is_first` says that this is the first of the launch. `abandoned` is asked
// between runs, once a second, and true ends the process: nobody waits for the result any more.
protocol::BurstReply RunBurst(Model& model, const protocol::BurstRequest& request, bool is_first,
                              const std::function<bool()>& abandoned);

}  // namespace etprof::runner
