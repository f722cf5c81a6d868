#pragma once

namespace etprof {

// The first thing that a main does, for what its caller left undone:
// - closed descriptors 0 to 2 are opened on /dev/null, so that no file of ours gets such a number and is
//   written into by a message;
// - a limit of the size of files (ulimit -f) makes a write fail with EFBIG, instead of ending the process;
// - memory that is freed stays the process's (glibc): asking the system for it again takes longer.
// Throws Error (kDeviceFailed) where the stack is limited to less than kLeastStackBytes.
void PrepareProcess();

// What every command and thread gets by with; systems give 8 MiB.
inline constexpr unsigned kLeastStackBytes = 1U << 20U;

}  // namespace etprof
