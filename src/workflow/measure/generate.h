#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workflow/measure/measure.h"

namespace etprof {

// Help of options that the command gives a letter, too.
inline constexpr const char* kPromptHelp =
    "Tokens of a prompt; several are measured side by side (default: 128,512, as far as they fit)";
inline constexpr const char* kGenerateHelp =
    "Tokens to generate at each depth, and after the longest prompt (default: 128)";
inline constexpr const char* kDepthHelp =
    "Tokens in the cache before the generated ones (default: four depths from 0 to the most)";

// A language model, as it is or against variants.
struct GenerateOptions {
  MeasureRequest measure;
  std::string model;
  std::vector<std::string> vs;
  std::vector<int> prompts, depths, chunks;  // empty: what the model has room for
  std::optional<int> generate;

  static void Describe(auto& v) {
    using G = GenerateOptions;
    constexpr double kMostTokens = 1 << 24;
    v("model", &G::model);
    v("vs", &G::vs, {.one = true});
    v("prompt", &G::prompts,
      {.meaning = kPromptHelp, .least = 1, .most = kMostTokens, .one = true, .value = "N"});
    v("generate", &G::generate, {.meaning = kGenerateHelp, .least = 1, .most = kMostTokens, .value = "N"});
    v("depth", &G::depths,
      {.meaning = kDepthHelp, .least = 0, .most = kMostTokens, .one = true, .value = "N"});
    v("chunk", &G::chunks,
      {.meaning = "Tokens of a prompt that one step takes (default: as many as the model takes)",
       .least = 1,
       .most = kMostTokens,
       .one = true,
       .value = "N"});
    MeasureRequest::DescribeCommon(v);
    MeasureRequest::DescribePrecision(v);
    MeasureRequest::DescribeModel(v);
    MeasureRequest::DescribeWatch(v);
  }
};

// What it is to measure. Throws Error (kUsage) for tokens that the models have no room for, kBadInput for a
// program that is no language model, with the reason.
MeasureJobs MakeJobs(const GenerateOptions& options);

// The experiments of a profile, each at the places of the tests.
Config AtPlaces(const Config& profile, const GenerateOptions& options);

}  // namespace etprof
