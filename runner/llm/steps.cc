#include "llm/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "inference/outputs.h"
#include "timing/operator_clock.h"
#include "timing/waiting.h"

namespace etprof::runner {
namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;

constexpr std::int64_t kMostTokens = 1 << 24;

// The method with the smallest limit that takes so many tokens at once; empty: none does.
std::string MethodFor(const Model& model, std::int64_t tokens) {
  std::string best;
  std::int64_t limit = 0;
  for (const std::string& name : model.methods()) {
    const auto shape = model.StepOf(name);
    if (!shape || !(shape->dynamic ? tokens <= shape->tokens : tokens == shape->tokens)) continue;
    if (best.empty() || shape->tokens < limit) best = name, limit = shape->tokens;
  }
  return best;
}

const Tensor& Logits(const Model& model) {
  if (model.method().outputs_size() == 0 || !model.method().get_output(0).isTensor() ||
      model.method().get_output(0).toTensor().dim() < 1) {
    throw Error(ExitCode::kUsage, fmt::format("'{}' has no logits as its first output", model.method_name()));
  }
  return model.method().get_output(0).toTensor();
}

std::int64_t Vocabulary(const Model& model) { return Logits(model).size(Logits(model).dim() - 1); }

void SetStep(Model& model, std::span<const std::int64_t> tokens, std::int64_t at) {
  const std::string method = MethodFor(model, static_cast<std::int64_t>(tokens.size()));
  if (method.empty()) {
    throw Error(ExitCode::kUsage, fmt::format("no method takes {} tokens and a position", tokens.size()))
        .Remedy("`etprof inspect` shows what its methods take");
  }
  model.Select(method);
  model.SetStep(tokens, at);
}

// How many of `left` tokens the next step takes: at most `chunk`, and as many as a method takes.
std::int64_t NextChunk(const Model& model, std::int64_t left, std::int64_t chunk) {
  const std::int64_t wanted = std::min(left, std::max<std::int64_t>(1, chunk));
  if (!MethodFor(model, wanted).empty()) return wanted;
  std::int64_t most = 0;
  for (const std::string& name : model.methods()) {
    if (const auto shape = model.StepOf(name); shape && shape->tokens <= wanted)
      most = std::max(most, shape->tokens);
  }
  if (most > 0) return most;
  throw Error(ExitCode::kUsage, fmt::format("no method takes {} tokens and a position", wanted))
      .Remedy("`etprof inspect` shows what its methods take");
}

void CheckTokens(const char* name, std::int64_t tokens) {
  if (tokens < 0 || tokens > kMostTokens) {
    throw Error(ExitCode::kUsage, fmt::format("\"{}\" is {}: at most {}", name, tokens, kMostTokens));
  }
}

std::vector<std::int64_t> TokensFrom(std::int64_t at, std::int64_t count, std::int64_t vocabulary) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = TokenAt(at + static_cast<std::int64_t>(i), vocabulary);
  return tokens;
}

template <typename Number>
std::int64_t LargestOf(const Number* numbers, std::int64_t count) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < count; ++i)
    if (static_cast<float>(numbers[i]) > static_cast<float>(numbers[best])) best = i;
  return best;
}

// The token with the largest logit, the first of several, after the last token of the step.
std::int64_t Greedy(const Model& model) {
  const Tensor& logits = Logits(model);
  const std::int64_t vocabulary = Vocabulary(model);
  const auto last = [&]<typename Number>(const Number* all) {
    return LargestOf(all + (logits.numel() - vocabulary), vocabulary);
  };
  switch (logits.scalar_type()) {
    case ScalarType::Float:
      return last(logits.const_data_ptr<float>());
    case ScalarType::Half:
      return last(logits.const_data_ptr<executorch::aten::Half>());
    case ScalarType::BFloat16:
      return last(logits.const_data_ptr<executorch::aten::BFloat16>());
    default:
      throw Error(ExitCode::kUsage, "the logits are no floating-point numbers");
  }
}

}  // namespace

std::int64_t TokenAt(std::int64_t position, std::int64_t vocabulary) {
  constexpr std::uint64_t kSeed = 0x746f6b656e73;
  return static_cast<std::int64_t>(Random(kSeed + static_cast<std::uint64_t>(position)).Next() %
                                   static_cast<std::uint64_t>(std::max<std::int64_t>(1, vocabulary)));
}

