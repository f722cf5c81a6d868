#pragma once

#include <functional>
#include <memory>

#include "inference/model.h"
#include "protocol/counters.h"
#include "protocol/values.h"
#include "protocol/watch.h"
#include "watch/memory_watch.h"

// Functions that answer commands of the worker (worker.cc).
namespace etprof::runner {

// Runs the method with the tracer and reads the counters at every operator boundary (counter_source.h). If no
// counter is open, only the warm-up runs, and the reply has the reasons. Unwritten trace data are dropped.
// `abandoned` is called between runs; if it returns true, the process exits. Throws Error as Model::Run and
// MakeCounterSource.
protocol::CountersReply CountOperators(Model& model, const protocol::CountersRequest& request,
                                       const std::function<bool()>& abandoned);

// Runs the model once more, and reads the output of each operator right after the operator ran. Outputs of
// XNNPACK's operators are read when XNNPACK reads its clock, at the address that the xnn_setup_* function
// got. Outputs of kernels are read when ExecuTorch's tracer logs them. The program is not changed. XNNPACK
// prepares the operators of a call in the order in which it runs them, and reads the clock after each
// operator. A value is therefore trusted only if
// - the call has equal numbers of setups, boundaries, and traced operators,
// - a later operator or the program takes the address of the value, and
// - the program finds the same bytes at an address that it takes.
// If nothing is read, or the outputs differ from a run without reading, the reply contains the reason. Throws
// Error as Model::Run, and (kDeviceFailed) if the file cannot be written.
protocol::ValuesReply ReadValues(Model& model, const protocol::ValuesRequest& request);

// Runs the model with its calls watched (watch.h), and sums up the calls of each operator. Also runs the
// model unwatched before and after: its outputs must be the same. If it cannot be watched, or the outputs
// differ, the reply has only the reason. `memory`, which was created before the model was loaded and may be
// null, determines the owners of memory, and is destroyed; `memory_report` is its report after loading.
// `abandoned` is called between runs; if it returns true, the process exits. Throws Error as Model::Run.
protocol::WatchReply WatchOperators(Model& model, const protocol::WatchRequest& request,
                                    std::unique_ptr<MemoryWatch> memory, protocol::MemoryReport memory_report,
                                    const std::function<bool()>& abandoned);

}  // namespace etprof::runner
