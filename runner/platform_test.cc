#include "platform.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace etprof::runner {
namespace {

void CrashAfterNestedWork() {
  InstallPlatform(false);
  const CrashContext outer("loading model.pte", ExitCode::kBadInput);
  { const CrashContext inner("loading backend.so"); }
  ::raise(SIGABRT);  // AddressSanitizer reports other crashes itself
}

TEST(CrashContext, IsThatOfTheOuterWorkAfterNestedWork) {
  EXPECT_EXIT(CrashAfterNestedWork(), testing::ExitedWithCode(3), "SIGABRT. while loading model.pte;");
}

}  // namespace
}  // namespace etprof::runner
