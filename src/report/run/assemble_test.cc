#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/golden_testing.h"
#include "report/example_run.h"
#include "report/report.h"

namespace etprof {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Assemble, TracedMeansPlusTracingAreTheMedian) {
  const Report report = example::MakePairReport();
  for (const ReportExperiment& experiment : report.experiments) {
    double sum = *experiment.tracer;
    for (const AdditiveRow& row : experiment.groups.rows)
      sum += static_cast<double>(row.total) / static_cast<double>(experiment.groups.runs);
    EXPECT_NEAR(sum, *experiment.latency.p50, 1e-3) << experiment.label;
  }
}

TEST(Assemble, OperatorsAndOverheadsAddUp) {
  const Report report = example::MakePairReport();
  for (const ReportExperiment& experiment : report.experiments) {
    Nanoseconds sum = 0;
    for (const OperatorRow& row : experiment.operators) sum += row.total_self;
    for (const OperatorGroup group : {OperatorGroup::kFrameworkOverhead, OperatorGroup::kDelegateOverhead}) {
      sum += experiment.groups.rows[static_cast<std::size_t>(group)].total;
    }
    EXPECT_EQ(sum + experiment.groups.rows.back().total, experiment.groups.total);
  }
}

TEST(Assemble, OpaqueCallsHaveNoOverhead) {
  Report report = example::MakePairReport();
  ReportExperiment& experiment = report.experiments[1];
  // Large enough to be reported.
  experiment.groups.rows[static_cast<std::size_t>(OperatorGroup::kDelegateOverhead)].total =
      experiment.groups.total;
  const auto calls = [&]() -> std::int64_t {
    for (const Finding& finding : MakeFindings(report)) {
      const auto* const overhead = std::get_if<finding::DelegateOverhead>(&finding.details);
      if (overhead != nullptr && finding.experiment == 1) return overhead->calls;
    }
    return 0;
  };
  const std::int64_t all = calls();
  ASSERT_GT(all, 0);
  for (Operator& op : experiment.profile->operators) {
    if (op.category.group != OperatorGroup::kDelegateOverhead) continue;
    op.category = {"OTHER", OperatorGroup::kOther, true};  // as for opaque calls
    break;
  }
  EXPECT_EQ(calls(), all - 1);
}

TEST(Assemble, TakesTheHeadlineFromUntracedRuns) {
  const Report pair = example::MakePairReport();
  EXPECT_FALSE(pair.experiments[0].latency_from_trace);
  EXPECT_EQ(pair.experiments[0].latency.n, 200);
  ASSERT_TRUE(pair.experiments[0].interval);
  EXPECT_EQ(pair.experiments[0].interval->launches, 10);
  EXPECT_LE(pair.experiments[0].interval->low, *pair.experiments[0].latency.p50);
  EXPECT_GE(pair.experiments[0].interval->high, *pair.experiments[0].latency.p50);

  const Report bare = example::MakeBareEtdumpReport();
  EXPECT_TRUE(bare.from_bare_etdumps);
  EXPECT_TRUE(bare.experiments[0].latency_from_trace);
  EXPECT_FALSE(bare.experiments[0].interval);
}

// A run that lost its processor is not clean, and is late.
TEST(Assemble, CountsLateRunsOfAllRuns) {
  RunData run;
  ExperimentData data = example::MakeExperiment("paced", 5'000'000);
  data.period = 16'000'000;
  const auto late = static_cast<std::int64_t>(data.launches.size());
  for (Launch& launch : data.launches) {
    Burst& burst = launch.bursts.front();
    burst.recorded.push_back(20'000'000);
    burst.recorded_wait.assign(burst.recorded.size(), 0);
    burst.recorded_wait.back() = 10'000'000;
  }
  run.experiments.push_back(std::move(data));
  const ReportExperiment paced = Assemble(std::move(run), {}).experiments[0];
  EXPECT_EQ(paced.late_runs, late);
  EXPECT_EQ(paced.latency_of_all.n, paced.latency.n + late);
}

