#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/measurement/measure.h"
#include "protocol/messages.h"

namespace etprof {

// Help of options that the command gives a letter, too.
inline constexpr const char* kPromptHelp =
    "Tokens of a prompt; several are measured side by side (default: 128,512, as far as they fit)";
inline constexpr const char* kGenerateHelp =
    "Tokens to generate at each depth, and after the longest prompt (default: 128)";
inline constexpr const char* kDepthHelp =
    "Tokens in the cache before the generated ones (default: four depths from 0 to the most)";

// The tests of a language model; empty or absent: what it has room for.
struct TokenTests {
  std::vector<int> prompts, depths, chunks;
  std::optional<int> generate;

  bool operator==(const TokenTests&) const = default;

  // Describes the options of structs that have them as `tests`. `generate` is the name of that option.
  static void DescribeIn(auto& v, const char* generate) {
    const auto of = [](auto member) { return [member](auto& all) -> auto& { return all.tests.*member; }; };
    const auto list = [](std::string_view meaning, double least) {
      return MemberInfo{
          .meaning = meaning, .least = least, .most = protocol::kMaxTokens, .one = true, .value = "N,.."};
    };
    v("prompt", of(&TokenTests::prompts), list(kPromptHelp, 1));
    v(generate, of(&TokenTests::generate),
      {.meaning = kGenerateHelp, .least = 1, .most = protocol::kMaxTokens, .value = "N"});
    v("depth", of(&TokenTests::depths), list(kDepthHelp, 0));
    v("chunk", of(&TokenTests::chunks),
      list("Tokens of a prompt that one step takes (default: as many as the model takes)", 1));
  }
};

// A language model, as it is or against variants.
struct GenerateOptions {
  MeasureRequest measure;
  std::string model;
  std::vector<std::string> vs;
  TokenTests tests;

  static void Describe(auto& v) {
    using G = GenerateOptions;
    v("model", &G::model);
    v("vs", &G::vs, {.one = true});
    TokenTests::DescribeIn(v, "generate");
    MeasureRequest::DescribeCommon(v);
    MeasureRequest::DescribePrecision(v);
    MeasureRequest::DescribeModel(v);
    MeasureRequest::DescribeWatch(v);
  }
};

// What it is to measure. Throws Error (kUsage) for tokens that the models have no room for, kBadInput for a
// program that is no language model, with the reason.
MeasureJobs MakeJobs(const GenerateOptions& options);

// The experiments of a configuration, each at the places of the tests. Throws Error like MakeJobs.
// `generate` is the name of that option.
Config MakeGenerateConfig(const Config& profile, const TokenTests& given,
                          const char* generate = "--generate");

// Throws Error (kUsage) for options that choose methods or inputs, which `command` does itself.
void RequireDefaultMethodAndInputs(const MeasureRequest& request, const std::string& command);

}  // namespace etprof
