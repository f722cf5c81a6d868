
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/example_run.h"
#include "report/run/pair.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// An experiment with `threads` threads in which only the convolution, and with it the latency, scales.
void AddExperiment(RunData& run, std::vector<std::optional<Profile>>& profiles, const std::string& name,
                   int threads, Nanoseconds latency, Nanoseconds convolution) {
  run.experiments.push_back(example::MakeExperiment(name, latency));
  run.experiments.back().threads = threads;
  run.experiments.back().label = name + ", " + std::to_string(threads) + " threads";
  profiles.emplace_back(example::MakeProfile(name, convolution));
}

Report MakeSweep() {
  RunData run;
  run.model_id = "net";
  std::vector<std::optional<Profile>> profiles;
  AddExperiment(run, profiles, "on", 4, 2'000'000, 1'000'000);
  AddExperiment(run, profiles, "on", 1, 5'000'000, 4'000'000);
  AddExperiment(run, profiles, "on", 2, 3'000'000, 2'000'000);
  return Assemble(std::move(run), std::move(profiles));
}

TEST(Matrix, ComparesASweepWithTheFewestThreads) {
  const Report report = MakeSweep();
  ASSERT_THAT(report.matrices, SizeIs(1));
  const Matrix& matrix = report.matrices[0];
  EXPECT_TRUE(matrix.is_thread_sweep);
  EXPECT_TRUE(matrix.interleaved);
  EXPECT_EQ(matrix.baseline, 1u);
  EXPECT_THAT(matrix.candidates, ElementsAre(2u, 0u));
  // The latency has a jitter of some µs.
  EXPECT_NEAR(*ScalingEfficiency(matrix.latency.cells[0], 1, 2), 5.0 / 3 / 2, 0.01);
  EXPECT_NEAR(*ScalingEfficiency(matrix.latency.cells[1], 1, 4), 5.0 / 2 / 4, 0.01);
  const MatrixRow& slowest = matrix.operators[0];
  EXPECT_EQ(slowest.name, "Convolution (NHWC, F32) IGEMM #1");
  EXPECT_NEAR(*ScalingEfficiency(slowest.cells[0], 1, 2), 1, 0.01);
  EXPECT_NEAR(*ScalingEfficiency(slowest.cells[1], 1, 4), 1, 0.01);
  EXPECT_EQ(slowest.cells[1].verdict, stats::Verdict::kFaster);
  for (const MatrixRow& row : matrix.operators) {
    if (row.name != "mean.out" && row.name != "native_call_mean.out") continue;
    EXPECT_NEAR(*ScalingEfficiency(row.cells[1], 1, 4), 0.25, 0.001) << "what does not scale";
  }
  for (const MatrixRow& row : matrix.groups) {
    if (row.name != "GEMM") continue;
    EXPECT_NEAR(*ScalingEfficiency(row.cells[0], 1, 2), 0.5, 0.001);
  }
}

TEST(Matrix, JoinsComparisonsWithOneBaseline) {
  RunData run;
  std::vector<std::optional<Profile>> profiles;
  for (const auto& [name, latency] :
       {std::pair{"base", 5'000'000}, std::pair{"a", 2'500'000}, std::pair{"b", 5'000'000}}) {
    run.experiments.push_back(example::MakeExperiment(name, latency));
    profiles.emplace_back(example::MakeProfile(name, latency - 1'000'000));
  }
  for (const std::size_t candidate : {1U, 2U}) {
    ComparePair pair;
    pair.candidate = candidate;
    run.pairs.push_back(pair);
  }
  const Report report = Assemble(std::move(run), std::move(profiles));
  ASSERT_THAT(report.matrices, SizeIs(1));
  const Matrix& matrix = report.matrices[0];
  EXPECT_FALSE(matrix.is_thread_sweep);
  EXPECT_THAT(matrix.candidates, ElementsAre(1u, 2u));
  EXPECT_EQ(matrix.latency.cells[0].verdict, stats::Verdict::kFaster);
  EXPECT_EQ(matrix.latency.cells[1].verdict, stats::Verdict::kSame);
  EXPECT_NEAR(*SpeedupRatio(matrix.latency.cells[0]), 2, 0.01);
  ASSERT_THAT(matrix.costs, SizeIs(2));
  EXPECT_EQ(matrix.costs[0].load.verdict, stats::Verdict::kSame);
}

