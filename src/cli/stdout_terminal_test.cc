#include "cli/stdout_terminal.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

TEST(Locale, TheFirstThatIsSetDecides) {
  EXPECT_TRUE(IsUtf8Locale(nullptr, nullptr, "en_US.UTF-8"));
  EXPECT_TRUE(IsUtf8Locale(nullptr, "C.utf8", "POSIX"));
  EXPECT_TRUE(IsUtf8Locale("", "", "de_DE.UTF-8@euro"));
  EXPECT_FALSE(IsUtf8Locale("POSIX", "C.UTF-8", "C.UTF-8"));
  EXPECT_FALSE(IsUtf8Locale(nullptr, nullptr, "C"));
  EXPECT_FALSE(IsUtf8Locale(nullptr, "en_US.ISO-8859-1", "en_US.UTF-8"));
  EXPECT_TRUE(IsUtf8Locale(nullptr, nullptr, nullptr)) << "nothing is said against it";
}

}  // namespace
}  // namespace etprof
