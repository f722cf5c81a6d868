#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/measurement/measure.h"
#include "protocol/messages.h"

namespace etprof {

// Help of the options that also have a one-letter name.
inline constexpr const char* kPromptHelp =
    "Tokens of a prompt; several are measured side by side (default: 128,512, as far as they fit)";
inline constexpr const char* kGenerateHelp =
    "Tokens to generate at each depth, and after the longest prompt (default: 128)";
inline constexpr const char* kDepthHelp =
    "Tokens in the cache before the generated ones (default: four depths from 0 to the most)";

// The tests of a language model. Empty or absent members have defaults that fit into the model's context.
struct TokenTests {
  std::vector<int> prompts, depths, chunks;
  std::optional<int> generate;

  bool operator==(const TokenTests&) const = default;

  // Describes the options, for structs with TokenTests as their member `tests`. `generate_key` is the key of
  // the option for generated tokens.
  static void DescribeIn(auto& v, const char* generate_key) {
    const auto test_member = [](auto member) {
      return [member](auto& options) -> auto& { return options.tests.*member; };
    };
    const auto list_info = [](std::string_view meaning, double min) {
      return MemberInfo{
          .meaning = meaning, .min = min, .max = protocol::kMaxTokens, .or_single = true, .value = "N,.."};
    };
    v("prompt", test_member(&TokenTests::prompts), list_info(kPromptHelp, 1));
    v(generate_key, test_member(&TokenTests::generate),
      {.meaning = kGenerateHelp, .min = 1, .max = protocol::kMaxTokens, .value = "N"});
    v("depth", test_member(&TokenTests::depths), list_info(kDepthHelp, 0));
    v("chunk", test_member(&TokenTests::chunks),
      list_info("Tokens of a prompt that one step takes (default: as many as the model takes)", 1));
  }
};

// Options of `etprof generate`: a language model, alone or compared with variants.
struct GenerateOptions : MeasureRequest {
  std::string model;
  std::vector<std::string> vs;
  TokenTests tests;

  static void Describe(auto& v) {
    using G = GenerateOptions;
    v("model", &G::model);
    v("vs", &G::vs, {.or_single = true});
    TokenTests::DescribeIn(v, "generate");
    DescribeBasicOptions(v);
    DescribePrecision(v);
    DescribeModel(v);
    DescribeWatch(v);
  }
};

// Makes the jobs of the command. Throws Error: kUsage for tokens that do not fit into the models' context,
// kBadInput for a program that is not a language model, with the reason.
MeasureJobs MakeJobs(const GenerateOptions& options);

// Replaces each experiment of `profile` by the experiments that measure the tests: one for each step whose
// time a test needs. `generate_option` names the option for generated tokens in errors. Throws Error like
// MakeJobs.
Config MakeGenerateConfig(const Config& profile, const TokenTests& token_tests,
                          const char* generate_option = "--generate");

// Throws Error (kUsage) for options that choose methods or inputs, since `command` chooses them itself.
void RequireDefaultMethodAndInputs(const MeasureRequest& request, const std::string& command);

}  // namespace etprof
