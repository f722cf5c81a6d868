#include "report/suite/frontier.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "report/suite/example_suite.h"

namespace etprof {
namespace {

using testing::ElementsAre;

// The true costs of a simulated setting. Latency and memory are relative to those of the first setting.
struct SettingTruth {
  double latency = 1, memory = 1;
  CheckedSqnr sqnr = {{"example", 40}};
  std::string program = "a1";
};

constexpr int kFrontierLaunches = 10;

// Simulates a cell whose settings were measured in interleaved launches. `launch_sd`: the standard deviation
// of the logarithm of a launch's latency.
SuiteCellReport SimulateCell(const std::vector<SettingTruth>& truths, std::mt19937_64& random,
                             double launch_sd, const char* dtype = "fp32") {
  std::normal_distribution<double> normal;
  SuiteCellReport cell;
  cell.model = "net";
  cell.device = "local";
  cell.dtype = dtype;
  cell.status = SuiteCellStatus::kMeasured;
  cell.margin = 0.01;
  for (std::size_t i = 0; i < truths.size(); ++i) {
    SuiteSetting& setting = cell.settings.emplace_back();
    setting.label = "s" + std::to_string(i);
    setting.sqnr = truths[i].sqnr;
    setting.program_sha256 = truths[i].program;
    double sum = 0;
    for (int launch = 0; launch < kFrontierLaunches; ++launch) {
      const double log = std::log(truths[i].latency) + launch_sd * normal(random);
      setting.launch_medians.push_back(4e6 * std::exp(log));
      setting.launch_peak_memory.push_back(2e7 * truths[i].memory * (1 + 1e-4 * normal(random)));
      sum += log;
    }
    setting.latency_ns = 4e6 * std::exp(sum / kFrontierLaunches);
  }
  const auto compare = [](const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> effects;
    for (std::size_t i = 0; i < a.size(); ++i) effects.push_back(std::log(a[i] / b[i]));
    return stats::EstimateRatio(effects, 0.95);
  };
  for (std::size_t second = 1; second < truths.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      const SuiteSetting &a = cell.settings[first], &b = cell.settings[second];
      cell.setting_pairs.push_back({.first = first, .second = second});
      SettingPair& pair = cell.setting_pairs.back();
      pair.latency.estimate = compare(a.launch_medians, b.launch_medians);
      pair.memory = compare(a.launch_peak_memory, b.launch_peak_memory);
    }
  }
  return cell;
}

std::vector<std::string> FrontierLabels(SuiteReport& suite) {
  FindFrontier(suite, 0.05, 0.01);
  std::vector<std::string> statuses;
  for (const SuiteCellReport& cell : suite.cells) {
    for (const SuiteSetting& setting : cell.settings)
      statuses.push_back(setting.dominated_by.empty() ? GetName(setting.frontier_status)
                                                      : setting.dominated_by);
  }
  return statuses;
}

std::vector<std::string> FrontierLabels(const std::vector<SettingTruth>& truths) {
  std::mt19937_64 random{1};
  SuiteReport suite;
  suite.cells = {SimulateCell(truths, random, 0.001)};
  return FrontierLabels(suite);
}

TEST(Frontier, OmitsDominatedSettings) {
  EXPECT_THAT(FrontierLabels({{}, {.latency = 0.8}}), ElementsAre("fp32, s1", "yes"));
  EXPECT_THAT(FrontierLabels({{}, {.memory = 1.2}}), ElementsAre("yes", "fp32, s0"));
  EXPECT_THAT(FrontierLabels({{.sqnr = {{"example", 42}}}, {.program = "b2"}}),
              ElementsAre("yes", "fp32, s0"));
  // The label of a dominated setting names the fastest setting that dominates it.
  EXPECT_THAT(FrontierLabels({{}, {.latency = 0.8}, {.latency = 0.7}}),
              ElementsAre("fp32, s2", "fp32, s2", "yes"));
}

TEST(Frontier, KeepsTradesAndTies) {
  EXPECT_THAT(FrontierLabels({{}, {.latency = 0.8, .memory = 1.2}}), ElementsAre("yes", "yes"));
  EXPECT_THAT(FrontierLabels({{}, {.latency = 0.8, .sqnr = {{"example", 38}}, .program = "b2"}}),
              ElementsAre("yes", "yes"));
  EXPECT_THAT(FrontierLabels({{}, {}, {}}), ElementsAre("yes", "yes", "yes"));
  EXPECT_THAT(FrontierLabels({{}, {.latency = 0.995, .memory = 1.005}}), ElementsAre("yes", "yes"))
      << "within 1%";
  EXPECT_THAT(FrontierLabels({{}, {.sqnr = {{"example", 39.1}}, .program = "b2"}}), ElementsAre("yes", "yes"))
      << "less than 1 dB";
}

TEST(Frontier, ComparesSqnrInputByInput) {
  const auto second = [](CheckedSqnr sqnr, CheckedSqnr first_sqnr = {{"example", 40}, {"held-out 1", 30}}) {
    return FrontierLabels(
        {{.sqnr = std::move(first_sqnr)}, {.latency = 0.8, .sqnr = std::move(sqnr), .program = "b2"}})[0];
  };
  EXPECT_EQ(second({{"example", 41.5}, {"held-out 1", 32}}), "fp32, s1");
  EXPECT_EQ(second({{"example", 39.5}, {"held-out 1", 30.5}}), "fp32, s1") << "equal";
  EXPECT_EQ(second({{"example", 39.5}}), "fp32, s1") << "on the inputs that both have";
  EXPECT_EQ(second({{"example", 38}, {"held-out 1", 28}}), "yes");
  EXPECT_EQ(second({{"example", 42}, {"held-out 1", 28}}), "yes") << "better on one, worse on the other";
  EXPECT_EQ(second({{"example", 42}, {"held-out 1", 30}}), "yes") << "better on one only";
  EXPECT_EQ(second({{"held-out 2", 90}}), "yes") << "no input that both have";
  EXPECT_EQ(second({}), "yes") << "not known";
  EXPECT_EQ(second({{"example", INFINITY}}, {{"example", INFINITY}}), "fp32, s1");
  EXPECT_EQ(second({{"example", INFINITY}}), "fp32, s1");
  // A program equals itself, also if its SQNR is not known.
  EXPECT_THAT(FrontierLabels({{.sqnr = {}}, {.latency = 0.8, .sqnr = {}}}), ElementsAre("fp32, s1", "yes"));
  EXPECT_THAT(FrontierLabels({{.sqnr = {}, .program = ""}, {.latency = 0.8, .sqnr = {}, .program = ""}}),
              ElementsAre("yes", "yes"));
}

TEST(Frontier, IgnoresUnknownValues) {
  std::mt19937_64 random{1};
  SuiteReport suite;
  suite.cells = {SimulateCell({{}, {.latency = 0.8}, {.latency = 0.7}}, random, 0.001)};
  SuiteReport contended = suite, no_memory = suite, excluded = suite, emulated = suite;
  contended.cells[0].settings[2].latency_ns.reset();
  EXPECT_THAT(FrontierLabels(contended), ElementsAre("fp32, s1", "yes", "unknown"));
  for (SettingPair& pair : no_memory.cells[0].setting_pairs) pair.memory.reset();
  EXPECT_THAT(FrontierLabels(no_memory), ElementsAre("yes", "yes", "yes"));
  excluded.cells[0].settings[2].frontier_status = FrontierStatus::kExcluded;
  EXPECT_THAT(FrontierLabels(excluded), ElementsAre("fp32, s1", "yes", "excluded"));
  emulated.cells[0].emulated = true;
  EXPECT_THAT(FrontierLabels(emulated), ElementsAre("unknown", "unknown", "unknown"));
}

// Cells are measured one after the other, so drift may explain small differences of latency. Cells of other
// models and devices are not compared.
TEST(Frontier, ComparesCellsOfOneModelAndDevice) {
  std::mt19937_64 random{1};
  const auto int8 = [&](double latency) {
    return SimulateCell({{.latency = latency, .sqnr = {{"example", 40.5}}, .program = "b2"}}, random, 0.001,
                        "int8");
  };
  SuiteReport suite;
  suite.cells = {SimulateCell({{}}, random, 0.001), int8(0.97)};
  EXPECT_THAT(FrontierLabels(suite), ElementsAre("yes", "yes"));
  suite.cells = {SimulateCell({{}}, random, 0.001), int8(0.8)};
  // Peak memory does not drift, so the comparison of the two cells needs no allowance for drift of memory.
  EXPECT_THAT(FrontierLabels(suite), ElementsAre("int8, s0", "yes"));
  suite.cells[1].device = "ssh:b";
  for (SuiteCellReport& cell : suite.cells) cell.settings[0].dominated_by.clear();
  EXPECT_THAT(FrontierLabels(suite), ElementsAre("yes", "yes"));
}

// "As good" allows 1% and 1 dB, so three settings may each dominate the next one.
TEST(Frontier, KeepsACycleOfDominatingSettings) {
  const SettingTruth a = {.latency = 1, .memory = 0.993, .sqnr = {{"example", 40}}, .program = "a"},
                     b = {.latency = 1.014, .memory = 0.986, .sqnr = {{"example", 40.9}}, .program = "b"},
                     c = {.latency = 1.007, .memory = 1, .sqnr = {{"example", 41.5}}, .program = "c"};
  EXPECT_THAT(FrontierLabels({a, b}), ElementsAre("yes", "fp32, s0"));
  EXPECT_THAT(FrontierLabels({b, c}), ElementsAre("yes", "fp32, s0"));
  EXPECT_THAT(FrontierLabels({c, a}), ElementsAre("yes", "fp32, s0"));
  EXPECT_THAT(FrontierLabels({a, b, c}), ElementsAre("yes", "yes", "yes"));
}

// Sixteen settings are equal, so every dominated setting and every fastest setting is an error. Each kind of
// error occurs in at most 5% of the suites.
TEST(Frontier, KeepsEqualSettingsWithoutAWinner) {
  constexpr int kTrials = 400;
  std::mt19937_64 random{49};
  int dominated = 0, won = 0, won_in_search = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    SuiteReport suite;
    suite.cells = {SimulateCell(std::vector<SettingTruth>(16), random, 0.03)};
    SuiteReport search;
    search.confirmations = {{.cell = suite.cells[0]}};
    DecideSuite(suite);
    const auto& settings = suite.cells[0].settings;
    dominated +=
        std::ranges::count(settings, FrontierStatus::kFrontier, &SuiteSetting::frontier_status) < 16 ? 1 : 0;
    // The five fastest are measured again; the refuted claim compares the fastest one in the same launches.
    suite.confirmations = {{.cell = SimulateCell(std::vector<SettingTruth>(5), random, 0.03)}};
    DecideConfirmations(suite, 0.05, 0.01);
    won += suite.confirmations[0].fastest.empty() ? 0 : 1;
    const auto fastest = std::ranges::min_element(settings, {}, &SuiteSetting::latency_ns);
    for (const SettingPair& pair : suite.cells[0].setting_pairs) {
      if (pair.first != 0 || &settings[pair.second] != &*fastest) continue;
      won_in_search += pair.latency.estimate->log_low > 0 ? 1 : 0;
    }
  }
  // If each of 400 suites has a false verdict with a chance of 5%, the probability of more than 31 is 0.5%.
  EXPECT_LE(dominated, 31);
  EXPECT_LE(won, 31);
  EXPECT_GE(won_in_search, 40)
      << "the fastest by the launches that found it is called faster much more often";
  EXPECT_LE(won_in_search, 120);
}

