#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace etprof::runner {

// Installs etprof's platform layer and crash handlers for ExecuTorch. Call once, before any use of
// ExecuTorch:
// - ticks are nanoseconds of CLOCK_MONOTONIC, so that an ETDump's times match system traces;
// - with `verbose` the log goes to stderr; errors are always stored for TakeLoggedErrors();
// - a failed check inside of ExecuTorch, or a crash, ends the process with one line that says what was being
// done.
void InstallPlatform(bool verbose);

// ExecuTorch's logged errors since the last call, oldest first (at most the last 100 lines).
std::vector<std::string> TakeLoggedErrors();

// While this object lives, a crash is reported as happening during `work` ("loading FILE"), and the process
// exits with `exit_code`. Objects may be nested: the innermost counts.
class CrashContext {
 public:
  explicit CrashContext(const std::string& work, ExitCode exit_code = ExitCode::kDeviceFailed);
  ~CrashContext();
  CrashContext(CrashContext&&) = delete;

 private:
  const std::string outer_work_;  // the work of the enclosing object; empty: there is none
  const int outer_exit_code_;
};

// Sets the number of threads of ExecuTorch's pool, including the caller; -1: the number of fast cores
// (ExecuTorch's own rule, which executor_runner uses). With one thread the pool is bypassed, as in
// executor_runner. Returns the number of threads.
int SetThreads(int threads);
// The number of threads that SetThreads has set.
int PoolThreads();

// Restricts this process (and threads started later) to `cpus` (ParseCpus). Throws Error (kUsage) for an
// invalid text, Error (kDeviceFailed) if the system refuses.
void SetCpus(const std::string& cpus);

}  // namespace etprof::runner
