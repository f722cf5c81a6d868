#pragma once

#include <functional>
#include <memory>

#include "inference/model.h"
#include "protocol/watch.h"
#include "watch/memory_watch.h"

namespace etprof::runner {

// Runs the model with its calls watched (watch.h), sums up what each operator called, and runs it unwatched
// before and after: its outputs must be the same. Where it cannot be watched, or the outputs differ, the
// reply says why and has nothing else. `memory`, which was there before the model was loaded and may be null,
// tells whose memory is whose, and ends; `loaded` is what it told after loading. `abandoned` is asked between
// runs; true ends the process. Throws Error as Model::Run, and (kUsage) for a request of too many runs.
protocol::WatchReply WatchOperators(Model& model, const protocol::WatchRequest& request,
                                    std::unique_ptr<MemoryWatch> memory, protocol::MemoryReport loaded,
                                    const std::function<bool()>& abandoned);

}  // namespace etprof::runner
