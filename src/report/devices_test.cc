#include "report/devices.h"

#include <gmock/gmock.h>

#include "report/example_devices.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Devices, JoinsTheSameExperimentInOneRow) {
  const DevicesReport report = example::MakeDevices();
  ASSERT_THAT(report.models, SizeIs(1));
  const ModelSection& model = report.models[0];
  ASSERT_THAT(model.experiments, SizeIs(2));
  EXPECT_EQ(model.experiments[0].label, "off");
  EXPECT_EQ(model.experiments[1].label, "on");
  for (const DeviceRow& row : model.experiments) {
    EXPECT_EQ(row.first, 0u);
    for (const DeviceCell& cell : row.cells) EXPECT_TRUE(cell.experiment.has_value());
    EXPECT_THAT(row.differences, IsEmpty());
  }
  ASSERT_THAT(model.pairs, SizeIs(1));
  EXPECT_EQ(model.pairs[0].candidate_label, "on");
}

TEST(Devices, KeepsTheComparisonsOfTheRuns) {
  const DevicesReport report = example::MakeDevices();
  const auto& comparisons = report.models[0].pairs[0].comparisons;
  for (std::size_t device = 0; device < 2; ++device) {
    const Comparison& own = report.runs[device].comparisons[*comparisons[device]].comparison;
    EXPECT_EQ(own.pairing, Pairing::kLaunches);
    EXPECT_NEAR(own.latency.estimate->ratio(), 2.5, 0.05);
    EXPECT_EQ(own.latency.verdict, stats::Verdict::kFaster);
  }
  EXPECT_EQ(report.runs[2].comparisons[*comparisons[2]].comparison.latency.verdict,
            stats::Verdict::kEmulated);
}

TEST(Devices, ComparesDevicesUnpaired) {
  const DevicesReport report = example::MakeDevices();
  const TimeComparison& slower = report.models[0].experiments[1].cells[1].comparison_with_first;
  ASSERT_TRUE(slower.estimate.has_value());
  EXPECT_EQ(slower.estimate->launches, 0);  // unpaired
  EXPECT_NEAR(slower.estimate->ratio(), 1 / 1.5, 0.01);
  EXPECT_EQ(slower.verdict, stats::Verdict::kSlower);
  // An emulated device has no verdict of speed and no interval.
  const TimeComparison& emulated = report.models[0].experiments[1].cells[2].comparison_with_first;
  EXPECT_FALSE(emulated.estimate.has_value());
  EXPECT_EQ(emulated.verdict, stats::Verdict::kEmulated);
  EXPECT_TRUE(report.emulated);
  EXPECT_TRUE(report.models[0].devices[2].emulated);
  EXPECT_FALSE(report.models[0].devices[0].emulated);
}

TEST(Devices, NoVerdictWithoutAnInterval) {
  // Neither a single launch nor times that include tracing give an interval.
  std::vector<Report> runs = {example::MakePairReportOn("a", 1), example::MakePairReportOn("b", 3),
                              example::MakePairReportOn("c", 3)};
  runs[1].run.experiments[1].launches.resize(1);
  runs[2].run.experiments[1].tracer_always_on = true;
  const DevicesReport report = AssembleDevicesReport(std::move(runs));
  for (const std::size_t device : {1u, 2u}) {
    const TimeComparison& time_comparison =
        report.models[0].experiments[1].cells[device].comparison_with_first;
    EXPECT_FALSE(time_comparison.estimate.has_value()) << device;
    EXPECT_EQ(time_comparison.verdict, stats::Verdict::kInconclusive) << device;
    EXPECT_TRUE(time_comparison.candidate_ns.has_value()) << device;
  }
}

// The verdict is not "same within 1%", since measurements at different times drift.
TEST(Devices, EqualDevicesAreInconclusive) {
  const DevicesReport report =
      AssembleDevicesReport({example::MakePairReportOn("a", 1), example::MakePairReportOn("b", 1)});
  const TimeComparison& time_comparison = report.models[0].experiments[0].cells[1].comparison_with_first;
  EXPECT_EQ(time_comparison.verdict, stats::Verdict::kInconclusive);
  EXPECT_NEAR(time_comparison.estimate->log_ratio, 0, 1e-9);
  EXPECT_NEAR(time_comparison.estimate->standard_error, stats::kDriftBetweenMeasurements * std::sqrt(2),
              0.01);
}

