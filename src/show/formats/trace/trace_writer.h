#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "core/units.h"
#include "format/etdump/trace.h"
#include "measure/store/run_data.h"
#include "profile/analysis/profile.h"
#include "protocol/messages.h"

namespace etprof {

// A named value of a slice, or of the whole trace.
struct TraceArgument {
  std::string name;
  std::variant<std::string, std::int64_t> value;
};

// Writes a file of slices and counters on tracks for trace viewers. Times are nanoseconds of one clock.
// Output is streamed: only names are kept in memory.
class TraceWriter {
 public:
  using TrackId = std::uint32_t;
  using SliceKindId = std::uint32_t;
  virtual ~TraceWriter() = default;

  // Attributes of the whole trace. Call it at most once, before anything else.
  virtual void Attributes(const std::vector<TraceArgument>& attributes) = 0;
  // Relates the times that follow to the device's other clocks. Formats with a single clock ignore it.
  virtual void AlignClocks(const protocol::Clocks& clocks) = 0;

  virtual TrackId AddProcess(const std::string& name) = 0;
  virtual TrackId AddThread(TrackId process, const std::string& name) = 0;
  virtual TrackId AddCounter(TrackId process, const std::string& name, const std::string& unit) = 0;

  // Adds a kind of slices with a name, a category, and common arguments. Slice refers to the kind by id.
  virtual SliceKindId AddSliceKind(const std::string& name, const std::string& category,
                                   std::vector<TraceArgument> arguments) = 0;
  // Writes a slice. Parents come before their children, siblings in order of time, and children lie within
  // their parents. `depth` is 0 without a parent. `slice_arguments` belong to this slice only.
  virtual void Slice(TrackId thread, int depth, SliceKindId kind_id, Nanoseconds start, Nanoseconds end,
                     const std::vector<TraceArgument>& slice_arguments) = 0;
  virtual void Value(TrackId counter, Nanoseconds time, double value) = 0;

  // Ends the file; nothing may follow.
  virtual void Finish() = 0;
};

// Writes the JSON of chrome://tracing, speedscope, and Perfetto (the "Trace Event Format" of the Chromium
// project): an object with `traceEvents` of complete events ("X"), counters ("C"), and names ("M"). Times are
// microseconds with three decimals, so that they keep their nanoseconds. Most readers parse them as doubles,
// which are exact to the nanosecond for traces of up to 52 days.
std::unique_ptr<TraceWriter> ChromeTraceWriter(std::ostream& out);

// Writes Perfetto's native format (protos/perfetto/trace in its sources), exact to the nanosecond.
// Experiments are processes with ids that no system uses (above 5,000,000), so that a system trace of the
// same device can be shown next to them. The clock is CLOCK_MONOTONIC once AlignClocks has been called.
std::unique_ptr<TraceWriter> PerfettoWriter(std::ostream& out);

// Selects the traced runs of each experiment that are written.
struct TraceSelection {
  enum class Runs { kAll, kMedian, kSingle } runs = Runs::kAll;
  std::size_t index = 0;  // for kSingle: index into Profile::runs
};

// Writes the facts of the manifest about the whole run as attributes of the trace.
void WriteTraceAttributes(const RunData& run, const std::string& etprof_version, TraceWriter& writer);

// Writes one experiment as a process. One thread has its runs (every event of the trace, delegates nested),
// another has everything before them (loading). Counters show the latency of each run, the median of each
// untraced burst, the clock frequency, and the temperature. If the experiment was watched, the watched run is
// another process: one thread has its operators, and further threads have the tasks of each pool thread
// (unless kSingle is selected). Times are the device's CLOCK_MONOTONIC if the run recorded its relation to
// the other clocks; else each experiment begins at 0. `before_each_run` may throw to cancel. Returns the
// number of runs written. Throws Error (kUsage) if the selected run does not exist.
std::size_t WriteExperimentTrace(const RunData& run, const ExperimentData& data, const Trace& trace,
                                 const Profile& profile, const TraceSelection& selection,
                                 const std::function<void()>& before_each_run, TraceWriter& writer);

}  // namespace etprof
