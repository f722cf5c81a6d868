#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "core/units.h"
#include "protocol/messages.h"

namespace etprof {

// A fact beside a slice or a whole trace.
struct TraceArgument {
  std::string name;
  std::variant<std::string, std::int64_t> value;
};

// A file of slices and counters on tracks, as trace viewers show them. Times are nanoseconds of one clock.
// Everything is written as it comes; nothing is kept but names.
class TraceWriter {
 public:
  using TrackId = std::uint32_t;
  using SliceId = std::uint32_t;
  virtual ~TraceWriter() = default;

  // Of the whole trace; before anything else, at most once.
  virtual void Attributes(const std::vector<TraceArgument>& attributes) = 0;
  // How the times of what follows relate to the device's other clocks. Formats that have only one leave it
  // out.
  virtual void AlignClocks(const protocol::Clocks& clocks) = 0;

  virtual TrackId AddProcess(const std::string& name) = 0;
  virtual TrackId AddThread(TrackId process, const std::string& name) = 0;
  virtual TrackId AddCounter(TrackId process, const std::string& name, const std::string& unit) = 0;

  // What slices of one kind have in common; said once, used by many.
  virtual SliceId Describe(const std::string& name, const std::string& category,
                           std::vector<TraceArgument> arguments) = 0;
  // Parents before their children, siblings in order of time, and all within their parents. `depth` is 0 for
  // one without a parent. `more` is only this slice's.
  virtual void Slice(TrackId thread, int depth, SliceId slice, Nanoseconds start, Nanoseconds end,
                     const std::vector<TraceArgument>& more) = 0;
  virtual void Value(TrackId counter, Nanoseconds time, double value) = 0;

  // Ends the file; nothing may follow.
  virtual void Finish() = 0;
};

// The JSON that chrome://tracing, speedscope and Perfetto read (the "Trace Event Format" of the Chromium
// project): an object with `traceEvents` of complete events ("X"), counters ("C") and names ("M"). Times are
// microseconds with three decimals, so that what is written keeps its nanoseconds; most readers take them as
// doubles, which are exact to the nanosecond for traces of up to 52 days.
std::unique_ptr<TraceWriter> ChromeTraceWriter(std::ostream& out);

// Perfetto's native format (protos/perfetto/trace in its sources), exact to the nanosecond. Experiments are
// processes whose numbers no system gives (above 5,000,000), so that a system trace of the same device may
// stand beside them; the clock is CLOCK_MONOTONIC once AlignClocks has been called.
std::unique_ptr<TraceWriter> PerfettoWriter(std::ostream& out);

}  // namespace etprof
