#include "report/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_run.h"
#include "report/stored_runs.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The example's pair with the sides as wanted: "off" takes 5 ms, "on" 2 ms.
Report Example(std::size_t baseline, std::size_t candidate) {
  Report made = example::MakePair();
  RunData run = made.run;
  run.pairs[0].baseline = baseline;
  run.pairs[0].candidate = candidate;
  for (ExperimentData& data : run.experiments) {
    for (Launch& launch : data.launches) {
      launch.peak_rss = (data.name == "off" ? 10'000'000 : 10'800'000) + 4096 * (launch.index % 3);
    }
  }
  std::vector<std::optional<Profile>> profiles;
  for (ReportExperiment& experiment : made.experiments) profiles.push_back(std::move(experiment.profile));
  return Assemble(std::move(run), std::move(profiles));
}

const CheckItem& ItemOf(const CheckPair& pair, CheckItem::Kind kind) {
  for (const CheckItem& item : pair.items) {
    if (item.kind == kind) return item;
  }
  throw std::out_of_range("no such item");
}

TEST(Check, AFasterCandidatePasses) {
  const CheckReport check = AssembleCheck(Example(0, 1), {});
  ASSERT_THAT(check.pairs, SizeIs(1));
  EXPECT_EQ(check.decision, GateDecision::kPass);
  EXPECT_EQ(check.pairs[0].name, "on against off");
  EXPECT_EQ(check.pairs[0].pairing, Pairing::kLaunches);
  EXPECT_EQ(check.pairs[0].launches, 10);
  const CheckItem& latency = check.pairs[0].items.at(0);
  EXPECT_NEAR(*latency.verdict.growth, 2.0 / 5 - 1, 0.01);
  EXPECT_LT(*latency.verdict.high, 0.02);
}

TEST(Check, ASlowerCandidateFailsAndNamesTheOperatorsThatMoved) {
  const CheckReport check = AssembleCheck(Example(1, 0), {});
  EXPECT_EQ(check.decision, GateDecision::kFail);
  const CheckPair& pair = check.pairs[0];
  EXPECT_NEAR(*pair.items[0].verdict.growth, 5.0 / 2 - 1, 0.01);
  EXPECT_GT(*pair.items[0].verdict.low, 0.02);
  ASSERT_THAT(pair.moved, SizeIs(1));  // all others take the same time on both sides
  EXPECT_THAT(pair.moved[0].name, HasSubstr("Convolution"));
  EXPECT_NEAR(pair.moved[0].growth, 3, 0.02);
  EXPECT_LE(pair.moved[0].low, pair.moved[0].growth);
  EXPECT_GE(pair.moved[0].high, pair.moved[0].growth);
  EXPECT_NEAR(pair.moved[0].candidate_ns - pair.moved[0].baseline_ns, 3e6, 1e4);
}

TEST(Check, EverythingThatIsAskedForIsChecked) {
  CheckLimits limits;
  limits.operator_slowdown = 0.05;
  limits.memory_growth = 0.05;
  limits.load_slowdown = 0.10;
  const CheckReport check = AssembleCheck(Example(0, 1), limits);
  const CheckPair& pair = check.pairs[0];
  EXPECT_EQ(ItemOf(pair, CheckItem::Kind::kLatency).verdict.decision, GateDecision::kPass);
  EXPECT_EQ(ItemOf(pair, CheckItem::Kind::kLoad).verdict.decision, GateDecision::kPass);
  const CheckItem& memory = ItemOf(pair, CheckItem::Kind::kPeakMemory);
  EXPECT_EQ(memory.verdict.decision, GateDecision::kFail);
  EXPECT_NEAR(*memory.verdict.growth, 0.08, 0.001);
  EXPECT_EQ(check.decision, GateDecision::kFail);
  const auto operators = std::count_if(pair.items.begin(), pair.items.end(), [](const CheckItem& item) {
    return item.kind == CheckItem::Kind::kOperator;
  });
  EXPECT_EQ(operators, 5);
}

TEST(Check, SmallOperatorsAreLeftOut) {
  CheckLimits limits;
  limits.slowdown.reset();
  limits.operator_slowdown = 0.05;
  limits.least_operator_share = 0.5;
  const CheckReport check = AssembleCheck(Example(0, 1), limits);
  ASSERT_THAT(check.pairs[0].items, SizeIs(1));  // 4 of 5.2 ms on one side, 1 of 2.2 ms on the other
  EXPECT_THAT(check.pairs[0].items[0].name, HasSubstr("Convolution"));
}

