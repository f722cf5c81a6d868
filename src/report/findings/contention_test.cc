#include <gtest/gtest.h>

#include <algorithm>

#include "core/golden_testing.h"
#include "report/check.h"
#include "report/example_run.h"

namespace etprof {
namespace {

const Finding* GetFinding(const Report& report, std::string_view kind) {
  const auto found = std::find_if(report.findings.begin(), report.findings.end(),
                                  [&](const Finding& finding) { return finding.kind() == kind; });
  return found == report.findings.end() ? nullptr : &*found;
}

// The example's pair, where all baseline runs of the first `launches` launches waited 4 ms for a processor.
Report MakeContendedReport(int launches) {
  Report example_report = example::MakePairReport();
  RunData run = example_report.run;
  for (Launch& launch : run.experiments[0].launches) {
    for (Burst& burst : launch.bursts) {
      for (Nanoseconds& latency : burst.recorded) {
        const Nanoseconds wait = launch.index < launches ? 4'000'000 : 0;
        latency += wait;
        burst.recorded_wait.push_back(wait);
      }
    }
  }
  run.other_load_during = OtherLoad{};
  run.other_load_during->cores = 2;
  run.other_load_during->machine_cores = 1.9;
  run.other_load_during->processes = {{"cc1plus", 2, 1.9}};
  std::vector<std::optional<Profile>> profiles;
  for (ReportExperiment& experiment : example_report.experiments)
    profiles.push_back(std::move(experiment.profile));
  return Assemble(std::move(run), std::move(profiles));
}

TEST(Contention, FewDisturbedLaunchesChangeNothing) {
  const Report report = MakeContendedReport(3);
  const Comparison& comparison = report.comparisons.at(0).comparison;
  EXPECT_EQ(comparison.latency.verdict, stats::Verdict::kFaster);
  EXPECT_EQ(comparison.launches, 7);
  ASSERT_TRUE(comparison.latency.estimate);
  EXPECT_NEAR(comparison.latency.estimate->ratio(), 2.497, 0.001) << "as without contention";
  EXPECT_EQ(report.experiments[0].clean_runs, 140);
  EXPECT_EQ(report.experiments[0].latency.n, 140);
  EXPECT_EQ(report.experiments[0].latency_of_all.n, 200);
  EXPECT_GT(*report.experiments[0].latency_of_all.p99, 9'000'000);
  EXPECT_LT(*report.experiments[0].latency.p99, 5'100'000);
  EXPECT_EQ(GetFinding(report, finding::Contended::kKind), nullptr);
}

TEST(Contention, TooFewCleanLaunchesGiveNoRatio) {
  const Report report = MakeContendedReport(6);
  const Comparison& comparison = report.comparisons.at(0).comparison;
  EXPECT_EQ(comparison.latency.verdict, stats::Verdict::kContended);
  EXPECT_FALSE(comparison.latency.estimate);
  for (const OperatorMatch& match : comparison.operators) EXPECT_FALSE(match.time_comparison.estimate);
  const Finding* found = GetFinding(report, finding::Contended::kKind);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(&report.findings.front(), found) << "it stands first";
}

TEST(Contention, DescribesAllRunsIfNoneIsClean) {
  const Report report = MakeContendedReport(10);
  EXPECT_EQ(report.experiments[0].clean_runs, 0);
  EXPECT_EQ(report.experiments[0].latency.n, 200);
  for (const LatencyPlot& plot : report.latency_plots)
    EXPECT_EQ(plot.histogram.counts.size(), plot.experiments.size()) << "a column for each";
}

TEST(Contention, ChecksAreInconclusive) {
  const CheckReport check = AssembleCheck(MakeContendedReport(10), CheckLimits{});
  EXPECT_EQ(check.decision, GateDecision::kInconclusive);
  ExpectGolden("report/check_of_contended_runs", check.pairs.at(0).items.at(0).inconclusive_reason + "\n");
}

// A pair with a speedup of 2.497x in wall time, and these CPU times.
Report MakeReportWithCpuTimes(Nanoseconds baseline, Nanoseconds candidate) {
  Report example_report = example::MakePairReport();
  RunData run = example_report.run;
  for (std::size_t variant = 0; variant < 2; ++variant) {
    for (Launch& launch : run.experiments[variant].launches) {
      for (Burst& burst : launch.bursts)
        burst.recorded_cpu.assign(burst.recorded.size(), variant == 0 ? baseline : candidate);
    }
  }
  return Assemble(std::move(run), {});
}

TEST(Contention, ReportsDisagreeingCpuTime) {
  const Report report = MakeReportWithCpuTimes(5'000'000, 4'000'000);
  EXPECT_EQ(report.experiments[1].cpu_time, 4'000'000);
  const Finding* found = GetFinding(report, finding::CpuTimeDiscrepancy::kKind);
  ASSERT_NE(found, nullptr);
  const auto& discrepancy = std::get<finding::CpuTimeDiscrepancy>(found->details);
  EXPECT_EQ(discrepancy.baseline_ns, 5'000'000);
  EXPECT_EQ(discrepancy.candidate_ns, 4'000'000);
}

TEST(Contention, DoesNotReportAgreeingCpuTime) {
  EXPECT_EQ(GetFinding(MakeReportWithCpuTimes(5'010'000, 2'005'000), finding::CpuTimeDiscrepancy::kKind),
            nullptr);
  EXPECT_EQ(GetFinding(example::MakePairReport(), finding::CpuTimeDiscrepancy::kKind), nullptr);
}

TEST(Contention, DoesNotReportCpuTimesBelowTheClocksResolution) {
  EXPECT_EQ(GetFinding(MakeReportWithCpuTimes(0, 4'000'000), finding::CpuTimeDiscrepancy::kKind), nullptr);
  EXPECT_EQ(GetFinding(MakeReportWithCpuTimes(4'000'000, 0), finding::CpuTimeDiscrepancy::kKind), nullptr);
}

}  // namespace
}  // namespace etprof
