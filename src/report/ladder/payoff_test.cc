#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "report/ladder/example_ladder.h"
#include "report/ladder/ladder.h"

namespace etprof {
namespace {

using example::LadderPoint;
using example::MakeLadder;
using stats::Verdict;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Points without and with one level, with the convolution's times at 1, 2, and 4 threads. All else is equal.
std::vector<LadderPoint> MakeOffOnPoints(
    const std::vector<std::pair<Nanoseconds, Nanoseconds>>& convolution) {
  std::vector<LadderPoint> points;
  int threads = 1;
  for (const auto& [off, on] : convolution) {
    points.push_back({"off", "-sme2", {}, threads, off});
    points.push_back({"on", "all", {"sme2"}, threads, on});
    threads *= 2;
  }
  return points;
}

const PayoffRow& FindConvolution(const Payoff& payoff) {
  const auto found = std::ranges::find_if(
      payoff.operators, [](const PayoffRow& row) { return row.name.starts_with("Convolution"); });
  EXPECT_NE(found, payoff.operators.end());
  return *found;
}

// The level below was measured with fewer numbers of threads; with the others, the comparison would be with a
// different level.
TEST(Payoff, ComparesWithOneLevelOnly) {
  std::vector<LadderPoint> points =
      MakeOffOnPoints({{8'000'000, 2'000'000}, {4'000'000, 1'000'000}, {1'000'000, 2'000'000}});
  for (LadderPoint& point : points)
    if (point.level == "on") point.visible = {"sme", "sme2"};
  points.push_back({"sme", "=sme", {"sme"}, 1, 8'000'000});
  points.push_back({"sme", "=sme", {"sme"}, 2, 4'000'000});
  const Report report = MakeLadder(points);
  ASSERT_TRUE(report.ladder);
  EXPECT_THAT(report.ladder->thread_dependent_levels, IsEmpty());
  ASSERT_THAT(report.payoffs, SizeIs(2));
  EXPECT_EQ(report.payoffs[1].baseline, "sme");
  const PayoffRow& row = FindConvolution(report.payoffs[1]);
  EXPECT_EQ(row.speedups[1]->verdict, Verdict::kFaster);
  EXPECT_FALSE(row.speedups[2]);
  EXPECT_FALSE(report.payoffs[1].Stops());
}

TEST(Payoff, FindsWhereALevelStopsToPayOff) {
  const Report report =
      MakeLadder(MakeOffOnPoints({{8'000'000, 2'000'000}, {4'000'000, 3'000'000}, {2'000'000, 4'000'000}}));
  ASSERT_THAT(report.payoffs, SizeIs(1));
  const Payoff& payoff = report.payoffs[0];
  EXPECT_EQ(payoff.baseline, "off");
  EXPECT_EQ(payoff.candidate, "on");
  EXPECT_THAT(payoff.threads, ElementsAre(1, 2, 4));
  const PayoffRow& row = FindConvolution(payoff);
  EXPECT_EQ(row.speedups[0]->verdict, Verdict::kFaster);
  EXPECT_EQ(row.speedups[1]->verdict, Verdict::kFaster);
  EXPECT_EQ(row.speedups[2]->verdict, Verdict::kSlower);
  EXPECT_EQ(row.stops, 4);
  EXPECT_FALSE(row.never);
  EXPECT_EQ(payoff.latency.stops, 4);
  EXPECT_TRUE(payoff.Stops());
  // Equal speed is a stop; an operator that never pays off does not stop.
  const Report same = MakeLadder(
      MakeOffOnPoints({{8'000'000, 2'000'000}, {4'000'000, 4'000'000}, {2'000'000, 2'000'000}}), 7);
  EXPECT_EQ(FindConvolution(same.payoffs[0]).stops, 2);
  const auto gemm =
      std::ranges::find(payoff.operators, "Fully Connected (NC, F32) GEMM #1", &PayoffRow::name);
  ASSERT_NE(gemm, payoff.operators.end());
  EXPECT_TRUE(gemm->never);
  EXPECT_FALSE(gemm->stops);
}

TEST(Payoff, ALevelThatAlwaysPaysOffHasNoStop) {
  const Report report =
      MakeLadder(MakeOffOnPoints({{8'000'000, 2'000'000}, {4'000'000, 1'000'000}, {2'000'000, 500'000}}), 7);
  ASSERT_THAT(report.payoffs, SizeIs(1));
  EXPECT_FALSE(report.payoffs[0].Stops());
  EXPECT_FALSE(FindConvolution(report.payoffs[0]).never);
}

TEST(Payoff, NeedsAVerdictAtEachNumberOfThreads) {
  const auto row_of = [](std::vector<Verdict> verdicts) {
    Report report;
    Ladder ladder;
    ladder.levels.resize(2);
    ladder.latency.cells.assign(verdicts.size(), std::vector<LadderCell>(2));
    ladder.experiments.assign(verdicts.size(), {0, 0});
    for (std::size_t t = 0; t < verdicts.size(); ++t) {
      ladder.threads.push_back(static_cast<int>(t) + 1);
      ladder.latency.cells[t][1].over_below.emplace().verdict = verdicts[t];
    }
    report.ladder = ladder;
    return FindPayoffs(report).at(0).latency;
  };
  EXPECT_EQ(row_of({Verdict::kFaster, Verdict::kSame}).stops, 2);
  EXPECT_FALSE(row_of({Verdict::kFaster, Verdict::kInconclusive}).stops);
  EXPECT_FALSE(row_of({Verdict::kFaster, Verdict::kContended}).stops);
  EXPECT_FALSE(row_of({Verdict::kFaster, Verdict::kSlower, Verdict::kInconclusive}).stops);
  EXPECT_EQ(row_of({Verdict::kFaster, Verdict::kSlower, Verdict::kFaster, Verdict::kSame}).stops, 4);
  EXPECT_FALSE(row_of({Verdict::kSlower, Verdict::kFaster}).stops);
  EXPECT_FALSE(row_of({Verdict::kInconclusive, Verdict::kSame}).stops) << "it never paid off";
}

TEST(Payoff, ExperimentsWithoutAMaskHaveAllFeatures) {
  Report with = MakeLadder(MakeOffOnPoints({{8'000'000, 2'000'000}, {2'000'000, 4'000'000}}));
  RunData run = with.run;
  std::vector<std::optional<Profile>> profiles;
  for (const ReportExperiment& experiment : with.experiments) profiles.push_back(experiment.profile);
  for (ExperimentData& data : run.experiments) {
    if (data.isa == "all") data.isa.clear();
  }
  run.pairs.clear();
  const Report report = Assemble(run, profiles);
  EXPECT_FALSE(report.ladder);
  ASSERT_THAT(report.payoffs, SizeIs(1));
  EXPECT_EQ(FindConvolution(report.payoffs[0]).stops, 2);
  // Two experiments with other differences are not compared.
  run.experiments[0].model_sha256 = run.experiments[2].model_sha256 = "another";
  EXPECT_THAT(Assemble(run, profiles).payoffs, IsEmpty());
  // A single number of threads gives no payoff.
  EXPECT_THAT(MakeLadder(MakeOffOnPoints({{8'000'000, 2'000'000}})).payoffs, IsEmpty());
}

}  // namespace
}  // namespace etprof