// Like the interval of a pair: a stop rule with interim analyses needs more than 95 % at the last one.
TEST(Assemble, WidensTheIntervalForInterimAnalyses) {
  const auto interval = [](double interim_confidence) {
    RunData run;
    run.schedule.interim_confidence = interim_confidence;
    run.experiments.push_back(example::MakeExperiment("alone", 5'000'000));
    return *Assemble(std::move(run), {}).experiments[0].interval;
  };
  const LatencyInterval once = interval(0), often = interval(0.963);
  EXPECT_EQ(often.confidence, once.confidence);
  // Student's t of nine degrees of freedom: scipy.stats.t.ppf(0.9815, 9) / scipy.stats.t.ppf(0.975, 9).
  EXPECT_NEAR(std::log(often.high / often.low) / std::log(once.high / once.low), 1.0813, 0.005);
}

// All launches take 961 ns, but the clock cannot distinguish 960.6 from 961.4.
TEST(Assemble, IntervalsCoverTheClockTick) {
  const auto interval = [](Nanoseconds other) {
    RunData run;
    ExperimentData data = example::MakeExperiment("alone", 961);
    for (Launch& launch : data.launches) {
      for (Burst& burst : launch.bursts) {
        std::ranges::fill(burst.recorded, 961);
        burst.recorded.back() = other;
      }
    }
    run.experiments.push_back(std::move(data));
    return *Assemble(std::move(run), {}).experiments[0].interval;
  };
  EXPECT_EQ(interval(961).low, 960);
  EXPECT_EQ(interval(961).high, 962);
  EXPECT_EQ(interval(961 + 52).low, 961 - 52);  // a counter of 19.2 MHz
  EXPECT_EQ(interval(961 + 5000).low, 960);     // so far apart, the difference is an interruption, not a tick
}

TEST(Assemble, ComparesByLaunches) {
  const Report report = example::MakePairReport();
  ASSERT_EQ(report.comparisons.size(), 1u);
  const Comparison& comparison = report.comparisons[0].comparison;
  EXPECT_EQ(comparison.pairing, Pairing::kLaunches);
  EXPECT_EQ(comparison.latency.verdict, stats::Verdict::kFaster);
  EXPECT_NEAR(comparison.latency.estimate->ratio(), 2.5, 0.01);
  EXPECT_FALSE(report.noise_floor);
}

TEST(Assemble, FindsTheNoiseFloorOfEqualPairs) {
  RunData run;
  run.experiments = {example::MakeExperiment("a", 5'000'000), example::MakeExperiment("b", 5'000'000)};
  for (ExperimentData& data : run.experiments) {
    data.model_sha256 = data.runner_sha256 = data.configuration_sha256 = "00";
  }
  run.pairs.push_back({});
  run.pairs[0].candidate = 1;
  const Report report = Assemble(std::move(run), {});
  ASSERT_TRUE(report.noise_floor);
  EXPECT_LT(*report.noise_floor, 0.01);
}

TEST(Assemble, DifferentConfigurationsGiveNoNoiseFloor) {
  RunData run;
  run.experiments = {example::MakeExperiment("a", 5'000'000), example::MakeExperiment("b", 5'000'000)};
  for (ExperimentData& data : run.experiments) data.model_sha256 = data.runner_sha256 = "00";
  run.experiments[0].configuration_sha256 = "01";
  run.experiments[1].configuration_sha256 = "02";
  run.pairs.push_back({});
  run.pairs[0].candidate = 1;
  EXPECT_FALSE(Assemble(std::move(run), {}).noise_floor);
}

// Releases in one schedule, each compared with the one before. Release `changed` takes 5% more time than the
// others. All have noise of 1% between their launches.
Report AssembleReleases(int releases, int changed, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> noise(0, 0.01);
  RunData run;
  for (int release = 0; release < releases; ++release) {
    const std::string version = "1." + std::to_string(release);
    ExperimentData data = example::MakeExperiment(version, release == changed ? 5'250'000 : 5'000'000);
    data.executorch_version = version;
    for (Launch& launch : data.launches) {
      const double factor = std::exp(noise(generator));
      for (Burst& burst : launch.bursts) {
        for (Nanoseconds& latency : burst.recorded)
          latency = static_cast<Nanoseconds>(static_cast<double>(latency) * factor);
      }
    }
    run.experiments.push_back(std::move(data));
    const auto index = static_cast<std::size_t>(release);
    if (release > 0) run.pairs.push_back({.baseline = index - 1, .candidate = index});
  }
  return Assemble(std::move(run), {});
}

