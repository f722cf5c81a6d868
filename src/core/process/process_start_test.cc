#include "core/process/process_start.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "core/error.h"

namespace etprof {
namespace {

// PrepareProcess changes the whole process, so each test calls it in a new process.
TEST(ProcessStart, ClosedDescriptorsAreOpened) {
  EXPECT_EXIT(
      {
        for (const int descriptor : {0, 1, 2}) ::close(descriptor);
        PrepareProcess();
        std::_Exit(::open("/dev/null", O_RDONLY) > 2 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ProcessStart, OpenDescriptorsStay) {
  EXPECT_EXIT(
      {
        PrepareProcess();
        std::fputs("still here", stderr);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "still here");
}

TEST(ProcessStart, AFileSizeLimitFailsTheWrite) {
  EXPECT_EXIT(
      {
        PrepareProcess();
        std::FILE* file = std::tmpfile();
        const rlimit none{};
        ::setrlimit(RLIMIT_FSIZE, &none);
        const bool refused = ::write(::fileno(file), "x", 1) < 0 && errno == EFBIG;
        std::_Exit(refused ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ProcessStart, ASmallStackIsAnError) {
  EXPECT_EXIT(
      {
        rlimit stack{};
        ::getrlimit(RLIMIT_STACK, &stack);
        stack.rlim_cur = kMinStackBytes / 2;
        ::setrlimit(RLIMIT_STACK, &stack);
        try {
          PrepareProcess();
        } catch (const Error& error) {
          std::fputs(error.what(), stderr);
          std::_Exit(static_cast<int>(error.exit_code()));
        }
        std::_Exit(0);
      },
      testing::ExitedWithCode(4), "limited to 512 KiB.*ulimit -s");
}

}  // namespace
}  // namespace etprof
