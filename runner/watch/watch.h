#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "watch/library.h"

namespace etprof::runner {

// One call of the thread pool by XNNPACK (pthreadpool_parallelize_*), or what XNNPACK called between two of
// them: then without a task.
struct Region {
  struct Thread {
    std::int64_t tasks = 0, busy_ns = 0;
    std::int64_t first_ns = 0;  // MonotonicNow at the start of its first task
    std::int64_t last_ns = 0;   // and at the end of its last one
    std::int64_t cpu = -1;      // of that moment; -1: not known
  };
  struct Calls {
    std::uintptr_t function = 0;
    std::size_t thread = 0;
    std::int64_t calls = 0;
  };
  std::uintptr_t task = 0;  // the function that the pool was given
  std::int64_t begin_ns = 0, end_ns = 0;
  std::vector<Thread> threads;
  std::vector<Calls> calls;  // of functions that a task's context names, and of KleidiAI's
};

// While one is alive, XNNPACK's calls of the thread pool and of KleidiAI go through this program, which
// records them, and calls on what they meant. So do the functions that a task's context points to (its
// microkernels): for as long as the pool works on it, these pointers lead to trampolines. Nothing is left
// replaced when it ends. One at a time, and only one thread may run the model.
class Watch {
 public:
  // Throws Error (kDeviceFailed) that says why nothing can be watched here.
  Watch();
  ~Watch();
  Watch(Watch&&) = delete;

  // What was recorded since Forget, in order; closes what has no task.
  const std::vector<Region>& Regions();
  void Forget();

  // Puts every call back; what was recorded stays. The end does it, too.
  void Release();

  // Only one task runs at any moment from now on, or as the pool likes.
  void OneAtATime(bool on);

  const LoadedLibrary& library() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etprof::runner
