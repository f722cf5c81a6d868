#pragma once

#include <cstddef>
#include <cstdint>

namespace etprof::runner {

// Code that stands in for a function: it counts the call for the calling thread and goes on in the function,
// with every register that may hold an argument as it was (x86-64: the six integer registers, rax, r10, and
// xmm0-7, of which nothing above the lower half is touched; aarch64: x0-x8 and q0-q7, SME's state untouched)
// and the stack as the caller left it. So it needs to know nothing of the function's arguments or result.
inline constexpr std::size_t kMostTrampolines = 512;
inline constexpr std::size_t kMostThreads = 64;

// Whether this architecture has them.
bool HasTrampolines();

// The trampoline of number `index`; it must have been given a function before it is called.
void* Trampoline(std::size_t index);
void SetTrampoline(std::size_t index, void* function);

// The calls so far, by number, of the thread with this index.
std::uint32_t* CallsOf(std::size_t thread);
// The number of the one that it called last; 0, too, where it has called none.
std::uint32_t& LastCallOf(std::size_t thread);

// The index of the calling thread, given in the order in which they first ask; that of the last for all above
// kMostThreads, see ThreadsSeen.
std::size_t ThreadIndex();
// How many threads have asked; more than kMostThreads: their calls are mixed up.
std::size_t ThreadsSeen();

}  // namespace etprof::runner
