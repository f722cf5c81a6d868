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

// The part of a loaded method in a step.
enum class StepRole { kEncoder, kEmbedding, kDecoder };

StepRole GetRole(const std::optional<StepShape>& shape) {
  return !shape ? StepRole::kEncoder : shape->position ? StepRole::kDecoder : StepRole::kEmbedding;
}

std::vector<std::string> MethodsWithRole(const Model& model, StepRole role) {
  std::vector<std::string> names = model.methods();
  std::erase_if(names, [&](const std::string& name) { return GetRole(model.step_shape(name)) != role; });
  return names;
}

// The method with the smallest limit that takes `tokens` tokens at once; empty if there is no such method.
std::string FindMethod(const Model& model, std::int64_t tokens, StepRole role = StepRole::kDecoder) {
  std::string best;
  std::int64_t limit = 0;
  for (const std::string& name : model.methods()) {
    const auto shape = model.step_shape(name);
    if (GetRole(shape) != role) continue;
    if (!(shape->dynamic ? tokens <= shape->tokens : tokens == shape->tokens)) continue;
    if (best.empty() || shape->tokens < limit) best = name, limit = shape->tokens;
  }
  return best;
}

const Tensor& FirstOutput(const Model& model, const std::string& name, const char* description) {
  const executorch::runtime::Method& method = model.method(name);
  if (method.outputs_size() == 0 || !method.get_output(0).isTensor() ||
      method.get_output(0).toTensor().dim() < 1) {
    throw Error(ExitCode::kUsage, fmt::format("'{}' has no {} as its first output", name, description));
  }
  return method.get_output(0).toTensor();
}

std::int64_t Vocabulary(const Model& model) {
  const std::vector<std::string> steps = MethodsWithRole(model, StepRole::kDecoder);
  const Tensor& logits = FirstOutput(model, steps.empty() ? model.method_name() : steps.front(), "logits");
  return logits.size(logits.dim() - 1);
}

Error NoMethodTakes(std::int64_t tokens) {
  return Error(ExitCode::kUsage, fmt::format("no method takes {} tokens and a position", tokens))
      .Remedy("`etprof inspect` shows what its methods take");
}

// Selects the method that takes `tokens` tokens, or their embeddings.
StepShape SelectStep(Model& model, std::int64_t tokens) {
  const std::string method = FindMethod(model, tokens);
  if (method.empty()) throw NoMethodTakes(tokens);
  model.Select(method);
  return *model.step_shape(method);
}

// Runs the encoders. If the steps have an input for an encoder's output, sets that input. Otherwise returns
// the encoders' outputs, which precede the tokens' embeddings.
std::vector<Rows> Encode(Model& model) {
  std::vector<Rows> features_before_tokens;
  const std::vector<std::string> steps = MethodsWithRole(model, StepRole::kDecoder);
  const bool takes_features = std::ranges::any_of(
      steps, [&](const std::string& name) { return model.step_shape(name)->features.has_value(); });
  for (const std::string& name : MethodsWithRole(model, StepRole::kEncoder)) {
    model.Select(name);
    model.SetInputs();
    model.Run();
    Rows rows(FirstOutput(model, name, "numbers"));
    if (takes_features) {
      model.SetFeatures(rows);
    } else {
      features_before_tokens.push_back(std::move(rows));
    }
  }
  return features_before_tokens;
}

// Prepares the model for a step. Returns the time of the embedding method, or 0 if the step takes tokens.
std::int64_t PrepareStep(Model& model, std::span<const std::int64_t> tokens, std::int64_t position) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (model.NeedsFeatures()) Encode(model);
  if (!SelectStep(model, count).takes_embeddings) {
    model.SetTokens(tokens, position);
    return 0;
  }
  const std::string embedding = FindMethod(model, count, StepRole::kEmbedding);
  if (embedding.empty())
    throw Error(ExitCode::kUsage, fmt::format("no method gives the embeddings of {} tokens", count))
        .Remedy("load the one that does, too");
  model.Select(embedding);
  model.SetTokens(tokens, position);
  model.SetInputs();
  const std::int64_t ns = model.Run();
  const Rows rows(FirstOutput(model, embedding, "numbers"));
  SelectStep(model, count);
  model.SetEmbeddings(rows, 0, count, position);
  return ns;
}

