#include "report/check.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/golden_testing.h"
#include "report/example_run.h"
#include "report/run/stored_runs.h"

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// The example's pair with the given variants: "off" (index 0) takes 5 ms, "on" (index 1) takes 2 ms.
Report MakeExample(std::size_t baseline, std::size_t candidate) {
  Report example_report = example::MakePairReport();
  RunData run = example_report.run;
  run.pairs[0].baseline = baseline;
  run.pairs[0].candidate = candidate;
  for (ExperimentData& data : run.experiments) {
    for (Launch& launch : data.launches) {
      launch.peak_rss = (data.name == "off" ? 10'000'000 : 10'800'000) + 4096 * (launch.index % 3);
    }
  }
  std::vector<std::optional<Profile>> profiles;
  for (ReportExperiment& experiment : example_report.experiments)
    profiles.push_back(std::move(experiment.profile));
  return Assemble(std::move(run), std::move(profiles));
}

const CheckItem& FindItem(const CheckPair& pair, CheckItem::Kind kind) {
  for (const CheckItem& item : pair.items) {
    if (item.kind == kind) return item;
  }
  throw std::out_of_range("no such item");
}

TEST(Check, FasterCandidatesPass) {
  const CheckReport check = AssembleCheck(MakeExample(0, 1), {});
  ASSERT_THAT(check.pairs, SizeIs(1));
  EXPECT_EQ(check.decision, GateDecision::kPass);
  EXPECT_EQ(check.pairs[0].name, "on against off");
  EXPECT_EQ(check.pairs[0].pairing, Pairing::kLaunches);
  EXPECT_EQ(check.pairs[0].launches, 10);
  const CheckItem& latency = check.pairs[0].items.at(0);
  EXPECT_NEAR(*latency.verdict.growth, 2.0 / 5 - 1, 0.01);
  EXPECT_LT(*latency.verdict.high, 0.02);
}

TEST(Check, SlowerCandidatesFailAndNameTheOperators) {
  const CheckReport check = AssembleCheck(MakeExample(1, 0), {});
  EXPECT_EQ(check.decision, GateDecision::kFail);
  const CheckPair& pair = check.pairs[0];
  EXPECT_NEAR(*pair.items[0].verdict.growth, 5.0 / 2 - 1, 0.01);
  EXPECT_GT(*pair.items[0].verdict.low, 0.02);
  ASSERT_THAT(pair.time_changes, SizeIs(1));  // all others take the same time in both variants
  EXPECT_THAT(pair.time_changes[0].name, HasSubstr("Convolution"));
  EXPECT_NEAR(pair.time_changes[0].growth, 3, 0.02);
  EXPECT_LE(pair.time_changes[0].low, pair.time_changes[0].growth);
  EXPECT_GE(pair.time_changes[0].high, pair.time_changes[0].growth);
  EXPECT_NEAR(pair.time_changes[0].candidate_ns - pair.time_changes[0].baseline_ns, 3e6, 1e4);
}

// Load time and memory have one value per launch, so runs are not what is missing.
TEST(Check, OneLaunchIsNamedAsTheReason) {
  RunData run = example::MakePairReport().run;
  for (ExperimentData& data : run.experiments) {
    data.launches.resize(1);
    data.launches[0].peak_rss = 10'000'000;
  }
  CheckLimits limits;
  limits.memory_growth = limits.load_slowdown = 0.05;
  const CheckReport check = AssembleCheck(Assemble(std::move(run), {}), limits);
  EXPECT_EQ(FindItem(check.pairs[0], CheckItem::Kind::kPeakMemory).inconclusive_reason,
            "an interval needs 2 launches of each variant");
  EXPECT_EQ(FindItem(check.pairs[0], CheckItem::Kind::kLoad).inconclusive_reason,
            "an interval needs 5 launches of each variant");
}

// The first process of a launch finds colder caches: in a few launches, that may be the same variant.
TEST(Check, DecidesLoadTimesOfFiveLaunches) {
  CheckLimits limits;
  limits.load_slowdown = 0.05;
  for (const std::size_t launches : {4U, 5U}) {
    RunData run = example::MakePairReport().run;
    for (ExperimentData& data : run.experiments) data.launches.resize(launches);
    for (Launch& launch : run.experiments[1].launches) launch.load = *launch.load * 2;
    const CheckReport check = AssembleCheck(Assemble(std::move(run), {}), limits);
    EXPECT_EQ(check.decision, launches == 5 ? GateDecision::kFail : GateDecision::kInconclusive);
  }
}

