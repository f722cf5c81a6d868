#pragma once

#include <memory>
#include <ostream>

#include "render/trace/trace_writer.h"

namespace etprof {

// The JSON that chrome://tracing, speedscope and Perfetto read (the "Trace Event Format" of the Chromium
// project): an object with `traceEvents` of complete events ("X"), counters ("C") and names ("M"). Times are
// microseconds with three decimals, so that what is written keeps its nanoseconds; most readers take them as
// doubles, which are exact to the nanosecond for traces of up to 52 days.
std::unique_ptr<TraceWriter> ChromeTraceWriter(std::ostream& out);

}  // namespace etprof
