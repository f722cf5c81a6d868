#include "core/process/process_start.h"

#include <fcntl.h>
#include <fmt/format.h>
#ifdef __linux__
#include <malloc.h>
#endif
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.h"

namespace etprof {

void PrepareProcess() {
  // In ascending order, since open() returns the lowest free number.
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
      [[maybe_unused]] const int opened = ::open("/dev/null", O_RDWR);
    }
  }
  ::signal(SIGXFSZ, SIG_IGN);
#ifdef __GLIBC__
  ::mallopt(M_TOP_PAD, 4 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY &&
      stack.rlim_cur < kMinStackBytes) {
    throw Error(ExitCode::kDeviceFailed, fmt::format("the stack is limited to {} KiB, and {} KiB are needed",
                                                     stack.rlim_cur >> 10U, kMinStackBytes >> 10U))
        .Remedy("raise the limit: ulimit -s 8192");
  }
}

}  // namespace etprof
