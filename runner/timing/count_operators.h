#pragma once

#include <functional>

#include "inference/model.h"
#include "protocol/counters.h"

namespace etprof::runner {

// Runs the method with the tracer and reads the counters at every operator boundary (counter_source.h). If no
// counter is open, only the warm-up runs, and the reply has the reasons. Unwritten trace data are dropped.
// `abandoned` is called between runs; if it returns true, the process exits. Throws Error (kUsage) for too
// many runs, and as Model::Run.
protocol::CountersReply CountOperators(Model& model, const protocol::CountersRequest& request,
                                       const std::function<bool()>& abandoned);

}  // namespace etprof::runner
