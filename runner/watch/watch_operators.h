#pragma once

#include <functional>

#include "model.h"
#include "protocol/watch.h"

namespace etprof::runner {

// Runs the model with its calls watched (watch.h), sums up what each operator called, and runs it unwatched
// before and after: its outputs must be the same. Where it cannot be watched, or the outputs differ, the
// reply says why and has nothing else. `abandoned` is asked between runs; true ends the process. Throws Error
// as Model::Run, and (kUsage) for a request of too many runs.
protocol::WatchReply WatchOperators(Model& model, const protocol::WatchRequest& request,
                                    const std::function<bool()>& abandoned);

}  // namespace etprof::runner
