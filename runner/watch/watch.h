#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "watch/library.h"

namespace etprof::runner {

// A call of the thread pool by XNNPACK (pthreadpool_parallelize_*), or, without a task, the calls that
// XNNPACK made between two such calls.
struct Region {
  struct Thread {
    std::int64_t tasks = 0, busy_ns = 0;
    std::int64_t first_ns = 0;  // MonotonicNow at the start of its first task
    std::int64_t last_ns = 0;   // MonotonicNow at the end of its last task
    std::int64_t cpu = -1;      // the CPU of its first task; -1: not known
  };
  struct Calls {
    std::uintptr_t function = 0;
    std::size_t thread = 0;
    std::int64_t calls = 0;
  };
  std::uintptr_t task = 0;  // the task's function; 0: the calls between two calls of the pool
  std::int64_t begin_ns = 0, end_ns = 0;
  std::vector<Thread> threads;
  std::vector<Calls> calls;  // calls of functions in a task's context, and of KleidiAI's functions
};

// While an object lives, XNNPACK's calls of the thread pool and of KleidiAI go through this program, which
// records them and calls the original functions. The same holds for the functions that a task's context
// points to (its microkernels): while the pool works on the task, these pointers lead to trampolines. The
// destructor restores everything. Only one object may exist at a time, and only one thread may run the model.
class Watch {
 public:
  // Throws Error (kDeviceFailed) with the reason if calls cannot be watched here.
  Watch();
  ~Watch();
  Watch(Watch&&) = delete;

  // The recorded regions since Clear, in order; also ends the current region without a task.
  const std::vector<Region>& Regions();
  void Clear();

  // Restores all calls, as the destructor does; keeps the recorded regions.
  void Release();

  // If true, only one task runs at a time from now on.
  void SerializeTasks(bool on);

  const LoadedLibrary& library() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etprof::runner
