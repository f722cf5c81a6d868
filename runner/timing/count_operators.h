#pragma once

#include <functional>

#include "inference/model.h"
#include "protocol/counters.h"

namespace etprof::runner {

// Runs the method with the tracer on and reads the counters at every operator boundary (counter_source.h).
// Without any counter only the warm-up is run, and the reply says why. What was traced before and not yet
// written is dropped. `abandoned` is asked between runs, and true ends the process. Throws Error (kUsage) for
// too many runs, and as Model::Run.
protocol::CountersReply CountOperators(Model& model, const protocol::CountersRequest& request,
                                       const std::function<bool()>& abandoned);

}  // namespace etprof::runner