TEST(Check, TimeChangesHaveTheOriginOfTheCandidate) {
  Report report = MakeExample(1, 0);
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    Profile& profile = *report.experiments[i].profile;
    const std::string layer = "layer_of_" + report.run.experiments[i].name;
    ProgramJoin& join = profile.program.emplace();
    join.operators.resize(profile.operators.size());
    join.places = {{{{"", "Net"}, {layer, "Conv2d"}}, SourceFrame{"/home/me/net.py", 68, "forward", ""}}};
    for (std::size_t op = 0; op < profile.operators.size(); ++op) {
      if (profile.operators[op].name.starts_with("Convolution")) join.operators[op].place = 0;
    }
  }
  CheckLimits limits;
  limits.operator_slowdown = 0.05;
  const CheckReport check = AssembleCheck(report, limits);
  const OperatorTimeChange& change = check.pairs[0].time_changes.at(0);
  EXPECT_EQ(change.origin.layer, "layer_of_off");
  EXPECT_EQ(change.origin.Source(), "net.py:68");
  for (const CheckItem& item : check.pairs[0].items) {
    const bool known = item.name.starts_with("Convolution");
    EXPECT_EQ(item.origin.Source(), known ? "net.py:68" : "") << item.name;
  }
}

TEST(Check, NotesOperatorsWithoutTimeChangeTests) {
  Report report = MakeExample(1, 0);
  EXPECT_THAT(AssembleCheck(report, {}).notes, IsEmpty());
  for (OperatorMatch& match : report.comparisons[0].comparison.operators)
    match.time_comparison.estimate.reset();
  const CheckReport check = AssembleCheck(report, {});
  EXPECT_THAT(check.pairs[0].time_changes, IsEmpty());
  ExpectGolden("report/check_of_unknown_operators", check.notes);
}

InstructionsRow MakeCount(const std::string& key, double count, double spread = 0) {
  InstructionsRow row{key, "name", protocol::CounterSourceKind::kCallgrind, count};
  row.lowest = count - spread;
  row.highest = count + spread;
  return row;
}

// Checks a candidate against a baseline of 1000 instructions with a limit of 10%.
CheckItem CheckInstructions(std::vector<InstructionsRow> candidate) {
  Report report = MakeExample(0, 1);
  report.run.experiments[0].instructions = {MakeCount("forward/-1/method/0", 1000)};
  report.run.experiments[1].instructions = std::move(candidate);
  CheckLimits limits;
  limits.instruction_growth = 0.1;
  const CheckReport check = AssembleCheck(report, limits);
  const CheckItem& item = FindItem(check.pairs.at(0), CheckItem::Kind::kInstructions);
  EXPECT_EQ(check.decision, item.verdict.decision);  // the latency passes
  return item;
}

TEST(Check, InstructionsDecideByTheSpreadOfProcesses) {
  const auto decision = [](double count, double spread) {
    return CheckInstructions({MakeCount("forward/-1/method/0", count, spread)}).verdict.decision;
  };
  EXPECT_EQ(decision(1100, 0), GateDecision::kPass);  // at the limit
  EXPECT_EQ(decision(1101, 0), GateDecision::kFail);
  EXPECT_EQ(decision(1101, 2), GateDecision::kInconclusive);
  EXPECT_EQ(decision(1103, 2), GateDecision::kFail);
  EXPECT_EQ(decision(1098, 2), GateDecision::kPass);
  const CheckItem item = CheckInstructions({MakeCount("forward/-1/method/0", 1101, 2)});
  EXPECT_NEAR(*item.verdict.growth, 0.101, 1e-12);
  EXPECT_NEAR(*item.verdict.low, 0.099, 1e-12);
  EXPECT_NEAR(*item.verdict.high, 0.103, 1e-12);
  ExpectGolden("report/check_of_uncertain_instructions", item.inconclusive_reason + "\n");
}

