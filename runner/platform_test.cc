#include "platform.h"

#include <executorch/runtime/platform/abort.h>
#include <gtest/gtest.h>

namespace etprof::runner {
namespace {

void CrashAfterNestedWork() {
  InstallPlatform(false);
  const CrashContext outer("loading model.pte", ExitCode::kBadInput);
  { const CrashContext inner("loading backend.so"); }
  executorch::runtime::runtime_abort();  // AddressSanitizer reports signals itself
}

TEST(CrashContext, IsThatOfTheOuterWorkAfterNestedWork) {
  EXPECT_EXIT(CrashAfterNestedWork(), testing::ExitedWithCode(3), "gave up.* while loading model.pte;");
}

}  // namespace
}  // namespace etprof::runner
