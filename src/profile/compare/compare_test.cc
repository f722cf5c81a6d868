#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <regex>

#include "core/golden_testing.h"
#include "format/etdump/reader.h"
#include "format/etdump/testing.h"
#include "profile/compare/comparison.h"

namespace etprof {
namespace {

using ::etprof::handmade::TraceBuilder;
using ::testing::Contains;
using ::testing::IsEmpty;
const std::string kData = ETPROF_TEST_DATA;

struct SimulatedVariant {
  Profile profile;
  std::vector<UntracedBurst> bursts;
};

// Simulates 10 launches of 7 rounds with 2 traced runs each: a convolution of `convolution` ns and an
// addition of 1000 ns, with 1 % of noise; seeded. Other processes disturb every run of the first `disturbed`
// launches, traced or not. The operators' times are rounded down to whole ticks (ns).
SimulatedVariant Simulate(double convolution, unsigned seed, int disturbed = 0, Nanoseconds tick = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> noise(0, 0.01);
  TraceBuilder builder;
  AttributeOptions options;
  SimulatedVariant result;
  Nanoseconds at = 0;
  for (int launch = 0; launch < 10; ++launch) {
    const double launch_effect = noise(generator);
    for (int round = 0; round < 7; ++round) {
      UntracedBurst burst{launch, round, {}, 2};
      for (int run = 0; run < 2; ++run) {
        const double factor = std::exp(launch_effect + noise(generator));
        const auto conv = static_cast<Nanoseconds>(convolution * factor) / tick * tick;
        const auto add = static_cast<Nanoseconds>(1000 * factor) / tick * tick;
        builder.Block("Execute")
            .Backend(0, "Convolution (NHWC, F32) IGEMM #1", at, at + conv)
            .Backend(0, "Add (ND) #1", at + conv, at + conv + add)
            .Framework(0, "DELEGATE_CALL", at, at + conv + add)
            .Framework(-1, "Method::execute", at, at + conv + add);
        if (launch >= disturbed) burst.latency.push_back(conv + add);
        options.labels.push_back({launch, round, launch >= disturbed ? Phase::kSteady : Phase::kDisturbed});
        at += 1'000'000;
      }
      result.bursts.push_back(std::move(burst));
    }
  }
  result.profile = Attribute(builder.Take(), options);
  return result;
}

// Without an interval, no drift is in it.
TEST(Compare, WarnsOfDriftOnlyWithAnInterval) {
  const auto make_profile = [](int runs) {
    TraceBuilder builder;
    for (int run = 0; run < runs; ++run) {
      const Nanoseconds at = 10'000 * run, end = at + 5000 + run % 3;
      builder.Block("Execute").Framework(-1, "Method::execute", at, end);
    }
    return Attribute(builder.Take(), {});
  };
  for (const int runs : {3, 30}) {
    const Profile profile = make_profile(runs);
    ComparedVariant variant;
    variant.profile = &profile;
    const Comparison comparison = Compare(variant, variant);
    EXPECT_EQ(comparison.latency.estimate.has_value(), runs == 30);
    EXPECT_EQ(comparison.warnings.size(), runs == 30 ? 1U : 0U) << runs;
  }
}

// The deltas of the rows add up exactly to the total delta, so compute them as integers.
__extension__ typedef __int128 Int128;
Int128 Delta(const Comparison& comparison, Nanoseconds baseline, Nanoseconds candidate) {
  return static_cast<Int128>(candidate) * comparison.baseline_runs -
         static_cast<Int128>(baseline) * comparison.candidate_runs;
}

void ExpectDeltasAddUp(const Comparison& comparison) {
  const Int128 total_delta = Delta(comparison, comparison.baseline_total, comparison.candidate_total);
  Int128 operators = Delta(comparison, comparison.baseline_clipped, comparison.candidate_clipped);
  for (const OperatorMatch& match : comparison.operators)
    operators += Delta(comparison, match.baseline_total, match.candidate_total);
  EXPECT_TRUE(operators == total_delta);
  for (const auto* rows : {&comparison.groups, &comparison.categories}) {
    Int128 sum = 0;
    for (const DeltaRow& row : *rows) sum += Delta(comparison, row.baseline_total, row.candidate_total);
    EXPECT_TRUE(sum == total_delta);
  }
}

const DeltaRow& FindRow(const std::vector<DeltaRow>& rows, const std::string& name) {
  for (const DeltaRow& row : rows) {
    if (row.name == name) return row;
  }
  throw std::runtime_error("no row " + name);
}

TEST(Compare, FindsTheOperatorThatBecameFaster) {
  const SimulatedVariant slow = Simulate(10'000, 1);
  const SimulatedVariant fast = Simulate(4'000, 2);
  const Comparison comparison =
      Compare({"off", &slow.profile, slow.bursts}, {"on", &fast.profile, fast.bursts});
  EXPECT_EQ(comparison.pairing, Pairing::kLaunches);
  EXPECT_EQ(comparison.launches, 10);
  EXPECT_EQ(comparison.rounds, 70);
  EXPECT_EQ(comparison.latency.verdict, stats::Verdict::kFaster);
  ASSERT_TRUE(comparison.latency.estimate.has_value());
  EXPECT_NEAR(comparison.latency.estimate->ratio(), 11.0 / 5.0, 0.05);
  const DeltaRow& convolution = FindRow(comparison.groups, "Convolution");
  EXPECT_EQ(convolution.time_comparison.verdict, stats::Verdict::kFaster);
  EXPECT_NEAR(convolution.time_comparison.estimate->ratio(), 2.5, 0.06);
  EXPECT_NE(FindRow(comparison.groups, "Elementwise").time_comparison.verdict, stats::Verdict::kFaster);
  ExpectDeltasAddUp(comparison);
}

TEST(Compare, TooFewCleanLaunchesAreContendedAndHaveNoRatio) {
  const SimulatedVariant fast = Simulate(4'000, 2);
  for (const int disturbed : {5, 9, 10}) {
    SCOPED_TRACE(disturbed);
    const SimulatedVariant slow = Simulate(10'000, 1, disturbed);
    const Comparison comparison =
        Compare({"off", &slow.profile, slow.bursts}, {"on", &fast.profile, fast.bursts});
    EXPECT_EQ(comparison.latency.verdict, stats::Verdict::kContended);
    EXPECT_FALSE(comparison.latency.estimate);
    EXPECT_EQ(comparison.baseline_clean.clean, 140 - 14 * disturbed);
    EXPECT_EQ(comparison.baseline_clean.all, 140);
    EXPECT_EQ(comparison.candidate_clean.clean, 140);
    for (const auto* rows : {&comparison.groups, &comparison.categories}) {
      for (const DeltaRow& row : *rows) EXPECT_FALSE(row.time_comparison.estimate) << row.name;
    }
    for (const OperatorMatch& match : comparison.operators) {
      EXPECT_EQ(match.time_comparison.verdict, stats::Verdict::kContended);
      EXPECT_FALSE(match.time_comparison.estimate);
    }
    ExpectDeltasAddUp(comparison);
    const std::vector<DeltaRow> sets = CompareSets({"off", &slow.profile, slow.bursts},
                                                   {"on", &fast.profile, fast.bursts}, {{"conv", {0}, {0}}});
    EXPECT_EQ(sets[0].time_comparison.verdict, stats::Verdict::kContended);
  }
}

TEST(Compare, WaitingWidensTheIntervals) {
  const SimulatedVariant slow = Simulate(10'000, 1);
  const SimulatedVariant fast = Simulate(4'000, 2);
  ComparedVariant off{"off", &slow.profile, slow.bursts};
  ComparedVariant on{"on", &fast.profile, fast.bursts};
  off.settings = "-sme2";
  const Comparison quiet = Compare(off, on);
  on.waited_share = 0.2;
  off.waited_share = 0.5;
  const Comparison busy = Compare(off, on);
  const auto expect_longer = [](const TimeComparison& before, const TimeComparison& after) {
    EXPECT_NEAR(after.estimate->log_low, before.estimate->log_low - 0.5 * kWaitingErrorFactor, 1e-12);
    EXPECT_NEAR(after.estimate->log_high, before.estimate->log_high + 0.5 * kWaitingErrorFactor, 1e-12);
  };
  expect_longer(quiet.latency, busy.latency);
  EXPECT_EQ(busy.latency.verdict, stats::Verdict::kFaster);
  EXPECT_EQ(FindRow(busy.groups, "Convolution").time_comparison.estimate->systematic_error,
            0.5 * kWaitingErrorFactor);
  // A model that is the same on a quiet machine is inconclusive here, unless both variants do the same work
  // in the same way.
  const Comparison self_comparison =
      Compare({"a", &slow.profile, slow.bursts}, {"b", &slow.profile, slow.bursts});
  EXPECT_EQ(self_comparison.latency.verdict, stats::Verdict::kSame);
  EXPECT_EQ(Compare(off, {"b", &slow.profile, slow.bursts}).latency.verdict, stats::Verdict::kInconclusive);
  off.settings = "";
  const Comparison equal_work = Compare(off, {"b", &slow.profile, slow.bursts});
  EXPECT_EQ(equal_work.latency.verdict, stats::Verdict::kSame);
  EXPECT_EQ(equal_work.latency.estimate->systematic_error, 0);
  // More launches may decide between off and on, but do not shorten an interval that only a shared error
  // makes too long.
  EXPECT_TRUE(busy.latency.MoreLaunchesMayDecide(0.01));
  off.settings = "-sme2";
  EXPECT_FALSE(Compare(off, {"b", &slow.profile, slow.bursts}).latency.MoreLaunchesMayDecide(0.01));
  off.settings = "";
  // The error is weighted by the differing share: the convolution takes 6 of 10 us less, and all else is
  // equal.
  EXPECT_NEAR(Compare(off, on).latency.estimate->systematic_error, 0.57 * 0.5 * kWaitingErrorFactor, 0.01);
}

// Only one of two releases has an event tracer, which reads the clock at every operator even while idle.
TEST(Compare, AllowsForTheIdleTracerOfOneRelease) {
  const SimulatedVariant old_release = Simulate(100'000, 1);
  const auto compare = [&](double time_factor, const std::string& release, std::optional<double> read_ns,
                           bool traced_first = false, bool old_is_traced = false) {
    const SimulatedVariant new_release = Simulate(time_factor * 100'000, 2);
    ComparedVariant untraced{"1.4", old_is_traced ? &old_release.profile : nullptr, old_release.bursts};
    untraced.executorch = "1.4.1";
    ComparedVariant traced{"now", &new_release.profile, new_release.bursts};
    traced.executorch = release;
    traced.clock_read_ns = read_ns;
    return traced_first ? Compare(traced, untraced) : Compare(untraced, traced);
  };
  CaseMessages warnings;
  const auto operators = static_cast<double>(old_release.profile.operators.size());
  const double read_ns = 0.04 * 101'000 / operators / kIdleTracerReads;  // 4% of the latency

  const Comparison same_release = compare(1.04, "1.4.1", read_ns);
  EXPECT_EQ(same_release.latency.verdict, stats::Verdict::kSlower);
  EXPECT_THAT(same_release.warnings, IsEmpty());
  EXPECT_EQ(compare(1.04, "1.5.0", read_ns, false, true).latency.verdict, stats::Verdict::kSlower);

  for (const bool traced_first : {false, true}) {
    SCOPED_TRACE(traced_first);
    const Comparison within = compare(1.04, "1.5.0", read_ns, traced_first);
    EXPECT_EQ(within.latency.verdict, stats::Verdict::kInconclusive);
    ASSERT_EQ(within.warnings.size(), 1U);
    const std::regex percentage("[0-9.]+%");  // depends on the random numbers of the standard library
    warnings.emplace_back("known cost", std::regex_replace(within.warnings[0], percentage, "N%"));
    EXPECT_NEAR(within.latency.estimate->ratio(), same_release.latency.estimate->ratio(),
                traced_first ? 0.1 : 1e-9);
    EXPECT_NEAR(within.latency.estimate->systematic_error, std::log(1.04), 0.003);
    const stats::Verdict beyond = traced_first ? stats::Verdict::kFaster : stats::Verdict::kSlower;
    EXPECT_EQ(compare(1.15, "1.5.0", read_ns, traced_first).latency.verdict, beyond);
    // If the clock's cost is unknown, the verdict is neither faster nor slower.
    const Comparison unknown = compare(1.5, "1.5.0", {}, traced_first);
    EXPECT_EQ(unknown.latency.verdict, stats::Verdict::kInconclusive);
    ASSERT_EQ(unknown.warnings.size(), 1U);
    warnings.emplace_back("unknown cost", unknown.warnings[0]);
  }
  ExpectGoldenMessages("profile/idle_tracer_warnings", warnings);
}

// With an added tracer both releases read the clock, so the tracer does not cause the difference.
TEST(Compare, ReportsTheMaximumCostOfAnAddedTracer) {
  const SimulatedVariant old_release = Simulate(100'000, 1), new_release = Simulate(104'000, 2);
  ComparedVariant untraced{"1.4", &old_release.profile, old_release.bursts},
      traced{"now", &new_release.profile, new_release.bursts};
  untraced.executorch = "1.4.1";
  untraced.tracer_added = true;
  traced.executorch = "1.5.0";
  const double read_ns =
      0.02 * 105'000 / static_cast<double>(new_release.profile.operators.size()) / kIdleTracerReads;
  traced.clock_read_ns = read_ns;
  const auto has_warning = [&](const std::string& bound) {
    return Contains(
        "1.4 has no event tracer and was measured with one, as now has: without it, it is faster by " +
        bound);
  };
  const Comparison comparison = Compare(untraced, traced);
  EXPECT_EQ(comparison.latency.verdict, stats::Verdict::kSlower);
  EXPECT_EQ(comparison.latency.estimate->systematic_error, 0);
  EXPECT_THAT(comparison.warnings, has_warning("at most 2%"));
  traced.clock_read_ns.reset();
  EXPECT_THAT(Compare(traced, untraced).warnings, has_warning("an unknown share"));
  traced.tracer_added = true;
  EXPECT_THAT(Compare(untraced, traced).warnings, IsEmpty());
}

TEST(Compare, SixCleanLaunchesAreEnough) {
  const SimulatedVariant fast = Simulate(4'000, 2);
  const SimulatedVariant slow = Simulate(10'000, 1, 4);
  const Comparison comparison =
      Compare({"off", &slow.profile, slow.bursts}, {"on", &fast.profile, fast.bursts});
  EXPECT_EQ(comparison.latency.verdict, stats::Verdict::kFaster);
  EXPECT_EQ(comparison.launches, 6);
  EXPECT_NEAR(comparison.latency.estimate->ratio(), 11.0 / 5.0, 0.05);
  EXPECT_EQ(FindRow(comparison.groups, "Convolution").time_comparison.verdict, stats::Verdict::kFaster);
  ExpectDeltasAddUp(comparison);
}

TEST(Compare, FewCleanLaunchesAreNotContended) {
  SimulatedVariant slow = Simulate(10'000, 1);
  SimulatedVariant fast = Simulate(4'000, 2);
  for (SimulatedVariant* variant : {&slow, &fast}) {
    std::erase_if(variant->bursts, [](const UntracedBurst& burst) { return burst.launch >= 3; });
    for (UntracedBurst& burst : variant->bursts) burst.runs = 2;
  }
  const Comparison comparison = Compare({"off", nullptr, slow.bursts}, {"on", nullptr, fast.bursts});
  EXPECT_EQ(comparison.launches, 3);
  EXPECT_EQ(comparison.latency.verdict, stats::Verdict::kFaster);
  // With one launch disturbed, only two of the three measured launches are left.
  for (UntracedBurst& burst : slow.bursts) {
    if (burst.launch == 0) burst.latency.clear();
  }
  EXPECT_EQ(Compare({"off", nullptr, slow.bursts}, {"on", nullptr, fast.bursts}).latency.verdict,
            stats::Verdict::kContended);
}

TEST(Compare, EmulationPrecedesContention) {
  const SimulatedVariant slow = Simulate(10'000, 1, 10);
  ComparedVariant variant{"off", &slow.profile, slow.bursts};
  variant.emulated = true;
  const Comparison comparison = Compare(variant, variant);
  EXPECT_EQ(comparison.latency.verdict, stats::Verdict::kEmulated);
}

TEST(Compare, AnExperimentIsNotFasterThanItself) {
  const SimulatedVariant a = Simulate(10'000, 3);
  const SimulatedVariant b = Simulate(10'000, 4);
  const Comparison comparison = Compare({"a", &a.profile, a.bursts}, {"a again", &b.profile, b.bursts});
  EXPECT_LE(comparison.latency.estimate->log_low, 0);
  EXPECT_GE(comparison.latency.estimate->log_high, 0);
  for (const OperatorMatch& match : comparison.operators) {
    EXPECT_NE(match.time_comparison.verdict, stats::Verdict::kFaster);
    EXPECT_NE(match.time_comparison.verdict, stats::Verdict::kSlower);
  }
  ExpectDeltasAddUp(comparison);
}

const OperatorMatch& FindConvolutionMatch(const SimulatedVariant& baseline, const Comparison& comparison) {
  for (const OperatorMatch& match : comparison.operators) {
    if (match.baseline && baseline.profile.operators[*match.baseline].name.starts_with("Convolution")) {
      return match;
    }
  }
  throw std::runtime_error("no convolution");
}

// A memory layout can cause the same difference of 200 ns in every launch, so no number of launches makes it
// significant.
TEST(Compare, DoesNotCallADifferenceBelowTheResolution) {
  const SimulatedVariant low = Simulate(300, 5);
  const SimulatedVariant high = Simulate(500, 6);
  for (const bool is_slower : {true, false}) {
    const SimulatedVariant& a = is_slower ? low : high;
    const SimulatedVariant& b = is_slower ? high : low;
    const Comparison comparison = Compare({"a", &a.profile, a.bursts}, {"copy", &b.profile, b.bursts});
    for (const TimeComparison& time_comparison :
         {FindConvolutionMatch(a, comparison).time_comparison,
          FindRow(comparison.groups, "Convolution").time_comparison}) {
      EXPECT_EQ(time_comparison.verdict, stats::Verdict::kInconclusive);
      ASSERT_TRUE(time_comparison.estimate.has_value());
      EXPECT_NEAR(time_comparison.estimate->ratio(), is_slower ? 0.6 : 5.0 / 3, 0.05);
      EXPECT_LE(time_comparison.estimate->log_low, 0);  // the interval agrees
      EXPECT_GE(time_comparison.estimate->log_high, 0);
      EXPECT_EQ(time_comparison.estimate->p_value, 1);
    }
    // The difference does not count as a discovery either: with one discovery among two operators, the
    // confidence would be 95%.
    EXPECT_DOUBLE_EQ(FindConvolutionMatch(a, comparison).time_comparison.estimate->confidence, 1 - 0.05 / 2);
    ExpectDeltasAddUp(comparison);
  }
}

TEST(Compare, CallsADifferenceAboveTheResolution) {
  const SimulatedVariant slow = Simulate(100'000, 5);
  const SimulatedVariant fast = Simulate(80'000, 6);
  const Comparison comparison = Compare({"a", &slow.profile, slow.bursts}, {"b", &fast.profile, fast.bursts});
  const TimeComparison& time_comparison = FindConvolutionMatch(slow, comparison).time_comparison;
  EXPECT_EQ(time_comparison.verdict, stats::Verdict::kFaster);
  EXPECT_NEAR(time_comparison.estimate->ratio(), 1.25, 0.02);
  EXPECT_GT(time_comparison.estimate->log_low, 0);
}

// 9.6 µs are recorded as 9 µs, and 7.3 µs as 7 µs.
TEST(Compare, IntervalsCoverTheRoundingToMicroseconds) {
  const SimulatedVariant slow = Simulate(9'600, 1, 0, 1000);
  const SimulatedVariant fast = Simulate(7'300, 2, 0, 1000);
  const Comparison comparison = Compare({"off", &slow.profile, {}}, {"on", &fast.profile, {}});
  const TimeComparison& convolution = FindRow(comparison.groups, "Convolution").time_comparison;
  ASSERT_TRUE(convolution.estimate.has_value());
  EXPECT_NEAR(convolution.estimate->ratio(), 9.0 / 7, 0.01);
  EXPECT_GT(convolution.estimate->high(), 9.6 / 7.3);
  EXPECT_GT(convolution.estimate->low(), 1);
  EXPECT_EQ(convolution.verdict, stats::Verdict::kFaster);
  // A clock of nanoseconds has no such error.
  const SimulatedVariant exact_slow = Simulate(9'600, 1);
  const SimulatedVariant exact_fast = Simulate(7'300, 2);
  const Comparison exact = Compare({"off", &exact_slow.profile, {}}, {"on", &exact_fast.profile, {}});
  EXPECT_LT(FindRow(exact.groups, "Convolution").time_comparison.estimate->high(), 1.34);
}

TEST(Compare, OneMicrosecondOfRoundedTimesIsNoEvidence) {
  for (const auto& [a, b] : {std::pair{2'600, 1'600}, std::pair{4'600, 3'600}}) {
    SCOPED_TRACE(a);
    const SimulatedVariant slow = Simulate(a, 1, 0, 1000);
    const SimulatedVariant fast = Simulate(b, 2, 0, 1000);
    const Comparison comparison = Compare({"off", &slow.profile, {}}, {"on", &fast.profile, {}});
    const TimeComparison& convolution = FindRow(comparison.groups, "Convolution").time_comparison;
    EXPECT_EQ(convolution.verdict, stats::Verdict::kInconclusive);
    // A recorded time of one microsecond can be anything below two.
    EXPECT_EQ(convolution.estimate.has_value(), a != 2'600);
    EXPECT_EQ(convolution.too_short, a == 2'600);
  }
}

// 60 runs whose times grow steadily are not 60 independent measurements, neither for an operator nor for the
// total.
TEST(Compare, GivesNoIntervalsIfTheLatencyDrifts) {
  const auto make_drifting_profile = [](double convolution) {
    TraceBuilder builder;
    AttributeOptions options;
    for (int run = 0; run < 60; ++run) {
      const Nanoseconds at = 1'000'000 * run;
      const auto conv = static_cast<Nanoseconds>(convolution * (1 + 0.01 * run));
      const Nanoseconds add = 1000 + (run * 37) % 11;  // does not drift
      builder.Block("Execute")
          .Backend(0, "Convolution (NHWC, F32) IGEMM #1", at, at + conv)
          .Backend(0, "Add (ND) #1", at + conv, at + conv + add)
          .Framework(0, "DELEGATE_CALL", at, at + conv + add)
          .Framework(-1, "Method::execute", at, at + conv + add);
      options.labels.push_back({0, -1, Phase::kSteady});
    }
    return Attribute(builder.Take(), options);
  };
  const Profile slow = make_drifting_profile(20'000);
  const Profile fast = make_drifting_profile(10'000);
  const Comparison comparison = Compare({"off", &slow, {}}, {"on", &fast, {}});
  EXPECT_FALSE(comparison.latency.estimate.has_value());
  ExpectGolden("profile/drift_warnings", comparison.warnings);
  for (const OperatorMatch& match : comparison.operators) {
    EXPECT_FALSE(match.time_comparison.estimate.has_value());
    EXPECT_EQ(match.time_comparison.verdict, stats::Verdict::kInconclusive);
  }
}

TEST(Compare, OperatorSetsHaveTheSameResolution) {
  const SimulatedVariant low = Simulate(300, 5);
  const SimulatedVariant high = Simulate(500, 6);
  const std::vector<OperatorSet> sets = {{"layer", {0}, {0}}};
  const DeltaRow row =
      CompareSets({"a", &low.profile, low.bursts}, {"copy", &high.profile, high.bursts}, sets).at(0);
  EXPECT_EQ(row.time_comparison.verdict, stats::Verdict::kInconclusive);
  EXPECT_GE(row.time_comparison.estimate->log_high, 0);
}

TEST(Compare, FilesWithoutRoundsAreUnpaired) {
  const Profile off = Attribute(ReadEtdumpFile(kData + "/sme2_emulated/toy_cnn.sme2_off.etdump"), {});
  const Profile on = Attribute(ReadEtdumpFile(kData + "/sme2_emulated/toy_cnn.sme2_on.etdump"), {});
  const Comparison comparison = Compare({"off", &off, {}}, {"on", &on, {}});
  EXPECT_TRUE(comparison.latency_from_trace);
  EXPECT_NE(comparison.pairing, Pairing::kLaunches);
  ExpectDeltasAddUp(comparison);
}

// Launches of two sessions have no common rounds, but each is a separate process.
TEST(Compare, UnpairedLaunchesIncludeDrift) {
  const SimulatedVariant slow = Simulate(10'000, 1);
  const SimulatedVariant fast = Simulate(4'000, 2);
  const auto remove_rounds = [](std::vector<UntracedBurst> bursts) {
    for (UntracedBurst& burst : bursts) burst.round = -1;
    return bursts;
  };
  const auto compute_launch_medians = [](const std::vector<UntracedBurst>& bursts) {
    std::map<int, std::vector<double>> launches;
    for (const UntracedBurst& burst : bursts)
      launches[burst.launch].insert(launches[burst.launch].end(), burst.latency.begin(), burst.latency.end());
    std::vector<double> result;
    for (const auto& [launch, runs] : launches) result.push_back(*stats::Median(runs));
    return result;
  };
  const ComparedVariant a{"off", nullptr, remove_rounds(slow.bursts)},
      b{"on", nullptr, remove_rounds(fast.bursts)};
  CompareOptions options;
  options.drift = 0;
  const Comparison without_drift = Compare(a, b, options);
  EXPECT_EQ(without_drift.pairing, Pairing::kUnpaired);
  const auto expected = stats::EstimateUnpairedLaunches(
      compute_launch_medians(slow.bursts), compute_launch_medians(fast.bursts), options.confidence);
  EXPECT_DOUBLE_EQ(without_drift.latency.estimate->log_low, expected->log_low);
  const Comparison with_drift = Compare(a, b);
  EXPECT_NEAR(with_drift.latency.estimate->standard_error,
              std::hypot(expected->standard_error, std::sqrt(2) * stats::kDriftBetweenMeasurements), 1e-12);
  // Compared with itself at another time, a model is not significantly the same.
  EXPECT_EQ(Compare(a, a, options).latency.verdict, stats::Verdict::kSame);
  EXPECT_EQ(Compare(a, a).latency.verdict, stats::Verdict::kInconclusive);
}

// Two stored runs share no rounds, but too few clean launches decide as little as in one run.
TEST(Compare, UnpairedLaunchesAreContended) {
  const SimulatedVariant slow = Simulate(10'000, 1);
  const SimulatedVariant fast = Simulate(4'000, 2);
  const auto with_clean_launches = [](std::vector<UntracedBurst> bursts, int clean) {
    for (UntracedBurst& burst : bursts) {
      burst.round = -1;
      burst.runs = static_cast<std::int64_t>(burst.latency.size());
      if (burst.launch >= clean) burst.latency.clear();
    }
    return bursts;
  };
  const ComparedVariant a{"off", nullptr, with_clean_launches(slow.bursts, 99)};
  const Comparison comparison = Compare(a, {"on", nullptr, with_clean_launches(fast.bursts, 3)});
  EXPECT_EQ(comparison.latency.verdict, stats::Verdict::kContended);
  EXPECT_FALSE(comparison.latency.estimate.has_value());
  const Comparison enough = Compare(a, {"on", nullptr, with_clean_launches(fast.bursts, kMinCleanLaunches)});
  EXPECT_EQ(enough.latency.verdict, stats::Verdict::kFaster);
}

// Operators of two stored runs are contended if too few launches have clean traced runs, not if one run was
// disturbed.
TEST(Compare, UnpairedOperatorsAreContendedWithFewCleanLaunches) {
  for (const int disturbed : {0, 1, 4, 5, 10}) {
    SimulatedVariant slow = Simulate(10'000, 1, disturbed), fast = Simulate(4'000, 2);
    for (SimulatedVariant* variant : {&slow, &fast}) {
      for (UntracedBurst& burst : variant->bursts) burst.round = -1;
      for (ProfiledRun& run : variant->profile.runs) run.label.round = -1;
    }
    const Comparison comparison =
        Compare({"off", &slow.profile, slow.bursts}, {"on", &fast.profile, fast.bursts});
    const auto expected = disturbed <= 4 ? stats::Verdict::kFaster : stats::Verdict::kContended;
    EXPECT_EQ(comparison.latency.verdict, expected) << disturbed;
    EXPECT_EQ(FindRow(comparison.groups, "Convolution").time_comparison.verdict, expected) << disturbed;
  }
}

TEST(Compare, ASustainedRunIsNotComparedWithBursts) {
  const SimulatedVariant slow = Simulate(10'000, 1, 1);
  const SimulatedVariant fast = Simulate(4'000, 2);
  ComparedVariant candidate{"on", &fast.profile, fast.bursts};
  candidate.sustained_seconds = 600;
  const Comparison comparison = Compare({"off", &slow.profile, slow.bursts}, candidate);
  EXPECT_EQ(comparison.latency.verdict, stats::Verdict::kInconclusive);
  EXPECT_FALSE(comparison.latency.estimate.has_value());
  for (const OperatorMatch& match : comparison.operators) {
    EXPECT_FALSE(match.time_comparison.estimate);
    EXPECT_EQ(match.time_comparison.verdict, stats::Verdict::kInconclusive) << "not contended";
  }
  EXPECT_THAT(comparison.warnings,
              testing::Contains("off ran in bursts and on ran for 600 s without a rest: the heat differs, so "
                                "their times are not compared"));
}

TEST(Compare, AnEmulatedVariantGivesNoOtherVerdict) {
  const SimulatedVariant slow = Simulate(10'000, 1);
  const SimulatedVariant fast = Simulate(4'000, 2);
  ComparedVariant candidate{"on", &fast.profile, fast.bursts};
  candidate.emulated = true;
  const Comparison comparison = Compare({"off", &slow.profile, slow.bursts}, candidate);
  EXPECT_EQ(comparison.latency.verdict, stats::Verdict::kEmulated);
  for (const DeltaRow& row : comparison.groups) {
    if (row.name != "Clipped") {
      EXPECT_EQ(row.time_comparison.verdict, stats::Verdict::kEmulated) << row.name;
    }
  }
  for (const OperatorMatch& match : comparison.operators)
    EXPECT_EQ(match.time_comparison.verdict, stats::Verdict::kEmulated);
}

TEST(Compare, RefusesTimesOfAKernelLogRun) {
  const SimulatedVariant slow = Simulate(10'000, 1);
  const SimulatedVariant fast = Simulate(4'000, 2);
  ComparedVariant candidate{"on", &fast.profile, fast.bursts};
  candidate.trace_enabled = true;
  const Comparison comparison = Compare({"off", &slow.profile, slow.bursts}, candidate);
  EXPECT_FALSE(comparison.latency.estimate.has_value());
  EXPECT_FALSE(comparison.latency.baseline_ns.has_value());  // not even a quotient of two times
  EXPECT_FALSE(comparison.latency.candidate_ns.has_value());
  ExpectGolden("profile/kernel_log_warnings", comparison.warnings);
}

TEST(Compare, ListsOperatorsOfOneProfileWithTheirTime) {
  const SimulatedVariant plain = Simulate(10'000, 1);
  TraceBuilder builder;
  AttributeOptions options;
  for (int run = 0; run < 8; ++run) {
    const Nanoseconds at = 100'000 * run;
    builder.Block("Execute")
        .Backend(0, "Pack LH (PF32) #1", at, at + 500)
        .Backend(0, "Convolution (NHWC, PF32) IGEMM #1", at + 500, at + 900)
        .Framework(0, "DELEGATE_CALL", at, at + 900)
        .Framework(-1, "Method::execute", at, at + 900);
    options.labels.push_back({0, run, Phase::kSteady});
  }
  const Profile packed = Attribute(builder.Take(), options);
  const Comparison comparison = Compare({"off", &plain.profile, {}}, {"on", &packed, {}});
  int only_baseline = 0;
  int only_candidate = 0;
  for (const OperatorMatch& match : comparison.operators) {
    if (!match.candidate) {
      ++only_baseline;
      EXPECT_EQ(plain.profile.operators[*match.baseline].name, "Add (ND) #1");
      EXPECT_FALSE(match.time_comparison.candidate_ns.has_value());
    }
    if (!match.baseline) {
      ++only_candidate;
      EXPECT_EQ(match.candidate_total, 8 * 500);
    }
  }
  EXPECT_EQ(only_baseline, 1);
  EXPECT_EQ(only_candidate, 1);
  ExpectDeltasAddUp(comparison);
}

TEST(Compare, AVariantWithoutRunsHasNoEstimate) {
  const Profile empty = Attribute(Trace{}, {});
  const SimulatedVariant measured_variant = Simulate(10'000, 1);
  const Comparison comparison =
      Compare({"none", &empty, {}}, {"some", &measured_variant.profile, measured_variant.bursts});
  EXPECT_FALSE(comparison.latency.estimate.has_value());
  EXPECT_EQ(comparison.pairing, Pairing::kNone);
}

}  // namespace
}  // namespace etprof
