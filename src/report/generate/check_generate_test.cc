#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/error.h"
#include "core/golden_testing.h"
#include "core/random.h"
#include "report/check.h"
#include "report/generate/example_generate.h"
#include "report/run/stored_runs.h"

// `etprof check` of language models: simulated launches whose times differ by 20% between launches and by
// 0.2% within one.
namespace etprof {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kGateLaunches = 10;

// The candidate's relative slowdown, by name of a check.
using Slowdowns = std::map<std::string, double>;

// A variant with a prompt of two parts, two depths, and a generated text in each launch.
std::vector<ExperimentData> MakeVariant(const std::string& name, const std::vector<double>& launches,
                                        Random& random, const Slowdowns& slowdowns, Bytes cache) {
  const auto times = [&](const std::string& test, double ns) {
    const auto slowdown = slowdowns.find(test);
    std::vector<double> samples;
    for (const double launch : launches)
      samples.push_back(ns * launch * (1 + 0.002 * random.Normal()) *
                        (slowdown == slowdowns.end() ? 1 : 1 + slowdown->second));
    return samples;
  };
  std::vector<ExperimentData> variant = {
      example::MakeStepExperiment(name, "pp20", 8, 4, 2, times("pp20", 3e6)),
      example::MakeStepExperiment(name, "pp20", 4, 16, 1, times("pp20", 1e6)),
      example::MakeStepExperiment(name, "tg5", 1, 2, 5, times("tg5", 2e6)),
      example::MakeStepExperiment(name, "tg5 @ d10", 1, 12, 5, times("tg5 @ d10", 2.5e6))};
  for (ExperimentData& data : variant) data.place->cache_bytes = cache;
  const std::vector<double> first_token_ns = times("first token", 30e6);
  for (std::size_t l = 0; l < launches.size(); ++l) {
    variant[0].launches[l].generated_text = example::MakeGeneratedText();
    variant[0].launches[l].generated_text->execute_ns[0] = std::llround(first_token_ns[l] * 2 / 3);
    variant[0].launches[l].generated_text->execute_ns[1] = std::llround(first_token_ns[l] / 3);
  }
  return variant;
}

struct SimulatedPair {
  RunData run;

