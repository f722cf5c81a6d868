#pragma once

#include "options.h"
#include "protocol/messages.h"

namespace etprof::runner {

// Behaves as executor_runner does with these flags, and prints the same output. Returns the exit code.
int RunAsExecutorRunner(const Options& options, const protocol::Ready& ready);

}  // namespace etprof::runner
