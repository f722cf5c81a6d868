#include "report/generate/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <set>

#include "core/random.h"
#include "measure/schedule/schedule.h"
#include "report/example_run.h"
#include "report/generate/example_generate.h"

namespace etprof {
namespace {

using example::MakeGeneratedText;
using example::MakeReportOfSteps;
using example::MakeStepExperiment;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST(GenerationReport, AddsUpTheStepsOfATest) {
  // 20 tokens in two chunks of 8 and one of 4: 2 x 3 ms + 1 ms.
  const Report report = MakeReportOfSteps({MakeStepExperiment("a", "pp20", 8, 4, 2, {3e6, 3e6}),
                                           MakeStepExperiment("a", "pp20", 4, 16, 1, {1e6, 1e6}),
                                           MakeStepExperiment("a", "tg5 @ d10", 1, 12, 5, {2e6, 2e6})});
  const GenerationReport generation = MakeGenerationReport(report).value();
  ASSERT_EQ(generation.variants.size(), 1U);
  ASSERT_EQ(generation.variants[0].tests.size(), 2U);
  const GenerationTest& prompt = generation.variants[0].tests[0];
  EXPECT_THAT(prompt.samples, ElementsAre(7e6, 7e6));
  EXPECT_EQ(prompt.prompt, 20);
  EXPECT_EQ(prompt.generated, 0);
  EXPECT_EQ(prompt.depth, 0);
  EXPECT_EQ(prompt.chunk, 8);
  EXPECT_NEAR(*prompt.ns, 7e6, 1);
  EXPECT_NEAR(*prompt.Rate(prompt.ns), 20 / 7e-3, 0.01);
  const GenerationTest& text = generation.variants[0].tests[1];
  EXPECT_THAT(text.samples, ElementsAre(10e6, 10e6));
  EXPECT_EQ(text.generated, 5);
  EXPECT_EQ(text.depth, 10);
  EXPECT_NEAR(*text.TimePerToken(), 2e6, 1);
}

// Changes an experiment's method to another method of the step, or to an encoder.
ExperimentData MoveToMethod(const std::string& method, ExperimentData data) {
  data.place->method = method;
  data.name += method;
  return data;
}

TEST(GenerationReport, AddsUpTheMethodsOfAStep) {
  const Report report =
      MakeReportOfSteps({MakeStepExperiment("a", "pp20", 20, 0, 1, {6e6, 6e6}),
                         MakeStepExperiment("a", "tg5", 1, 2, 5, {2e6, 2e6}),
                         MakeStepExperiment("a", "tg5 @ d10", 1, 12, 5, {3e6, 3e6}),
                         MoveToMethod("embed", MakeStepExperiment("a", "pp20", 20, 0, 1, {1e6, 1e6})),
                         MoveToMethod("embed", MakeStepExperiment("a", "tg5", 1, 2, 5, {1e5, 1e5})),
                         MoveToMethod("embed", MakeStepExperiment("a", "tg5 @ d10", 1, 12, 5, {1e5, 1e5})),
                         MoveToMethod("encoder", MakeStepExperiment("a", "encoder", 1, 0, 1, {9e6, 9e6}))});
  const GenerationReport generation = MakeGenerationReport(report).value();
  ASSERT_EQ(generation.variants.size(), 1U);
  const std::vector<GenerationTest>& tests = generation.variants[0].tests;
  ASSERT_EQ(tests.size(), 4U);
  EXPECT_THAT(tests[0].samples, ElementsAre(7e6, 7e6));
  EXPECT_EQ(tests[0].prompt, 20);
  EXPECT_THAT(tests[2].samples, ElementsAre(5 * 3.1e6, 5 * 3.1e6));
  EXPECT_EQ(tests[2].generated, 5);
  EXPECT_EQ(tests[2].depth, 10);
  EXPECT_NEAR(*tests[2].TimePerToken(), 3.1e6, 1);
  const GenerationTest& encoder = tests[3];
  EXPECT_TRUE(encoder.IsEncoder());
  EXPECT_EQ(encoder.depth, 0);
  EXPECT_NEAR(*encoder.ns, 9e6, 1);
  EXPECT_FALSE(encoder.TimePerToken());
  EXPECT_FALSE(encoder.Rate(encoder.ns));
  const DecodeLine& line = generation.variants[0].line.value();
  EXPECT_THAT(line.positions, ElementsAre(2, 12));
  EXPECT_THAT(line.ns, ElementsAre(2.1e6, 3.1e6));
  EXPECT_NEAR(line.line->slope.mean, 1e5, 1e-3);
}

TEST(GenerationReport, LeavesOutLaunchesWithoutCleanRuns) {
  ExperimentData last_chunk = MakeStepExperiment("a", "pp20", 4, 16, 1, {1e6, 1e6, 1e6});
  for (Burst& burst : last_chunk.launches[1].bursts) burst.recorded_wait.assign(5, 500'000);
  const Report report =
      MakeReportOfSteps({MakeStepExperiment("a", "pp20", 8, 4, 2, {3e6, 4e6, 5e6}), last_chunk});
  EXPECT_THAT(MakeGenerationReport(report)->variants[0].tests[0].samples, ElementsAre(7e6, 11e6));
}

TEST(GenerationReport, ComparesTestsOfSeveralParts) {
  // One of two parts takes 10% longer: 0.6 of 7 ms. The launches differ by far more.
  Random random(3);
  std::vector<double> full_chunks, slow_chunks, last_chunk, same_last_chunk;
  for (int l = 0; l < 10; ++l) {
    const double launch = std::exp(0.2 * random.Normal());
    const auto noisy = [&](double ns) { return ns * launch * (1 + 0.002 * random.Normal()); };
    full_chunks.push_back(noisy(3e6));
    slow_chunks.push_back(noisy(3.3e6));
    last_chunk.push_back(noisy(1e6));
    same_last_chunk.push_back(noisy(1e6));
  }
  const auto compare_pair = [](std::vector<ExperimentData> experiments) {
    const Report report = MakeReportOfSteps(std::move(experiments), {{0, 2}, {1, 3}});
    const GenerationReport generation = MakeGenerationReport(report).value();
    EXPECT_EQ(generation.pairs.size(), 1U);
    EXPECT_EQ(generation.pairs.at(0).rows.size(), 1U);
    return generation.pairs.at(0).rows.at(0).time_comparison;
  };
  const TimeComparison time_comparison =
      compare_pair({MakeStepExperiment("a", "pp20", 8, 4, 2, full_chunks),
                    MakeStepExperiment("a", "pp20", 4, 16, 1, last_chunk),
                    MakeStepExperiment("b", "pp20", 8, 4, 2, slow_chunks),
                    MakeStepExperiment("b", "pp20", 4, 16, 1, same_last_chunk)});
  EXPECT_EQ(time_comparison.verdict, stats::Verdict::kSlower);
  EXPECT_LT(time_comparison.estimate->low(), 7 / 7.6);
  EXPECT_GT(time_comparison.estimate->high(), 7 / 7.6);
  ExperimentData busy = MakeStepExperiment("b", "pp20", 8, 4, 2, slow_chunks);
  for (std::size_t l = 0; l < 6; ++l)
    for (Burst& burst : busy.launches[l].bursts) burst.recorded_wait.assign(5, 900'000);
  EXPECT_EQ(compare_pair({MakeStepExperiment("a", "pp20", 8, 4, 2, full_chunks),
                          MakeStepExperiment("a", "pp20", 4, 16, 1, last_chunk), busy,
                          MakeStepExperiment("b", "pp20", 4, 16, 1, same_last_chunk)})
                .verdict,
            stats::Verdict::kContended);
}

TEST(GenerationReport, HasNoLineForNonlinearTimes) {
  const auto line = [](double last) {
    const Report report =
        MakeReportOfSteps({MakeStepExperiment("a", "tg1", 1, 0, 1, {1e6, 1.01e6}),
                           MakeStepExperiment("a", "tg1 @ d500", 1, 500, 1, {1.5e6, 1.52e6}),
                           MakeStepExperiment("a", "tg1 @ d1000", 1, 1000, 1, {last, 1.01 * last})});
    return *MakeGenerationReport(report)->variants[0].line;
  };
  const DecodeLine straight = line(2e6);
  EXPECT_TRUE(straight.fits);
  EXPECT_NEAR(straight.line->slope.mean, 1000, 20);
  EXPECT_THAT(straight.positions, ElementsAre(0, 500, 1000));
  const DecodeLine bent = line(4e6);
  EXPECT_FALSE(bent.fits);
  EXPECT_GT(*bent.line->misfit, 0.05);
}

// Traced decoding at three positions in ten launches: products of 1 ms, and attention of 100 ns per token.
// The times of each launch have random factors.
DecodeLine MakeTracedLine(std::uint64_t seed, double noise,
                          const std::function<void(Profile&)>& change = {}) {
  constexpr int kLaunches = 10;
  Random random(seed);
  std::vector<double> products, attention;
  for (int l = 0; l < kLaunches; ++l) {
    products.push_back(1e6 * (1 + noise * random.Normal()));
    attention.push_back(100 * (1 + noise * random.Normal()));
  }
  std::vector<ExperimentData> experiments;
  std::vector<std::optional<Profile>> profiles;
  for (const std::int64_t at : {0, 4000, 8000}) {
    std::vector<example::Inference> inferences;
    std::vector<double> totals;
    for (std::size_t l = 0; l < kLaunches; ++l) {
      const auto grown =
          static_cast<Nanoseconds>(std::llround(10'000 + attention[l] * static_cast<double>(at)));
      const auto fixed = static_cast<Nanoseconds>(std::llround(products[l]));
      for (int run = 0; run < 2; ++run)
        inferences.push_back({{{"llama::custom_sdpa.out", grown}},
                              {{"Fully Connected (NC, F32) GEMM #1", fixed}},
                              5'000,
                              1'000});
      totals.push_back(static_cast<double>(grown + fixed));
    }
    AttributeOptions options;
    options.labels = example::Labels(2 * kLaunches, kLaunches);
    profiles.push_back(Attribute(example::MakeTrace(inferences), options));
    if (change) change(*profiles.back());
    experiments.push_back(MakeStepExperiment("a", "tg1 @ d" + std::to_string(at), 1, at, 1, totals));
  }
  const Report report = MakeReportOfSteps(std::move(experiments), {}, std::move(profiles));
  return MakeGenerationReport(report).value().variants.at(0).line.value();
}

const stats::LineEstimate& FindPartLine(const DecodeLine& line, const std::string& name) {
  return std::ranges::find(line.parts, name, &DecodeLine::Part::name)->line.value();
}

TEST(GenerationReport, LinesOfPartsAddUp) {
  const DecodeLine line = MakeTracedLine(1, 0.02);
  double intercept = 0, slope = 0;
  for (const DecodeLine::Part& part : line.parts) {
    intercept += part.line->intercept.mean;
    slope += part.line->slope.mean;
    EXPECT_EQ(part.line->launches, 10) << part.name;
  }
  EXPECT_NEAR(intercept, line.traced->intercept.mean, 1e-6);
  EXPECT_NEAR(slope, line.traced->slope.mean, 1e-9);
  EXPECT_NEAR(FindPartLine(line, "GEMM").intercept.mean, 1e6, 3e4);
  EXPECT_NEAR(FindPartLine(line, "GEMM").slope.mean, 0, 1e-9);
  EXPECT_NEAR(FindPartLine(line, "ATTENTION").intercept.mean, 10'000, 2);
  EXPECT_NEAR(FindPartLine(line, "ATTENTION").slope.mean, 100, 3);
}

TEST(GenerationReport, LinesOfOperatorsAddUp) {
  const DecodeLine line = MakeTracedLine(1, 0.02);
  ASSERT_GT(line.operators.size(), 2U);
  double intercept = 0, slope = 0;
  std::set<std::string> keys;
  for (const DecodeLine::Part& op : line.operators) {
    intercept += op.line->intercept.mean;
    slope += op.line->slope.mean;
    EXPECT_TRUE(keys.insert(op.key).second);
    EXPECT_FALSE(op.category.empty());
  }
  EXPECT_NEAR(intercept, line.traced->intercept.mean, 1e-6);
  EXPECT_NEAR(slope, line.traced->slope.mean, 1e-9);
  const auto attention = std::ranges::find(line.operators, "ATTENTION", &DecodeLine::Part::category);
  ASSERT_NE(attention, line.operators.end());
  EXPECT_EQ(attention->name, "native_call_llama::custom_sdpa.out");
  EXPECT_NEAR(attention->line->slope.mean, 100, 3);
  // If a category has one operator, both have the same line.
  EXPECT_EQ(attention->line->slope.low, FindPartLine(line, "ATTENTION").slope.low);
  EXPECT_TRUE(line.layers.empty());  // there is no .etrecord
}

TEST(GenerationReport, LinesOfLayersAddUp) {
  const DecodeLine line = MakeTracedLine(1, 0.02, [](Profile& profile) {
    ProgramJoin& join = profile.program.emplace();
    join.operators.resize(profile.operators.size());
    join.places = {
        {{{"", "Net"}, {"layers", "List"}, {"layers.7", "Block"}, {"layers.7.attention.0", "Sdpa"}}, {}},
        {{{"", "Net"}, {"head", "Linear"}}, {}}};
    for (std::size_t op = 0; op < profile.operators.size(); ++op) {
      if (profile.operators[op].category.name == "ATTENTION") join.operators[op].place = 0;
      if (profile.operators[op].category.name == "GEMM") join.operators[op].place = 1;
    }
  });
  std::vector<std::string> names;
  double slope = 0;
  for (const DecodeLine::Part& layer : line.layers) {
    names.push_back(layer.name);
    slope += layer.line->slope.mean;
  }
  EXPECT_THAT(names, UnorderedElementsAre("layers.7", "head", "No layer"));
  EXPECT_NEAR(slope, line.traced->slope.mean, 1e-9);
}

TEST(GenerationReport, IntervalsOfPartsCoverTheTruth) {
  constexpr int kSimulated = 400;
  int intercepts = 0, slopes = 0;
  for (int i = 0; i < kSimulated; ++i) {
    const DecodeLine line = MakeTracedLine(static_cast<std::uint64_t>(i), 0.02);
    const auto covers = [](const stats::MeanInterval& interval, double truth) {
      return interval.low <= truth && truth <= interval.high ? 1 : 0;
    };
    intercepts += covers(FindPartLine(line, "GEMM").intercept, 1e6);
    slopes += covers(FindPartLine(line, "ATTENTION").slope, 100);
  }
  for (const int covered : {intercepts, slopes}) {
    EXPECT_GE(covered, 0.93 * kSimulated);
    EXPECT_LE(covered, 0.97 * kSimulated);
  }
}

// Steps of 1 ms at four positions in ten processes, each of which becomes 0.1% slower from burst to burst.
// Each burst has independent noise.
stats::MeanInterval FitSlopeOfSlowingProcesses(std::uint64_t seed, bool in_order) {
  constexpr std::size_t kPositions = 4;
  constexpr int kLaunches = 10, kRounds = 7;
  std::vector<ExperimentData> steps;
  for (std::size_t p = 0; p < kPositions; ++p)
    steps.push_back(MakeStepExperiment("a", "tg1 @ d" + std::to_string(1000 * p), 1,
                                       static_cast<std::int64_t>(1000 * p), 1,
                                       std::vector<double>(kLaunches, 1e6)));
  Random random(seed);
  for (int l = 0; l < kLaunches; ++l) {
    for (ExperimentData& step : steps) step.launches[static_cast<std::size_t>(l)].bursts.clear();
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<std::size_t> order = RoundOrder(seed, l, round, kPositions);
      for (std::size_t i = 0; i < kPositions; ++i) {
        const std::size_t place = in_order ? i : order[i];
        const auto before = static_cast<double>(in_order ? i * kRounds + static_cast<std::size_t>(round)
                                                         : static_cast<std::size_t>(round) * kPositions + i);
        const double ns = 1e6 * (1 + 0.001 * before + 0.002 * random.Normal());
        Burst& burst = steps[place].launches[static_cast<std::size_t>(l)].bursts.emplace_back();
        burst.round = round;
        burst.recorded.assign(5, static_cast<Nanoseconds>(std::llround(ns)));
        burst.recorded_wait.assign(5, 0);
      }
    }
  }
  return MakeGenerationReport(MakeReportOfSteps(std::move(steps)))->variants.at(0).line->line->slope;
}

TEST(GenerationReport, ProcessesThatBecomeSlowerHaveNoSlope) {
  constexpr int kSimulated = 200;
  int claimed = 0;
  for (std::uint64_t seed = 0; seed < kSimulated; ++seed) {
    const stats::MeanInterval slope = FitSlopeOfSlowingProcesses(seed, false);
    claimed += slope.low > 0 || slope.high < 0 ? 1 : 0;
  }
  EXPECT_LE(claimed, 0.07 * kSimulated);
  EXPECT_GE(claimed, 0.02 * kSimulated);
  // In order, each position starts seven bursts later: 7 x 1 us per 1,000 tokens.
  const stats::MeanInterval wrong = FitSlopeOfSlowingProcesses(1, true);
  EXPECT_GT(wrong.low, 6);
  EXPECT_LT(wrong.high, 8);
}

TEST(GenerationReport, AddsUpToTheFirstToken) {
  ExperimentData data = MakeStepExperiment("a", "tg3", 1, 0, 3, {9e6, 9e6, 9e6, 9e6});
  for (Launch& launch : data.launches) launch.generated_text = MakeGeneratedText();
  data.launches[1].generated_text->execute_ns[0] += 1'000'000;
  data.launches[2].generated_text->wait_ns[0] = 5'000'000;  // disturbed
  data.launches[3].generated_text->generated.pop_back();    // not a complete text
  const GenerationReport generation = MakeGenerationReport(MakeReportOfSteps({data})).value();
  const GenerationVariant& variant = generation.variants[0];
  ASSERT_TRUE(variant.first_token);
  const FirstToken& first = *variant.first_token;
  EXPECT_EQ(first.launches, 2);
  EXPECT_EQ(first.steps, 2);
  EXPECT_EQ(first.prefill, 30'000'000);
  EXPECT_EQ(first.inputs, 21);
  EXPECT_EQ(first.argmax, 101);
  EXPECT_EQ(first.between_steps, 7);  // excludes the time after the token
  EXPECT_EQ(first.total, 30'000'129);
  EXPECT_EQ(variant.text->launches, 3);
  EXPECT_TRUE(variant.text->same_in_all_launches);
  EXPECT_NEAR(*variant.text->step.p50, 9e6, 1);
}

TEST(GenerationReport, AddsUpToTheColdFirstToken) {
  ExperimentData data = MakeStepExperiment("a", "tg3", 1, 0, 3, {9e6, 9e6, 9e6, 9e6});
  for (Launch& launch : data.launches) {
    launch.load = 50'000'000 + launch.index;
    launch.load_wait = 0;
    launch.generated_text = launch.cold_generated_text = MakeGeneratedText();
  }
  data.launches[0].load_wait = 20'000'000;  // loading is disturbed here, and the text in the next launch
  data.launches[1].cold_generated_text->wait_ns[1] = 5'000'000;
  const GenerationVariant variant = MakeGenerationReport(MakeReportOfSteps({data}))->variants.at(0);
  ASSERT_TRUE(variant.cold_first_token);
  const FirstToken& cold = *variant.cold_first_token;
  EXPECT_EQ(cold.launches, 2);
  EXPECT_EQ(cold.load, 50'000'002);
  EXPECT_EQ(cold.total, 50'000'002 + 30'000'129);
  EXPECT_EQ(cold.total, cold.load + cold.prefill + cold.inputs + cold.argmax + cold.between_steps);
  EXPECT_EQ(variant.first_token->load, 0);
  EXPECT_EQ(variant.first_token->launches, 4);
  for (Launch& launch : data.launches) launch.cold_generated_text.reset();
  EXPECT_FALSE(MakeGenerationReport(MakeReportOfSteps({data}))->variants.at(0).cold_first_token);
}

TEST(GenerationReport, AddsTheEncodersToTheFirstToken) {
  ExperimentData data = MakeStepExperiment("a", "tg3", 1, 0, 3, {9e6, 9e6});
  for (Launch& launch : data.launches) {
    protocol::GenerateTextReply& reply = launch.generated_text.emplace(MakeGeneratedText());
    reply.encode_ns = 4'000'000;  // the first step takes their two outputs
    reply.features = 2;
    reply.prompt = {7};
  }
  const GenerationVariant variant = MakeGenerationReport(MakeReportOfSteps({data}))->variants.at(0);
  const FirstToken& first = variant.first_token.value();
  EXPECT_EQ(first.prompt, 1);
  EXPECT_EQ(first.features, 2);
  EXPECT_EQ(first.steps, 2);
  EXPECT_EQ(first.encode, 4'000'000);
  EXPECT_EQ(first.total, 34'000'129);
  EXPECT_EQ(first.total,
            first.load + first.encode + first.prefill + first.inputs + first.argmax + first.between_steps);
}

TEST(GenerationReport, FindsTheFirstTokenThatDiffers) {
  ExperimentData a = MakeStepExperiment("a", "tg3", 1, 0, 3, {9e6, 9e6}),
                 b = MakeStepExperiment("b", "tg3", 1, 0, 3, {9e6, 9e6});
  for (Launch& launch : a.launches) launch.generated_text = MakeGeneratedText();
  for (Launch& launch : b.launches) launch.generated_text = MakeGeneratedText();
  Report report = MakeReportOfSteps({a, b}, {{0, 1}});
  EXPECT_TRUE(MakeGenerationReport(report)->pairs[0].texts_compared);
  EXPECT_FALSE(MakeGenerationReport(report)->pairs[0].first_difference);
  for (Launch& launch : b.launches) launch.generated_text->generated[1] = 9;
  report = MakeReportOfSteps({a, b}, {{0, 1}});
  EXPECT_EQ(MakeGenerationReport(report)->pairs[0].first_difference, 1);
  b.launches[1].generated_text->nan_steps = 1;
  const Report with_nan = MakeReportOfSteps({a, b}, {{0, 1}});
  EXPECT_FALSE(MakeGenerationReport(with_nan)->pairs[0].texts_compared);
  EXPECT_FALSE(MakeGenerationReport(with_nan)->pairs[0].first_difference);
  EXPECT_EQ(MakeGenerationReport(with_nan)->variants.at(1).text->nan_steps, 1);
}

TEST(GenerationReport, ReadingMemoryNeedsMeasuredPeaks) {
  std::vector<ExperimentData> steps = {MakeStepExperiment("a", "tg1", 1, 0, 1, {1e6, 1e6}),
                                       MakeStepExperiment("a", "tg1 @ d500", 1, 500, 1, {2e6, 2e6}),
                                       MakeStepExperiment("a", "tg1 @ d900", 1, 900, 1, {3e6, 3e6})};
  steps[0].place->read_bytes = 4'000'000;
  steps[1].place->read_bytes = 6'000'000;  // the last step's bytes are not known

  const auto floor = [&](const std::vector<std::string>& labels) {
    Report report = MakeReportOfSteps(steps);
    PeaksEntry entry;
    entry.experiments = labels;
    // 20 GB/s within 5 MB, and 10 GB/s beyond.
    entry.peaks.memory = {{"L3", "read", {20e9, 20e9, 20e9, 1}, 1'000'000, 5'000'000},
                          {"DRAM", "read", {10e9, 10e9, 10e9, 1}, 100'000'000},
                          {"DRAM", "write", {90e9, 90e9, 90e9, 1}, 100'000'000}};
    report.run.peaks.emplace().entries.push_back(entry);
    if (labels.empty()) report.run.peaks.reset();
    return MakeGenerationReport(report)->variants[0].line->memory_ns;
  };
  EXPECT_THAT(floor({steps[0].label, steps[1].label, steps[2].label}), ElementsAre(2e5, 6e5, std::nullopt));
  EXPECT_THAT(floor({steps[1].label}), ElementsAre(std::nullopt, 6e5, std::nullopt));
  EXPECT_THAT(floor({}), ElementsAre(std::nullopt, std::nullopt, std::nullopt));
}

TEST(GenerationReport, NamesTheKernelsOfWatchedSteps) {
  const auto watched = [](const std::string& kernel) {
    WatchData watch{"forward", {}};
    watch.reply.runs = 1;
    watch.reply.architecture = "x86-64";
    const std::string fma = "c4e26db8c1c3";  // vfmadd231ps %ymm1,%ymm2,%ymm0; ret
    watch.reply.functions = {{"kai_run_lhs_quant_pack", 0x1000, 6, fma, ""}, {kernel, 0x2000, 6, fma, ""}};
    for (const std::string type : {"Fully Connected (NC, QP8, F32, QC4W) GEMM #1", "Softmax (NC, F32) #1",
                                   "Fully Connected (NC, QP8, F32, QC4W) GEMM #2"}) {
      protocol::WatchedOperator op;
      op.place = {0, static_cast<int>(watch.reply.operators.size()), "backend", 0, 0};
      op.name = type;
      op.runs = 1;
      op.functions = {{0, false, {3}}, {1, false, {2}}};
      watch.reply.operators.push_back(std::move(op));
    }
    return std::make_shared<const WatchData>(std::move(watch));
  };
  std::vector<ExperimentData> steps = {MakeStepExperiment("a", "pp8", 8, 0, 1, {3e6}),
                                       MakeStepExperiment("a", "tg1", 1, 0, 1, {1e6}),
                                       MakeStepExperiment("a", "tg1 @ d500", 1, 500, 1, {1e6})};
  for (ExperimentData& step : steps) step.log = step.name + ".log";  // gives each experiment its own file
  steps[0].watch = watched("kai_run_matmul_clamp_f32_mopa");
  steps[1].watch = watched("");
  steps[2].watch = watched("kai_run_matmul_clamp_other");  // ignored: steps[1] has as many tokens
  const std::vector<StepKernel> kernels = MakeGenerationReport(MakeReportOfSteps(steps))->variants[0].kernels;
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].tokens, 8);
  EXPECT_EQ(kernels[0].kernel, "kai_run_matmul_clamp_f32_mopa");
  EXPECT_EQ(kernels[0].operators, 2);
  EXPECT_EQ(kernels[1].tokens, 1);
  EXPECT_EQ(kernels[1].kernel, "");
  EXPECT_EQ(kernels[1].code, kernels[0].code);
  steps[0].watch = steps[1].watch = steps[2].watch = nullptr;
  EXPECT_TRUE(MakeGenerationReport(MakeReportOfSteps(steps))->variants[0].kernels.empty());
}

TEST(GenerationReport, IsAbsentWithoutStepsOfTests) {
  ExperimentData data = MakeStepExperiment("a", "tg3", 1, 0, 3, {9e6, 9e6});
  data.place.reset();
  EXPECT_FALSE(MakeGenerationReport(MakeReportOfSteps({data})));
}

}  // namespace
}  // namespace etprof
