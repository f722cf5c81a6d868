#include "report/findings/traced.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "report/example_run.h"

namespace etprof {
namespace {

std::vector<const Finding*> FindAll(const Report& report, std::string_view kind) {
  std::vector<const Finding*> found;
  for (const Finding& finding : report.findings) {
    if (finding.kind() == kind) found.push_back(&finding);
  }
  return found;
}

bool HasUpperBound(const Report& report) {
  return std::any_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
    const auto* bottleneck = std::get_if<finding::Bottleneck>(&finding.details);
    return finding.kind() == finding::UpperBounds::kKind || (bottleneck != nullptr && bottleneck->bound);
  });
}

using Cause = finding::TracingCause::Kind;

const finding::TracingDiscrepancy& FindDiscrepancy(const Report& report) {
  return std::get<finding::TracingDiscrepancy>(
      FindAll(report, finding::TracingDiscrepancy::kKind).at(0)->details);
}

// A report whose candidate has a traced mean of 2 144 014 ns, and these untraced median and minimum times.
Report MakeReportWithUntraced(double median, double fastest) {
  Report report = example::MakePairReport();
  ReportExperiment& on = report.experiments[1];
  on.latency.p50 = median;
  on.latency.min = fastest;
  report.findings = MakeFindings(report);
  return report;
}

TEST(Traced, BoundsApplyUpToTenPercent) {
  const Report report = MakeReportWithUntraced(2'144'014 / 1.099, 1.9e6);
  EXPECT_TRUE(FindAll(report, finding::TracingDiscrepancy::kKind).empty());
  EXPECT_TRUE(HasUpperBound(report));
}

TEST(Traced, ReportsDifferencesAboveTenPercent) {
  for (const double factor : {1.101, 1.5, 1 / 1.2}) {
    const Report report = MakeReportWithUntraced(2'144'014 / factor, 1e6);
    EXPECT_EQ(FindAll(report, finding::TracingDiscrepancy::kKind).size(), 1U) << factor;
    EXPECT_EQ(report.findings.front().kind(), finding::TracingDiscrepancy::kKind) << factor;
    EXPECT_FALSE(HasUpperBound(report)) << factor;
    // Shares are still reported, since they need no untraced times.
    EXPECT_EQ(FindAll(report, finding::Bottleneck::kKind).size(), 1U) << factor;
  }
}

