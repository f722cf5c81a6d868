#pragma once

#include <memory>
#include <ostream>

#include "render/trace/trace_writer.h"

namespace etprof {

// Perfetto's native format (protos/perfetto/trace in its sources), exact to the nanosecond. Experiments are
// processes whose numbers no system gives (above 5,000,000), so that a system trace of the same device may
// stand beside them; the clock is CLOCK_MONOTONIC once AlignClocks has been called.
std::unique_ptr<TraceWriter> PerfettoWriter(std::ostream& out);

}  // namespace etprof