TEST(Matrix, KeepsTheBaselinesTimesIfACandidateHasNoTrace) {
  for (const bool one_is_traced : {true, false}) {
    RunData run;
    std::vector<std::optional<Profile>> profiles;
    for (const char* const name : {"base", "untraced", "other"}) {
      run.experiments.push_back(example::MakeExperiment(name, 5'000'000));
      profiles.emplace_back();
      if (profiles.size() == 1 || (one_is_traced && profiles.size() == 3))
        profiles.back() = example::MakeProfile(name, 4'000'000);
      if (profiles.size() > 1) run.pairs.push_back({.candidate = profiles.size() - 1});
    }
    const Report report = Assemble(std::move(run), std::move(profiles));
    ASSERT_THAT(report.matrices, SizeIs(1));
    const Matrix& matrix = report.matrices[0];
    ASSERT_THAT(matrix.operators, Not(IsEmpty()));
    ASSERT_THAT(matrix.groups, Not(IsEmpty()));
    double operators = 0, groups = 0;
    for (const MatrixRow& row : matrix.operators) {
      EXPECT_FALSE(row.cells[0].baseline_ns);
      EXPECT_EQ(row.cells[1].baseline_ns.has_value(), one_is_traced);
      operators += row.baseline_ns.value();
    }
    for (const MatrixRow& row : matrix.groups) groups += row.baseline_ns.value();
    const ReportExperiment& baseline = report.experiments[0];
    double total = 0;
    for (const OperatorRow& row : baseline.operators) total += row.mean_self_ns;
    EXPECT_NEAR(operators, total, 1e-6);
    EXPECT_NEAR(groups, *baseline.MeanExecute(), 1e-6);
  }
}

TEST(Matrix, IsAbsentForASinglePair) {
  EXPECT_THAT(example::MakePairReport().matrices, IsEmpty());
  EXPECT_THAT(example::MakeBareEtdumpReport().matrices, IsEmpty());
}

TEST(Matrix, EqualNumbersOfThreadsAreNoSweep) {
  RunData run;
  std::vector<std::optional<Profile>> profiles;
  AddExperiment(run, profiles, "on", 2, 5'000'000, 4'000'000);
  AddExperiment(run, profiles, "on", 2, 3'000'000, 2'000'000);
  EXPECT_THAT(Assemble(std::move(run), std::move(profiles)).matrices, IsEmpty());
}

TEST(Matrix, EmulatedCpusHaveNoEfficiency) {
  TimeComparison time_comparison;
  time_comparison.baseline_ns = 4;
  time_comparison.candidate_ns = 2;
  EXPECT_EQ(ScalingEfficiency(time_comparison, 1, 2), 1.0);
  time_comparison.verdict = stats::Verdict::kEmulated;
  EXPECT_FALSE(ScalingEfficiency(time_comparison, 1, 2));
  time_comparison = {};
  EXPECT_FALSE(SpeedupRatio(time_comparison));
}