void SetPlace(Model& model, const protocol::Place& place) {
  CheckTokens("tokens", place.tokens);
  CheckTokens("at", place.at);
  if (place.tokens == 0) return;
  SetStep(model, TokensFrom(place.at, place.tokens, Vocabulary(model)), place.at);
}

protocol::FillReply Fill(Model& model, const protocol::FillRequest& request) {
  CheckTokens("upto", request.upto);
  if (model.state() != nullptr) model.state()->Reset();
  const std::int64_t start = MonotonicNow(), vocabulary = Vocabulary(model);
  protocol::FillReply reply;
  for (std::int64_t at = 0; at < request.upto; ++reply.steps) {
    const std::int64_t count = NextChunk(model, request.upto - at, request.chunk);
    SetStep(model, TokensFrom(at, count, vocabulary), at);
    model.GiveInputs();
    model.Run();
    at += count;
  }
  reply.ns = MonotonicNow() - start;
  if (model.state() != nullptr) model.state()->Save();
  return reply;
}

protocol::ReferenceReply RunReference(Model& model, const protocol::FillRequest& request) {
  SavedState* const state = model.state();
  SavedState::Copy kept = state != nullptr ? state->saved() : SavedState::Copy();
  Fill(model, request);
  const std::int64_t count = NextChunk(model, 1, 1);
  protocol::ReferenceReply reply;
  reply.restored = state != nullptr;
  for (std::string* digest : {&reply.first, &reply.again}) {
    SetStep(model, TokensFrom(request.upto, count, Vocabulary(model)), request.upto);
    model.GiveInputs();
    model.Run();
    *digest = DigestOutputs(model.method()).at(0).sha256;
  }
  if (state != nullptr) state->Hold(std::move(kept));
  return reply;
}

protocol::WalkReply Walk(Model& model, const protocol::WalkRequest& request) {
  CheckTokens("prompt", request.prompt);
  CheckTokens("generate", request.generate);
  if (request.prompt == 0 || request.generate == 0)
    throw Error(ExitCode::kUsage, "a walk has a prompt of 1 token and generates 1 token, at least");
  SavedState* const state = model.state();
  if (state != nullptr) state->Reset();
  protocol::WalkReply reply;
  reply.prompt = TokensFrom(0, request.prompt, Vocabulary(model));
  const auto reserve = [&](auto&... columns) {
    (columns.reserve(static_cast<std::size_t>(request.prompt + request.generate)), ...);
  };
  reserve(reply.generated, reply.tokens, reply.at, reply.inputs_ns, reply.execute_ns, reply.argmax_ns,
          reply.between_ns, reply.wait_ns);
  const WaitMeter meter;
  WaitReading before = meter.Read();
  const std::int64_t start = before.wall_ns;
  std::int64_t now = start;
  const auto lap = [&](std::vector<std::int64_t>& column, std::int64_t until) {
    column.push_back(until - now);
    now = until;
  };
  // The whole time is divided among the columns: each ends where the next one begins.
  const auto step = [&](std::span<const std::int64_t> tokens, std::int64_t at, bool choose) {
    SetStep(model, tokens, at);
    model.GiveInputs();
    lap(reply.inputs_ns, MonotonicNow());
    model.Run();
    lap(reply.execute_ns, MonotonicNow());
    if (choose) reply.generated.push_back(Greedy(model));
    lap(reply.argmax_ns, MonotonicNow());
    const WaitReading after = meter.Read();
    reply.tokens.push_back(static_cast<std::int64_t>(tokens.size()));
    reply.at.push_back(at);
    reply.wait_ns.push_back(WaitedTime(before, after));
    before = after;
    lap(reply.between_ns, MonotonicNow());
  };
  for (std::int64_t at = 0; at < request.prompt;) {
    const std::int64_t count = NextChunk(model, request.prompt - at, request.chunk);
    step(std::span(reply.prompt).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)), at,
         at + count == request.prompt);
    at += count;
  }
  for (std::int64_t i = 1; i < request.generate; ++i) {
    const std::int64_t token = reply.generated.back();
    step({&token, 1}, request.prompt + i - 1, true);
  }
  reply.total_ns = now - start;
  if (state != nullptr) state->Hold(state->saved());
  return reply;
}

}  // namespace etprof::runner
