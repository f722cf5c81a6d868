#pragma once

#include <cstdint>

#include "inference/model.h"
#include "protocol/messages.h"

// Steps of a language model: some tokens at a position, by whichever loaded method takes that many. Where
// that one takes embeddings, the loaded method that gives them runs before it. Loaded methods that are no
// part of a step are encoders, which run once before a text.
namespace etprof::runner {

// The token that stands at a position in all steps but those after a prompt: drawn over the whole vocabulary,
// the same on every machine. A step that is repeated, at whatever position, so leaves the cache as it was.
std::int64_t TokenAt(std::int64_t position, std::int64_t vocabulary);

// Prepares the model for runs at a place. Throws Error (kUsage) where no method takes such a step.
void SetPlace(Model& model, const protocol::Place& place);

// Runs the tokens of the positions from 0 to `upto`, in chunks of at most `chunk`.
protocol::FillReply Fill(Model& model, const protocol::FillRequest& request);

// A fill, and then the same step twice: digests of its logits.
protocol::ReferenceReply RunReference(Model& model, const protocol::FillRequest& request);

// Generates tokens after a prompt, each the one with the largest logit, and says what every step took.
protocol::WalkReply Walk(Model& model, const protocol::WalkRequest& request);

}  // namespace etprof::runner
