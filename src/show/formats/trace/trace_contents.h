#pragma once

#include <cstddef>
#include <functional>

#include "format/etdump/trace.h"
#include "measure/store/run_data.h"
#include "profile/analysis/profile.h"
#include "show/formats/trace/trace_writer.h"

namespace etprof {

// Selects the traced runs of each experiment that are written.
struct TraceChoice {
  enum class Runs { kAll, kMedian, kOne } runs = Runs::kAll;
  std::size_t index = 0;  // for kOne: index into Profile::runs
};

// Writes the facts of the manifest about the whole run as attributes of the trace.
void WriteTraceAttributes(const RunData& run, const std::string& etprof_version, TraceWriter& writer);

// Writes one experiment as a process. One thread has its runs (every event of the trace, delegates nested),
// another has everything before them (loading). Counters show the latency of each run, the median of each
// untraced burst, the clock frequency, and the temperature. If the experiment was watched, the watched run is
// another process: one thread has its operators, and further threads have the tasks of each pool thread
// (unless kOne is chosen). Times are the device's CLOCK_MONOTONIC if the run recorded its relation to the
// other clocks; else each experiment begins at 0. `before_each_run` may throw to cancel. Returns the number
// of runs written. Throws Error (kUsage) if the chosen run does not exist.
std::size_t WriteExperimentTrace(const RunData& run, const ExperimentData& data, const Trace& trace,
                                 const Profile& profile, const TraceChoice& choice,
                                 const std::function<void()>& before_each_run, TraceWriter& writer);

}  // namespace etprof
