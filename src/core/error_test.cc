#include "core/error.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

TEST(Error, SaysFilePlaceProblemAndRemedyInOneLine) {
  const Error error =
      Error(ExitCode::kBadInput, "is not an ETDump").InFile("a.etdump").AtOffset(4).Remedy("give one");
  EXPECT_EQ(error.Message(), "a.etdump, byte 4: is not an ETDump; give one");
  EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
  EXPECT_EQ(error.offset(), 4U);
}

TEST(Error, EscapesControlCharactersOfHostileNames) {
  const Error error = Error(ExitCode::kBadInput, "no such file").InFile("a\n\x1b[31mb").AtLine(3);
  EXPECT_EQ(error.Message(), "a\\x0a\\x1b[31mb, line 3: no such file");
}

TEST(Error, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(Error(ExitCode::kUsage, "no command").Message(), "no command");
}

}  // namespace
}  // namespace etprof
