#include "report/findings/robust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_run.h"

namespace etprof {
namespace {

using testing::ElementsAre;

TEST(SummarizeWithoutOutliers, SeparatesOutliers) {
  // Quartiles 2 and 4 (type 7), so the fences are -1 and 7.
  const RobustLatency robust = SummarizeWithoutOutliers({3, 100, 1, 2, 4});
  EXPECT_EQ(robust.fences.low, -1);
  EXPECT_EQ(robust.fences.high, 7);
  EXPECT_THAT(robust.outliers, ElementsAre(100));
  EXPECT_EQ(robust.p75, 4);
  EXPECT_EQ(robust.all.n, 5);
  EXPECT_EQ(robust.within_fences.n, 4);
  EXPECT_EQ(robust.within_fences.mean, 2.5);
}

TEST(SummarizeWithoutOutliers, IsAbsentWithoutValues) {
  const RobustLatency robust = SummarizeWithoutOutliers({});
  EXPECT_EQ(robust.all.n, 0);
  EXPECT_FALSE(robust.p75);
  EXPECT_FALSE(robust.within_fences.mean);
}

TEST(LatencySeries, MatchesTheLatency) {
  const Report pair = example::MakePairReport();
  for (const ReportExperiment& experiment : pair.experiments) {
    EXPECT_EQ(stats::Summarize(CollectLatencySeries(pair, experiment).ns).p50, experiment.latency.p50);
  }
  const Report bare = example::MakeBareEtdumpReport();
  const LatencySeries series = CollectLatencySeries(bare, bare.experiments[0]);
  ASSERT_TRUE(bare.experiments[0].latency_from_trace);
  EXPECT_EQ(stats::Summarize(series.ns).p50, bare.experiments[0].latency.p50);
  ASSERT_FALSE(series.run_indices.empty());
  EXPECT_EQ(bare.experiments[0].profile->runs[series.run_indices[0]].label.phase, Phase::kSteady);
}

}  // namespace
}  // namespace etprof