TEST(Check, IncomparableInstructionsAreInconclusive) {
  EXPECT_EQ(CheckInstructions({}).inconclusive_reason, "they were not counted");
  EXPECT_EQ(CheckInstructions({MakeCount("forward/0/backend/0", 5)}).inconclusive_reason,
            "they were not counted");
  InstructionsRow other = MakeCount("forward/-1/method/0", 1000);
  other.source = protocol::CounterSourceKind::kEmulator;
  const CheckItem item = CheckInstructions({other});
  EXPECT_EQ(item.verdict.decision, GateDecision::kInconclusive);
  EXPECT_EQ(item.verdict.growth, std::nullopt);
  EXPECT_EQ(item.inconclusive_reason, "the baseline's were counted by Callgrind, the candidate's by QEMU");
}

TEST(Check, ListsOperatorsWithChangedInstructions) {
  Report report = MakeExample(0, 1);
  for (std::size_t variant : {0U, 1U}) {
    for (const Operator& op : report.experiments[variant].profile->operators) {
      const double more = variant == 1 && op.name.starts_with("Convolution") ? 50 : 0;
      report.run.experiments[variant].instructions.push_back(MakeCount(KeyText(op.key), 1000 + more, 10));
    }
  }
  CheckLimits limits;
  limits.instruction_growth = 0.1;
  const std::vector<OperatorCountChange> changes = AssembleCheck(report, limits).pairs.at(0).count_changes;
  ASSERT_FALSE(changes.empty());  // excludes operators that differ by less than their spread
  for (const OperatorCountChange& op : changes) {
    EXPECT_THAT(op.name, HasSubstr("Convolution"));
    EXPECT_EQ(op.candidate - op.baseline, 50);
  }
}

TEST(Check, ChecksAllLimits) {
  CheckLimits limits;
  limits.operator_slowdown = 0.05;
  limits.memory_growth = 0.05;
  limits.load_slowdown = 0.10;
  const CheckReport check = AssembleCheck(MakeExample(0, 1), limits);
  const CheckPair& pair = check.pairs[0];
  EXPECT_EQ(FindItem(pair, CheckItem::Kind::kLatency).verdict.decision, GateDecision::kPass);
  EXPECT_EQ(FindItem(pair, CheckItem::Kind::kLoad).verdict.decision, GateDecision::kPass);
  const CheckItem& memory = FindItem(pair, CheckItem::Kind::kPeakMemory);
  EXPECT_EQ(memory.verdict.decision, GateDecision::kFail);
  EXPECT_NEAR(*memory.verdict.growth, 0.08, 0.001);
  EXPECT_EQ(check.decision, GateDecision::kFail);
  const auto operators = std::count_if(pair.items.begin(), pair.items.end(), [](const CheckItem& item) {
    return item.kind == CheckItem::Kind::kOperator;
  });
  EXPECT_EQ(operators, 5);
}

// Medians, means, and launches of these runs suggest different changes; the shown times must match the
// reported growth.
TEST(Check, ShownTimesMatchTheGrowth) {
  Report example_report = example::MakePairReport();
  RunData run = example_report.run;
  ExperimentData& slow = run.experiments[1];
  for (Launch& launch : slow.launches) {
    launch.load = launch.index < 3 ? 9'000'000 : 1'000'000 + 1000 * launch.index;
    launch.peak_rss = 8'000'000 << (launch.index % 4);
    for (Burst& burst : launch.bursts) {
      for (Nanoseconds& time : burst.recorded) {
        if (burst.round == launch.index % 4 || launch.index > 7) time *= 7;
      }
    }
  }
  for (Launch& launch : run.experiments[0].launches) launch.peak_rss = 9'000'000 + 4096 * launch.index;
  std::vector<std::optional<Profile>> profiles;
  for (ReportExperiment& experiment : example_report.experiments)
    profiles.push_back(std::move(experiment.profile));
  // Single slow runs move the means over the common set far from the medians.
  for (auto& statistics : profiles[1]->statistics) statistics.total_self *= 20;
  CheckLimits limits;
  limits.operator_slowdown = limits.memory_growth = limits.load_slowdown = 0.05;
  const auto expect_all_agree = [&](const Report& report) {
    const CheckReport check = AssembleCheck(report, limits);
    ASSERT_THAT(check.pairs, SizeIs(1));
    std::set<CheckItem::Kind> kinds;
    for (const CheckItem& item : check.pairs[0].items) {
      ASSERT_TRUE(item.verdict.growth && item.baseline && item.candidate) << item.name;
      EXPECT_NEAR(*item.candidate / *item.baseline - 1, *item.verdict.growth, 1e-9) << item.name;
      kinds.insert(item.kind);
    }
    EXPECT_THAT(kinds, SizeIs(4));
    EXPECT_THAT(check.pairs[0].time_changes, Not(IsEmpty()));
    for (const OperatorTimeChange& op : check.pairs[0].time_changes)
      EXPECT_NEAR(op.candidate_ns / op.baseline_ns - 1, op.growth, 1e-9) << op.name;
  };
  const RunData stored = run;
  const std::vector<std::optional<Profile>> copy = profiles;
  expect_all_agree(Assemble(std::move(run), std::move(profiles)));
  // Without rounds, launches are compared by Welch's estimate, and operators by the bootstrap.
  RunData separate_runs[2] = {stored, stored};
  for (int variant = 0; variant < 2; ++variant) {
    separate_runs[variant].pairs.clear();
    separate_runs[variant].experiments = {stored.experiments[static_cast<std::size_t>(variant)]};
    separate_runs[variant].experiments[0].name = "as_is";
  }
  std::vector<std::optional<Profile>> without_rounds = copy;
  for (std::optional<Profile>& profile : without_rounds) {
    for (auto& profiled_run : profile->runs) profiled_run.label.round = -1;
  }
  expect_all_agree(Assemble(JoinStoredRuns(separate_runs[0], separate_runs[1]), std::move(without_rounds)));
}

