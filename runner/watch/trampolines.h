#pragma once

#include <cstddef>
#include <cstdint>

namespace etprof::runner {

// A trampoline is code that replaces a function: it counts the call for the calling thread and jumps to the
// function. It keeps every register that may hold an argument (x86-64: the six integer registers, rax, r10,
// and xmm0-7, whose upper halves are not touched; aarch64: x0-x8 and q0-q7, with SME's state untouched) and
// the caller's stack, so it does not depend on the function's arguments and result.
inline constexpr std::size_t kMaxTrampolines = 512;
inline constexpr std::size_t kMaxThreads = 64;

// True if trampolines exist for this architecture.
bool HasTrampolines();

// The trampoline with this index; SetTrampoline must be called before its first call.
void* Trampoline(std::size_t index);
void SetTrampoline(std::size_t index, void* function);

// The numbers of calls so far, by trampoline, of the thread with this index.
std::uint32_t* CallCounts(std::size_t thread);
// The index of the trampoline that the thread called last; also 0 if the thread has called no trampoline.
std::uint32_t& LastCalledTrampoline(std::size_t thread);

// The index of the calling thread, in the order of first calls of this function. Threads beyond kMaxThreads
// share the last index; see CountedThreads.
std::size_t ThreadIndex();
// The number of threads that have an index; above kMaxThreads, the calls of several threads are mixed.
std::size_t CountedThreads();

}  // namespace etprof::runner
