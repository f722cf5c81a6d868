#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/golden_testing.h"
#include "report/example_run.h"
#include "show/subjects/run/report.h"

namespace etprof::show {
namespace {

using testing::ElementsAre;

// The printed texts of a finding.
struct PrintedFinding {
  std::string text;
  std::vector<std::string> evidence;
  std::string formula;
  double impact_ns = 0;

  PrintedFinding(const Report& report, const Finding& finding) : impact_ns(finding.impact_ns) {
    const FindingTexts texts = MakeFindingTexts(report, finding);
    const TimeRange time_range = LatencyRange(report);
    text = ToText(texts.text, time_range);
    for (const Text& line : texts.evidence) evidence.push_back(ToText(line, time_range));
    formula = texts.formula;
  }
};

// Returns the first finding with details of this type, or null.
template <typename Details>
const Finding* GetFinding(const Report& report) {
  const auto found = std::ranges::find_if(report.findings, [](const Finding& finding) {
    return std::holds_alternative<Details>(finding.details);
  });
  return found == report.findings.end() ? nullptr : &*found;
}
template <typename Details>
std::optional<Details> FindDetails(const Report& report) {
  const Finding* const finding = GetFinding<Details>(report);
  if (finding == nullptr) return std::nullopt;
  return std::get<Details>(finding->details);
}

Report MakeReportOfProfile(Profile profile) {
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(std::move(profile));
  return Assemble(MakeEtdumpRun({"net.etdump"}, {}), std::move(profiles));
}

Report MakeRunsReport(const std::vector<example::Inference>& runs) {
  return MakeReportOfProfile(Attribute(example::MakeTrace(runs), {}));
}

// Eight inferences with these kernels outside of the delegate.
std::vector<example::Inference> MakeRunsWithKernels(const std::vector<example::Event>& kernels) {
  std::vector<example::Inference> runs = example::MakeInferences(8, 4'000'000);
  for (example::Inference& run : runs) run.kernels = kernels;
  return runs;
}

TEST(Findings, ShowTheBottleneckShiftWithShares) {
  const auto shift = FindDetails<finding::BottleneckShift>(example::MakePairReport());
  ASSERT_TRUE(shift);
  // 4.002 of 5.144 ms before, 1.002 of 2.144 after; GEMM from 0.5 / 5.144 to 0.5 / 2.144.
  EXPECT_EQ(shift->grown_most.group, OperatorGroup::kGemm);
  EXPECT_NEAR(shift->grown_most.baseline.share(), 0.097, 5e-4);
  EXPECT_NEAR(shift->grown_most.candidate.share(), 0.233, 5e-4);
  EXPECT_FALSE(shift->HasMoved());
  EXPECT_EQ(shift->to.group, OperatorGroup::kConvolution);
  EXPECT_NEAR(shift->to.candidate.share(), 0.467, 5e-4);
}

// The group that grew is an overhead, which is larger than the largest group of operators.
Report MakeReportWithLargestOverhead() {
  Report report = example::MakePairReport();
  const auto found = std::ranges::find(report.findings, finding::BottleneckShift::kKind, &Finding::kind);
  auto& shift = std::get<finding::BottleneckShift>(found->details);
  shift.grown_most.group = OperatorGroup::kFrameworkOverhead;
  shift.grown_most.candidate.ns = shift.to.candidate.ns + 1;
  return report;
}

// The shares change, but the interval of a group's change includes zero.
TEST(Findings, ReportNoInsignificantShift) {
  Report report = example::MakePairReport();
  for (DeltaRow& row : report.comparisons[0].comparison.groups) {
    if (row.name == OperatorGroupName(OperatorGroup::kGemm) && row.time_comparison.estimate)
      row.time_comparison.estimate->log_high = 2;
  }
  report.findings = MakeFindings(report);
  EXPECT_FALSE(FindDetails<finding::BottleneckShift>(report));
  for (DeltaRow& row : report.comparisons[0].comparison.groups) row.time_comparison.estimate.reset();
  report.findings = MakeFindings(report);
  EXPECT_FALSE(FindDetails<finding::BottleneckShift>(report));
}

// The calls' self time is 400 us. `tracer` is the additional time of traced runs; absent: there are only
// traced runs.
Report MakeReportWithDelegateOverhead(std::optional<double> tracer) {
  std::vector<example::Inference> runs = example::MakeInferences(8, 4'000'000);
  for (example::Inference& run : runs) run.overhead = 400'000;
  Report report = MakeRunsReport(runs);
  if (!tracer) return report;
  report.experiments[0].latency_from_trace = false;
  report.experiments[0].tracer = -*tracer;
  report.findings = MakeFindings(report);
  return report;
}

// The additional time of traced runs does not belong to delegates.
TEST(Findings, SubtractTracingOverheadFromDelegates) {
  EXPECT_NEAR(GetFinding<finding::DelegateOverhead>(MakeReportWithDelegateOverhead({}))->impact_ns, 400'000,
              1);
  const Report report = MakeReportWithDelegateOverhead(150'000);
  EXPECT_NEAR(GetFinding<finding::DelegateOverhead>(report)->impact_ns, 250'000, 1);
  const auto overhead = FindDetails<finding::DelegateOverhead>(report);
  EXPECT_NEAR(overhead->time.ns, 400'000, 1);
  EXPECT_NEAR(overhead->tracing_ns, 150'000, 1);
  EXPECT_EQ(overhead->calls, 1);
  EXPECT_FALSE(FindDetails<finding::DelegateOverhead>(MakeReportWithDelegateOverhead(400'000)));
}

// In the first run of a process, most of the time is weight packing.
Report MakeReportOfFirstRun() {
  std::vector<example::Inference> runs = example::MakeInferences(1, 4'000'000);
  runs[0].overhead = 2'000'000;
  return MakeRunsReport(runs);
}

// Rounded alone, the groups' times do not add up to the whole. A finding has the rounded times, which its
// evidence and the table of operators have, too.
Report MakeReportWithRoundedGroups() {
  std::vector<example::Inference> runs(8);
  for (example::Inference& run : runs)
    run.delegate = {{"Fully Connected (NC, F32) GEMM #1", 2'565'700},
                    {"Transpose (ND, X32) #1", 1'330'550},
                    {"Add (ND) #1", 1'189'650}};
  return MakeRunsReport(runs);
}

// A pair of runners with these compilers; "": the compiler is unknown.
Report MakeReportOfCompilers(const std::string& baseline, const std::string& candidate) {
  Report report = example::MakePairReport();
  const auto set_runner = [](const char* sha256, const std::string& compiler, ExperimentData& data) {
    data.runner_sha256 = sha256;
    if (!compiler.empty()) data.runner_built = RunnerBuildInfo{"native", compiler, {}};
  };
  set_runner("00", baseline, report.run.experiments[0]);
  set_runner("01", candidate, report.run.experiments[1]);
  report.findings = MakeFindings(report);
  return report;
}

TEST(Findings, NameDifferentCompilers) {
  EXPECT_FALSE(FindDetails<finding::CompilersDiffer>(MakeReportOfCompilers("", "")));
  const auto half_known = FindDetails<finding::CompilersDiffer>(MakeReportOfCompilers("", "GCC 12.2.0"));
  ASSERT_TRUE(half_known);
  EXPECT_EQ(half_known->baseline, "");
  EXPECT_EQ(half_known->candidate, "GCC 12.2.0");
  Report report = MakeReportOfCompilers("GCC 13.3.1", "GCC 12.2.0");
  const auto found = FindDetails<finding::CompilersDiffer>(report);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->baseline, "GCC 13.3.1");
  EXPECT_NEAR(found->portable->ns, 200'001, 1);
  EXPECT_NEAR(GetFinding<finding::CompilersDiffer>(report)->impact_ns, 200'000, 1'000);
  const auto is_found = [&] {
    report.findings = MakeFindings(report);
    return FindDetails<finding::CompilersDiffer>(report).has_value();
  };
  report.run.experiments[0].runner_sha256.clear();  // a bare trace
  EXPECT_FALSE(is_found());
  report.run.experiments[0].runner_sha256 = "01";  // both variants use the same runner
  EXPECT_FALSE(is_found());
  EXPECT_FALSE(FindDetails<finding::CompilersDiffer>(MakeReportOfCompilers("GCC 12.2.0", "GCC 12.2.0")));
}

// A pair whose candidate has a roofline with these rows.
Report MakeReportWithRoofline(std::vector<RooflineRow> rows) {
  Report report = example::MakePairReport();
  report.experiments[1].roofline.emplace().rows = std::move(rows);
  report.findings = MakeFindings(report);
  return report;
}

// A compute-bound row of an operator of MakePairReport's candidate.
RooflineRow MakeRowOfOperator(const std::string& name, double ns, double ceiling_ns) {
  const Report report = example::MakePairReport();
  const auto& operators = report.experiments[1].profile->operators;
  RooflineRow row;
  row.op = static_cast<std::size_t>(std::ranges::find(operators, name, &Operator::name) - operators.begin());
  row.time.ns = ns;
  row.ceiling_ns = ceiling_ns;
  row.bound = RooflineRow::Bound::kCompute;
  return row;
}
RooflineRow MakeFarRow() { return MakeRowOfOperator("Fully Connected (NC, PF32) GEMM #1", 500'000, 100'000); }
RooflineRow MakeNearRow() { return MakeRowOfOperator("Transpose (ND, X32) #1", 300'000, 200'000); }

// A row of fp16 that is computed as `ceiling_dtype`.
RooflineRow MakeFp16Row(const char* ceiling_dtype, std::int64_t macs) {
  RooflineRow row = MakeFarRow();
  row.macs = macs;
  row.dtype = "fp16";
  row.ceiling_dtype = ceiling_dtype;
  return row;
}
Report MakeReportOfFp16() {
  return MakeReportWithRoofline(
      {MakeFp16Row("fp32", 1000), MakeFp16Row("fp16", 1000), MakeFp16Row("fp32", 0)});
}

TEST(Findings, NameOperatorsFarBelowTheRoofline) {
  const Report report = MakeReportWithRoofline({MakeFarRow(), MakeNearRow()});
  const auto found = FindDetails<finding::BelowRoofline>(report);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->rows, ElementsAre(0U));
  EXPECT_NEAR(found->gap.ns, 400'000, 1);
  EXPECT_NEAR(GetFinding<finding::BelowRoofline>(report)->impact_ns, 400'000, 1);
  EXPECT_FALSE(FindDetails<finding::Fp16ComputedAsFp32>(report));
  EXPECT_FALSE(FindDetails<finding::BelowRoofline>(MakeReportWithRoofline({MakeNearRow()})));
}

TEST(Findings, NameFp16ComputedAsFp32) {
  const Report report = MakeReportOfFp16();
  const auto found = FindDetails<finding::Fp16ComputedAsFp32>(report);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->operators, 1);
  EXPECT_NEAR(found->time.ns, 500'000, 1);
  EXPECT_NEAR(GetFinding<finding::Fp16ComputedAsFp32>(report)->impact_ns, 500'000, 1);
  EXPECT_FALSE(FindDetails<finding::Fp16ComputedAsFp32>(
      MakeReportWithRoofline({MakeFp16Row("fp16", 1000), MakeFp16Row("fp32", 0)})));
}

TEST(Findings, BoundTheSpeedupOfDataMovement) {
  const Report report = example::MakePairReport();
  const auto moved = FindDetails<finding::DataMoved>(report);
  ASSERT_TRUE(moved);
  // 400 004 of 2 144 014 ns are 18.7%: 1 / (1 - 0.187) = 1.229.
  EXPECT_NEAR(moved->time.ns, 400'004, 1);
  EXPECT_NEAR(moved->time.whole_ns, 2'144'014, 1'000);
  EXPECT_NEAR(*moved->bound, 1.229, 1e-3);
  EXPECT_NEAR(GetFinding<finding::DataMoved>(report)->impact_ns, 400'004, 1);
}

TEST(Findings, NamePortableOperatorsWithTheirTime) {
  const auto portable = FindDetails<finding::NotDelegated>(example::MakePairReport());
  ASSERT_TRUE(portable);
  EXPECT_EQ(portable->operators, 1);
  ASSERT_EQ(portable->types.size(), 1U);
  EXPECT_EQ(portable->types[0].type, "mean.out");
  EXPECT_NEAR(portable->time.ns, 200'001, 1);
  EXPECT_NEAR(portable->time.share(), 0.093, 5e-4);
}

TEST(Findings, NamePortableOperatorsThatXnnpackCanTake) {
  const auto portable = FindDetails<finding::NotDelegated>(example::MakePairReport());
  ASSERT_EQ(portable->delegable.size(), 1U);
  EXPECT_EQ(portable->delegable[0].type, "mean.out");
  // argmax is not in the partitioner's list.
  const Report other = MakeRunsReport(MakeRunsWithKernels({{"argmax.out", 200'001}}));
  EXPECT_TRUE(FindDetails<finding::NotDelegated>(other)->delegable.empty());
}

// Eight runs of two delegate calls with a kernel in between.
Report MakeReportOfTwoDelegates() {
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
  return MakeReportOfProfile(Attribute(trace.Take(), {}));
}

// A single delegate would be called once, and convert layouts only at its own ends.
TEST(Findings, CountTheCostOfDividingIntoDelegates) {
  const Report report = MakeReportOfTwoDelegates();
  const auto found = FindDetails<finding::NotDelegated>(report);
  ASSERT_TRUE(found);
  // Of 2.62 ms, a single delegate would save the kernel's 0.2, half of the calls' 0.08, and the transposes of
  // 0.07 and 0.1 on both variants of the kernel.
  EXPECT_NEAR(found->boundaries_ns, 210'000, 1);
  EXPECT_NEAR(*found->bound, 2.62 / (2.62 - 0.41), 1e-3);
  EXPECT_NEAR(GetFinding<finding::NotDelegated>(report)->impact_ns, 410'000, 1);
  EXPECT_EQ(FindDetails<finding::NotDelegated>(example::MakePairReport())->boundaries_ns, 0);
}

Report MakeReportWithoutDelegate() {
  std::vector<example::Inference> runs =
      MakeRunsWithKernels({{"mul.out", 3'200'001}, {"linear.out", 300'001}});
  for (example::Inference& run : runs) run.delegate.clear();
  return MakeRunsReport(runs);
}

// The advice is then to export with a partitioner, instead of an upper bound.
TEST(Findings, ReportThatNothingWasDelegated) {
  const Report report = MakeReportWithoutDelegate();
  EXPECT_EQ(report.experiments[0].delegate_calls, 0);
  const auto portable = FindDetails<finding::NotDelegated>(report);
  ASSERT_TRUE(portable);
  EXPECT_EQ(portable->operators, 2);
  EXPECT_NEAR(portable->time.ns, 3'500'002, 1);
}

// The program states why one of two portable operators is not delegated.
Report MakeReportWithReason() {
  Profile profile = Attribute(
      example::MakeTrace(MakeRunsWithKernels({{"mul.Scalar_out", 200'001}, {"argmax.out", 100'001}})), {});
  profile.program.emplace();
  profile.program->operators.resize(profile.operators.size());
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    if (profile.operators[op].type == "mul.Scalar_out")
      profile.program->operators[op].not_delegated_reason = "XNNPACK takes it of two tensors";
  }
  return MakeReportOfProfile(std::move(profile));
}

// A reason stated by the program replaces the guess.
TEST(Findings, ExplainWhyPortableOperatorsAreNotDelegated) {
  const auto portable = FindDetails<finding::NotDelegated>(MakeReportWithReason());
  ASSERT_EQ(portable->delegable.size(), 1U);
  EXPECT_EQ(portable->delegable[0].type, "mul.Scalar_out");
  EXPECT_THAT(portable->delegable[0].not_delegated, ElementsAre("XNNPACK takes it of two tensors"));
  ASSERT_EQ(portable->types.size(), 2U);
  EXPECT_TRUE(portable->types[1].not_delegated.empty());
}

// The export has a hint for all portable operators but one.
Report MakeReportWithHints() {
  Profile profile = Attribute(example::MakeTrace(MakeRunsWithKernels({{"any.out", 300'001},
                                                                      {"where.self_out", 200'000},
                                                                      {"native_layer_norm.out", 100'000},
                                                                      {"sort.out", 50'000}})),
                              {});
  profile.program.emplace();
  profile.program->operators.resize(profile.operators.size());
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    const std::string& type = profile.operators[op].type;
    std::string& hint = profile.program->operators[op].hint;
    if (type == "any.out" || type == "where.self_out") hint = "Use another attention";
    if (type == "native_layer_norm.out") hint = "Use another norm";
  }
  return MakeReportOfProfile(std::move(profile));
}

// Each hint of the export is shown with the time of its operators. Operators without a hint are not
// estimated.
TEST(Findings, EstimateTheEffectOfExportHints) {
  const Report report = MakeReportWithHints();
  const auto found = FindDetails<finding::NotDelegated>(report);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->remedies.size(), 2U);
  EXPECT_EQ(found->remedies[0].text, "Use another attention");
  EXPECT_EQ(found->remedies[0].operators, 2);
  EXPECT_NEAR(found->remedies[0].ns, 500'001, 1);
  EXPECT_EQ(found->remedies[1].text, "Use another norm");
  EXPECT_EQ(found->remedies[1].operators, 1);
  EXPECT_NEAR(found->remedies[1].ns, 100'000, 1);
  const double whole = report.experiments[0].MeanExecute().value_or(0);
  EXPECT_NEAR(*found->speedup_without_operators, whole / (whole - 600'001), 1e-6);
}

// The delegate begins with one transpose, and ends with an operator that moves no data.
Report MakeReportWithInnerTranspose() {
  std::vector<example::Inference> runs = example::MakeInferences(8, 4'000'000);
  for (example::Inference& run : runs) run.delegate.push_back({"Add (ND) #1", 1'000});
  return MakeRunsReport(runs);
}

TEST(Findings, CountTheLayoutChangesAtTheEdgesOfDelegates) {
  // The delegate begins with one transpose and ends with the other.
  const auto outer = FindDetails<finding::DataMoved>(example::MakePairReport());
  EXPECT_EQ(outer->boundary_operators, 2);
  EXPECT_NEAR(outer->boundary_ns, 400'004, 1);
  const auto inner = FindDetails<finding::DataMoved>(MakeReportWithInnerTranspose());
  EXPECT_EQ(inner->boundary_operators, 1);
  EXPECT_NEAR(inner->boundary_ns, 300'003, 1);
}

TEST(Findings, BoundTheSpeedupOfEachCategory) {
  const auto amdahl = FindDetails<finding::UpperBounds>(example::MakePairReport());
  ASSERT_TRUE(amdahl);
  // 1 002 001 of 2 144 014 ns: 1 / (1 - 0.4673) = 1.877; 500 007: 1.304; 400 004: 1.229; 200 001: 1.103.
  std::vector<std::string> categories;
  std::vector<double> bounds;
  for (const auto& [category, time, bound] : amdahl->categories) {
    categories.push_back(category);
    bounds.push_back(bound);
  }
  EXPECT_THAT(categories, ElementsAre("CONV_STANDARD", "GEMM", "DATA_MOVEMENT", "REDUCTION"));
  EXPECT_THAT(bounds, testing::Pointwise(testing::DoubleNear(2e-3), {1.877, 1.304, 1.229, 1.103}));
}

// Share, time, and bound come from the same runs: each follows from the other printed numbers.
TEST(Findings, BoundFollowsFromTheShare) {
  const auto bottleneck = FindDetails<finding::Bottleneck>(example::MakePairReport());
  ASSERT_TRUE(bottleneck);
  EXPECT_EQ(bottleneck->group, OperatorGroup::kConvolution);
  EXPECT_EQ(bottleneck->operators, 1);
  EXPECT_NEAR(bottleneck->time.ns, 1'002'000, 1'000);
  // 1 / (1 - 1.002 / 2.144) = 1.877. The untraced median of 2.004 ms would give 2.00x.
  EXPECT_NEAR(bottleneck->time.whole_ns, 2'144'014, 1'000);
  EXPECT_NEAR(*bottleneck->bound, 1.877, 1e-3);
}

TEST(Findings, CountUnlistedEvidence) {
  const Report report = example::MakePairReport();
  finding::SlowerOperators slower;
  slower.operators.assign(7, {0, 1e6, 2e6});
  const PrintedFinding found(report, {slower, 0, report.comparisons[0].candidate, 0});
  ASSERT_EQ(found.evidence.size(), 6U);
  EXPECT_EQ(found.evidence.back(), "and 2 more operators");
}

Report MakeReportWithTwoSlowerOperators() {
  Report report = example::MakePairReport();
  std::int64_t slower = 0;
  for (OperatorMatch& match : report.comparisons[0].comparison.operators) {
    if (!match.baseline || !match.candidate || slower == 2) continue;
    match.time_comparison.verdict = stats::Verdict::kSlower;
    match.time_comparison.baseline_ns = 100'000;
    match.time_comparison.candidate_ns = 250'000;
    ++slower;
  }
  report.findings = MakeFindings(report);
  return report;
}

TEST(Findings, NameTheSlowerOperatorsWithTheirSum) {
  const auto found = FindDetails<finding::SlowerOperators>(MakeReportWithTwoSlowerOperators());
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->lost_time.ns, 300'000, 1);
  ASSERT_EQ(found->operators.size(), 2U);
  for (const auto& loss : found->operators) {
    EXPECT_EQ(loss.baseline_ns, 100'000);
    EXPECT_EQ(loss.candidate_ns, 250'000);
  }
}

// An experiment whose bursts change: `factors`, repeated as needed, has the factor of the latency of each
// burst.
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

// 40 bursts, of which the last takes 1.2 times as long as the first.
std::vector<double> MakeRisingFactors() {
  std::vector<double> rising;
  for (int i = 0; i < 40; ++i) rising.push_back(1 + 0.2 * i / 39);
  return rising;
}

// In the second half of the measurement, clocks are capped and the device is warmer.
Report MakeReportWithConditions() {
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
  return MakeReportWithBursts(MakeRisingFactors(), conditions);
}

// Marks changes of the latency as such that processes may show by chance.
Report OfProcesses(Report report) {
  for (Finding& finding : report.findings) {
    std::visit(
        [](auto& details) {
          if constexpr (requires { details.may_be_processes; }) details.may_be_processes = true;
        },
        finding.details);
  }
  return report;
}

// The same report of runs that do different work.
Report OfOtherWork(Report report) {
  report.experiments[0].run_classes.resize(2);
  return report;
}

// 26 bursts, then 14 that take 1.4 times as long.
std::vector<double> MakeThrottledFactors() {
  std::vector<double> factors;
  for (int i = 0; i < 40; ++i) factors.push_back((i < 26 ? 1 : 1.4) * (1 + 0.002 * (i % 3)));
  return factors;
}
std::vector<double> MakeSpedUpFactors() {
  std::vector<double> factors = MakeThrottledFactors();
  std::ranges::reverse(factors);
  return factors;
}

// The log of one process has no bursts, so its runs are examined, counted from the warmup runs on.
Report MakeReportOfOneProcess() {
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
  return Assemble(std::move(run), std::vector<std::optional<Profile>>(1));
}

// Expects one change of this condition, from `first` to `second`.
void ExpectCondition(finding::ConditionChange::Condition condition, double first, double second,
                     const finding::ConditionChanges& changes) {
  const auto found = std::ranges::find(changes, condition, &finding::ConditionChange::condition);
  ASSERT_NE(found, changes.end());
  EXPECT_NEAR(found->first, first, 5e-3);
  EXPECT_NEAR(found->second, second, 5e-3);
}

TEST(Findings, ReportALatencyTrendAndTheClock) {
  const auto trend = FindDetails<finding::LatencyTrend>(MakeReportWithBursts(MakeRisingFactors()));
  ASSERT_TRUE(trend);
  EXPECT_NEAR(trend->change, 0.18, 5e-3);
  EXPECT_EQ(trend->count, 40U);
  EXPECT_TRUE(trend->uses_bursts);
  EXPECT_EQ(trend->conditions.size(), 1U);
  ExpectCondition(finding::ConditionChange::Condition::kClock, 2.86, 2.61, trend->conditions);
}

TEST(Findings, ReportTheDevicesConditions) {
  const auto trend = FindDetails<finding::LatencyTrend>(MakeReportWithConditions());
  ASSERT_TRUE(trend);
  ExpectCondition(finding::ConditionChange::Condition::kCappedRounds, 0, 1, trend->conditions);
  ExpectCondition(finding::ConditionChange::Condition::kSkin, 31, 44, trend->conditions);
}

TEST(Findings, ReportBimodalLatency) {
  const auto levels = FindDetails<finding::LatencyLevels>(MakeReportWithBursts({1, 1, 1.4}));
  ASSERT_TRUE(levels);
  EXPECT_NEAR(levels->low_ns, 2e6, 1);
  EXPECT_NEAR(levels->high_ns, 2.8e6, 1);
  EXPECT_NEAR(levels->share_high, 0.325, 1e-6);
  EXPECT_EQ(levels->conditions.size(), 1U);
  ExpectCondition(finding::ConditionChange::Condition::kClock, 3.00, 2.14, levels->conditions);
}

TEST(Findings, ReportTheBurstAtWhichThrottlingBegins) {
  const Report report = MakeReportWithBursts(MakeThrottledFactors());
  const auto step = FindDetails<finding::LatencyStep>(report);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->from, 27U);
  EXPECT_EQ(step->last, 40U);
  EXPECT_NEAR(step->before_ns, 2.004e6, 1'000);
  EXPECT_NEAR(step->after_ns, 2.806e6, 1'000);
  EXPECT_TRUE(step->operators.empty());  // no cause but the machine is known
  EXPECT_EQ(step->conditions.size(), 1U);
  ExpectCondition(finding::ConditionChange::Condition::kClock, 2.99, 2.14, step->conditions);
  // The latencies also have a trend and two levels, which are not reported next to the step.
  EXPECT_EQ(std::ranges::count(report.findings, finding::LatencyStep::kKind, &Finding::kind), 1);
  const auto sped_up = FindDetails<finding::LatencyStep>(MakeReportWithBursts(MakeSpedUpFactors()));
  EXPECT_EQ(sped_up->from, 15U);
  EXPECT_NEAR(sped_up->after_ns / sped_up->before_ns, 1 - 0.29, 5e-3);
}

TEST(Findings, ReportTheRunAtWhichThrottlingBegins) {
  const auto step = FindDetails<finding::LatencyStep>(MakeReportOfOneProcess());
  ASSERT_TRUE(step);
  EXPECT_FALSE(step->uses_bursts);
  EXPECT_EQ(step->from, 24U);
  EXPECT_EQ(step->last, 63U);
  EXPECT_NEAR(step->before_ns, 2.0e6, 1);
  EXPECT_NEAR(step->after_ns, 2.6e6, 1);
}

TEST(Findings, IgnoreSmallNoise) {
  for (const Report& report : {MakeReportWithBursts({1, 1.001, 0.999}), example::MakePairReport()})
    EXPECT_EQ(std::ranges::count(report.findings, finding::LatencyStep::kKind, &Finding::kind), 0);
}

TEST(Findings, AreRankedByTheTimeAtStake) {
  for (const Report& report : {example::MakePairReport(), example::MakeBareEtdumpReport()}) {
    ASSERT_FALSE(report.findings.empty());
    for (std::size_t i = 1; i < report.findings.size(); ++i) {
      EXPECT_GE(report.findings[i - 1].impact_ns, report.findings[i].impact_ns);
    }
  }
}

TEST(Findings, EachContainsANumber) {
  for (const Report& report : {example::MakePairReport(), example::MakeBareEtdumpReport()}) {
    for (const Finding& finding : report.findings) {
      const PrintedFinding texts(report, finding);
      EXPECT_NE(texts.text.find_first_of("0123456789"), std::string::npos) << texts.text;
      EXPECT_FALSE(texts.formula.empty()) << texts.text;
    }
  }
}

// A contended pair next to a compiler on one of two cores.
Report MakeContendedReport(int clean_launches) {
  Report report = example::MakePairReport();
  Comparison& comparison = report.comparisons[0].comparison;
  comparison.latency.verdict = stats::Verdict::kContended;
  comparison.baseline_clean = {80, 200};
  comparison.candidate_clean = {200, 200};
  comparison.launches = clean_launches;
  OtherLoad& load = report.run.other_load_during.emplace();
  load.cores = 2;
  load.machine_cores = 1.9;
  load.processes = {{"cc1plus", 2, 1.9}};
  report.findings = MakeFindings(report);
  return report;
}

// A contended pair in a container with a quota. Threads waited for 1 ms in each run, of which the quota took
// `throttled_per_run`.
Report MakeReportWithQuota(Nanoseconds throttled_per_run) {
  Report report = example::MakePairReport();
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
      burst.throttled_time = throttled_per_run * static_cast<Nanoseconds>(burst.recorded.size());
    }
  }
  report.findings = MakeFindings(report);
  return report;
}

TEST(Findings, NameTheQuotaThatCausesContention) {
  EXPECT_TRUE(FindDetails<finding::Contended>(MakeReportWithQuota(600'000))->waited_for_quota);
  EXPECT_FALSE(FindDetails<finding::Contended>(MakeReportWithQuota(1))->waited_for_quota);
  EXPECT_FALSE(FindDetails<finding::Contended>(MakeContendedReport(10))->waited_for_quota);
}

// 2.50x in wall time, 1.25x in CPU time.
Report MakeReportWithOtherCpuTime() {
  Report report = example::MakePairReport();
  report.experiments[0].cpu_time = 5e6;
  report.experiments[1].cpu_time = 4e6;
  report.findings = MakeFindings(report);
  return report;
}

TEST(Findings, ReportDisagreeingCpuTime) {
  const auto found = FindDetails<finding::CpuTimeDiscrepancy>(MakeReportWithOtherCpuTime());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->baseline_ns, 5e6);
  EXPECT_EQ(found->candidate_ns, 4e6);
  EXPECT_FALSE(FindDetails<finding::CpuTimeDiscrepancy>(example::MakePairReport()));
}

// A pair whose candidate has these untraced times. Its traced mean is 2 144 014 ns, its fastest traced run
// takes 2 142 000 ns.
Report MakeReportWithUntracedTimes(double median, double fastest) {
  Report report = example::MakePairReport();
  report.experiments[1].latency.p50 = median;
  report.experiments[1].latency.min = fastest;
  report.findings = MakeFindings(report);
  return report;
}
Report MakeReportWithDisturbedTracedRuns() { return MakeReportWithUntracedTimes(1'500'000, 2'140'000); }
Report MakeReportWithSlowerMachine() { return MakeReportWithUntracedTimes(1'500'000, 1'495'000); }
Report MakeReportWithDisturbedUntracedRuns() { return MakeReportWithUntracedTimes(3'000'000, 2'000'000); }

TEST(Findings, ExplainSlowerTracedRuns) {
  using Kind = finding::TracingCause::Kind;
  const auto traced = FindDetails<finding::TracingDiscrepancy>(MakeReportWithDisturbedTracedRuns());
  EXPECT_NEAR(traced->gap.relative(), 0.43, 5e-3);
  EXPECT_EQ(traced->cause.kind, Kind::kDisturbedTraced);
  EXPECT_NEAR(traced->cause.fastest_ns, 2'142'000, 1'000);
  const auto slower = FindDetails<finding::TracingDiscrepancy>(MakeReportWithSlowerMachine());
  EXPECT_EQ(slower->cause.kind, Kind::kSlowerMachine);
  const auto untraced = FindDetails<finding::TracingDiscrepancy>(MakeReportWithDisturbedUntracedRuns());
  EXPECT_NEAR(untraced->gap.relative(), -0.29, 5e-3);
  EXPECT_EQ(untraced->cause.kind, Kind::kDisturbedUntraced);
}

Report MakeReportWithSpeedup(double ratio) {
  Report report = example::MakePairReport();
  stats::RatioEstimate& estimate = *report.comparisons[0].comparison.latency.estimate;
  estimate.log_ratio = std::log(ratio);
  estimate.log_low = std::log(ratio * 0.99);
  estimate.log_high = std::log(ratio * 1.01);
  report.findings = MakeFindings(report);
  return report;
}

// The candidate's traced runs also take much longer than its untraced ones.
Report MakeReportWithSpeedupAndSlowTraces() {
  Report report = MakeReportWithSpeedup(4);
  report.experiments[1].latency.p50 = 1e6;
  report.findings = MakeFindings(report);
  return report;
}

// There are only traced runs.
Report MakeTracedReportWithSpeedup() {
  Report report = MakeReportWithSpeedup(4);
  report.comparisons[0].comparison.latency_from_trace = true;
  for (ReportExperiment& experiment : report.experiments) experiment.latency_from_trace = true;
  report.findings = MakeFindings(report);
  return report;
}

TEST(Findings, ExplainTablesThatDoNotMatchTheSpeedup) {
  const auto found = FindDetails<finding::TracedSpeedupDiscrepancy>(MakeReportWithSpeedup(4));
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->ratio, 5.144 / 2.144, 1e-3);
  EXPECT_NEAR(found->baseline->gap.relative(), 0.028, 5e-4);
  EXPECT_NEAR(found->candidate->gap.relative(), 0.070, 5e-4);
  EXPECT_FALSE(found->no_bounds);  // the times of each variant agree
  EXPECT_TRUE(
      FindDetails<finding::TracedSpeedupDiscrepancy>(MakeReportWithSpeedupAndSlowTraces())->no_bounds);
  const auto traced = FindDetails<finding::TracedSpeedupDiscrepancy>(MakeTracedReportWithSpeedup());
  ASSERT_TRUE(traced);
  EXPECT_FALSE(traced->baseline);  // no untraced runs, so no gap and no cause
  EXPECT_FALSE(traced->candidate);
}

// The sentence of a finding, and a line for each piece of evidence.
std::string PrintFinding(const Report& report, const Finding& finding) {
  const PrintedFinding printed(report, finding);
  std::string lines = printed.text + "\n";
  for (const std::string& evidence : printed.evidence) lines += "- " + evidence + "\n";
  return lines;
}
template <typename Details>
std::string PrintFinding(const Report& report) {
  const Finding* const finding = GetFinding<Details>(report);
  return finding == nullptr ? "no such finding\n" : PrintFinding(report, *finding);
}

// Every kind of finding has its numbers with units, and if it can, its cause and what to do about it. A cause
// that does not apply is not named, and neither is a remedy that would not help: not more time if no launch
// was clean, and no upper bound if the traces disagree with the latency.
TEST(Findings, TextsNameNumbersCausesAndRemedies) {
  using namespace finding;
  const Report pair = example::MakePairReport();
  std::string texts;
  const auto add = [&](std::string_view state, const std::string& text) {
    texts += GoldenState(state, text);
  };
  add("bottleneck shift", PrintFinding<BottleneckShift>(pair));
  add("bottleneck shift, an overhead is larger than all groups",
      PrintFinding<BottleneckShift>(MakeReportWithLargestOverhead()));
  add("bottleneck", PrintFinding<Bottleneck>(pair));
  add("bottleneck, with the digits of its evidence", PrintFinding<Bottleneck>(MakeReportWithRoundedGroups()));
  add("upper bounds", PrintFinding<UpperBounds>(pair));
  add("data movement", PrintFinding<DataMoved>(pair));
  add("data movement, with the digits of its parts", PrintFinding<DataMoved>(MakeReportWithRoundedGroups()));
  add("data movement, one of two operators at a boundary",
      PrintFinding<DataMoved>(MakeReportWithInnerTranspose()));
  add("not delegated, XNNPACK could take it", PrintFinding<NotDelegated>(pair));
  add("not delegated, XNNPACK cannot take it",
      PrintFinding<NotDelegated>(MakeRunsReport(MakeRunsWithKernels({{"argmax.out", 200'001}}))));
  add("not delegated, of attention",
      PrintFinding<NotDelegated>(MakeRunsReport(MakeRunsWithKernels(
          {{"any.out", 100'001}, {"full_like.out", 50'000}, {"where.self_out", 70'000}}))));
  add("not delegated, divides the model", PrintFinding<NotDelegated>(MakeReportOfTwoDelegates()));
  add("not delegated, no delegate at all", PrintFinding<NotDelegated>(MakeReportWithoutDelegate()));
  add("not delegated, with a reason", PrintFinding<NotDelegated>(MakeReportWithReason()));
  add("not delegated, with hints of the export", PrintFinding<NotDelegated>(MakeReportWithHints()));
  add("delegate overhead", PrintFinding<DelegateOverhead>(MakeReportWithDelegateOverhead({})));
  add("delegate overhead, in part of tracing",
      PrintFinding<DelegateOverhead>(MakeReportWithDelegateOverhead(150'000)));
  add("delegate overhead of a first run", PrintFinding<DelegateOverhead>(MakeReportOfFirstRun()));
  add("compilers, one unknown", PrintFinding<CompilersDiffer>(MakeReportOfCompilers("", "GCC 12.2.0")));
  add("compilers", PrintFinding<CompilersDiffer>(MakeReportOfCompilers("GCC 13.3.1", "GCC 12.2.0")));
  add("roofline", PrintFinding<BelowRoofline>(MakeReportWithRoofline({MakeFarRow(), MakeNearRow()})));
  add("fp16", PrintFinding<Fp16ComputedAsFp32>(MakeReportOfFp16()));
  add("slower operators", PrintFinding<SlowerOperators>(MakeReportWithTwoSlowerOperators()));
  add("latency trend", PrintFinding<LatencyTrend>(MakeReportWithBursts(MakeRisingFactors())));
  add("latency trend, of runs of other work",
      PrintFinding<LatencyTrend>(OfOtherWork(MakeReportWithBursts(MakeRisingFactors()))));
  add("latency levels, of runs of other work",
      PrintFinding<LatencyLevels>(OfOtherWork(MakeReportWithBursts({1, 1, 1.4}))));
  add("latency trend, with conditions", PrintFinding<LatencyTrend>(MakeReportWithConditions()));
  add("latency levels", PrintFinding<LatencyLevels>(MakeReportWithBursts({1, 1, 1.4})));
  add("latency step", PrintFinding<LatencyStep>(MakeReportWithBursts(MakeThrottledFactors())));
  add("latency step between processes",
      PrintFinding<LatencyStep>(OfProcesses(MakeReportWithBursts(MakeThrottledFactors()))));
  add("latency levels of processes",
      PrintFinding<LatencyLevels>(OfProcesses(MakeReportWithBursts({1, 1, 1.4}))));
  add("latency step down", PrintFinding<LatencyStep>(MakeReportWithBursts(MakeSpedUpFactors())));
  add("latency step in the runs of a process", PrintFinding<LatencyStep>(MakeReportOfOneProcess()));
  add("contention", PrintFinding<Contended>(MakeContendedReport(10)));
  add("contention, no clean launch", PrintFinding<Contended>(MakeContendedReport(0)));
  add("contention by a quota", PrintFinding<Contended>(MakeReportWithQuota(600'000)));
  add("contention, hardly by the quota", PrintFinding<Contended>(MakeReportWithQuota(1)));
  add("CPU time", PrintFinding<CpuTimeDiscrepancy>(MakeReportWithOtherCpuTime()));
  add("tracing, disturbed traced runs",
      PrintFinding<TracingDiscrepancy>(MakeReportWithDisturbedTracedRuns()));
  add("tracing, slower machine", PrintFinding<TracingDiscrepancy>(MakeReportWithSlowerMachine()));
  add("tracing, disturbed untraced runs",
      PrintFinding<TracingDiscrepancy>(MakeReportWithDisturbedUntracedRuns()));
  add("tracing, overhead",
      PrintFinding(pair,
                   {TracingDiscrepancy{{2.2e6, 1.9e6}, {TracingCause::Kind::kTracer, 2.1e6, 1'800, 100}}}));
  add("traced speedup", PrintFinding<TracedSpeedupDiscrepancy>(MakeReportWithSpeedup(4)));
  add("traced speedup, candidate without bounds",
      PrintFinding<TracedSpeedupDiscrepancy>(MakeReportWithSpeedupAndSlowTraces()));
  add("traced speedup, only traced runs",
      PrintFinding<TracedSpeedupDiscrepancy>(MakeTracedReportWithSpeedup()));
  ExpectGolden("show/findings", texts);
}

TEST(Findings, AreEmptyForAnEmptyRun) { EXPECT_TRUE(Assemble({}, {}).findings.empty()); }

}  // namespace
}  // namespace etprof::show
