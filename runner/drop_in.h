#pragma once

#include "options.h"
#include "protocol/messages.h"

namespace etprof::runner {

// Does what executor_runner does with these flags, and prints what it prints. Returns the exit code.
int RunAsExecutorRunner(const Options& options, const protocol::Ready& ready);

}  // namespace etprof::runner