TEST(Confirmation, NamesTheFastestAndItsTies) {
  std::mt19937_64 random{1};
  const auto confirm = [&](const std::vector<SettingTruth>& truths) {
    SuiteReport suite;
    suite.confirmations = {{.cell = SimulateCell(truths, random, 0.001)}};
    suite.confirmations[0].cell.pairs.resize(truths.size() - 1);
    DecideConfirmations(suite, 0.05, 0.01);
    return suite.confirmations[0];
  };
  const SuiteConfirmation one = confirm({{}, {.latency = 0.8}, {.latency = 0.6}});
  EXPECT_EQ(one.fastest, "s2");
  EXPECT_TRUE(one.tied.empty());
  ASSERT_TRUE(one.cell.pairs[1].latency.estimate);
  EXPECT_NEAR(one.cell.pairs[1].latency.estimate->ratio(), 1 / 0.6, 0.01);
  EXPECT_EQ(one.cell.pairs[0].latency.verdict, stats::Verdict::kFaster);
  const SuiteConfirmation tie = confirm({{}, {.latency = 0.6}, {.latency = 0.598}, {.latency = 0.9}});
  EXPECT_EQ(tie.fastest, "s2");
  EXPECT_THAT(tie.tied, ElementsAre("s1"));
  EXPECT_EQ(confirm({{}, {.latency = 1.2}}).fastest, "") << "the model as it is";
  EXPECT_EQ(confirm({{}, {.latency = 0.995}}).fastest, "") << "the same";
}

