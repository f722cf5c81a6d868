#include "report/run/sustained.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etprof {
namespace {

using testing::SizeIs;

// One burst of `runs` runs per second; the clock of the device does not begin at 0.
ExperimentData MakeSustainedData(const std::vector<Nanoseconds>& latencies, std::size_t runs = 20) {
  ExperimentData data;
  data.launches.emplace_back();
  Nanoseconds now = 77'000'000'000;
  for (const Nanoseconds latency : latencies) {
    Burst burst;
    burst.round = static_cast<int>(data.launches[0].bursts.size());
    burst.start = now;
    burst.end = now += 1'000'000'000;
    for (std::size_t i = 0; i < runs; ++i) burst.recorded.push_back(latency + Nanoseconds(i % 3));
    burst.frequency_khz = latency > 12'000'000 ? 2'000'000 : 3'000'000;
    burst.temperature_celsius = 30.0 + double(burst.round);
    data.launches[0].bursts.push_back(burst);
  }
  return data;
}

// Latencies of 10 ms and, from second `from` on, 15 ms.
std::vector<Nanoseconds> MakeThrottledLatencies(std::size_t seconds, std::size_t from) {
  std::vector<Nanoseconds> latencies(seconds, 10'000'000);
  std::fill(latencies.begin() + static_cast<std::ptrdiff_t>(from), latencies.end(), 15'000'000);
  return latencies;
}

TEST(Sustained, ComparesTheBeginningWithTheEnd) {
  const auto sustained = SummarizeSustained(MakeSustainedData(MakeThrottledLatencies(600, 200)));
  ASSERT_TRUE(sustained.has_value());
  EXPECT_THAT(sustained->points, SizeIs(600));
  EXPECT_DOUBLE_EQ(sustained->seconds, 600);
  EXPECT_DOUBLE_EQ(sustained->window_seconds, 60);
  EXPECT_EQ(sustained->first_ns, 10'000'001);
  EXPECT_EQ(sustained->last_ns, 15'000'001);
  ASSERT_TRUE(sustained->change.has_value());
  EXPECT_NEAR(sustained->change->ratio(), 10.0 / 15, 1e-6);
  EXPECT_DOUBLE_EQ(sustained->points[0].seconds, 0.5);
  EXPECT_EQ(sustained->points[0].mhz, 3000);
  EXPECT_EQ(sustained->points[599].mhz, 2000);
  EXPECT_EQ(sustained->points[599].celsius, 629);
  EXPECT_FALSE(sustained->points[0].cap_mhz.has_value());
}

TEST(Sustained, FindsNoChangeInConstantTimes) {
  std::vector<Nanoseconds> latencies;
  for (int i = 0; i < 200; ++i) latencies.push_back(10'000'000 + (i * 7919 % 101) * 1000);
  const auto sustained = SummarizeSustained(MakeSustainedData(latencies));
  ASSERT_TRUE(sustained.has_value());
  EXPECT_DOUBLE_EQ(sustained->window_seconds, 50);
  ASSERT_TRUE(sustained->change.has_value());
  EXPECT_LT(sustained->change->log_low, 0);
  EXPECT_GT(sustained->change->log_high, 0);
}

TEST(Sustained, FewBurstsHaveNoInterval) {
  const auto sustained = SummarizeSustained(MakeSustainedData(MakeThrottledLatencies(8, 4)));
  ASSERT_TRUE(sustained.has_value());
  EXPECT_FALSE(sustained->change.has_value());
  EXPECT_EQ(sustained->last_ns, 15'000'001);
  EXPECT_FALSE(SummarizeSustained(ExperimentData()).has_value());
  EXPECT_FALSE(SummarizeSustained(MakeSustainedData({10, 10}, 0)).has_value());
}

TEST(Sustained, CondensesToRangesOfTime) {
  const auto sustained = SummarizeSustained(MakeSustainedData(MakeThrottledLatencies(600, 300)));
  ASSERT_TRUE(sustained.has_value());
  const std::vector<SustainedPoint> chart = CondenseSustained(*sustained, 10);
  ASSERT_THAT(chart, SizeIs(10));
  EXPECT_DOUBLE_EQ(chart[0].seconds, 30);
  EXPECT_EQ(chart[4].median_ns, 10'000'001);
  EXPECT_EQ(chart[5].median_ns, 15'000'001);
  EXPECT_EQ(chart[0].runs, 60U * 20);
  EXPECT_EQ(chart[9].mhz, 2000);
  EXPECT_THAT(CondenseSustained(*sustained, 5000), SizeIs(600));
}

}  // namespace
}  // namespace etprof