TEST(Check, AnOperatorAloneCanFail) {
  CheckLimits limits;
  limits.slowdown.reset();
  limits.operator_slowdown = 0.05;
  const CheckReport check = AssembleCheck(Example(1, 0), limits);
  EXPECT_EQ(check.decision, GateDecision::kFail);
  for (const CheckItem& item : check.pairs[0].items) {
    const bool convolution = item.name.find("Convolution") != std::string::npos;
    EXPECT_EQ(item.verdict.decision, convolution ? GateDecision::kFail : GateDecision::kPass) << item.name;
  }
}

TEST(Check, WhatWasNotMeasuredCannotPass) {
  Report report = example::MakePair();  // without peak memory
  CheckLimits limits;
  limits.memory_growth = 0.5;
  const CheckReport check = AssembleCheck(report, limits);
  EXPECT_EQ(check.decision, GateDecision::kInconclusive);
  EXPECT_EQ(ItemOf(check.pairs[0], CheckItem::Kind::kPeakMemory).why_not, "it was not measured");
  EXPECT_EQ(ItemOf(check.pairs[0], CheckItem::Kind::kLatency).verdict.decision, GateDecision::kPass);
}

TEST(Check, EmulatedTimesAreNotJudged) {
  Report report = Example(1, 0);
  for (ExperimentData& data : report.run.experiments) data.emulated = true;
  const CheckReport check = AssembleCheck(report, {});
  EXPECT_EQ(check.decision, GateDecision::kInconclusive);
  EXPECT_THAT(check.pairs[0].items[0].why_not, HasSubstr("emulated"));
  EXPECT_THAT(check.pairs[0].moved, IsEmpty());
}

TEST(Check, AFailedExperimentIsAnErrorOfItsPair) {
  Report report = Example(0, 1);
  report.run.experiments[1].error = "the worker died";
  const CheckReport check = AssembleCheck(report, {});
  EXPECT_TRUE(check.error);
  EXPECT_EQ(check.pairs[0].error, "on: the worker died");
  EXPECT_EQ(check.decision, GateDecision::kInconclusive);
}

TEST(Check, NothingToCheckDoesNotPass) {
  Report report = Example(0, 1);
  report.run.pairs.clear();
  EXPECT_EQ(AssembleCheck(report, {}).decision, GateDecision::kInconclusive);
}

// A measurement that was looked at until it was decided is judged at the look's level.
TEST(Check, LooksCost) {
  Report report = Example(0, 1);
  const CheckReport once = AssembleCheck(report, {});
  report.run.schedule.look_confidence = 1 - 0.05 * kLookShare;
  const CheckReport looked = AssembleCheck(report, {});
  EXPECT_GT(*looked.pairs[0].items[0].verdict.high, *once.pairs[0].items[0].verdict.high);
}

TEST(Check, TwoStoredRunsGiveTheUnpairedEstimateAndSayWhatItCannotSee) {
  RunData baseline = example::MakePair().run;
  baseline.pairs.clear();
  baseline.experiments.pop_back();
  RunData candidate = baseline;
  for (Launch& launch : candidate.experiments[0].launches) {
    for (Burst& burst : launch.bursts) {
      for (Nanoseconds& run : burst.recorded) run = run * 11 / 10;
    }
  }
  const Report report = Assemble(JoinStoredRuns(baseline, candidate), {});
  const CheckReport check = AssembleCheck(report, {});
  EXPECT_EQ(check.pairs[0].pairing, Pairing::kUnpaired);
  EXPECT_EQ(check.pairs[0].launches, 0);
  EXPECT_EQ(check.decision, GateDecision::kFail);
  EXPECT_NEAR(*check.pairs[0].items[0].verdict.growth, 0.1, 1e-3);
  EXPECT_THAT(check.notes, testing::Contains(HasSubstr("two sessions")));
  EXPECT_EQ(AssembleCheck(Assemble(JoinStoredRuns(baseline, baseline), {}), {}).decision,
            GateDecision::kPass);
}

}  // namespace
}  // namespace etprof
