#pragma once

#include <cstddef>
#include <functional>

#include "analysis/profile.h"
#include "etdump/trace.h"
#include "measure/store/run_data.h"
#include "render/trace/trace_writer.h"

namespace etprof {

// Which traced runs of each experiment are written.
struct TraceChoice {
  enum class Runs { kAll, kMedian, kOne } runs = Runs::kAll;
  std::size_t index = 0;  // kOne: into Profile::runs
};

// What the manifest says of the whole, as attributes of the trace.
void WriteTraceAttributes(const RunData& run, const std::string& etprof_version, TraceWriter& writer);

// One experiment as a process: its runs on a thread (every event of the trace, delegates nested), what came
// before them (loading) on another, and as counters the latency of each run, of each untraced burst its
// median, the clock frequency and the temperature. Where it was watched, that run is a process more: its
// operators on a thread, and the tasks of each thread on another (unless kOne is chosen). Times are the
// device's CLOCK_MONOTONIC where the run recorded what leads to its other clocks; else each experiment begins
// at 0. `before_each_run` may throw, to end it. Returns how many runs it wrote. Throws Error (kUsage) for a
// run that is not there.
std::size_t WriteTraceOf(const RunData& run, const ExperimentData& data, const Trace& trace,
                         const Profile& profile, const TraceChoice& choice,
                         const std::function<void()>& before_each_run, TraceWriter& writer);

}  // namespace etprof
