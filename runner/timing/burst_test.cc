#include "timing/burst.h"

#include <gtest/gtest.h>

#include <random>

namespace etprof::runner {
namespace {

int RunsUntilStable(const std::vector<std::int64_t>& latencies) {
  for (std::size_t n = 1; n <= latencies.size(); ++n) {
    if (IsStable(std::span(latencies).first(n))) return static_cast<int>(n);
  }
  return -1;
}

TEST(IsStable, AcceptsThreeWarmRuns) {
  EXPECT_EQ(RunsUntilStable({1000, 1001, 999}), 3);
  EXPECT_EQ(RunsUntilStable({1000, 990, 985}), 3);    // falls by less than 2%
  EXPECT_EQ(RunsUntilStable({1000, 1500, 1400}), 3);  // disturbed, but not falling
}

TEST(IsStable, WaitsWhileTheLatencyFalls) {
  EXPECT_EQ(RunsUntilStable({10000, 2000, 1000, 1000, 1000}), 5);
  EXPECT_EQ(RunsUntilStable({2000, 1800, 1600, 1400, 1200, 1100, 1000, 1000, 1000}), 9);
  EXPECT_EQ(RunsUntilStable({1, 1}), -1);
  EXPECT_EQ(RunsUntilStable({}), -1);
}

TEST(IsStable, EndsDespiteNoise) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 0.05);
  int total = 0;
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::int64_t> latencies;
    for (int i = 0; i < 100; ++i) latencies.push_back(static_cast<std::int64_t>(1e6 * (1 + noise(random))));
    const int runs = RunsUntilStable(latencies);
    ASSERT_GT(runs, 0);
    ASSERT_LE(runs, 20);
    total += runs;
  }
  EXPECT_LT(total, 4500);  // 4.5 runs on average at 5% noise
}

TEST(RunsPerReading, LongRunsHaveOwnReadingsAndShortRunsShareThem) {
  EXPECT_EQ(RunsPerReading(3'000, 100'000), 1);
  EXPECT_EQ(RunsPerReading(3'000, 15'000), 1);
  EXPECT_EQ(RunsPerReading(3'000, 14'999), 5);
  EXPECT_EQ(RunsPerReading(3'000, 200), 300);
  EXPECT_EQ(RunsPerReading(0, 200), 1);
  EXPECT_EQ(RunsPerReading(3'000, 0), 1'000);
  for (std::int64_t spacing = 61; spacing < 1'000'000; spacing = spacing * 5 / 4) {
    const int runs = RunsPerReading(3'000, spacing);
    if (spacing >= 5 * 3'000) {
      EXPECT_EQ(runs, 1);
      continue;
    }
    EXPECT_GE(runs * spacing, 20 * 3'000);
    EXPECT_TRUE(runs == 1 || (runs - 1) * spacing < 20 * 3'000) << spacing;
  }
}

}  // namespace
}  // namespace etprof::runner
