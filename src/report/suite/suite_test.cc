#include "report/suite/suite.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/json/json_members.h"
#include "report/example_run.h"

namespace etprof {
namespace {

using testing::SizeIs;

SuiteCellReport MakeCell(const std::string& model, const std::string& dtype, const std::string& device,
                         double ratio, double error) {
  SuiteCellReport cell;
  cell.model = model;
  cell.dtype = dtype;
  cell.device = device;
  cell.status = SuiteCellStatus::kMeasured;
  cell.margin = 0.01;
  SuitePair& pair = cell.pairs.emplace_back();
  pair.variant = "threads=2";
  pair.baseline_label = "1 thread";
  pair.candidate_label = "2 threads";
  // Ten launches with the given mean and standard error.
  std::vector<double> effects;
  const double spread = error * std::sqrt(9.0);
  for (int i = 0; i < 10; ++i) effects.push_back(std::log(ratio) + (i % 2 == 0 ? spread : -spread));
  pair.latency.estimate = stats::EstimateRatio(effects, 0.95);
  pair.latency.verdict = stats::Verdict::kInconclusive;
  return cell;
}

TEST(SuiteReport, AveragesRatiosWithinAModel) {
  SuiteReport suite;
  suite.devices = {"local", "ssh:b"};
  // Model a has three ratios, and model b one; each model counts once.
  suite.cells = {MakeCell("a", "fp32", "local", 2, 0.001), MakeCell("a", "int8", "local", 2, 0.001),
                 MakeCell("a", "fp32", "ssh:b", 2, 0.001), MakeCell("b", "fp32", "local", 1, 0.001)};
  DecideSuite(suite);
  ASSERT_THAT(suite.variants, SizeIs(3));
  EXPECT_EQ(suite.variants[0].device, "local");
  EXPECT_EQ(suite.variants[0].models, 2);
  EXPECT_EQ(suite.variants[0].ratios, 3);
  EXPECT_NEAR(*suite.variants[0].ratio, std::sqrt(2.0), 1e-6);
  EXPECT_EQ(suite.variants[0].estimate->degrees_of_freedom, 1);
  EXPECT_EQ(suite.variants[0].verdict, stats::Verdict::kInconclusive);
  // One model has no interval and thus no verdict.
  EXPECT_EQ(suite.variants[1].models, 1);
  EXPECT_NEAR(*suite.variants[1].ratio, 2, 1e-6);
  EXPECT_FALSE(suite.variants[1].estimate.has_value());
  EXPECT_EQ(suite.variants[2].device, "");
  EXPECT_EQ(suite.variants[2].ratios, 4);
  EXPECT_NEAR(*suite.variants[2].ratio, std::sqrt(2.0), 1e-6);
}

TEST(SuiteReport, AdjustsOverAllCells) {
  // An effect of 2.6 standard errors is significant alone, but not among twenty claims without effects.
  SuiteReport one, many;
  one.devices = many.devices = {"local"};
  one.cells = {MakeCell("a", "", "local", std::exp(0.026), 0.01)};
  many.cells = one.cells;
  for (int i = 0; i < 19; ++i) many.cells.push_back(MakeCell("a", std::to_string(i), "local", 1, 0.01));
  DecideSuite(one);
  DecideSuite(many);
  EXPECT_EQ(one.cells[0].pairs[0].latency.verdict, stats::Verdict::kFaster);
  EXPECT_EQ(many.cells[0].pairs[0].latency.verdict, stats::Verdict::kInconclusive);
  EXPECT_GT(many.cells[0].pairs[0].latency.estimate->confidence, 0.99);
}

TEST(SuiteReport, DecidesOnlyWithALimit) {
  SuiteReport suite;
  suite.devices = {"local"};
  suite.cells = {MakeCell("slow", "", "local", 1 / 1.1, 0.001), MakeCell("same", "", "local", 1, 0.001)};
  SuiteReport gated = suite;
  DecideSuite(suite);
  EXPECT_EQ(suite.decision, GateDecision::kPass);
  EXPECT_EQ(suite.Result(), "pass");
  gated.limit = 0.02;
  DecideSuite(gated);
  EXPECT_EQ(gated.cells[0].pairs[0].gate.decision, GateDecision::kFail);
  EXPECT_EQ(gated.cells[1].pairs[0].gate.decision, GateDecision::kPass);
  EXPECT_EQ(gated.decision, GateDecision::kFail);
}

// Cells are measured one after another, so drift of the machine must not count as a speedup of a data type.
TEST(SuiteReport, ComparesDataTypesUnpaired) {
  SuiteReport suite;
  suite.devices = {"local", "ssh:b"};
  const auto add = [&](const char* dtype, const char* device, double ms) {
    SuiteCellReport& cell = suite.cells.emplace_back(MakeCell("a", dtype, device, 1, 0.001));
    SuiteSetting& setting = cell.settings.emplace_back();
    setting.latency_ns = ms * 1e6;
    for (int i = 0; i < 10; ++i) setting.launch_medians.push_back(ms * 1e6 * (1 + 0.001 * (i % 3)));
  };
  add("fp32", "local", 4);
  add("int8", "local", 2);
  add("fp16", "local", 3.92);
  add("fp32", "ssh:b", 8);
  add("int8", "ssh:b", 9);
  suite.cells.back().emulated = true;
  SuiteCellReport& failed = suite.cells.emplace_back(MakeCell("a", "fp16", "ssh:b", 1, 0.001));
  failed.status = SuiteCellStatus::kFailed;
  DecideSuite(suite);
  ASSERT_EQ(suite.dtypes.size(), 3U);
  EXPECT_EQ(suite.dtypes[0].baseline, "fp32");
  EXPECT_EQ(suite.dtypes[0].candidate, "int8");
  EXPECT_EQ(suite.dtypes[0].latency.verdict, stats::Verdict::kFaster);
  EXPECT_NEAR(suite.dtypes[0].latency.estimate->ratio(), 2, 1e-9);
  EXPECT_EQ(suite.dtypes[1].candidate, "fp16");
  EXPECT_EQ(suite.dtypes[1].latency.verdict, stats::Verdict::kInconclusive) << "2% are within drift";
  EXPECT_EQ(suite.dtypes[2].device, "ssh:b");
  EXPECT_EQ(suite.dtypes[2].latency.verdict, stats::Verdict::kEmulated);
}

TEST(SuiteReport, NoPairsAreInconclusive) {
  SuiteReport suite;
  suite.devices = {"local"};
  suite.cells = {MakeCell("a", "", "local", 2, 0.001)};
  suite.cells[0].pairs.clear();
  suite.limit = 0.02;
  DecideSuite(suite);
  EXPECT_EQ(suite.Result(), "inconclusive");
}

TEST(SuiteReport, MissingCellsAreErrors) {
  SuiteReport suite;
  suite.devices = {"local"};
  suite.cells = {MakeCell("a", "", "local", 2, 0.001), MakeCell("b", "", "local", 2, 0.001)};
  suite.cells[0].pairs[0].latency.estimate.reset();
  suite.cells[1].pairs[0].latency.verdict = stats::Verdict::kEmulated;
  suite.cells.push_back({});
  suite.cells.back().status = SuiteCellStatus::kFailed;
  suite.cells.back().reason = "cannot be reached";
  suite.limit = 0.02;
  DecideSuite(suite);
  EXPECT_EQ(suite.cells[0].pairs[0].latency.verdict, stats::Verdict::kInconclusive);
  EXPECT_EQ(suite.cells[1].pairs[0].latency.verdict, stats::Verdict::kEmulated);
  EXPECT_EQ(suite.cells[1].pairs[0].gate.decision, GateDecision::kInconclusive);
  EXPECT_EQ(suite.variants[0].ratios, 0);
  EXPECT_FALSE(suite.variants[0].ratio.has_value());
  EXPECT_TRUE(suite.has_error);
  EXPECT_EQ(suite.Result(), "error");
}

TEST(SuiteReport, AddsPairsAndSlowestOperatorsOfARun) {
  const Report report = example::MakePairReport([](RunData& run) { run.experiments[0].isa = "-avx2"; });
  SuiteCellReport cell;
  FillSuiteCell(report, {"isa=-avx2"}, cell);
  ASSERT_THAT(cell.pairs, SizeIs(report.run.pairs.size()));
  EXPECT_EQ(cell.pairs[0].variant, "isa=-avx2");
  EXPECT_NEAR(cell.pairs[0].latency.estimate->ratio(), 2.5, 0.05);
  ASSERT_TRUE(cell.Unmodified().latency_ns.has_value());
  ASSERT_THAT(cell.settings, SizeIs(2));
  const nlohmann::ordered_json written = ToJson(cell);
  for (const char* key : {"latency_ms", "interval"})
    EXPECT_EQ(written[key], written["settings"][0][key]) << key;
  EXPECT_EQ(cell.settings[0].variant, "");
  EXPECT_EQ(cell.settings[1].variant, "isa=-avx2");
  EXPECT_GT(*cell.settings[1].latency_ns, *cell.settings[0].latency_ns) << "off against on";
  EXPECT_EQ(cell.settings[1].frontier_status, FrontierStatus::kExcluded) << "an app cannot mask features";
  EXPECT_THAT(cell.setting_pairs, SizeIs(0));
  SuiteCellReport threads;
  FillSuiteCell(example::MakePairReport(), {"threads=2"}, threads);
  ASSERT_THAT(threads.setting_pairs, SizeIs(1));
  EXPECT_NEAR(threads.setting_pairs[0].latency.estimate->ratio(), 2.5, 0.05);
  ASSERT_FALSE(cell.operators.empty());
  for (std::size_t i = 1; i < cell.operators.size(); ++i)
    EXPECT_GE(cell.operators[i - 1].self_ns, cell.operators[i].self_ns);
}

TEST(SuiteReport, SettingsHaveTheirOwnAccuracyMemoryAndLoad) {
  Report report = example::MakePairReport([](RunData& run) {
    for (ExperimentData& data : run.experiments) {
      for (std::size_t i = 0; i < data.launches.size(); ++i) {
        data.launches[i].load = 1'000'000 + 10'000 * static_cast<Nanoseconds>(i % 2);
        data.launches[i].peak_rss = 20'000'000 + static_cast<Bytes>(i);
      }
    }
    for (Launch& launch : run.experiments[0].launches) launch.peak_rss.reset();
  });
  report.experiments[1].sqnr = {{"example", 36}, {"held-out 1", 34.5}, {"held-out 2", 35}};
  SuiteCellReport cell;
  FillSuiteCell(report, {"threads=2"}, cell);
  ASSERT_THAT(cell.settings, SizeIs(2));
  EXPECT_EQ(cell.settings[1].LowestSqnr(), 34.5);
  EXPECT_EQ(cell.settings[0].LowestSqnr(), std::nullopt);
  EXPECT_EQ(cell.settings[0].peak_memory, std::nullopt);
  EXPECT_EQ(cell.settings[1].peak_memory, 20'000'009) << "the largest of ten launches";
  EXPECT_EQ(cell.settings[0].load_ns, 1'005'000);
  // SciPy: t.interval(0.95, 9, scale=sem(log([1, 1.01] * 5))) is 0.003752 wide on both variants.
  ASSERT_TRUE(cell.settings[0].load_interval);
  EXPECT_NEAR(cell.settings[0].load_interval->high, 1'005'000 * 1.0037586, 30);
  EXPECT_NEAR(cell.settings[0].load_interval->low, 1'005'000 / 1.0037586, 30);
  for (Launch& launch : report.run.experiments[0].launches) {
    if (launch.index >= 4) launch.load.reset();
  }
  SuiteCellReport few;
  FillSuiteCell(report, {"threads=2"}, few);
  EXPECT_FALSE(few.settings[0].load_interval) << "four launches";
}

TEST(SuiteReport, ContendedCellsHaveNoLatency) {
  Report report = example::MakePairReport();
  report.comparisons[0].comparison.latency.verdict = stats::Verdict::kContended;
  SuiteCellReport cell;
  FillSuiteCell(report, {"isa=-avx2"}, cell);
  EXPECT_TRUE(cell.IsContended());
  EXPECT_FALSE(cell.Unmodified().latency_ns);
  EXPECT_FALSE(cell.Unmodified().interval);
  for (const SuiteSetting& setting : cell.settings) EXPECT_FALSE(setting.latency_ns);
  EXPECT_EQ(cell.pairs[0].inconclusive_reason, "contended: too few clean runs");
  // If another variant has enough clean runs, the model's latency is known.
  cell.pairs.push_back(cell.pairs[0]);
  cell.pairs.back().latency.verdict = stats::Verdict::kSame;
  EXPECT_FALSE(cell.IsContended());
  EXPECT_FALSE(SuiteCellReport().IsContended());
  // Without variants, the runs of the unmodified model decide whether the cell is contended.
  Report alone = example::MakePairReport();
  alone.run.pairs.clear();
  for (ReportExperiment& experiment : alone.experiments) {
    experiment.clean_runs = 1;
    experiment.latency_of_all = experiment.latency;
    experiment.latency_from_trace = false;
  }
  SuiteCellReport clean, disturbed;
  FillSuiteCell(alone, {}, clean);
  EXPECT_TRUE(clean.Unmodified().latency_ns && !clean.IsContended());
  for (ReportExperiment& experiment : alone.experiments) experiment.clean_runs = 0;
  FillSuiteCell(alone, {}, disturbed);
  EXPECT_TRUE(!disturbed.Unmodified().latency_ns && disturbed.IsContended());
}

}  // namespace
}  // namespace etprof