TEST(Assemble, NamesOnlyTheChangedRelease) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    for (const ReportComparison& pair : AssembleReleases(21, -1, seed).comparisons) {
      EXPECT_TRUE(pair.differs_in_release);
      EXPECT_THAT(pair.comparison.latency.verdict,
                  testing::AnyOf(stats::Verdict::kSame, stats::Verdict::kInconclusive))
          << pair.comparison.candidate_label;
    }
    for (const ReportComparison& pair : AssembleReleases(21, 10, seed).comparisons) {
      const stats::Verdict verdict = pair.comparison.latency.verdict;
      if (pair.candidate == 10) {
        EXPECT_EQ(verdict, stats::Verdict::kSlower);
      } else if (pair.candidate == 11) {
        EXPECT_EQ(verdict, stats::Verdict::kFaster);
      } else {
        EXPECT_THAT(verdict, testing::AnyOf(stats::Verdict::kSame, stats::Verdict::kInconclusive));
      }
      EXPECT_DOUBLE_EQ(*pair.half_width, pair.comparison.latency.estimate->half_width());
    }
  }
}

TEST(Assemble, AdjustsReleasesTogetherAndOtherPairsSeparately) {
  const Report two = AssembleReleases(2, 1, 1);
  const Report many = AssembleReleases(21, 1, 1);
  const auto width = [](const Report& report) { return *report.comparisons[0].half_width; };
  EXPECT_GT(width(many), width(two));
  Report other = AssembleReleases(21, 1, 1);
  for (ExperimentData& data : other.run.experiments) data.model_sha256 = data.name;
  other = Assemble(std::move(other.run), {});
  EXPECT_FALSE(other.comparisons[0].differs_in_release);
  EXPECT_DOUBLE_EQ(width(other), width(two));
}

// Two releases that export different programs, in all four combinations. The newer export takes `exporter`
// times as long, the newer runtime `runtime` times, and both together `interaction` times more than that. All
// have noise of 1% between their launches, which is a different one for each combination.
Report AssembleExports(double exporter, double runtime, double interaction = 1) {
  std::mt19937 generator(1);
  std::normal_distribution<double> noise(0, 0.01);
  RunData run;
  for (const auto& [release, exported, factor] :
       {std::tuple("1.4.1", "1.4.1", 1.0), std::tuple("1.5.0", "1.5.0", exporter * runtime * interaction),
        std::tuple("1.4.1", "1.5.0", exporter), std::tuple("1.5.0", "1.4.1", runtime)}) {
    ExperimentData data = example::MakeExperiment(std::string(release) + exported, 5'000'000);
    data.executorch_version = release;
    data.export_executorch_version = std::string(exported) + "+cpu";
    data.model_sha256 = exported;
    for (Launch& launch : data.launches) {
      const double launch_factor = factor * std::exp(noise(generator));
      for (Burst& burst : launch.bursts) {
        for (Nanoseconds& latency : burst.recorded)
          latency = static_cast<Nanoseconds>(static_cast<double>(latency) * launch_factor);
      }
    }
    run.experiments.push_back(std::move(data));
  }
  run.pairs = {
      {.baseline = 0, .candidate = 1}, {.baseline = 2, .candidate = 1}, {.baseline = 3, .candidate = 1}};
  return Assemble(std::move(run), {});
}