// Many small operators: all traced runs are longer by the same time, the cost of tracing.
TEST(Traced, FindsTracingOverheadByTheFastestRuns) {
  std::vector<example::Inference> runs = example::MakeInferences(8, 100'000);
  for (example::Inference& run : runs) {
    for (int i = 1; i <= 92; ++i) run.delegate.push_back({"Add (ND) #" + std::to_string(i), 1'000});
  }
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(Attribute(example::MakeTrace(runs), {}));
  Report report = Assemble(MakeEtdumpRun({"net.etdump"}, {}), std::move(profiles));
  ReportExperiment& net = report.experiments[0];
  ASSERT_EQ(net.profile->operators.size(), 100U);
  net.latency_from_trace = false;
  net.latency.p50 = *net.MeanExecute() - 200'000;
  net.latency.min = *net.traced.min - 180'000;
  report.findings = MakeFindings(report);
  const Finding& finding = *FindAll(report, finding::TracingDiscrepancy::kKind).at(0);
  EXPECT_NEAR(FindDiscrepancy(report).gap.relative(), 0.176, 0.001);
  EXPECT_EQ(FindDiscrepancy(report).cause.kind, Cause::kTracer);
  EXPECT_FALSE(TracedTimesWereDisturbed(net));
  EXPECT_NEAR(FindDiscrepancy(report).cause.ns_per_event, 1'800, 1);
  EXPECT_EQ(FindDiscrepancy(report).cause.events, 100U);
  EXPECT_NEAR(finding.impact_ns, 200'000, 1);
  EXPECT_FALSE(HasUpperBound(report));
}

// No tracer takes 81 us per event.
TEST(Traced, DistinguishesSlowMachinesFromOverhead) {
  EXPECT_EQ(FindDiscrepancy(MakeReportWithUntraced(1'500'000, 1'495'000)).cause.kind, Cause::kSlowerMachine);
}

TEST(Traced, FindsDisturbedRuns) {
  EXPECT_EQ(FindDiscrepancy(MakeReportWithUntraced(1'500'000, 2'140'000)).cause.kind,
            Cause::kDisturbedTraced);
  EXPECT_EQ(FindDiscrepancy(MakeReportWithUntraced(3'000'000, 2'000'000)).cause.kind,
            Cause::kDisturbedUntraced);
  EXPECT_TRUE(TracedTimesWereDisturbed(MakeReportWithUntraced(1'500'000, 2'140'000).experiments[1]));
  EXPECT_TRUE(TracedTimesWereDisturbed(MakeReportWithUntraced(3'000'000, 2'000'000).experiments[1]));
  EXPECT_FALSE(TracedTimesWereDisturbed(MakeReportWithUntraced(2'144'014 / 1.099, 1.9e6).experiments[1]));
}

// There are no untraced times to compare with.
TEST(Traced, TracesAloneHaveNoGap) {
  const Report report = example::MakeBareEtdumpReport();
  EXPECT_FALSE(FindTracedGap(report.experiments[0]).has_value());
  EXPECT_FALSE(TracedTimesDisagree(report.experiments[0]));
}

// Traced 5 144 014 / 2 144 014 ns is 2.399; the headline's interval is around 2.497.
TEST(Traced, ExplainsTablesThatDisagreeWithTheHeadline) {
  Report report = example::MakePairReport();
  Comparison& comparison = report.comparisons[0].comparison;
  EXPECT_FALSE(TracedSpeedupDiscrepancy(comparison).has_value());
  EXPECT_TRUE(FindAll(report, finding::TracingDiscrepancy::kKind).empty());
  const auto move_headline = [&](double ratio) {
    comparison.latency.estimate->log_ratio = std::log(ratio);
    comparison.latency.estimate->log_low = std::log(ratio * 0.99);
    comparison.latency.estimate->log_high = std::log(ratio * 1.01);
  };
  // 2.399 / 1.1 = 2.181 is the least upper end that agrees, 2.399 * 1.1 = 2.639 the greatest lower one.
  move_headline(2.16);
  EXPECT_FALSE(TracedSpeedupDiscrepancy(comparison).has_value());
  move_headline(2.15);
  ASSERT_TRUE(TracedSpeedupDiscrepancy(comparison).has_value());
  EXPECT_NEAR(*TracedSpeedupDiscrepancy(comparison), 2.3992, 1e-4);
  move_headline(2.66);
  EXPECT_FALSE(TracedSpeedupDiscrepancy(comparison).has_value());
  move_headline(4);
  report.findings = MakeFindings(report);
  ASSERT_EQ(FindAll(report, finding::TracingDiscrepancy::kKind).size(), 1U);
  const Finding& finding = *FindAll(report, finding::TracingDiscrepancy::kKind)[0];
  EXPECT_EQ(&finding, &report.findings.front());
  const auto& discrepancy = std::get<finding::TracedSpeedupDiscrepancy>(finding.details);
  EXPECT_NEAR(discrepancy.ratio, 2.3992, 1e-4);
  EXPECT_NEAR(discrepancy.baseline->gap.relative(), 0.028, 0.001);
  EXPECT_NEAR(discrepancy.candidate->gap.relative(), 0.070, 0.001);
  // The times of each variant agree, so its bounds apply.
  EXPECT_FALSE(discrepancy.no_bounds);
  EXPECT_TRUE(HasUpperBound(report));
}

// Without untraced runs, the cost of tracing is not known.
TEST(Traced, ExplainsPairsOfTracesByTheirMeans) {
  Report report = example::MakePairReport();
  Comparison& comparison = report.comparisons[0].comparison;
  comparison.latency_from_trace = true;
  for (ReportExperiment& experiment : report.experiments) experiment.latency_from_trace = true;
  comparison.latency.estimate->log_low = std::log(3.9);
  comparison.latency.estimate->log_high = std::log(4.1);
  report.findings = MakeFindings(report);
  ASSERT_EQ(FindAll(report, finding::TracingDiscrepancy::kKind).size(), 1U);
  EXPECT_FALSE(std::get<finding::TracedSpeedupDiscrepancy>(report.findings.front().details).candidate);
}

// A pair's finding includes the candidate, so there is no separate finding.
TEST(Traced, ExplainsPairsOnce) {
  Report report = example::MakePairReport();
  report.experiments[1].latency.p50 = 1e6;
  report.comparisons[0].comparison.latency.estimate->log_low = std::log(4.9);
  report.comparisons[0].comparison.latency.estimate->log_high = std::log(5.1);
  report.findings = MakeFindings(report);
  ASSERT_EQ(FindAll(report, finding::TracingDiscrepancy::kKind).size(), 1U);
  EXPECT_TRUE(std::get<finding::TracedSpeedupDiscrepancy>(report.findings.front().details).no_bounds);
  EXPECT_FALSE(HasUpperBound(report));
}

// Without an estimate there is no interval to compare with.
TEST(Traced, PairsWithoutAnEstimateHaveNoFinding) {
  Report report = example::MakePairReport();
  report.comparisons[0].comparison.latency.estimate.reset();
  EXPECT_FALSE(TracedSpeedupDiscrepancy(report.comparisons[0].comparison).has_value());
}

}  // namespace
}  // namespace etprof
