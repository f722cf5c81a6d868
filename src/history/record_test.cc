#include "history/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "report/example_run.h"

namespace etprof {
namespace {

Report MakeMeasuredReport() {
  Report report = example::MakePairReport();
  report.run.generated_at = "2026-01-02T03:04:05Z";
  report.run.device.emplace();
  report.run.device->name = "local";
  report.run.device->cpu_model = "a CPU";
  for (const char* governor : {"schedutil", "performance", "", "schedutil"})
    report.run.device->cpus.emplace_back().governor = governor;
  return report;
}

TEST(Record, SustainedRunsAreSeparateSeries) {
  Report report = MakeMeasuredReport();
  report.run.schedule.sustained_seconds = 600;
  const HistoryRun run = MakeHistoryRun(report, {.commit = "abc", .time = {}, .reference = ""}).run;
  EXPECT_EQ(run.results[0].series,
            (SeriesKey{"net_xnnpack_fp32", "forward", "off", 1, "sustained=10min", "local"}));
}

TEST(Record, StoresLaunchesAndSumsThatAddUp) {
  const Report report = MakeMeasuredReport();
  const RecordedRun recorded = MakeHistoryRun(report, {.commit = "abc", .time = 77, .reference = ""});
  EXPECT_THAT(recorded.omitted_experiments, testing::IsEmpty());
  const HistoryRun& run = recorded.run;
  EXPECT_EQ(run.commit, "abc");
  EXPECT_EQ(run.time, 77);
  EXPECT_EQ(run.measured_at, 1767323045);  // date -u -d 2026-01-02T03:04:05Z +%s
  EXPECT_EQ(run.machine.governors, "performance, schedutil");
  ASSERT_EQ(run.results.size(), 2U);
  const HistoryResult& off = run.results[0];
  EXPECT_EQ(off.series, (SeriesKey{"net_xnnpack_fp32", "forward", "off", 1, "", "local"}));
  ASSERT_EQ(off.launches.size(), 10U);
  EXPECT_EQ(off.launches[3].runs, 20);
  EXPECT_EQ(off.launches[3].clean_runs, 20);
  EXPECT_NEAR(static_cast<double>(*off.launches[3].latency), 5'000'000, 9'000);
  EXPECT_EQ(off.launches[3].log_relative, std::nullopt);
  // The self times of all spans add up to Method::execute.
  Nanoseconds sum = 0, total = 0;
  for (const HistoryOperator& op : off.operators) sum += op.total_self;
  const Profile& profile = *report.experiments[0].profile;
  for (const std::size_t i : profile.CommonSet()) total += profile.runs[i].total;
  EXPECT_EQ(sum, total);
  // Only operators with a sufficient share have times by launch.
  for (const HistoryOperator& op : off.operators) {
    const bool large = static_cast<double>(op.total_self) >= kMinShareByLaunch * static_cast<double>(sum);
    EXPECT_EQ(op.by_launch.size(), large ? off.launches.size() : 0) << op.name;
  }
  for (std::size_t launch = 0; launch < off.launches.size(); ++launch) {
    Nanoseconds launch_sum = 0, largest = 0;
    for (const HistoryOperator& op : off.operators) {
      if (op.by_launch.empty()) continue;
      launch_sum += op.by_launch[launch];
      largest = std::max(largest, op.by_launch[launch]);
    }
    if (!off.launches[launch].traced) continue;
    EXPECT_GT(largest, 0);
    EXPECT_NEAR(static_cast<double>(launch_sum), static_cast<double>(*off.launches[launch].traced),
                0.05 * static_cast<double>(launch_sum));
  }
  EXPECT_EQ(off.operator_runs, static_cast<std::int64_t>(profile.CommonSet().size()));
}

TEST(Record, ComparesWithTheReferenceInTheSameRounds) {
  const Report report = MakeMeasuredReport();
  const HistoryRun run = MakeHistoryRun(report, {.commit = "abc", .time = {}, .reference = "off"}).run;
  EXPECT_EQ(run.time, run.measured_at);
  EXPECT_EQ(run.results[0].launches[0].log_relative, std::nullopt);
  for (const HistoryLaunch& launch : run.results[1].launches)
    EXPECT_NEAR(launch.log_relative.value(), std::log(2.0 / 5), 0.01);
  EXPECT_THROW(MakeHistoryRun(report, {.commit = "abc", .time = {}, .reference = "none"}), Error);
  Report apart = report;
  apart.run.schedule.interleaved = false;
  const RecordedRun recorded = MakeHistoryRun(apart, {.commit = "abc", .time = {}, .reference = "off"});
  EXPECT_THAT(recorded.omitted_experiments, testing::SizeIs(1));
  EXPECT_EQ(recorded.run.results[1].launches[0].log_relative, std::nullopt);
}

TEST(Record, ResumedMeasurementsKeepTheirIdentity) {
  const Report report = MakeMeasuredReport();
  const auto identity = [](const Report& input) {
    return MakeHistoryRun(input, {.commit = "abc", .time = {}, .reference = ""}).run.identity;
  };
  Report resumed = report;
  resumed.run.experiments[0].launches.push_back(resumed.run.experiments[0].launches.back());
  EXPECT_EQ(identity(resumed), identity(report));
  Report other = report;
  other.run.experiments[0].launches[0].first_run = 1;
  EXPECT_NE(identity(other), identity(report));
}

TEST(Record, RefusesRunsWithoutTimes) {
  EXPECT_THROW(MakeHistoryRun(example::MakePairReport(), {.commit = "abc", .time = {}, .reference = ""}),
               Error);
  Report report = MakeMeasuredReport();
  report.run.experiments[0].trace_enabled = true;
  report.run.experiments[1].emulated = true;
  EXPECT_THROW(MakeHistoryRun(report, {.commit = "abc", .time = {}, .reference = ""}), Error);
  report.run.experiments[1].emulated = false;
  const RecordedRun recorded = MakeHistoryRun(report, {.commit = "abc", .time = {}, .reference = ""});
  EXPECT_THAT(recorded.omitted_experiments, testing::SizeIs(1));
  EXPECT_EQ(recorded.run.results.size(), 1U);
}

TEST(MachineIdentityTest, DescribesDifferences) {
  MachineIdentity before, after;
  before.kernel = "Linux 6.1";
  before.cores = 4;
  after = before;
  EXPECT_EQ(DescribeDifferences(before, after), "");
  after.kernel = "Linux 6.6";
  after.cores = 2;
  after.os = "said by one side alone";
  EXPECT_EQ(DescribeDifferences(before, after), "cores 4 -> 2, kernel Linux 6.1 -> Linux 6.6");
}

}  // namespace
}  // namespace etprof