TEST(Assemble, AttributesAChangeToTheExporterOrTheRuntime) {
  using stats::Verdict;
  const auto expect = [](const TimeComparison& time_comparison, double ratio,
                         std::optional<Verdict> verdict) {
    ASSERT_TRUE(time_comparison.estimate);
    EXPECT_NEAR(time_comparison.estimate->ratio(), ratio, 0.02 * ratio);
    EXPECT_LE(time_comparison.estimate->low(), ratio);
    EXPECT_GE(time_comparison.estimate->high(), ratio);
    if (verdict) {
      EXPECT_EQ(time_comparison.verdict, *verdict);
    } else {
      EXPECT_THAT(time_comparison.verdict, testing::AnyOf(Verdict::kSame, Verdict::kInconclusive));
    }
  };
  struct Case {
    double exporter, runtime, interaction;
    std::optional<Verdict> exporter_verdict, runtime_verdict, interaction_verdict;
  };
  for (const Case& test_case :
       {Case{0.8, 1, 1, Verdict::kFaster, {}, {}}, Case{1, 1.2, 1, {}, Verdict::kSlower, {}},
        Case{0.8, 1.25, 1, Verdict::kFaster, Verdict::kSlower, {}},
        Case{1.5, 1, 0.64, Verdict::kSlower, Verdict::kFaster, Verdict::kFaster}}) {
    const Report report = AssembleExports(test_case.exporter, test_case.runtime, test_case.interaction);
    ASSERT_EQ(report.comparisons.size(), 3U);
    const ReportComparison& pair = report.comparisons[0];
    EXPECT_TRUE(pair.differs_in_release);
    EXPECT_TRUE(pair.ran_own_exports);
    ASSERT_TRUE(pair.effects);
    EXPECT_EQ(pair.effects->new_export, 2U);
    EXPECT_EQ(pair.effects->new_runtime, 3U);
    const double half = std::sqrt(test_case.interaction);  // main effects are averages over the other factor
    expect(pair.effects->exporter, 1 / (test_case.exporter * half), test_case.exporter_verdict);
    expect(pair.effects->runtime, 1 / (test_case.runtime * half), test_case.runtime_verdict);
    expect(pair.effects->interaction, 1 / test_case.interaction, test_case.interaction_verdict);
    EXPECT_FALSE(report.comparisons[1].ran_own_exports);
    EXPECT_FALSE(report.comparisons[2].ran_own_exports);
    EXPECT_TRUE(report.matrices.empty());
  }
}

TEST(Assemble, AttributesNothingWithoutAllFourCombinations) {
  RunData run = AssembleExports(0.8, 1).run;
  run.pairs.pop_back();
  run.experiments.pop_back();
  const Report report = Assemble(std::move(run), {});
  EXPECT_TRUE(report.comparisons[0].ran_own_exports);
  EXPECT_FALSE(report.comparisons[0].effects);

  run = AssembleExports(0.8, 1).run;
  for (ExperimentData& data : run.experiments) data.emulated = true;
  const Report emulated = Assemble(std::move(run), {});
  ASSERT_TRUE(emulated.comparisons[0].effects);
  EXPECT_EQ(emulated.comparisons[0].effects->runtime.verdict, stats::Verdict::kEmulated);

  run = AssembleExports(0.8, 1).run;
  run.experiments[3].launches.clear();
  const Report failed = Assemble(std::move(run), {});
  ASSERT_TRUE(failed.comparisons[0].effects);
  EXPECT_FALSE(failed.comparisons[0].effects->runtime.estimate);
  EXPECT_FALSE(failed.comparisons[0].effects->exporter.estimate);
  EXPECT_EQ(failed.comparisons[0].effects->runtime.verdict, stats::Verdict::kInconclusive);
}

TEST(Assemble, RefusesRunnersThatShouldDifferInSme2) {
  const auto assemble_runners = [](const char* preset, std::optional<bool> off, std::optional<bool> on) {
    RunData run;
    run.experiments = {example::MakeExperiment("off", 5'000'000), example::MakeExperiment("on", 2'000'000)};
    run.experiments[0].runner_built = RunnerBuildInfo{"android-arm64-v9a-sme2-off", "", off};
    run.experiments[1].runner_built = RunnerBuildInfo{preset, "", on};
    run.pairs.push_back({});
    run.pairs[0].candidate = 1;
    return Assemble(std::move(run), {});
  };
  const Report refused = assemble_runners("android-arm64-v9a", false, false);
  EXPECT_THAT(refused.comparisons, IsEmpty());
  EXPECT_THAT(refused.warnings,
              Contains("no comparison of off and on: the runners of android-arm64-v9a-sme2-off and "
                       "android-arm64-v9a both have no instructions of SME"));
  EXPECT_THAT(assemble_runners("android-arm64-v9a", true, true).comparisons, IsEmpty());
  EXPECT_THAT(assemble_runners("android-arm64-v9a", false, true).comparisons, SizeIs(1));
  // Runners are not refused if their instructions are not known, or if they need not differ.
  EXPECT_THAT(assemble_runners("android-arm64-v9a", std::nullopt, std::nullopt).comparisons, SizeIs(1));
  EXPECT_THAT(assemble_runners("android-arm64-v9a-sme2-off", false, false).comparisons, SizeIs(1));
  EXPECT_THAT(assemble_runners("", false, false).comparisons, SizeIs(1));
}

