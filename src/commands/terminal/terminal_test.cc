#include "commands/terminal/terminal.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace etprof {
namespace {

TEST(PrintMessage, LostMessageIsRecordedWithoutThrowing) {
  EXPECT_EXIT(
      {
        PrintMessage("{}\n", "written");
        if (MessagesLost()) std::_Exit(1);
        if (std::freopen("/dev/full", "w", stderr) == nullptr) std::_Exit(0);  // the system has no /dev/full
        PrintMessage("{}\n", "lost");
        std::_Exit(MessagesLost() ? 0 : 2);
      },
      testing::ExitedWithCode(0), "written");
}

TEST(Locale, FirstVariableThatIsSetDecides) {
  EXPECT_TRUE(IsUtf8Locale(nullptr, nullptr, "en_US.UTF-8"));
  EXPECT_TRUE(IsUtf8Locale(nullptr, "C.utf8", "POSIX"));
  EXPECT_TRUE(IsUtf8Locale("", "", "de_DE.UTF-8@euro"));
  EXPECT_FALSE(IsUtf8Locale("POSIX", "C.UTF-8", "C.UTF-8"));
  EXPECT_FALSE(IsUtf8Locale(nullptr, nullptr, "C"));
  EXPECT_FALSE(IsUtf8Locale(nullptr, "en_US.ISO-8859-1", "en_US.UTF-8"));
  EXPECT_TRUE(IsUtf8Locale(nullptr, nullptr, nullptr)) << "UTF-8 is the default";
}

}  // namespace
}  // namespace etprof