TEST(Check, SkipsSmallOperators) {
  CheckLimits limits;
  limits.slowdown.reset();
  limits.operator_slowdown = 0.05;
  limits.min_operator_share = 0.5;
  const CheckReport check = AssembleCheck(MakeExample(0, 1), limits);
  ASSERT_THAT(check.pairs[0].items, SizeIs(1));  // 4 of 5.2 ms in one variant, 1 of 2.2 ms in the other
  EXPECT_THAT(check.pairs[0].items[0].name, HasSubstr("Convolution"));
}

TEST(Check, OperatorsCanFailWithoutTheLatency) {
  CheckLimits limits;
  limits.slowdown.reset();
  limits.operator_slowdown = 0.05;
  const CheckReport check = AssembleCheck(MakeExample(1, 0), limits);
  EXPECT_EQ(check.decision, GateDecision::kFail);
  for (const CheckItem& item : check.pairs[0].items) {
    const bool convolution = item.name.find("Convolution") != std::string::npos;
    EXPECT_EQ(item.verdict.decision, convolution ? GateDecision::kFail : GateDecision::kPass) << item.name;
  }
}

TEST(Check, MissingMeasurementsAreInconclusive) {
  Report report = example::MakePairReport();  // without peak memory
  CheckLimits limits;
  limits.memory_growth = 0.5;
  const CheckReport check = AssembleCheck(report, limits);
  EXPECT_EQ(check.decision, GateDecision::kInconclusive);
  EXPECT_EQ(FindItem(check.pairs[0], CheckItem::Kind::kPeakMemory).inconclusive_reason,
            "it was not measured");
  EXPECT_EQ(FindItem(check.pairs[0], CheckItem::Kind::kLatency).verdict.decision, GateDecision::kPass);
}

TEST(Check, MissingTracesAreInconclusive) {
  const Report report = Assemble(example::MakePairReport().run, {});
  CheckLimits limits;
  EXPECT_EQ(AssembleCheck(report, limits).decision, GateDecision::kPass);
  limits.operator_slowdown = 0.05;
  const CheckReport check = AssembleCheck(report, limits);
  EXPECT_EQ(check.decision, GateDecision::kInconclusive);
  const CheckItem& item = FindItem(check.pairs[0], CheckItem::Kind::kOperator);
  ExpectGolden("report/check_without_traces", item.inconclusive_reason + "\n");
}

TEST(Check, EmulatedTimesAreInconclusive) {
  Report report = MakeExample(1, 0);
  for (ExperimentData& data : report.run.experiments) data.emulated = true;
  const CheckReport check = AssembleCheck(report, {});
  EXPECT_EQ(check.decision, GateDecision::kInconclusive);
  ExpectGolden("report/check_of_emulated_times", check.pairs[0].items[0].inconclusive_reason + "\n");
  EXPECT_THAT(check.pairs[0].time_changes, IsEmpty());
}

