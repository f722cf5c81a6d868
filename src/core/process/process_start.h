#pragma once

namespace etprof {

// Every main calls this first, because its caller may have left the process in an unsuitable state:
// - Descriptors 0 to 2 that are closed are opened on /dev/null, so that no other file gets such a number and
// messages are not written into it.
// - A limit of file sizes (ulimit -f) makes a write fail with EFBIG instead of ending the process.
// - Freed memory stays with the process (glibc), because requesting it from the system again is slower.
// Throws Error (kDeviceFailed) if the stack is limited to less than kMinStackBytes.
void PrepareProcess();

// A stack of this size suffices for every command and thread; systems usually give 8 MiB.
inline constexpr unsigned kMinStackBytes = 1U << 20U;

}  // namespace etprof