TEST(Devices, SeparatesModels) {
  std::vector<Report> runs = {example::MakePairReportOn("a", 1), example::MakePairReportOn("b", 1),
                              example::MakePairReportOn("c", 1), example::MakePairReportOn("d", 1)};
  runs[1].run.model_sha256 = std::string(64, 'b');  // exported again with the same name
  runs[2].model_id = runs[2].run.model_id = "other";
  runs[2].run.model_sha256 = std::string(64, 'c');
  runs[3].run.model_sha256.clear();  // a run of the profiling kit, identified by its name
  const DevicesReport report = AssembleDevicesReport(std::move(runs));
  ASSERT_THAT(report.models, SizeIs(3));
  EXPECT_THAT(report.models[0].devices, SizeIs(2));
  EXPECT_EQ(report.models[0].title, "net_xnnpack_fp32 (aaaaaaaaaaaa)");
  EXPECT_EQ(report.models[1].title, "net_xnnpack_fp32 (bbbbbbbbbbbb)");
  EXPECT_EQ(report.models[2].title, "other");
}

// Prefill and decode of one program must not be compared.
TEST(Devices, SeparatesMethods) {
  std::vector<Report> runs = {example::MakePairReportOn("a", 1), example::MakePairReportOn("a", 6),
                              example::MakePairReportOn("b", 2), example::MakePairReportOn("b", 1)};
  for (const std::size_t i : {0U, 2U}) runs[i].run.method = "decode";
  for (const std::size_t i : {1U, 3U}) runs[i].run.method = "prefill";
  runs[3].run.model_sha256.clear();  // identified by its name and method
  const DevicesReport report = AssembleDevicesReport(std::move(runs));
  ASSERT_THAT(report.models, SizeIs(2));
  EXPECT_EQ(report.models[0].title, "net_xnnpack_fp32, method decode");
  EXPECT_EQ(report.models[1].title, "net_xnnpack_fp32, method prefill");
  for (const ModelSection& model : report.models) {
    ASSERT_THAT(model.devices, SizeIs(2));
    EXPECT_EQ(model.distinct_devices, 2U);
    for (const DeviceColumn& device : model.devices)
      EXPECT_EQ(report.runs[device.run].run.method, model.method);
  }
  EXPECT_NEAR(report.models[0].experiments[0].cells[1].comparison_with_first.estimate->ratio(), 0.5, 0.01);
  EXPECT_EQ(report.distinct_devices, 2U);
  // The title omits "forward" unless there are several methods.
  std::vector<Report> both = {example::MakePairReportOn("a", 1), example::MakePairReportOn("a", 1)};
  EXPECT_EQ(AssembleDevicesReport(both).models[0].title, "net_xnnpack_fp32");
  both[1].run.method = "decode";
  EXPECT_EQ(AssembleDevicesReport(both).models[0].title, "net_xnnpack_fp32, method forward");
}

TEST(Devices, CountsDistinctDevices) {
  std::vector<Report> runs = {example::MakePairReportOn("local", 1), example::MakePairReportOn("local", 1),
                              example::MakePairReportOn("local", 1)};
  EXPECT_EQ(AssembleDevicesReport(runs).distinct_devices, 1U);
  runs[1].run.device->cpu_model = "another machine's";  // each machine names itself "local"
  EXPECT_EQ(AssembleDevicesReport(runs).models[0].distinct_devices, 2U);
  for (Report& run : runs) run.run.device.reset();  // the devices are not known to be the same
  EXPECT_EQ(AssembleDevicesReport(runs).distinct_devices, 3U);
}

TEST(Devices, MakesUniqueNames) {
  std::vector<Report> runs = {example::MakePairReportOn("a", 1), example::MakePairReportOn("a", 1), Report{},
                              Report{}};
  runs[1].run.folder = "runs/earlier";
  const DevicesReport report = AssembleDevicesReport(std::move(runs));
  EXPECT_THAT(report.names, ElementsAre("a", "a (earlier)", "run", "run #2"));
}