TEST(Assemble, ParsesBackendAndDataType) {
  const Report report = example::MakePairReport();
  EXPECT_EQ(report.backend, "xnnpack");
  EXPECT_EQ(report.dtype, "fp32");
}

TEST(Assemble, ListsCandidatesAndSingleExperiments) {
  Report report = example::MakePairReport();
  ASSERT_EQ(report.comparisons.size(), 1U);
  EXPECT_TRUE(IsInPair(report, 0) && IsInPair(report, 1));
  EXPECT_THAT(FindSubjects(report), ElementsAre(report.comparisons[0].candidate));
  report.comparisons.clear();
  EXPECT_FALSE(IsInPair(report, 0));
  EXPECT_THAT(FindSubjects(report), ElementsAre(0, 1));
}

TEST(Assemble, ListsPackedKernels) {
  const Report report = example::MakePairReport();
  EXPECT_TRUE(report.experiments[0].kernel_evidence.empty());
  EXPECT_THAT(report.experiments[1].kernel_evidence,
              ElementsAre("Convolution (NHWC, PF32) IGEMM", "Fully Connected (NC, PF32) GEMM"));
}

TEST(Assemble, CountsDataMovementByKind) {
  const auto movement = example::MakePairReport().experiments[0].movement;
  ASSERT_EQ(movement.size(), 1U);
  EXPECT_EQ(movement.at(Movement::kTranspose).operators, 2);
  EXPECT_NEAR(movement.at(Movement::kTranspose).ns, 400'004, 1);
}

TEST(Assemble, AcceptsEmptyRuns) {
  EXPECT_TRUE(Assemble({}, {}).experiments.empty());
  RunData run;
  run.experiments.resize(2);
  run.pairs.push_back({});
  run.pairs[0].candidate = 1;
  run.pairs.push_back({});
  run.pairs[1].candidate = 17;  // out of range
  const Report report = Assemble(std::move(run), {});
  EXPECT_TRUE(report.comparisons.empty());
  EXPECT_FALSE(report.experiments[0].latency.p50);
  ExpectGolden("report/report_of_empty_run", report.warnings);
}

TEST(Assemble, PairsOffWithOn) {
  RunData run;
  run.experiments = {example::MakeExperiment("mac_sme2_on", 2'000'000),
                     example::MakeExperiment("mac_sme2_off", 5'000'000)};
  const Report report = Assemble(std::move(run), {});
  ASSERT_EQ(report.comparisons.size(), 1u);
  EXPECT_EQ(report.comparisons[0].comparison.baseline_label, "mac_sme2_off");
}

TEST(MakeEtdumpRun, LabelsByTheDifferingPartsOfNames) {
  const auto labels = [](const char* a, const char* b) {
    const RunData run = MakeEtdumpRun({a, b}, {});
    return run.model_id + "|" + run.experiments[0].label + "|" + run.experiments[1].label;
  };
  EXPECT_EQ(labels("x/toy_cnn.sme2_off.etdump", "x/toy_cnn.sme2_on.etdump"), "toy_cnn|sme2_off|sme2_on");
  EXPECT_EQ(labels("toy_cnn_sme2_off_t1.etdump", "toy_cnn_sme2_on_t1.etdump"), "toy_cnn|sme2_off|sme2_on");
  EXPECT_EQ(labels("a/run.etdump", "b/run.etdump"), "run|run (A)|run (B)");
  EXPECT_EQ(labels("left.etdump", "right.etdump"), "|left|right");
  EXPECT_EQ(labels("a.etdump", "a.b.etdump"), "|a|a.b");
}

}  // namespace
}  // namespace etprof