TEST(StartupCosts, PairsByLaunch) {
  RunData run;
  run.experiments = {example::MakeExperiment("a", 5'000'000), example::MakeExperiment("b", 5'000'000)};
  for (std::size_t i = 0; i < 10; ++i) {
    // Launches differ by far more than the variants.
    const auto drift = static_cast<std::int64_t>(i * 1'000'000);
    run.experiments[0].launches[i].load = 2'000'000 + drift;
    run.experiments[1].launches[i].load = (2'000'000 + drift) * 11 / 10;
    run.experiments[0].launches[i].peak_rss = 40'000'000;
    run.experiments[1].launches[i].peak_rss = 20'000'000;
  }
  run.pairs.push_back({});
  run.pairs[0].candidate = 1;
  const Report report = Assemble(std::move(run), {});
  const StartupCosts& costs = report.comparisons[0].costs;
  EXPECT_EQ(costs.load.verdict, stats::Verdict::kSlower);
  EXPECT_NEAR(costs.load.estimate->ratio(), 1 / 1.1, 1e-6);
  EXPECT_EQ(costs.peak_memory.verdict, stats::Verdict::kFaster);
  EXPECT_NEAR(*costs.peak_memory.candidate, 20e6, 1);
  EXPECT_EQ(costs.first_run.verdict, stats::Verdict::kSame);
  RunData few = report.run;
  few.experiments[1].launches.resize(4);
  EXPECT_FALSE(CompareStartupCosts({few, report.experiments[0], report.experiments[1]}, true).load.estimate);
  const StartupCosts apart =
      CompareStartupCosts({report.run, report.experiments[0], report.experiments[1]}, false);
  EXPECT_FALSE(apart.load.estimate) << "launches of different runs have nothing to do with each other";
  EXPECT_EQ(apart.load.baseline, report.experiments[0].load);
}

// A process that had to wait has no clean load time. The means must be of the launches that the change is
// computed from, so that they do not contradict it.
TEST(StartupCosts, ShowsTheMeansOfTheComparedLaunches) {
  RunData run;
  run.experiments = {example::MakeExperiment("a", 5'000'000), example::MakeExperiment("b", 5'000'000)};
  for (std::size_t i = 0; i < 10; ++i) {
    const std::int64_t load = i < 4 ? 1'000'000 : 2'000'000;
    run.experiments[0].launches[i].load = load;
    run.experiments[1].launches[i].load = load;
    run.experiments[0].launches[i].peak_rss = i < 2 ? 50'000'000 : 40'000'000;
    run.experiments[1].launches[i].peak_rss = i < 2 ? std::nullopt : std::optional<Bytes>(40'000'000);
    if (i >= 6) run.experiments[1].launches[i].load_wait = 1'900'000;
  }
  run.pairs.push_back({});
  run.pairs[0].candidate = 1;
  const StartupCosts costs = Assemble(std::move(run), {}).comparisons[0].costs;
  EXPECT_EQ(costs.load.verdict, stats::Verdict::kSame);
  EXPECT_EQ(costs.load.baseline, costs.load.candidate);
  EXPECT_EQ(costs.peak_memory.verdict, stats::Verdict::kSame);
  EXPECT_EQ(costs.peak_memory.baseline, costs.peak_memory.candidate);
}

// Four of the baseline's ten processes need less memory, so its median is that of the candidate, though there
// is a change.
TEST(StartupCosts, ShowsValuesWhoseRatioIsTheChange) {
  RunData run;
  run.experiments = {example::MakeExperiment("a", 5'000'000), example::MakeExperiment("b", 5'000'000)};
  for (std::size_t i = 0; i < 10; ++i) {
    run.experiments[0].launches[i].peak_rss = i % 2 == 0 || i == 1 ? 34'000'000 : 31'000'000;
    run.experiments[1].launches[i].peak_rss = 34'000'000;
  }
  run.pairs.push_back({});
  run.pairs[0].candidate = 1;
  const StartupCost cost = Assemble(std::move(run), {}).comparisons[0].costs.peak_memory;
  ASSERT_TRUE(cost.estimate && cost.baseline && cost.candidate);
  EXPECT_NEAR(std::log(*cost.baseline / *cost.candidate), cost.estimate->log_ratio, 1e-12);
  EXPECT_LT(*cost.baseline, 33'000'000);
}

}  // namespace
}  // namespace etprof
