#include "cli/say.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace etprof {
namespace {

TEST(Say, AMessageThatCannotBeWrittenIsNotedAndNothingIsThrown) {
  EXPECT_EXIT(
      {
        Say("{}\n", "written");
        if (MessagesLost()) std::_Exit(1);
        if (std::freopen("/dev/full", "w", stderr) == nullptr) std::_Exit(0);  // a system without it
        Say("{}\n", "lost");
        std::_Exit(MessagesLost() ? 0 : 2);
      },
      testing::ExitedWithCode(0), "written");
}

}  // namespace
}  // namespace etprof
