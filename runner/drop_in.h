#pragma once

#include "options.h"
#include "protocol/messages.h"

namespace etprof::runner {

// Acts as executor_runner with these flags, with the same output. Returns the exit code.
int RunAsExecutorRunner(const Options& options, const protocol::Ready& ready);

}  // namespace etprof::runner
