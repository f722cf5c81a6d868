#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "format/program/program.h"

// Recognizes language models in a program: methods that take tokens and a position, keep a cache, and return
// logits. Instead of tokens, a method may take their embeddings, which another method returns. It may also
// take the output of an encoder.
namespace etprof {

// A method that processes the next tokens of a text.
struct TokenStep {
  std::string method;
  std::int64_t tokens = 1;           // maximum number of tokens per call
  bool dynamic = false;              // the method accepts any smaller number, too
  bool per_token_positions = false;  // takes the position of each token; false: of the first token only
  bool per_token_logits = false;     // returns the logits of each token; false: of the last token only
  bool takes_embeddings = false;     // takes the embeddings of tokens instead of tokens
  std::string embedding_method;      // method that returns the embeddings; empty: unknown or not needed
  bool takes_features = false;       // also takes the output of an encoder
  std::int64_t vocabulary = 0;
  std::optional<Bytes> weights;  // lower bound of the size of packed weights

  static constexpr const char* kSchemaName = "token_step";
  static void Describe(auto& v) {
    v("tokens", &TokenStep::tokens, {.meaning = "that it takes at once, at most", .min = 1});
    v("fewer_tokens", &TokenStep::dynamic, {.meaning = "it takes any smaller number, too"});
    v("position_of_each", &TokenStep::per_token_positions,
      {.meaning = "it takes the position of each token, else of the first one"});
    v("logits_of_each", &TokenStep::per_token_logits,
      {.meaning = "it gives the logits of each token, else of the last one"});
    v("embeddings", &TokenStep::takes_embeddings,
      {.meaning = "it takes the embeddings of the tokens, which another method gives"});
    v("features", &TokenStep::takes_features, {.meaning = "it takes what an encoder gives, too"});
    v("vocabulary", &TokenStep::vocabulary, {.meaning = "logits of a token", .min = 1});
  }
};

// Returns the method as a token step. Absent if it is not a token step; `rejection` is then the reason in one
// clause ("takes 1 input, ...").
std::optional<TokenStep> FindTokenStep(const Method& method, std::string* rejection = nullptr);

struct LanguageModel {
  std::vector<TokenStep> steps;         // by descending number of tokens
  std::vector<std::string> encoders;    // methods whose outputs precede the tokens, or are inputs of steps
  std::int64_t encoder_positions = 0;   // maximum number of positions that encoder outputs occupy
  std::optional<std::int64_t> context;  // number of tokens for which the cache has room
  std::optional<std::int64_t> layers;
  Bytes state = 0;  // largest state of a method; methods may share it
  std::optional<Bytes> state_per_token;
  std::string rejection;  // why the model cannot be measured, in one clause; empty: it can be measured

  // The step with the smallest limit that takes this many tokens at once, which is also the runner's choice.
  // Null if no step takes them.
  const TokenStep* FindStep(std::int64_t tokens) const;
};
LanguageModel FindLanguageModel(const Program& program);

}  // namespace etprof