TEST(Check, FailedExperimentsAreErrors) {
  Report report = MakeExample(0, 1);
  report.run.experiments[1].error = "the worker died";
  const CheckReport check = AssembleCheck(report, {});
  EXPECT_TRUE(check.has_error);
  EXPECT_EQ(check.pairs[0].error, "on: the worker died");
  EXPECT_EQ(check.decision, GateDecision::kInconclusive);
}

TEST(Check, NoPairsAreInconclusive) {
  Report report = MakeExample(0, 1);
  report.run.pairs.clear();
  EXPECT_EQ(AssembleCheck(report, {}).decision, GateDecision::kInconclusive);
}

// A measurement with interim analyses is decided at the level of one analysis.
TEST(Check, InterimAnalysesWidenTheInterval) {
  Report report = MakeExample(0, 1);
  const CheckReport without_interim = AssembleCheck(report, {});
  report.run.schedule.interim_confidence = 1 - 0.05 * kInterimShare;
  const CheckReport with_interim = AssembleCheck(report, {});
  EXPECT_GT(*with_interim.pairs[0].items[0].verdict.high, *without_interim.pairs[0].items[0].verdict.high);
}

TEST(Check, CoarseClocksExplainUndecidedOperators) {
  const std::vector<example::Inference> inferences(
      40, {{}, {{"Convolution (NHWC, F32) IGEMM #1", 10'000}}, 1'000, 500});
  AttributeOptions options;
  options.labels = example::Labels(40, 10);
  std::vector<std::optional<Profile>> profiles;
  for (int variant = 0; variant < 2; ++variant)
    profiles.emplace_back(Attribute(example::MakeTrace(inferences), options));
  const Report report = Assemble(example::MakePairReport().run, std::move(profiles));
  CheckLimits limits;
  limits.operator_slowdown = 0.05;  // less than one of the ten microseconds
  const CheckReport check = AssembleCheck(report, limits);
  const CheckItem& item = FindItem(check.pairs[0], CheckItem::Kind::kOperator);
  EXPECT_EQ(item.verdict.decision, GateDecision::kInconclusive);
  EXPECT_THAT(item.inconclusive_reason, HasSubstr("clock counts whole microseconds"));
  limits.operator_slowdown = 0.2;
  EXPECT_EQ(FindItem(AssembleCheck(report, limits).pairs[0], CheckItem::Kind::kOperator).verdict.decision,
            GateDecision::kPass);
}

TEST(Check, StoredRunsAreUnpairedAndIncludeDrift) {
  RunData baseline = example::MakePairReport().run;
  baseline.pairs.clear();
  baseline.experiments.pop_back();
  RunData candidate = baseline;
  for (Launch& launch : candidate.experiments[0].launches) {
    for (Burst& burst : launch.bursts) {
      for (Nanoseconds& run : burst.recorded) run = run * 11 / 10;
    }
  }
  RunData joined = JoinStoredRuns(baseline, candidate);
  const CheckReport check = AssembleCheck(Assemble(joined, {}), {});
  EXPECT_EQ(check.pairs[0].pairing, Pairing::kUnpaired);
  EXPECT_EQ(check.pairs[0].launches, 0);
  EXPECT_EQ(check.decision, GateDecision::kFail);
  EXPECT_NEAR(*check.pairs[0].items[0].verdict.growth, 0.1, 1e-3);
  CaseMessages messages = {{"notes", fmt::to_string(fmt::join(check.notes, " | "))}};
  // The drift of equal measurements exceeds the limit; on a machine without drift they pass.
  joined = JoinStoredRuns(baseline, baseline);
  const CheckReport drifts = AssembleCheck(Assemble(joined, {}), {});
  EXPECT_EQ(drifts.decision, GateDecision::kInconclusive);
  messages.emplace_back("drift", drifts.pairs[0].items[0].inconclusive_reason);
  joined.schedule.drift = 0;
  EXPECT_EQ(AssembleCheck(Assemble(joined, {}), {}).decision, GateDecision::kPass);
  for (ExperimentData& data : joined.experiments) data.launches.resize(1);
  const CheckReport single = AssembleCheck(Assemble(joined, {}), {});
  EXPECT_EQ(single.decision, GateDecision::kInconclusive);
  messages.emplace_back("single launches", single.pairs[0].items[0].inconclusive_reason);
  ExpectGoldenMessages("report/check_of_two_sessions", messages);
}

}  // namespace
}  // namespace etprof
