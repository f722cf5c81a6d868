#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_run.h"

namespace etprof {
namespace {

using testing::HasSubstr;

const Insight* Find(const Report& report, Insight::Kind kind) {
  for (const Insight& insight : report.insights) {
    if (insight.kind == kind) return &insight;
  }
  return nullptr;
}

TEST(Insights, ShowTheShiftOfTheBottleneckWithItsShares) {
  const Report report = example::MakePair();
  const Insight* shift = Find(report, Insight::Kind::kBottleneckShift);
  ASSERT_NE(shift, nullptr);
  // 4.002 of 5.147 ms before, 1.002 of 2.147 after; GEMM from 0.5 / 5.147 to 0.5 / 2.147.
  EXPECT_THAT(shift->text, HasSubstr("GEMM grew from 10 % to 23 %"));
  EXPECT_THAT(shift->text, HasSubstr("Convolution is still the largest, at 47 %"));
}

TEST(Insights, BoundWhatDataMovementCouldGive) {
  const Report report = example::MakePair();
  const Insight* layout = Find(report, Insight::Kind::kLayout);
  ASSERT_NE(layout, nullptr);
  // 400 004 ns of 2 147 014: 1 / (1 - 0.1863) = 1.23.
  EXPECT_THAT(layout->text,
              HasSubstr("Data Movement is 19 %: 2 transposes 0.40 ms. Were it free: 1.23x more at most."));
  EXPECT_NEAR(layout->at_stake, 400'004, 1);
}

TEST(Insights, NamePortableOperatorsWithTheirTime) {
  const Insight* portable = nullptr;
  const Report report = example::MakePair();
  portable = Find(report, Insight::Kind::kPortable);
  ASSERT_NE(portable, nullptr);
  EXPECT_THAT(portable->text, HasSubstr("1 operator runs outside any delegate (mean.out): 0.20 ms"));
}

TEST(Insights, AreRankedByTheTimeAtStake) {
  for (const Report& report : {example::MakePair(), example::MakeBare()}) {
    ASSERT_FALSE(report.insights.empty());
    for (std::size_t i = 1; i < report.insights.size(); ++i) {
      EXPECT_GE(report.insights[i - 1].at_stake, report.insights[i].at_stake);
    }
  }
}

TEST(Insights, EveryOneHasANumber) {
  for (const Report& report : {example::MakePair(), example::MakeBare()}) {
    for (const Insight& insight : report.insights) {
      EXPECT_NE(insight.text.find_first_of("0123456789"), std::string::npos) << insight.text;
    }
  }
}

TEST(Insights, NothingIsSaidOfNothing) { EXPECT_TRUE(Assemble({}, {}).insights.empty()); }

}  // namespace
}  // namespace etprof