// Runs a step, and returns the time of its methods in ns.
std::int64_t RunStep(Model& model, std::span<const std::int64_t> tokens, std::int64_t position) {
  const std::int64_t embedding_ns = PrepareStep(model, tokens, position);
  model.SetInputs();
  return embedding_ns + model.Run();
}

// The number of `remaining` tokens that the next step takes: at most `chunk`, and a number that a method
// takes.
std::int64_t NextChunk(const Model& model, std::int64_t remaining, std::int64_t chunk) {
  const std::int64_t target = std::min(remaining, std::max<std::int64_t>(1, chunk));
  if (!FindMethod(model, target).empty()) return target;
  std::int64_t largest = 0;
  for (const std::string& name : MethodsWithRole(model, StepRole::kDecoder)) {
    if (const auto shape = model.step_shape(name); shape->tokens <= target)
      largest = std::max(largest, shape->tokens);
  }
  if (largest > 0) return largest;
  throw NoMethodTakes(target);
}

std::vector<std::int64_t> DrawTokens(std::int64_t position, std::int64_t count, std::int64_t vocabulary) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = TokenAt(position + static_cast<std::int64_t>(i), vocabulary);
  return tokens;
}

struct ChosenToken {
  std::int64_t token = 0;  // the first token with the largest logit
  bool nan = false;        // at least one logit is NaN
};

template <typename Number>
ChosenToken ChooseLargest(const Number* logits, std::int64_t count) {
  ChosenToken chosen{0, std::isnan(static_cast<float>(logits[0]))};
  for (std::int64_t i = 1; i < count; ++i) {
    const auto logit = static_cast<float>(logits[i]);
    chosen.nan = chosen.nan || std::isnan(logit);
    if (logit > static_cast<float>(logits[chosen.token])) chosen.token = i;
  }
  return chosen;
}

