#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "report/example_run.h"
#include "report/ladder/example_ladder.h"

namespace etprof {
namespace {

using testing::ElementsAre;

std::int64_t Sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

TEST(LatencyPlots, PlotsAPairOnOneAxis) {
  const Report report = example::MakePairReport();
  ASSERT_EQ(report.latency_plots.size(), 1U);
  const LatencyPlot& plot = report.latency_plots[0];
  EXPECT_THAT(plot.experiments, ElementsAre(0, 1));
  const stats::SharedHistogram& histogram = plot.histogram;
  for (std::size_t variant = 0; variant < 2; ++variant) {
    const stats::Distribution& latency = report.experiments[variant].latency;
    EXPECT_EQ(Sum(histogram.counts[variant]) + histogram.above_axis[variant], latency.n);
  }
  // "on" is at the beginning, "off" at the end, and no column has both.
  EXPECT_DOUBLE_EQ(histogram.from, *report.experiments[1].latency.min);
  for (std::size_t bin = 0; bin < histogram.counts[0].size(); ++bin)
    EXPECT_TRUE(histogram.counts[0][bin] == 0 || histogram.counts[1][bin] == 0);
  EXPECT_GT(histogram.counts[0].back(), 0);
  EXPECT_GT(histogram.counts[1].front(), 0);
}

TEST(LatencyPlots, PlotsSteadyRunsOfATrace) {
  const Report report = example::MakeBareEtdumpReport();
  ASSERT_EQ(report.latency_plots.size(), 1U);
  EXPECT_TRUE(report.experiments[0].latency_from_trace);
  const stats::SharedHistogram& histogram = report.latency_plots[0].histogram;
  EXPECT_EQ(Sum(histogram.counts[0]), report.experiments[0].latency.n);
  EXPECT_THAT(histogram.above_axis, ElementsAre(0)) << "of so few runs none is called far";
}

TEST(LatencyPlots, SeparatesExperimentsThatAreNotCompared) {
  RunData run = example::MakePairReport().run;
  run.experiments.push_back(example::MakeExperiment("another", 900'000'000));
  run.experiments.push_back(example::MakeExperiment("broken", 1));
  run.experiments.back().launches.clear();
  const Report report = Assemble(std::move(run), {});
  ASSERT_EQ(report.latency_plots.size(), 2U);
  EXPECT_THAT(report.latency_plots[0].experiments, ElementsAre(0, 1));
  EXPECT_THAT(report.latency_plots[1].experiments, ElementsAre(2));
}

TEST(LatencyPlots, PlotsAllLevelsOfALadder) {
  const Report report = example::MakeLadder(example::MakeSme2Points());
  ASSERT_TRUE(report.ladder.has_value());
  // Comparisons connect only the levels of one number of threads; the ladder connects all of them.
  ASSERT_EQ(report.latency_plots.size(), 1U);
  EXPECT_EQ(report.latency_plots[0].experiments.size(), 6U);
}

}  // namespace
}  // namespace etprof
