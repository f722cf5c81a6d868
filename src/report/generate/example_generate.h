#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/report.h"

// Runs of language models with known numbers, for tests.
namespace etprof::example {

// Makes an experiment that measures a step of `tokens` tokens at position `at`, which occurs `times` times in
// the test. `ns` has the time of its runs for each launch.
inline ExperimentData MakeStepExperiment(const std::string& variant, const std::string& test,
                                         std::int64_t tokens, std::int64_t at, std::int64_t times,
                                         const std::vector<double>& ns) {
  ExperimentData data;
  data.name = variant + test + std::to_string(at);
  data.label = variant + ", " + test;
  data.place.emplace();
  data.place->tokens = tokens;
  data.place->position = at;
  data.place->times = times;
  data.place->test = test;
  data.place->variant = variant;
  for (std::size_t l = 0; l < ns.size(); ++l) {
    Launch& launch = data.launches.emplace_back();
    launch.index = static_cast<int>(l);
    for (int round = 0; round < 3; ++round) {
      Burst& burst = launch.bursts.emplace_back();
      burst.round = round;
      burst.recorded.assign(5, static_cast<Nanoseconds>(std::llround(ns[l])));
      burst.recorded_wait.assign(5, 0);
    }
  }
  return data;
}

inline Report MakeReportOfSteps(std::vector<ExperimentData> experiments, std::vector<ComparePair> pairs = {},
                                std::vector<std::optional<Profile>> profiles = {}) {
  RunData run;
  run.status = RunData::Status::kComplete;
  run.schedule.launches = static_cast<int>(experiments.front().launches.size());
  run.schedule.margin = 0.01;
  profiles.resize(experiments.size());
  run.experiments = std::move(experiments);
  run.pairs = std::move(pairs);
  return Assemble(std::move(run), std::move(profiles));
}

// A generated text with two prompt steps and three generated tokens.
inline protocol::GenerateTextReply MakeGeneratedText() {
  protocol::GenerateTextReply reply;
  reply.prompt = {5, 6, 7};
  reply.generated = {1, 2, 3};
  reply.tokens = {2, 1, 1, 1};
  reply.positions = {0, 2, 3, 4};
  reply.inputs_ns = {10, 11, 12, 13};
  reply.execute_ns = {20'000'000, 10'000'000, 9'000'000, 9'000'000};
  reply.argmax_ns = {1, 100, 100, 100};
  reply.between_ns = {7, 8, 9, 6};
  reply.wait_ns = {0, 0, 0, 0};
  for (const auto* column : {&reply.inputs_ns, &reply.execute_ns, &reply.argmax_ns, &reply.between_ns})
    reply.total_ns = std::accumulate(column->begin(), column->end(), reply.total_ns);
  return reply;
}

}  // namespace etprof::example
