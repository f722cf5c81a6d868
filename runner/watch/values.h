#pragma once

#include "inference/model.h"
#include "protocol/values.h"

namespace etprof::runner {

// Runs the model once more, and reads what each operator wrote right after it ran: XNNPACK's operators at the
// boundaries of its clock, from where their xnn_setup_* function was told to write, and kernels where
// ExecuTorch's tracer logs their outputs. Nothing of the program changes. XNNPACK prepares the operators of a
// call in the order in which it runs them, and runs them with the clock read after each, so that a value is
// trusted only if
// - setups, boundaries, and traced operators of its call are equally many,
// - a later operator or the program takes its address, and
// - where the program takes it, the bytes there are the same.
// The reply says why nothing is read, also where the outputs are others than without reading. Throws Error as
// Model::Run, and (kDeviceFailed) where the file cannot be written.
protocol::ValuesReply ReadValues(Model& model, const protocol::ValuesRequest& request);

}  // namespace etprof::runner
