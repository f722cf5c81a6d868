#include "validate/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace etprof {
namespace {

TEST(Findings, AreOrderedByCheckAndLimitedPerFile) {
  Findings findings;
  for (int i = 0; i < 9; ++i) findings.AddViolation("sums", "a.json", std::to_string(i));
  findings.AddWarning("manifest", "manifest.json", "x");
  EXPECT_TRUE(findings.HasViolation("sums"));
  EXPECT_FALSE(findings.HasViolation("manifest"));
  const std::vector<ValidationFinding> ordered = findings.Take();
  ASSERT_EQ(ordered.size(), 7U);
  EXPECT_EQ(ordered[0].check, "manifest");
  EXPECT_EQ(ordered[5].problem, "4");
  EXPECT_EQ(ordered[6].problem, "and 4 more");
}

TEST(Findings, RejectUnknownChecks) {
  Findings findings;
  EXPECT_THROW(findings.AddViolation("sum", "a", "b"), std::logic_error);
}

}  // namespace
}  // namespace etprof