  explicit SimulatedPair(const Slowdowns& slowdowns, Bytes cache = 1000, std::uint64_t seed = 5) {
    Random random(seed);
    std::vector<double> launches;
    for (int l = 0; l < kGateLaunches; ++l) launches.push_back(std::exp(0.2 * random.Normal()));
    run.experiments = MakeVariant("a", launches, random, {}, 1000);
    for (ExperimentData& data : MakeVariant("b", launches, random, slowdowns, cache))
      run.experiments.push_back(std::move(data));
    for (std::size_t i = 0; i < 4; ++i) run.pairs.push_back({i, i + 4});
  }
  CheckReport Check(const CheckLimits& limits = {}) const {
    return AssembleCheck(example::MakeReportOfSteps(run.experiments, run.pairs), limits);
  }
};

// The items of the only pair, by name.
std::map<std::string, CheckItem> ItemsByName(const CheckReport& check) {
  std::map<std::string, CheckItem> items;
  EXPECT_EQ(check.pairs.size(), 1U);
  for (const CheckItem& item : check.pairs.at(0).items) items.emplace(item.name, item);
  return items;
}

std::vector<std::string> NamesWithDecision(const CheckReport& check, GateDecision decision) {
  std::vector<std::string> names;
  for (const auto& [name, item] : ItemsByName(check))
    if (item.verdict.decision == decision) names.push_back(name);
  return names;
}

TEST(CheckGenerate, ChecksTheTestsOfAPairTogether) {
  const CheckReport check = SimulatedPair({{"tg5", 0.01}}).Check();
  EXPECT_EQ(check.decision, GateDecision::kPass);
  const CheckPair& pair = check.pairs.at(0);
  EXPECT_EQ(pair.name, "b against a");
  EXPECT_EQ(pair.launches, kGateLaunches);
  EXPECT_EQ(pair.pairing, Pairing::kLaunches);
  const auto items = ItemsByName(check);
  ASSERT_EQ(items.size(), 5U);
  EXPECT_EQ(items.at("pp20").kind, CheckItem::Kind::kPrefill);
  EXPECT_EQ(items.at("tg5 @ d10").kind, CheckItem::Kind::kDecode);
  EXPECT_EQ(items.at("first token").kind, CheckItem::Kind::kFirstToken);
  EXPECT_EQ(items.at("cache").Unit(), "bytes");
  // 2 x 3 ms + 1 ms, and 5 x 2 ms; the launches' factors cancel.
  EXPECT_NEAR(*items.at("pp20").candidate / *items.at("tg5").baseline, 7.0 / 10, 0.01);
  for (const auto& [name, item] : items)
    EXPECT_NEAR(*item.candidate / *item.baseline, 1 + *item.verdict.growth, 1e-9) << name;
}

TEST(CheckGenerate, FailsOnlySlowerTests) {
  for (const std::string name : {"pp20", "tg5", "tg5 @ d10", "first token"}) {
    EXPECT_THAT(NamesWithDecision(SimulatedPair({{name, 0.03}}).Check(), GateDecision::kFail),
                ElementsAre(name));
    EXPECT_THAT(NamesWithDecision(SimulatedPair({{name, 0.01}}).Check(), GateDecision::kFail), IsEmpty());
    const auto items = ItemsByName(SimulatedPair({{name, 0.03}}).Check());
    EXPECT_LT(*items.at(name).verdict.low, 0.03) << name;
    EXPECT_GT(*items.at(name).verdict.high, 0.03) << name;
  }
}

TEST(CheckGenerate, FirstTokenHasASeparateLimit) {
  CheckLimits limits;
  limits.first_token_slowdown = 0.2;
  EXPECT_EQ(SimulatedPair({{"first token", 0.1}}).Check(limits).decision, GateDecision::kPass);
  EXPECT_EQ(SimulatedPair({{"first token", 0.3}}).Check(limits).decision, GateDecision::kFail);
  limits.slowdown.reset();
  limits.cache_growth.reset();
  EXPECT_THAT(NamesWithDecision(SimulatedPair({{"pp20", 9}}).Check(limits), GateDecision::kPass),
              ElementsAre("first token"));
}

TEST(CheckGenerate, CacheIsCountedExactly) {
  const auto decision = [](Bytes cache, double limit) {
    CheckLimits limits;
    limits.cache_growth = limit;
    return ItemsByName(SimulatedPair({}, cache).Check(limits)).at("cache").verdict.decision;
  };
  EXPECT_EQ(decision(1000, 0), GateDecision::kPass);
  EXPECT_EQ(decision(1001, 0), GateDecision::kFail);
  EXPECT_EQ(decision(999, 0), GateDecision::kPass);
  EXPECT_EQ(decision(1100, 0.1), GateDecision::kPass);
  EXPECT_EQ(decision(1101, 0.1), GateDecision::kFail);
  const CheckItem unknown = ItemsByName(SimulatedPair({}, 0).Check()).at("cache");
  EXPECT_EQ(unknown.verdict.decision, GateDecision::kInconclusive);
  EXPECT_EQ(unknown.inconclusive_reason, "its size is not known");
}

TEST(CheckGenerate, ContendedTestsAreInconclusive) {
  SimulatedPair busy({{"pp20", 0.5}, {"first token", 0.5}});
  for (std::size_t l = 0; l < 6; ++l) {
    for (Burst& burst : busy.run.experiments[5].launches[l].bursts) burst.recorded_wait.assign(5, 900'000);
    busy.run.experiments[4].launches[l].generated_text->wait_ns[0] = 5'000'000;
  }
  const CheckReport check = busy.Check();
  EXPECT_THAT(NamesWithDecision(check, GateDecision::kInconclusive), ElementsAre("first token", "pp20"));
  EXPECT_THAT(NamesWithDecision(check, GateDecision::kPass), ElementsAre("cache", "tg5", "tg5 @ d10"));
  CaseMessages reasons;
  for (const char* const name : {"first token", "pp20"}) {
    const CheckItem item = ItemsByName(check).at(name);
    EXPECT_FALSE(item.estimate) << name;
    reasons.emplace_back(name, item.inconclusive_reason);
  }
  ExpectGoldenMessages("report/check_of_contended_tests", reasons);
  EXPECT_EQ(check.decision, GateDecision::kInconclusive);
}

TEST(CheckGenerate, MissingMeasurementsAreInconclusive) {
  SimulatedPair empty({});
  for (ExperimentData& data : empty.run.experiments) data.launches.clear();
  const CheckReport check = empty.Check();
  EXPECT_EQ(check.decision, GateDecision::kInconclusive);
  EXPECT_THAT(NamesWithDecision(check, GateDecision::kPass), ElementsAre("cache"));
  for (const auto& [name, item] : ItemsByName(check))
    EXPECT_EQ(item.inconclusive_reason, name == "cache" ? "" : "it was not measured") << name;
}

TEST(CheckGenerate, OtherPromptsHaveNoCommonFirstToken) {
  SimulatedPair other({});
  for (Launch& launch : other.run.experiments[4].launches) {
    launch.generated_text->prompt = {5, 6};
    launch.generated_text->tokens = {1, 1, 1, 1};
  }
  const CheckItem item = ItemsByName(other.Check()).at("first token");
  EXPECT_EQ(item.verdict.decision, GateDecision::kInconclusive);
  EXPECT_EQ(item.inconclusive_reason, "the prompts have 3 and 2 tokens");
}

TEST(CheckGenerate, EmulatedTimesAreInconclusive) {
  SimulatedPair emulated({{"pp20", 1}});
  for (ExperimentData& data : emulated.run.experiments) data.emulated = true;
  EXPECT_THAT(NamesWithDecision(emulated.Check(), GateDecision::kFail), IsEmpty());
  EXPECT_THAT(NamesWithDecision(emulated.Check(), GateDecision::kPass), ElementsAre("cache"));
}

// If the growth equals the limit, both "fail" and "pass" are wrong, so both must be rare.
TEST(CheckGenerate, SimulatedDecisionsAreSeldomWrong) {
  CheckLimits limits;
  limits.slowdown = 0;
  limits.cache_growth.reset();
  constexpr int kChecks = 200, kMaxWrongDecisions = 19;  // 5% and three standard deviations
  int failed = 0, passed = 0;
  for (int i = 0; i < kChecks; ++i) {
    const CheckReport check = SimulatedPair({}, 1000, 100 + static_cast<std::uint64_t>(i)).Check(limits);
    failed += NamesWithDecision(check, GateDecision::kFail).empty() ? 0 : 1;
    passed += NamesWithDecision(check, GateDecision::kPass).empty() ? 0 : 1;
  }
  EXPECT_LE(failed, kMaxWrongDecisions);
  EXPECT_LE(passed, kMaxWrongDecisions);
}

// Splits the pair into a separate run for each variant.
std::pair<RunData, RunData> SplitIntoRuns(const SimulatedPair& simulated) {
  std::pair<RunData, RunData> runs;
  for (std::size_t i = 0; i < simulated.run.experiments.size(); ++i) {
    ExperimentData data = simulated.run.experiments[i];
    data.name = data.place->test + std::to_string(i % 4);
    data.place->variant = "as it is";
    (i < 4 ? runs.first : runs.second).experiments.push_back(std::move(data));
  }
  return runs;
}

TEST(CheckGenerate, StoredRunsAreUnpaired) {
  // Launches differ by 20%, which only pairing removes: a slowdown of 100% is significant, 5% is not.
  const auto check = [](double slowdown) {
    const auto [baseline, candidate] =
        SplitIntoRuns(SimulatedPair({{"pp20", slowdown}, {"first token", slowdown}}));
    return AssembleCheck(Assemble(JoinStoredRuns(baseline, candidate), {}), {});
  };
  const CheckReport twice = check(1);
  EXPECT_EQ(twice.pairs.at(0).pairing, Pairing::kUnpaired);
  EXPECT_EQ(twice.pairs.at(0).name, "as it is");
  EXPECT_THAT(NamesWithDecision(twice, GateDecision::kFail), ElementsAre("first token", "pp20"));
  EXPECT_THAT(NamesWithDecision(check(0.05), GateDecision::kFail), IsEmpty());
  EXPECT_THAT(NamesWithDecision(check(0.05), GateDecision::kPass), ElementsAre("cache"));
}

TEST(CheckGenerate, ExcludesTestsWithUnmatchedSteps) {
  auto [baseline, candidate] = SplitIntoRuns(SimulatedPair({}));
  candidate.experiments[1].place->tokens = 2;  // one of the two parts of pp20
  candidate.experiments[3].place->position = 13;
  const CheckReport check = AssembleCheck(Assemble(JoinStoredRuns(baseline, candidate), {}), {});
  const auto items = ItemsByName(check);
  EXPECT_TRUE(items.contains("tg5"));
  EXPECT_FALSE(items.contains("pp20"));
  EXPECT_FALSE(items.contains("tg5 @ d10"));
  EXPECT_EQ(items.at("first token").inconclusive_reason, "it was not measured");
  ExpectGolden("report/check_of_tests_at_other_places", check.notes);
  for (ExperimentData& data : candidate.experiments) data.place->position += 1;
  EXPECT_THROW(JoinStoredRuns(baseline, candidate), Error);
}

}  // namespace
}  // namespace etprof
