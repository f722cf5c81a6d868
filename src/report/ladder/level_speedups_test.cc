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

// Makes the measurements of two levels, without and with SME2, at 1, 2, 4, ... threads. `convolution` has the
// times of the convolution at both levels; all other times are equal.
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

const LevelSpeedupRow& FindConvolution(const LevelSpeedups& level_speedups) {
  const auto found = std::ranges::find_if(level_speedups.operators, [](const LevelSpeedupRow& row) {
    return row.name.starts_with("Convolution");
  });
  EXPECT_NE(found, level_speedups.operators.end());
  return *found;
}

// The level below was measured with fewer numbers of threads; with the others, the comparison would be with a
// different level.
TEST(LevelSpeedups, ComparesWithOneLevelOnly) {
  std::vector<LadderPoint> points =
      MakeOffOnPoints({{8'000'000, 2'000'000}, {4'000'000, 1'000'000}, {1'000'000, 2'000'000}});
  for (LadderPoint& point : points)
    if (point.level == "on") point.visible = {"sme", "sme2"};
  points.push_back({"sme", "=sme", {"sme"}, 1, 8'000'000});
  points.push_back({"sme", "=sme", {"sme"}, 2, 4'000'000});
  const Report report = MakeLadder(points);
  ASSERT_TRUE(report.ladder);
  EXPECT_THAT(report.ladder->thread_dependent_levels, IsEmpty());
  ASSERT_THAT(report.level_speedups, SizeIs(2));
  EXPECT_EQ(report.level_speedups[1].baseline, "sme");
  const LevelSpeedupRow& row = FindConvolution(report.level_speedups[1]);
  EXPECT_EQ(row.speedups[1]->verdict, Verdict::kFaster);
  EXPECT_FALSE(row.speedups[2]);
  EXPECT_FALSE(report.level_speedups[1].HasStoppingRow());
}

TEST(LevelSpeedups, FindsTheThreadsAtWhichALevelStopsHelping) {
  const Report report =
      MakeLadder(MakeOffOnPoints({{8'000'000, 2'000'000}, {4'000'000, 3'000'000}, {2'000'000, 4'000'000}}));
  ASSERT_THAT(report.level_speedups, SizeIs(1));
  const LevelSpeedups& level_speedups = report.level_speedups[0];
  EXPECT_EQ(level_speedups.baseline, "off");
  EXPECT_EQ(level_speedups.candidate, "on");
  EXPECT_THAT(level_speedups.threads, ElementsAre(1, 2, 4));
  const LevelSpeedupRow& row = FindConvolution(level_speedups);
  EXPECT_EQ(row.speedups[0]->verdict, Verdict::kFaster);
  EXPECT_EQ(row.speedups[1]->verdict, Verdict::kFaster);
  EXPECT_EQ(row.speedups[2]->verdict, Verdict::kSlower);
  EXPECT_EQ(row.stops_at_threads, 4);
  EXPECT_FALSE(row.never_faster);
  EXPECT_EQ(level_speedups.latency.stops_at_threads, 4);
  EXPECT_TRUE(level_speedups.HasStoppingRow());
  // From a level of equal speed on, a row stops; an operator that was never faster does not stop.
  const Report same = MakeLadder(
      MakeOffOnPoints({{8'000'000, 2'000'000}, {4'000'000, 4'000'000}, {2'000'000, 2'000'000}}), 7);
  EXPECT_EQ(FindConvolution(same.level_speedups[0]).stops_at_threads, 2);
  const auto gemm = std::ranges::find(level_speedups.operators, "Fully Connected (NC, F32) GEMM #1",
                                      &LevelSpeedupRow::name);
  ASSERT_NE(gemm, level_speedups.operators.end());
  EXPECT_TRUE(gemm->never_faster);
  EXPECT_FALSE(gemm->stops_at_threads);
}

TEST(LevelSpeedups, ALevelThatAlwaysHelpsDoesNotStop) {
  const Report report =
      MakeLadder(MakeOffOnPoints({{8'000'000, 2'000'000}, {4'000'000, 1'000'000}, {2'000'000, 500'000}}), 7);
  ASSERT_THAT(report.level_speedups, SizeIs(1));
  EXPECT_FALSE(report.level_speedups[0].HasStoppingRow());
  EXPECT_FALSE(FindConvolution(report.level_speedups[0]).never_faster);
}

TEST(LevelSpeedups, NeedsAVerdictAtEachNumberOfThreads) {
  const auto make_row = [](std::vector<Verdict> verdicts) {
    Report report;
    Ladder ladder;
    ladder.levels.resize(2);
    ladder.latency.cells.assign(verdicts.size(), std::vector<LadderCell>(2));
    ladder.experiments.assign(verdicts.size(), {0, 0});
    for (std::size_t t = 0; t < verdicts.size(); ++t) {
      ladder.threads.push_back(static_cast<int>(t) + 1);
      ladder.latency.cells[t][1].over_level_below.emplace().verdict = verdicts[t];
    }
    report.ladder = ladder;
    return FindLevelSpeedups(report).at(0).latency;
  };
  EXPECT_EQ(make_row({Verdict::kFaster, Verdict::kSame}).stops_at_threads, 2);
  EXPECT_FALSE(make_row({Verdict::kFaster, Verdict::kInconclusive}).stops_at_threads);
  EXPECT_FALSE(make_row({Verdict::kFaster, Verdict::kContended}).stops_at_threads);
  EXPECT_FALSE(make_row({Verdict::kFaster, Verdict::kSlower, Verdict::kInconclusive}).stops_at_threads);
  EXPECT_EQ(make_row({Verdict::kFaster, Verdict::kSlower, Verdict::kFaster, Verdict::kSame}).stops_at_threads,
            4);
  EXPECT_FALSE(make_row({Verdict::kSlower, Verdict::kFaster}).stops_at_threads);
  EXPECT_FALSE(make_row({Verdict::kInconclusive, Verdict::kSame}).stops_at_threads) << "it never paid off";
}

TEST(LevelSpeedups, ExperimentsWithoutAMaskHaveAllFeatures) {
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
  ASSERT_THAT(report.level_speedups, SizeIs(1));
  EXPECT_EQ(FindConvolution(report.level_speedups[0]).stops_at_threads, 2);
  // Two experiments with other differences are not compared.
  run.experiments[0].model_sha256 = run.experiments[2].model_sha256 = "another";
  EXPECT_THAT(Assemble(run, profiles).level_speedups, IsEmpty());
  // A single number of threads gives no level speedups.
  EXPECT_THAT(MakeLadder(MakeOffOnPoints({{8'000'000, 2'000'000}})).level_speedups, IsEmpty());
}

}  // namespace
}  // namespace etprof
