#pragma once

#include "options.h"
#include "protocol/messages.h"

namespace etprof::runner {

// Behaves as executor_runner does with these flags, and prints the same output. Returns the exit code.
int RunAsExecutorRunner(const Options& options, const protocol::Ready& ready);

// Reserves the process's stdout for the protocol, and redirects other output to stderr. Call before anything
// can print. Returns the descriptor for replies.
int RedirectStdout();

// Writes `ready` to `reply_descriptor`, then answers the JSON lines of stdin (messages.h) until stdin closes
// or a line says "quit". Errors of a command are replies, and the loop continues. Returns the exit code.
int ServeWorker(int reply_descriptor, const protocol::Ready& ready);

}  // namespace etprof::runner