TEST(Confirmation, PlansTheFastestOfTheFrontier) {
  SuiteConfig config;
  config.output_root = "/out";
  config.models.resize(2);
  config.models[0].name = "net";
  config.models[1].name = "other";
  const std::vector<SuiteCell> cells = {{0, "fp32", "local", {"threads=2"}, "/out/runs/net/fp32/local"},
                                        {0, "int8", "local", {"threads=2"}, "/out/runs/net/int8/local"},
                                        {1, "fp32", "local", {}, "/out/runs/other/fp32/local"}};
  SuiteReport report;
  const auto add = [&](const char* model, const char* dtype, std::vector<FrontierStatus> statuses) {
    SuiteCellReport& cell = report.cells.emplace_back();
    cell.model = model;
    cell.dtype = dtype;
    cell.device = "local";
    for (const FrontierStatus status : statuses) {
      SuiteSetting& setting = cell.settings.emplace_back();
      setting.frontier_status = status;
      setting.program = std::string("/") + dtype + ".pte";
      setting.latency_ns = 1e6 * static_cast<double>(10 - report.cells.size() - cell.settings.size());
      if (cell.settings.size() > 1) setting.variant = "threads=" + std::to_string(cell.settings.size());
    }
  };
  using enum FrontierStatus;
  add("net", "fp32", {kFrontier, kFrontier, kDominated});
  add("net", "int8", {kFrontier, kFrontier, kUnknown, kExcluded});
  add("other", "fp32", {kFrontier});
  std::vector<SuiteCell> planned = PlanConfirmations(config, cells, report);
  ASSERT_THAT(planned, testing::SizeIs(1)) << "the other model has one setting";
  EXPECT_EQ(planned[0].dtype, "fp32");
  EXPECT_EQ(planned[0].folder, "/out/confirmed/net/local");
  EXPECT_THAT(planned[0].variants, ElementsAre("threads=2,model=/int8.pte", "threads=2", "model=/int8.pte"));
  report.cells.clear();
  add("net", "fp32", std::vector<FrontierStatus>(8, kFrontier));
  planned = PlanConfirmations(config, cells, report);
  ASSERT_THAT(planned, testing::SizeIs(1));
  EXPECT_THAT(planned[0].variants, ElementsAre("threads=8", "threads=7", "threads=6", "threads=5"));
}

}  // namespace
}  // namespace etprof
