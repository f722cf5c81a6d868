#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "format/program/program.h"

// What a program shows of itself as a language model: methods that take tokens and a position, keep a cache,
// and give logits. They may take the embeddings of tokens, which another method gives, or what an encoder
// gives.
namespace etprof {

struct TokenStep {
  std::string method;
  std::int64_t tokens = 1;           // that it takes at once, at most
  bool dynamic = false;              // fewer will do, too
  bool per_token_positions = false;  // it takes the position of each token, else of the first
  bool per_token_logits = false;     // it gives the logits of each token, else of the last
  bool takes_embeddings = false;     // it takes those of the tokens, not the tokens
  std::string embedding_method;      // the method that gives them; empty: not known, or it takes tokens
  bool takes_features = false;       // it takes what an encoder gives, too
  std::int64_t vocabulary = 0;
  std::optional<Bytes> weights;  // that its delegates pack, at least

  static constexpr const char* kSchemaName = "token_step";
  static void Describe(auto& v) {
    v("tokens", &TokenStep::tokens, {.meaning = "that it takes at once, at most", .least = 1});
    v("fewer_tokens", &TokenStep::dynamic, {.meaning = "it takes any smaller number, too"});
    v("position_of_each", &TokenStep::per_token_positions,
      {.meaning = "it takes the position of each token, else of the first one"});
    v("logits_of_each", &TokenStep::per_token_logits,
      {.meaning = "it gives the logits of each token, else of the last one"});
    v("embeddings", &TokenStep::takes_embeddings,
      {.meaning = "it takes the embeddings of the tokens, which another method gives"});
    v("features", &TokenStep::takes_features, {.meaning = "it takes what an encoder gives, too"});
    v("vocabulary", &TokenStep::vocabulary, {.meaning = "logits of a token", .least = 1});
  }
};

// The step that a method is; absent: it is none, and `why` says why in one clause ("takes 1 input, ...").
std::optional<TokenStep> FindTokenStep(const Method& method, std::string* why = nullptr);

struct LanguageModel {
  std::vector<TokenStep> steps;         // by falling number of tokens
  std::vector<std::string> encoders;    // methods: what they give stands before the tokens, or steps take it
  std::int64_t encoder_positions = 0;   // positions before the tokens that they take, at most
  std::optional<std::int64_t> context;  // for how many tokens there is room
  std::optional<std::int64_t> layers;
  Bytes state = 0;  // that all methods keep, or share
  std::optional<Bytes> state_per_token;
  std::string rejection;  // it is none that can be measured, in one clause; empty: it is

  // The step with the smallest limit that takes so many tokens at once, as in the runner; null: none does.
  const TokenStep* StepFor(std::int64_t tokens) const;
};
LanguageModel FindLanguageModel(const Program& program);

}  // namespace etprof