TEST(Devices, JoinsEqualConfigurationsIfUnambiguous) {
  const auto only = [](Report run, std::size_t experiment, const std::string& label) {
    run.run.pairs.clear();
    run.comparisons.clear();
    ReportExperiment remaining = std::move(run.experiments[experiment]);
    remaining.label = label;
    run.experiments.clear();
    run.experiments.push_back(std::move(remaining));
    return run;
  };
  std::vector<Report> runs;
  runs.push_back(example::MakePairReportOn("phone", 1));
  runs.push_back(only(example::MakePairReportOn("laptop", 1), 1, "as it is"));
  const DevicesReport joined = AssembleDevicesReport(std::move(runs));
  ASSERT_THAT(joined.models[0].experiments, SizeIs(2));
  EXPECT_EQ(joined.models[0].experiments[1].label, "on / as it is");

  // Either experiment of an A/A pair could correspond to the experiment of the other device.
  std::vector<Report> ambiguous;
  ambiguous.push_back(example::MakePairReportOn("phone", 1));
  ambiguous.back().run.experiments[0].isa.clear();
  ambiguous.push_back(only(example::MakePairReportOn("laptop", 1), 1, "as it is"));
  EXPECT_THAT(AssembleDevicesReport(std::move(ambiguous)).models[0].experiments, SizeIs(3));
}

TEST(Devices, ReportsOtherDifferences) {
  std::vector<Report> runs = {example::MakePairReportOn("a", 1), example::MakePairReportOn("b", 1)};
  runs[1].run.experiments[0].isa = "-avx2";
  runs[0].run.experiments[0].inputs_from = "saved /x/net.inputs";
  runs[1].run.experiments[0].inputs_from = "saved /y/net.inputs";  // the same file in another folder
  const DevicesReport report = AssembleDevicesReport(std::move(runs));
  EXPECT_THAT(report.models[0].experiments[0].differences,
              ElementsAre("features masked: -sme2 on a, -avx2 on b"));
}

TEST(Devices, DoesNotCompareASustainedRunWithBursts) {
  std::vector<Report> runs = {example::MakePairReportOn("a", 1), example::MakePairReportOn("b", 3)};
  runs[1].run.schedule.sustained_seconds = 600;
  const DevicesReport report = AssembleDevicesReport(std::move(runs));
  const DeviceRow& row = report.models[0].experiments[1];
  EXPECT_FALSE(row.cells[1].comparison_with_first.estimate.has_value());
  EXPECT_EQ(row.cells[1].comparison_with_first.verdict, stats::Verdict::kInconclusive);
  EXPECT_THAT(row.differences, ElementsAre("load (not compared): bursts on a, 600 s without a rest on b"));
}

TEST(Devices, AContendedRunHasNoRatio) {
  std::vector<Report> runs = {example::MakePairReportOn("a", 1), example::MakePairReportOn("b", 3)};
  std::vector<Launch>& launches = runs[1].run.experiments[1].launches;
  for (std::size_t i = 3; i < launches.size(); ++i) {
    for (Burst& burst : launches[i].bursts) burst.recorded_wait.assign(burst.recorded.size(), 1'000'000);
  }
  const TimeComparison contended =
      AssembleDevicesReport(runs).models[0].experiments[1].cells[1].comparison_with_first;
  EXPECT_EQ(contended.verdict, stats::Verdict::kContended);
  EXPECT_FALSE(contended.estimate.has_value());
  for (std::size_t i = 3; i < 6; ++i) {
    for (Burst& burst : launches[i].bursts) burst.recorded_wait.clear();
  }
  EXPECT_EQ(AssembleDevicesReport(runs).models[0].experiments[1].cells[1].comparison_with_first.verdict,
            stats::Verdict::kSlower);
}

TEST(Devices, AcceptsIrregularRuns) {
  EXPECT_THAT(AssembleDevicesReport({}).models, IsEmpty());
  std::vector<Report> runs;
  runs.push_back(example::MakeBareEtdumpReport());
  runs.push_back(Report{});
  EXPECT_THAT(AssembleDevicesReport(std::move(runs)).models, SizeIs(2));
}

}  // namespace
}  // namespace etprof
