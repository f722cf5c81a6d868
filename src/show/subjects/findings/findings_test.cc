#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/example_run.h"
#include "show/subjects/run/report.h"

namespace etprof::show {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// The printed texts of a finding.
struct PrintedFinding {
  std::string text;
  std::vector<std::string> evidence;
  std::string formula;
  double at_stake = 0;

  PrintedFinding(const Report& report, const Insight& insight) : at_stake(insight.at_stake) {
    const FindingTexts texts = MakeFindingTexts(report, insight);
    const Span span = LatencySpan(report);
    text = TextOf(texts.text, span);
    for (const Text& line : texts.evidence) evidence.push_back(TextOf(line, span));
    formula = texts.formula;
  }
};

std::optional<PrintedFinding> FindInsight(const Report& report, std::string_view kind) {
  const auto found = std::ranges::find(report.insights, kind, &Insight::kind);
  if (found == report.insights.end()) return std::nullopt;
  return PrintedFinding(report, *found);
}

Report MakeReportOfRuns(const std::vector<example::Inference>& runs) {
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(Attribute(example::MakeTrace(runs), {}));
  return Assemble(MakeEtdumpRun({"net.etdump"}, {}), std::move(profiles));
}

TEST(Findings, ShowTheBottleneckShiftWithShares) {
  const Report report = example::MakePair();
  const auto shift = FindInsight(report, finding::BottleneckShift::kKind);
  ASSERT_TRUE(shift);
  // 4.002 of 5.147 ms before, 1.002 of 2.147 after; GEMM from 0.5 / 5.147 to 0.5 / 2.147.
  EXPECT_THAT(shift->text, HasSubstr("GEMM grew from 9.7% of an inference in off to 23% in on"));
  EXPECT_THAT(shift->text, HasSubstr("Convolution is still the largest, at 47%"));
}

TEST(Findings, LargestGroupIsQualifiedIfAnOverheadIsLarger) {
  Report report = example::MakePair();
  const auto found = std::ranges::find(report.insights, finding::BottleneckShift::kKind, &Insight::kind);
  ASSERT_NE(found, report.insights.end());
  finding::BottleneckShift shift = std::get<finding::BottleneckShift>(found->details);
  shift.grown.group = Group::kFrameworkOverhead;
  shift.grown.candidate.ns = shift.to.candidate.ns + 1;
  found->details = shift;
  EXPECT_THAT(PrintedFinding(report, *found).text,
              HasSubstr("Convolution is still the largest group of operators, at 47%"));
}

// The shares change, but the interval of a group's change includes zero.
TEST(Findings, ReportNoInsignificantShift) {
  Report report = example::MakePair();
  for (DeltaRow& row : report.comparisons[0].comparison.groups) {
    if (row.name == GroupName(Group::kGemm) && row.quantity.estimate) row.quantity.estimate->log_high = 2;
  }
  report.insights = FindInsights(report);
  EXPECT_FALSE(FindInsight(report, finding::BottleneckShift::kKind));
  for (DeltaRow& row : report.comparisons[0].comparison.groups) row.quantity.estimate.reset();
  report.insights = FindInsights(report);
  EXPECT_FALSE(FindInsight(report, finding::BottleneckShift::kKind));
}

// The calls' self time is 400 us. The additional time of traced runs does not belong to delegates.
TEST(Findings, SubtractTracingOverheadFromDelegates) {
  std::vector<example::Inference> runs = example::MakeInferences(8, 4'000'000);
  for (example::Inference& run : runs) run.overhead = 400'000;
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(Attribute(example::MakeTrace(runs), {}));
  Report report = Assemble(MakeEtdumpRun({"net.etdump"}, {}), std::move(profiles));
  EXPECT_NEAR(FindInsight(report, finding::DelegateOverhead::kKind)->at_stake, 400'000, 1);
  report.experiments[0].latency_from_trace = false;
  report.experiments[0].tracer = -150'000;
  report.insights = FindInsights(report);
  EXPECT_NEAR(FindInsight(report, finding::DelegateOverhead::kKind)->at_stake, 250'000, 1);
  EXPECT_THAT(
      FindInsight(report, finding::DelegateOverhead::kKind)->text,
      HasSubstr("Delegate overhead: 0.400 of 5.504 ms (7.3%) in 1 call, excluding operators. Up to 0.150 "
                "ms of it may be tracing overhead."));
  report.experiments[0].tracer = -400'000;
  report.insights = FindInsights(report);
  EXPECT_FALSE(FindInsight(report, finding::DelegateOverhead::kKind));
}

// In the first run of a process, most of the time is weight packing.
TEST(Findings, ExplainDelegateOverheadOfFirstRuns) {
  std::vector<example::Inference> runs = example::MakeInferences(1, 4'000'000);
  runs[0].overhead = 2'000'000;
  const Report report = MakeReportOfRuns(runs);
  EXPECT_THAT(FindInsight(report, finding::DelegateOverhead::kKind)->text,
              HasSubstr("A first inference packs weights in it; steady ones do not."));
}

// A finding has the digits of the table of self times, which adds up as printed.
TEST(Findings, HaveTheDigitsOfTheGroupsRow) {
  std::vector<example::Inference> runs(8);
  for (example::Inference& run : runs)
    run.delegate = {{"Fully Connected (NC, F32) GEMM #1", 2'565'700},
                    {"Transpose (ND, X32) #1", 1'330'550},
                    {"Add (ND) #1", 1'189'650}};
  const Report report = MakeReportOfRuns(runs);
  EXPECT_THAT(FindInsight(report, finding::DataMoved::kKind)->text,
              HasSubstr("Data Movement: 1.330 of 5.086 ms"));
  EXPECT_THAT(FindInsight(report, finding::Bottleneck::kKind)->text, HasSubstr("GEMM: 2.566 of 5.086 ms"));
}

TEST(Findings, NameDifferentCompilers) {
  Report report = example::MakePair();
  ExperimentData& off = report.run.experiments[0];
  ExperimentData& on = report.run.experiments[1];
  const auto text = [&report] {
    report.insights = FindInsights(report);
    const auto found = FindInsight(report, finding::CompilersDiffer::kKind);
    return found ? found->text : std::string();
  };
  off.runner_sha256 = "00";
  on.runner_sha256 = "01";
  EXPECT_EQ(text(), "");  // no compiler is known
  on.runner_built = RunnerBuildInfo{"native", "GCC 12.2.0", {}};
  EXPECT_THAT(text(),
              HasSubstr("compilers may differ: off is built with an unknown compiler, on with GCC 12.2.0."));
  off.runner_sha256.clear();  // a bare trace
  EXPECT_EQ(text(), "");
  off.runner_sha256 = "00";
  off.runner_built = RunnerBuildInfo{"", "GCC 13.3.1", {}};
  EXPECT_THAT(
      text(),
      HasSubstr("compilers differ: off is built with GCC 13.3.1, on with GCC 12.2.0. Kernels outside of "
                "delegates: 0.200 of 2.144 ms (9.3%). They can differ by the compiler alone."));
  EXPECT_NEAR(FindInsight(report, finding::CompilersDiffer::kKind)->at_stake, 200'000, 1'000);
  off.runner_sha256 = "01";  // both variants use the same runner
  EXPECT_EQ(text(), "");
  off.runner_sha256 = "00";
  off.runner_built->compiler = "GCC 12.2.0";
  EXPECT_EQ(text(), "");
}

TEST(Findings, NameOperatorsFarBelowTheRoofline) {
  Report report = example::MakePair();
  RooflineRow far, near;
  const auto find_operator = [&](const std::string& name) {
    const auto& operators = report.experiments[1].profile->operators;
    const auto found =
        std::find_if(operators.begin(), operators.end(), [&](const Operator& op) { return op.name == name; });
    return static_cast<std::size_t>(found - operators.begin());
  };
  far.op = find_operator("Fully Connected (NC, PF32) GEMM #1");
  far.time.ns = 500'000;
  far.roof_ns = 100'000;
  far.bound = RooflineRow::Bound::kCompute;
  near.op = find_operator("Transpose (ND, X32) #1");
  near.time.ns = 300'000;
  near.roof_ns = 200'000;
  report.experiments[1].roofline.emplace().rows = {far, near};
  report.insights = FindInsights(report);
  const auto found = FindInsight(report, finding::BelowRoofline::kKind);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->at_stake, 400'000, 1);
  EXPECT_THAT(found->text,
              HasSubstr("1 operator reaches less than 50% of its roofline; closing the gap would save up to "
                        "0.400 ms. Largest gap: Fully Connected (NC, PF32) GEMM #1."));
  EXPECT_THAT(found->evidence, ElementsAre("Fully Connected (NC, PF32) GEMM #1: 0.500 ms, 20% of its compute "
                                           "roofline; potential saving 0.400 ms"));
  EXPECT_FALSE(FindInsight(report, finding::Fp16ComputedAsFp32::kKind));
  RooflineRow fp16_as_fp32 = far;
  fp16_as_fp32.macs = 1000;
  fp16_as_fp32.dtype = "fp16";
  fp16_as_fp32.roof_dtype = "fp32";
  RooflineRow native_fp16 = fp16_as_fp32;
  native_fp16.roof_dtype = "fp16";
  RooflineRow fp16_copy = fp16_as_fp32;
  fp16_copy.macs = 0;
  report.experiments[1].roofline->rows = {fp16_as_fp32, native_fp16, fp16_copy};
  report.insights = FindInsights(report);
  const auto fp16_finding = FindInsight(report, finding::Fp16ComputedAsFp32::kKind);
  ASSERT_TRUE(fp16_finding);
  EXPECT_NEAR(fp16_finding->at_stake, 500'000, 1);
  EXPECT_THAT(fp16_finding->text, HasSubstr("1 operator of fp16 computed as fp32: 0.500 of "));
  report.experiments[1].roofline->rows = {native_fp16, fp16_copy};
  report.insights = FindInsights(report);
  EXPECT_FALSE(FindInsight(report, finding::Fp16ComputedAsFp32::kKind));
  report.experiments[1].roofline->rows = {near};
  report.insights = FindInsights(report);
  EXPECT_FALSE(FindInsight(report, finding::BelowRoofline::kKind));
}

TEST(Findings, BoundTheSpeedupOfDataMovement) {
  const Report report = example::MakePair();
  const auto layout = FindInsight(report, finding::DataMoved::kKind);
  ASSERT_TRUE(layout);
  // 400 004 of 2 144 014 ns are 18.7%: 1 / (1 - 0.187) = 1.229.
  EXPECT_THAT(layout->text, HasSubstr("Data Movement: 0.400 of 2.144 ms (19%), 2 transposes (0.400 ms)."));
  EXPECT_THAT(layout->text, HasSubstr("Upper bound if eliminated: 1.23x."));
  EXPECT_NEAR(layout->at_stake, 400'004, 1);
}

TEST(Findings, NamePortableOperatorsWithTheirTime) {
  const Report report = example::MakePair();
  const auto portable = FindInsight(report, finding::NotDelegated::kKind);
  ASSERT_TRUE(portable);
  EXPECT_THAT(portable->text, HasSubstr("1 operator is not delegated (mean.out): 0.200 of 2.144 ms (9.3%)."));
}

TEST(Findings, NamePortableOperatorsThatXnnpackCanTake) {
  const Report report = example::MakePair();
  EXPECT_THAT(FindInsight(report, finding::NotDelegated::kKind)->text,
              HasSubstr("XNNPACK has kernels for it (mean.out, 0.200 ms) and took none here."));
  // argmax is not in the partitioner's list.
  std::vector<example::Inference> runs = example::MakeInferences(8, 4'000'000);
  for (example::Inference& run : runs) run.kernels = {{"argmax.out", 200'001}};
  const Report other = MakeReportOfRuns(runs);
  EXPECT_THAT(FindInsight(other, finding::NotDelegated::kKind)->text,
              testing::AllOf(Not(HasSubstr("XNNPACK")), Not(HasSubstr("attention"))));
}

TEST(Findings, NameTheSubstituteForAttention) {
  std::vector<example::Inference> runs = example::MakeInferences(8, 4'000'000);
  for (example::Inference& run : runs)
    run.kernels = {{"any.out", 100'001}, {"full_like.out", 50'000}, {"where.self_out", 70'000}};
  EXPECT_THAT(FindInsight(MakeReportOfRuns(runs), finding::NotDelegated::kKind)->text,
              HasSubstr("`etprof.wrappers.attention` exports it without them"));
}

// A single delegate would be called once, and convert layouts only at its own ends.
TEST(Findings, CountTheCostOfDividingIntoDelegates) {
  handmade::TraceBuilder trace;
  Nanoseconds now = 1000;
  for (int run = 0; run < 8; ++run) {
    trace.Block("Execute");
    const Nanoseconds start = now;
    for (const int call : {0, 2}) {
      if (call > 0) {
        trace.Framework(1, "native_call_mean.out", now, now + 200'000);
        trace.Framework(1, "OPERATOR_CALL", now, now + 200'000);
        now += 200'000;
      }
      const Nanoseconds call_start = now;
      now += 40'000;
      for (const auto& [name, duration] : {std::pair("Transpose (ND, X32) #1", 100'000),
                                           {"Convolution (NHWC, F32) IGEMM #1", 1'000'000},
                                           {"Transpose (ND, X32) #2", 70'000}}) {
        trace.Backend(call, name, now, now + duration);
        now += duration;
      }
      trace.Framework(call, "DELEGATE_CALL", call_start, now);
    }
    trace.Framework(0, "Method::execute", start, now);
    now += 500;
  }
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(Attribute(trace.Take(), {}));
  const Report report = Assemble(MakeEtdumpRun({"net.etdump"}, {}), std::move(profiles));
  const auto found = FindInsight(report, finding::NotDelegated::kKind);
  ASSERT_TRUE(found);
  // Of 2.62 ms, a single delegate would save the kernel's 0.2, half of the calls' 0.08, and the transposes of
  // 0.07 and 0.1 on both sides of the kernel.
  EXPECT_THAT(found->text,
              HasSubstr("It divides the model into 2 delegates, which takes another 0.210 ms for calls and "
                        "conversions. If all of this took no time: 1.19x, and more where delegates join."));
  EXPECT_NEAR(found->at_stake, 410'000, 1);
  const Report whole = example::MakePair();
  EXPECT_THAT(FindInsight(whole, finding::NotDelegated::kKind)->text, Not(HasSubstr("divides")));
}

TEST(Findings, ReportThatNothingWasDelegated) {
  std::vector<example::Inference> runs = example::MakeInferences(8, 4'000'000);
  for (example::Inference& run : runs) {
    run.kernels = {{"mul.out", 3'200'001}, {"linear.out", 300'001}};
    run.delegate.clear();
  }
  const auto portable = FindInsight(MakeReportOfRuns(runs), finding::NotDelegated::kKind);
  ASSERT_TRUE(portable);
  EXPECT_THAT(
      portable->text,
      HasSubstr("No delegate was called: all of 2 operators ran as ExecuTorch's own kernels (mul.out, "
                "linear.out): 3.500 of "));
  EXPECT_THAT(portable->text, HasSubstr("partitioner"));
  EXPECT_THAT(portable->text, Not(HasSubstr("in another form")));
  EXPECT_THAT(portable->text, Not(HasSubstr("Upper bound")));
}

// A reason stated by the program replaces the guess.
TEST(Findings, ExplainWhyPortableOperatorsAreNotDelegated) {
  std::vector<example::Inference> runs = example::MakeInferences(8, 4'000'000);
  for (example::Inference& run : runs) run.kernels = {{"mul.Scalar_out", 200'001}, {"argmax.out", 100'001}};
  Profile profile = Attribute(example::MakeTrace(runs), {});
  profile.program.emplace();
  profile.program->operators.resize(profile.operators.size());
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    if (profile.operators[op].type == "mul.Scalar_out")
      profile.program->operators[op].not_delegated_reason = "XNNPACK takes it of two tensors";
  }
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(std::move(profile));
  const Report report = Assemble(MakeEtdumpRun({"net.etdump"}, {}), std::move(profiles));
  const auto portable = FindInsight(report, finding::NotDelegated::kKind);
  EXPECT_THAT(portable->text,
              HasSubstr("XNNPACK has kernels for 1 of them (mul.Scalar_out, 0.200 ms) and took none here. "
                        "mul.Scalar_out: XNNPACK takes it of two tensors."));
  EXPECT_THAT(portable->text, Not(HasSubstr("kept it out")));
  EXPECT_THAT(portable->evidence,
              ElementsAre("mul.Scalar_out: 1 operator, 0.200 ms; XNNPACK takes it of two tensors",
                          "argmax.out: 1 operator, 0.100 ms"));
}

// Each hint of the export is shown with the time of its operators. Operators without a hint are not
// estimated.
TEST(Findings, EstimateTheEffectOfExportHints) {
  std::vector<example::Inference> runs = example::MakeInferences(8, 4'000'000);
  for (example::Inference& run : runs)
    run.kernels = {{"any.out", 300'001},
                   {"where.self_out", 200'000},
                   {"native_layer_norm.out", 100'000},
                   {"sort.out", 50'000}};
  Profile profile = Attribute(example::MakeTrace(runs), {});
  profile.program.emplace();
  profile.program->operators.resize(profile.operators.size());
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    const std::string& type = profile.operators[op].type;
    std::string& hint = profile.program->operators[op].hint;
    if (type == "any.out" || type == "where.self_out") hint = "Use another attention";
    if (type == "native_layer_norm.out") hint = "Use another norm";
  }
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(std::move(profile));
  const Report report = Assemble(MakeEtdumpRun({"net.etdump"}, {}), std::move(profiles));
  const auto found = FindInsight(report, finding::NotDelegated::kKind);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->text,
              testing::AllOf(HasSubstr(" Use another attention: 2 of them, 0.500 ms. Use another norm: 1 of "
                                       "them, 0.100 ms. Estimate: "),
                             Not(HasSubstr("took none here"))));
  const double whole = report.experiments[0].MeanExecute().value_or(0);
  EXPECT_THAT(found->text, HasSubstr(fmt::format("Estimate: {:.2f}x without these operators.",
                                                 whole / (whole - 600'001))));
  EXPECT_THAT(found->evidence, testing::IsSupersetOf({"Use another attention: 2 operators, 0.500 ms",
                                                      "Use another norm: 1 operator, 0.100 ms"}));
}

TEST(Findings, CountTheLayoutChangesAtTheEdgesOfDelegates) {
  const Report report = example::MakePair();
  // The delegate begins with one transpose and ends with the other.
  EXPECT_THAT(FindInsight(report, finding::DataMoved::kKind)->text,
              HasSubstr("2 operators (0.400 ms) sit at a delegate boundary."));
  std::vector<example::Inference> runs = example::MakeInferences(8, 4'000'000);
  for (example::Inference& run : runs) run.delegate.push_back({"Add (ND) #1", 1'000});
  const Report inner = MakeReportOfRuns(runs);
  EXPECT_THAT(FindInsight(inner, finding::DataMoved::kKind)->text,
              HasSubstr("1 operator (0.300 ms) sits at a delegate boundary."));
}

TEST(Findings, BoundTheSpeedupOfEachCategory) {
  const Report report = example::MakePair();
  const auto amdahl = FindInsight(report, finding::UpperBounds::kKind);
  ASSERT_TRUE(amdahl);
  // 1 002 001 of 2 144 014 ns: 1 / (1 - 0.4673) = 1.877; 500 007: 1.304; 400 004: 1.229.
  EXPECT_EQ(
      amdahl->text,
      "Upper bounds per category (Amdahl's law): CONV_STANDARD 1.88x, GEMM 1.30x, DATA_MOVEMENT 1.23x.");
  EXPECT_THAT(amdahl->evidence, testing::Contains(HasSubstr("REDUCTION: 0.200 of 2.144 ms (9.3%), 1.10x")));
}

// Share, time, and bound come from the same runs: each follows from the other printed numbers.
TEST(Findings, BoundFollowsFromTheShare) {
  const Report report = example::MakePair();
  const auto bottleneck = FindInsight(report, finding::Bottleneck::kKind);
  ASSERT_TRUE(bottleneck);
  // 1 / (1 - 1.002 / 2.144) = 1.877. The untraced median of 2.004 ms would give 2.00x.
  EXPECT_EQ(bottleneck->text,
            "Convolution: 1.002 of 2.144 ms (47%), 1 operator. Upper bound if eliminated: 1.88x.");
}

TEST(Findings, CountUnlistedEvidence) {
  const Report report = example::MakePair();
  finding::SlowerOperators slower;
  slower.operators.assign(7, {0, 1e6, 2e6});
  const PrintedFinding found(report, {slower, 0, report.comparisons[0].candidate, 0});
  ASSERT_EQ(found.evidence.size(), 6U);
  EXPECT_EQ(found.evidence.back(), "and 2 more operators");
}

TEST(Findings, NameTheSlowerOperatorsWithTheirSum) {
  Report report = example::MakePair();
  std::int64_t slower = 0;
  for (OperatorMatch& match : report.comparisons[0].comparison.operators) {
    if (!match.baseline || !match.candidate || slower == 2) continue;
    match.quantity.verdict = stats::Verdict::kSlower;
    match.quantity.baseline_ns = 100'000;
    match.quantity.candidate_ns = 250'000;
    ++slower;
  }
  report.insights = FindInsights(report);
  const auto found = FindInsight(report, finding::SlowerOperators::kKind);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text, "2 operators are slower in on, by 0.300 ms in total.");
  EXPECT_THAT(found->evidence, testing::Each(HasSubstr(": 0.100 ms before, 0.250 ms after")));
}

// The report of a pair with modified bursts of the candidate: entry i of `factors` scales burst i in time.
Report MakeReportWithBursts(const std::vector<double>& factors,
                            std::vector<RoundConditions> conditions = {}) {
  RunData run;
  run.model_id = "net";
  run.experiments = {example::MakeExperiment("on", 2'000'000)};
  run.conditions = std::move(conditions);
  std::size_t i = 0;
  for (Launch& launch : run.experiments[0].launches) {
    for (Burst& burst : launch.bursts) {
      const double factor = factors[i % factors.size()];
      burst.start = 1'000'000 * static_cast<Nanoseconds>(i++);
      burst.frequency_khz = static_cast<std::int64_t>(3e6 / factor);
      for (Nanoseconds& latency : burst.recorded) latency = static_cast<Nanoseconds>(2e6 * factor);
    }
  }
  std::vector<std::optional<Profile>> profiles(1);
  return Assemble(std::move(run), std::move(profiles));
}

TEST(Findings, ReportALatencyStepAndTheClock) {
  std::vector<double> rising;
  for (int i = 0; i < 40; ++i) rising.push_back(1 + 0.2 * i / 39);
  const Report report = MakeReportWithBursts(rising);
  const auto step = FindInsight(report, finding::LatencyStep::kKind);
  ASSERT_TRUE(step);
  EXPECT_THAT(step->text, HasSubstr("Latency drifted up by 18% during the measurement (40 bursts)"));
  EXPECT_THAT(step->evidence, testing::ElementsAre(HasSubstr("CPU clock: 2.86 GHz, then 2.61 GHz")));
}

TEST(Findings, ReportTheDevicesConditions) {
  std::vector<double> rising;
  for (int i = 0; i < 40; ++i) rising.push_back(1 + 0.2 * i / 39);
  std::vector<RoundConditions> conditions;
  for (const Launch& launch : example::MakeExperiment("on", 2'000'000).launches) {
    for (const Burst& burst : launch.bursts) {
      RoundConditions round;
      round.launch = launch.index;
      round.round = burst.round;
      round.capped = conditions.size() >= 20;
      round.vitals.skin_celsius = round.capped ? 44 : 31;
      conditions.push_back(round);
    }
  }
  const Report report = MakeReportWithBursts(rising, conditions);
  const auto step = FindInsight(report, finding::LatencyStep::kKind);
  ASSERT_TRUE(step);
  EXPECT_THAT(step->evidence, testing::IsSupersetOf({"rounds with capped clocks: 0%, then 100%",
                                                     "skin: 31.00 degrees C, then 44.00 degrees C"}));
}

TEST(Findings, ReportBimodalLatency) {
  const Report report = MakeReportWithBursts({1, 1, 1.4});
  const auto step = FindInsight(report, finding::LatencyStep::kKind);
  ASSERT_TRUE(step);
  EXPECT_THAT(step->text,
              HasSubstr("Latency is bimodal: 2.000 ms in 68% of the bursts, 2.800 ms in the others"));
  EXPECT_THAT(step->evidence, testing::ElementsAre(HasSubstr("CPU clock: 3.00 GHz, then 2.14 GHz")));
}

TEST(Findings, ReportTheBurstAtWhichThrottlingBegins) {
  std::vector<double> factors;
  for (int i = 0; i < 40; ++i) factors.push_back((i < 26 ? 1 : 1.4) * (1 + 0.002 * (i % 3)));
  const Report report = MakeReportWithBursts(factors);
  const auto step = FindInsight(report, finding::LatencyStep::kKind);
  ASSERT_TRUE(step);
  EXPECT_THAT(step->text,
              HasSubstr("Latency increased by 40% at burst 27 of 40 (2.806 ms, previously 2.004 ms). "
                        "Likely cause: thermal throttling"));
  EXPECT_THAT(step->evidence, testing::ElementsAre(HasSubstr("CPU clock: 2.99 GHz, then 2.14 GHz")));
  // The latencies also have a trend and two levels, which are not reported next to the step.
  EXPECT_EQ(
      std::count_if(report.insights.begin(), report.insights.end(),
                    [](const Insight& insight) { return insight.kind() == finding::LatencyStep::kKind; }),
      1);
  std::reverse(factors.begin(), factors.end());
  const Report sped_up = MakeReportWithBursts(factors);
  EXPECT_THAT(FindInsight(sped_up, finding::LatencyStep::kKind)->text,
              HasSubstr("Latency decreased by 29% at burst 15 of 40"));
}

// The log of one process has no bursts, so its runs are examined, counted from the warmup runs on.
TEST(Findings, ReportTheRunAtWhichThrottlingBegins) {
  RunData run;
  run.model_id = "net";
  run.experiments = {example::MakeExperiment("on", 2'000'000)};
  run.experiments[0].launches.resize(1);
  Launch& launch = run.experiments[0].launches[0];
  launch.first_run = 9'000'000;
  launch.warmup = {3'000'000, 2'500'000};
  launch.bursts.resize(1);
  launch.bursts[0].round = -1;
  launch.bursts[0].recorded.clear();
  for (int i = 0; i < 60; ++i) launch.bursts[0].recorded.push_back(i < 20 ? 2'000'000 : 2'600'000);
  const Report report = Assemble(std::move(run), std::vector<std::optional<Profile>>(1));
  const auto step = FindInsight(report, finding::LatencyStep::kKind);
  ASSERT_TRUE(step);
  EXPECT_THAT(step->text,
              HasSubstr("Latency increased by 30% at run 24 of 63 (2.600 ms, previously 2.000 ms)"));
}

TEST(Findings, IgnoreSmallNoise) {
  EXPECT_FALSE(FindInsight(MakeReportWithBursts({1, 1.001, 0.999}), finding::LatencyStep::kKind));
  EXPECT_FALSE(FindInsight(example::MakePair(), finding::LatencyStep::kKind));
}

TEST(Findings, AreRankedByTheTimeAtStake) {
  for (const Report& report : {example::MakePair(), example::MakeBare()}) {
    ASSERT_FALSE(report.insights.empty());
    for (std::size_t i = 1; i < report.insights.size(); ++i) {
      EXPECT_GE(report.insights[i - 1].at_stake, report.insights[i].at_stake);
    }
  }
}

TEST(Findings, EachContainsANumber) {
  for (const Report& report : {example::MakePair(), example::MakeBare()}) {
    for (const Insight& insight : report.insights) {
      const PrintedFinding texts(report, insight);
      EXPECT_NE(texts.text.find_first_of("0123456789"), std::string::npos) << texts.text;
      EXPECT_FALSE(texts.formula.empty()) << texts.text;
    }
  }
}

TEST(Findings, NameProcessesThatCauseContention) {
  Report report = example::MakePair();
  Comparison& comparison = report.comparisons[0].comparison;
  comparison.latency.verdict = stats::Verdict::kContended;
  comparison.baseline_clean = {80, 200};
  comparison.candidate_clean = {200, 200};
  OtherLoad& load = report.run.other_load_during.emplace();
  load.cores = 2;
  load.machine_cores = 1.9;
  load.processes = {{"cc1plus", 2, 1.9}};
  report.insights = FindInsights(report);
  EXPECT_EQ(
      FindInsight(report, finding::Contended::kKind)->text,
      "Contended: 80 of 200 runs of off and 200 of 200 runs of on had a processor whenever they wanted one; "
      "cc1plus used 1.9 of 2 cores. No speedup is reported. Stop the other processes, or allow more time "
      "(--max-seconds).");
  // If no launch was clean, more time is not recommended.
  comparison.launches = 0;
  report.insights = FindInsights(report);
  EXPECT_THAT(FindInsight(report, finding::Contended::kKind)->text, Not(HasSubstr("more time")));
}

TEST(Findings, NameTheQuotaThatCausesContention) {
  Report report = example::MakePair();
  report.comparisons[0].comparison.latency.verdict = stats::Verdict::kContended;
  OtherLoad& load = report.run.other_load_during.emplace();
  load.cores = 2;
  load.machine_cores = 2;
  load.processes = {{"python", 1, 2}};
  ResourceLimits& limits = report.run.device.emplace().limits;
  limits.quota_cpus = 0.1;
  limits.quota_key = "cpu.cfs_quota_us";
  for (Launch& launch : report.run.experiments[0].launches) {
    for (Burst& burst : launch.bursts) {
      burst.recorded_wait.assign(burst.recorded.size(), 1'000'000);
      burst.throttled = 600'000 * static_cast<Nanoseconds>(burst.recorded.size());
    }
  }
  report.insights = FindInsights(report);
  EXPECT_THAT(FindInsight(report, finding::Contended::kKind)->text,
              testing::AllOf(HasSubstr("; this container may use 0.10 CPUs (cpu.cfs_quota_us). No speedup is "
                                       "reported. Raise the quota"),
                             Not(HasSubstr("python"))));
  for (Launch& launch : report.run.experiments[0].launches) {
    for (Burst& burst : launch.bursts) burst.throttled = 1;
  }
  report.insights = FindInsights(report);
  EXPECT_THAT(FindInsight(report, finding::Contended::kKind)->text, HasSubstr("python used 2.0 of 2 cores"));
}

TEST(Findings, ReportDisagreeingCpuTime) {
  Report report = example::MakePair();
  report.experiments[0].cpu_time = 5e6;
  report.experiments[1].cpu_time = 4e6;
  report.insights = FindInsights(report);
  EXPECT_THAT(FindInsight(report, finding::CpuTimeDiscrepancy::kKind)->text,
              HasSubstr("2.50x in wall time [2.50, 2.50], 1.25x in CPU time"));
}

// The candidate's traced mean is 2 144 014 ns, its fastest traced run takes 2 142 000 ns.
std::string TracingFindingText(double median, double fastest) {
  Report report = example::MakePair();
  report.experiments[1].latency.p50 = median;
  report.experiments[1].latency.min = fastest;
  report.insights = FindInsights(report);
  return FindInsight(report, finding::TracingDiscrepancy::kKind)->text;
}

TEST(Findings, ExplainSlowerTracedRuns) {
  EXPECT_EQ(TracingFindingText(1'500'000, 2'140'000),
            "Traced runs take 2.144 ms (mean), 43% more than the untraced median of 1.500 ms. Operator times "
            "are from traced runs, so no upper bounds are reported. Likely cause: disturbed traced runs (the "
            "fastest takes 2.142 ms). Measure again on an idle machine or with more traced runs (--runs).");
  EXPECT_THAT(
      TracingFindingText(1'500'000, 1'495'000),
      HasSubstr("Likely cause: a slower machine during traced runs (even the fastest takes 2.142 ms)."));
  EXPECT_THAT(TracingFindingText(3'000'000, 2'000'000),
              HasSubstr("29% less than the untraced median of 3.000 ms. Operator times are from traced runs, "
                        "so no upper bounds are reported. Likely cause: disturbed untraced runs."));
  Report report = example::MakePair();
  const Insight tracer{
      finding::TracingDiscrepancy{{2.2e6, 1.9e6}, {finding::TracingCause::Kind::kTracer, 2.1e6, 1'800, 100}}};
  EXPECT_THAT(PrintedFinding(report, tracer).text,
              HasSubstr("Likely cause: tracing overhead, about 1.80 µs for each of 100 events."));
}

Report MakeReportWithSpeedup(double ratio) {
  Report report = example::MakePair();
  stats::RatioEstimate& estimate = *report.comparisons[0].comparison.latency.estimate;
  estimate.log_ratio = std::log(ratio);
  estimate.log_low = std::log(ratio * 0.99);
  estimate.log_high = std::log(ratio * 1.01);
  return report;
}

TEST(Findings, ExplainTablesThatDoNotMatchTheSpeedup) {
  Report report = MakeReportWithSpeedup(4);
  report.insights = FindInsights(report);
  const std::string text = FindInsight(report, finding::TracingDiscrepancy::kKind)->text;
  EXPECT_THAT(text,
              HasSubstr("Operator and group times of off and on add up to 2.40x (5.144 ms to 2.144 ms), "
                        "not to the measured speedup of 4.00x. Traced runs take 2.8% more time than "
                        "untraced ones in off and 7.0% more in on. "));
  EXPECT_THAT(text, Not(HasSubstr("No upper bounds")));  // the times of each variant agree
  report.experiments[1].latency.p50 = 1e6;
  report.insights = FindInsights(report);
  EXPECT_THAT(FindInsight(report, finding::TracingDiscrepancy::kKind)->text,
              HasSubstr("No upper bounds are reported for on."));
  report = MakeReportWithSpeedup(4);
  report.comparisons[0].comparison.latency_from_trace = true;
  for (ReportExperiment& experiment : report.experiments) experiment.latency_from_trace = true;
  report.insights = FindInsights(report);
  const std::string traced_text = FindInsight(report, finding::TracingDiscrepancy::kKind)->text;
  EXPECT_THAT(traced_text, HasSubstr("The measured speedup is of medians, the sums are of means"));
  EXPECT_THAT(traced_text, Not(HasSubstr("Likely cause")));
}

TEST(Findings, AreEmptyForAnEmptyRun) { EXPECT_TRUE(Assemble({}, {}).insights.empty()); }

}  // namespace
}  // namespace etprof::show