// Chooses the token that follows the last token of the step.
ChosenToken Greedy(const Model& model) {
  const Tensor& logits = FirstOutput(model, model.method_name(), "logits");
  const std::int64_t vocabulary = logits.size(logits.dim() - 1);
  if (logits.numel() == 0) throw Error(ExitCode::kUsage, "the logits are empty");
  const auto choose_largest = [&]<typename Number>(const Number* all_logits) {
    return ChooseLargest(all_logits + (logits.numel() - vocabulary), vocabulary);
  };
  switch (logits.scalar_type()) {
    case ScalarType::Float:
      return choose_largest(logits.const_data_ptr<float>());
    case ScalarType::Half:
      return choose_largest(logits.const_data_ptr<executorch::aten::Half>());
    case ScalarType::BFloat16:
      return choose_largest(logits.const_data_ptr<executorch::aten::BFloat16>());
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

void PrepareStep(Model& model, const protocol::StepPlace& place) {
  const std::vector<std::int64_t> tokens = DrawTokens(place.position, place.tokens, Vocabulary(model));
  if (place.method.empty()) {
    PrepareStep(model, tokens, place.position);
    return;
  }
  model.Select(place.method);
  const auto shape = model.step_shape(place.method);
  if (GetRole(shape) == StepRole::kEncoder) return;
  if (GetRole(shape) == StepRole::kDecoder)
    throw Error(ExitCode::kUsage, fmt::format("'{}' is chosen by the number of tokens", place.method))
        .Remedy("leave out \"method\"");
  if (place.tokens > shape->tokens) throw NoMethodTakes(place.tokens);
  model.SetTokens(tokens, place.position);
}

protocol::FillReply Fill(Model& model, const protocol::FillRequest& request) {
  if (model.state() != nullptr) model.state()->Reset();
  const std::int64_t start = MonotonicNow(), vocabulary = Vocabulary(model);
  protocol::FillReply reply;
  for (std::int64_t at = 0; at < request.tokens; ++reply.steps) {
    const std::int64_t count = NextChunk(model, request.tokens - at, request.chunk);
    RunStep(model, DrawTokens(at, count, vocabulary), at);
    at += count;
  }
  reply.ns = MonotonicNow() - start;
  if (model.state() != nullptr) model.state()->Save();
  return reply;
}

protocol::ReferenceReply RunReference(Model& model, const protocol::FillRequest& request) {
  SavedState* const state = model.state();
  SavedState::Copy saved_copy = state != nullptr ? state->saved() : SavedState::Copy();
  Fill(model, request);
  const std::int64_t count = NextChunk(model, 1, 1);
  protocol::ReferenceReply reply;
  reply.restored = state != nullptr;
  for (std::string* digest : {&reply.first, &reply.repeated}) {
    RunStep(model, DrawTokens(request.tokens, count, Vocabulary(model)), request.tokens);
    *digest = HashOutputs(model.method()).at(0);
  }
  if (state != nullptr) state->SetSaved(std::move(saved_copy));
  return reply;
}

protocol::GenerateTextReply GenerateText(Model& model, const protocol::GenerateTextRequest& request) {
  SavedState* const state = model.state();
  if (state != nullptr) state->Reset();
  protocol::GenerateTextReply reply;
  reply.prompt = DrawTokens(0, request.prompt, Vocabulary(model));
  const auto reserve = [&](auto&... columns) {
    (columns.reserve(static_cast<std::size_t>(request.prompt + request.generate)), ...);
  };
  reserve(reply.generated, reply.tokens, reply.positions, reply.inputs_ns, reply.execute_ns, reply.argmax_ns,
          reply.between_ns, reply.wait_ns);
  const WaitMeter meter;
  WaitReading wait_before = meter.Read();
  const std::int64_t start = wait_before.wall_ns;
  std::int64_t now = start;
  const auto add_interval = [&](std::vector<std::int64_t>& column, std::int64_t end) {
    column.push_back(end - now);
    now = end;
  };
  // The columns add up to the whole time: each interval ends where the next one begins.
  const auto step = [&](std::int64_t count, std::int64_t at, std::int64_t execute_ns, bool chooses_token) {
    const std::int64_t inputs = MonotonicNow() - now - execute_ns;
    reply.execute_ns.push_back(execute_ns);
    now += execute_ns;
    add_interval(reply.inputs_ns, now + inputs);
    if (chooses_token) {
      const ChosenToken chosen = Greedy(model);
      reply.generated.push_back(chosen.token);
      if (chosen.nan) reply.nan_steps = reply.nan_steps.value_or(0) + 1;
    }
    add_interval(reply.argmax_ns, MonotonicNow());
    const WaitReading after = meter.Read();
    reply.tokens.push_back(count);
    reply.positions.push_back(at);
    reply.wait_ns.push_back(WaitedTime(wait_before, after));
    wait_before = after;
    add_interval(reply.between_ns, MonotonicNow());
  };
  std::int64_t features = 0;  // the positions before the prompt
  if (!MethodsWithRole(model, StepRole::kEncoder).empty()) {
    const std::vector<Rows> before_prompt = Encode(model);
    reply.encode_ns = MonotonicNow() - now;
    now += *reply.encode_ns;
    for (const Rows& rows : before_prompt) {
      for (std::int64_t begin = 0; begin < rows.count();) {
        const std::int64_t count = NextChunk(model, rows.count() - begin, rows.count());
        SelectStep(model, count);
        model.SetEmbeddings(rows, begin, count, features);
        model.SetInputs();
        step(count, features, model.Run(), false);
        begin += count;
        features += count;
      }
    }
    if (features > 0) reply.features = features;
  }
  for (std::int64_t at = 0; at < request.prompt;) {
    const std::int64_t count = NextChunk(model, request.prompt - at, request.chunk);
    const auto tokens =
        std::span(reply.prompt).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
    step(count, features + at, RunStep(model, tokens, features + at), at + count == request.prompt);
    at += count;
  }
  for (std::int64_t i = 1; i < request.generate; ++i) {
    const std::int64_t token = reply.generated.back(), at = features + request.prompt + i - 1;
    step(1, at, RunStep(model, {&token, 1}, at), true);
  }
  reply.total_ns = now - start;
  if (state != nullptr) state->SetSaved(state->saved());
  return reply;
}

}  // namespace etprof::runner
