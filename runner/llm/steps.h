#pragma once

#include <cstdint>

#include "inference/model.h"
#include "protocol/messages.h"

// A step of a language model runs tokens at a position, with the loaded method that takes their number. If
// that method takes embeddings, the loaded method that computes embeddings runs before it. Loaded methods
// that are not part of a step are encoders, which run once before a text.
namespace etprof::runner {

// The token at a position, except for generated tokens: drawn from the whole vocabulary, the same on every
// machine. Repeating a step at any position therefore does not change the cache.
std::int64_t TokenAt(std::int64_t position, std::int64_t vocabulary);

// Prepares the model for runs of a step. Throws Error (kUsage) if no method takes such a step.
void PrepareStep(Model& model, const protocol::StepPlace& place);

// Runs the tokens of the positions from 0 to `request.tokens` - 1, in chunks of at most `chunk`.
protocol::FillReply Fill(Model& model, const protocol::FillRequest& request);

// Fills the cache, and then runs the same step twice. Returns digests of the logits of both runs.
protocol::ReferenceReply RunReference(Model& model, const protocol::FillRequest& request);

// Generates tokens after a prompt, always the token with the largest logit, and returns the times of every
// step.
protocol::GenerateTextReply GenerateText(Model& model, const protocol::GenerateTextRequest& request);

}  // namespace etprof::runner
