#include "platform.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "core/sanitizer.h"

namespace etprof::runner {
namespace {

void CrashAfterNestedWork() {
  InstallPlatform(false);
  const CrashContext outer("loading model.pte", ExitCode::kBadInput);
  { const CrashContext inner("loading backend.so"); }
  ::raise(SIGSEGV);
}

TEST(CrashContext, IsThatOfTheOuterWorkAfterNestedWork) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer reports crashes itself";
  EXPECT_EXIT(CrashAfterNestedWork(), testing::ExitedWithCode(3), "SIGSEGV. while loading model.pte;");
}

}  // namespace
}  // namespace etprof::runner
