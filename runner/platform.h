#pragma once

#include <string>
#include <vector>

namespace etprof::runner {

// Takes over ExecuTorch's platform layer and its crashes. Call once, before anything of ExecuTorch runs:
//  - its ticks are nanoseconds of CLOCK_MONOTONIC, so that an ETDump's times line up with system traces;
//  - its log goes to stderr (errors only when `verbose`, since what failed is said in the Error), and its
//  errors are kept;
//  - a failed check inside it, or a crash, ends the process with one line that says during what.
void InstallPlatform(bool verbose);

// What ExecuTorch logged as an error since the last call, oldest first (at most the last 100 lines).
std::vector<std::string> TakeLoggedErrors();

// While one of these lives, a crash is put down to `what` ("loading FILE"), and the process ends with
// `exit_code`.
class DuringThis {
 public:
  DuringThis(const std::string& what, int exit_code);
  ~DuringThis();
  DuringThis(DuringThis&&) = delete;
};

// Sets the number of threads of ExecuTorch's pool, counting the caller; -1: as many as the CPU has fast cores
// (ExecuTorch's own rule, which executor_runner uses). With one thread the pool is bypassed, as
// executor_runner does. Returns the number.
int SetThreads(int threads);
// What SetThreads came to.
int PoolThreads();

// Restricts this process (and the threads it starts later) to `cpus`: a list such as "0,2-3" or a taskset
// mask such as "0x80". Throws Error (kUsage) for a text that is neither, (kDeviceFailed) when the system
// refuses.
void SetCpus(const std::string& cpus);

}  // namespace etprof::runner
