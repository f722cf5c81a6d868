#pragma once

#include "protocol/messages.h"

namespace etprof::runner {

// Keeps the process's stdout for the protocol and gives everybody else stderr in its place. Call before
// anything can print. Returns the descriptor to write replies to.
int TakeStdout();

// Says `ready` on `replies`, then answers the JSON lines of stdin (messages.h) until it closes or says quit.
// Errors of a command are answers; the loop goes on. Returns the exit code.
int ServeWorker(int replies, const protocol::Ready& ready);

}  // namespace etprof::runner
