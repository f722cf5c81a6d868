#pragma once

#include "inference/model.h"
#include "protocol/values.h"

namespace etprof::runner {

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

}  // namespace etprof::runner
