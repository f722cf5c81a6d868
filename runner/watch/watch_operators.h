#pragma once

#include <functional>
#include <memory>

#include "inference/model.h"
#include "protocol/watch.h"
#include "watch/memory_watch.h"

namespace etprof::runner {

// Runs the model with its calls watched (watch.h), and sums up the calls of each operator. Also runs the
// model unwatched before and after: its outputs must be the same. If it cannot be watched, or the outputs
// differ, the reply has only the reason. `memory`, which was created before the model was loaded and may be
// null, determines the owners of memory, and is destroyed; `memory_report` is its report after loading.
// `abandoned` is called between runs; if it returns true, the process exits. Throws Error as Model::Run, and
// Error (kUsage) for too many runs.
protocol::WatchReply WatchOperators(Model& model, const protocol::WatchRequest& request,
                                    std::unique_ptr<MemoryWatch> memory, protocol::MemoryReport memory_report,
                                    const std::function<bool()>& abandoned);

}  // namespace etprof::runner
