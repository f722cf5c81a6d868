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

// What a loaded method is to a step.
enum class StepRole { kEncoder, kEmbedding, kDecoder };

StepRole RoleOf(const std::optional<StepShape>& shape) {
  return !shape ? StepRole::kEncoder : shape->position ? StepRole::kDecoder : StepRole::kEmbedding;
}

std::vector<std::string> MethodsOf(const Model& model, StepRole role) {
  std::vector<std::string> names = model.methods();
  std::erase_if(names, [&](const std::string& name) { return RoleOf(model.StepOf(name)) != role; });
  return names;
}

// The method with the smallest limit that takes so many tokens at once; empty: none does.
std::string MethodFor(const Model& model, std::int64_t tokens, StepRole role = StepRole::kDecoder) {
  std::string best;
  std::int64_t limit = 0;
  for (const std::string& name : model.methods()) {
    const auto shape = model.StepOf(name);
    if (RoleOf(shape) != role) continue;
    if (!(shape->dynamic ? tokens <= shape->tokens : tokens == shape->tokens)) continue;
    if (best.empty() || shape->tokens < limit) best = name, limit = shape->tokens;
  }
  return best;
}

const Tensor& FirstOutput(const Model& model, const std::string& name, const char* what) {
  const executorch::runtime::Method& method = model.method(name);
  if (method.outputs_size() == 0 || !method.get_output(0).isTensor() ||
      method.get_output(0).toTensor().dim() < 1) {
    throw Error(ExitCode::kUsage, fmt::format("'{}' has no {} as its first output", name, what));
  }
  return method.get_output(0).toTensor();
}

const Tensor& Logits(const Model& model) { return FirstOutput(model, model.method_name(), "logits"); }

std::int64_t Vocabulary(const Model& model) {
  const std::vector<std::string> steps = MethodsOf(model, StepRole::kDecoder);
  const Tensor& logits = FirstOutput(model, steps.empty() ? model.method_name() : steps.front(), "logits");
  return logits.size(logits.dim() - 1);
}

Error NoMethodTakes(std::int64_t tokens) {
  return Error(ExitCode::kUsage, fmt::format("no method takes {} tokens and a position", tokens))
      .Remedy("`etprof inspect` shows what its methods take");
}

// Runs the selected method, adds what that took to `ns`, and returns what it gave.
Rows RunForRows(Model& model, std::int64_t& ns) {
  model.GiveInputs();
  ns += model.Run();
  return Rows(FirstOutput(model, model.method_name(), "numbers"));
}

// Selects the method that takes so many tokens, or their embeddings.
StepShape SelectStep(Model& model, std::int64_t tokens) {
  const std::string method = MethodFor(model, tokens);
  if (method.empty()) throw NoMethodTakes(tokens);
  model.Select(method);
  return *model.StepOf(method);
}

// Runs the encoders. What steps take besides tokens is set; what stands before the tokens is returned.
std::vector<Rows> Encode(Model& model) {
  std::vector<Rows> before;
  std::int64_t ignored = 0;
  const std::vector<std::string> steps = MethodsOf(model, StepRole::kDecoder);
  const bool takes_features = std::ranges::any_of(
      steps, [&](const std::string& name) { return model.StepOf(name)->features.has_value(); });
  for (const std::string& name : MethodsOf(model, StepRole::kEncoder)) {
    model.Select(name);
    Rows rows = RunForRows(model, ignored);
    if (takes_features) {
      model.SetFeatures(rows);
    } else {
      before.push_back(std::move(rows));
    }
  }
  return before;
}

// Prepares the model for a step. Returns the time of the methods that ran for that: the embedding.
std::int64_t SetStep(Model& model, std::span<const std::int64_t> tokens, std::int64_t at) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (model.NeedsFeatures()) Encode(model);
  if (!SelectStep(model, count).embeddings) {
    model.SetStep(tokens, at);
    return 0;
  }
  std::int64_t ns = 0;
  const std::string embedding = MethodFor(model, count, StepRole::kEmbedding);
  if (embedding.empty())
    throw Error(ExitCode::kUsage, fmt::format("no method gives the embeddings of {} tokens", count))
        .Remedy("load the one that does, too");
  model.Select(embedding);
  model.SetStep(tokens, at);
  const Rows rows = RunForRows(model, ns);
  SelectStep(model, count);
  model.SetEmbeddings(rows, 0, count, at);
  return ns;
}

// Runs a step, and returns the time of its methods.
std::int64_t RunStep(Model& model, std::span<const std::int64_t> tokens, std::int64_t at) {
  const std::int64_t before = SetStep(model, tokens, at);
  model.GiveInputs();
  return before + model.Run();
}

// How many of `left` tokens the next step takes: at most `chunk`, and as many as a method takes.
std::int64_t NextChunk(const Model& model, std::int64_t left, std::int64_t chunk) {
  const std::int64_t wanted = std::min(left, std::max<std::int64_t>(1, chunk));
  if (!MethodFor(model, wanted).empty()) return wanted;
  std::int64_t most = 0;
  for (const std::string& name : MethodsOf(model, StepRole::kDecoder)) {
    if (const auto shape = model.StepOf(name); shape->tokens <= wanted) most = std::max(most, shape->tokens);
  }
  if (most > 0) return most;
  throw NoMethodTakes(wanted);
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
  const std::vector<std::int64_t> tokens = TokensFrom(place.at, place.tokens, Vocabulary(model));
  if (place.method.empty()) {
    SetStep(model, tokens, place.at);
    return;
  }
  model.Select(place.method);
  const auto shape = model.StepOf(place.method);
  if (RoleOf(shape) == StepRole::kEncoder) return;
  if (RoleOf(shape) == StepRole::kDecoder)
    throw Error(ExitCode::kUsage, fmt::format("'{}' is chosen by the number of tokens", place.method))
        .Remedy("leave out \"method\"");
  if (place.tokens > shape->tokens) throw NoMethodTakes(place.tokens);
  model.SetStep(tokens, place.at);
}

protocol::FillReply Fill(Model& model, const protocol::FillRequest& request) {
  if (model.state() != nullptr) model.state()->Reset();
  const std::int64_t start = MonotonicNow(), vocabulary = Vocabulary(model);
  protocol::FillReply reply;
  for (std::int64_t at = 0; at < request.upto; ++reply.steps) {
    const std::int64_t count = NextChunk(model, request.upto - at, request.chunk);
    RunStep(model, TokensFrom(at, count, vocabulary), at);
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
  for (std::string* digest : {&reply.first, &reply.repeated}) {
    RunStep(model, TokensFrom(request.upto, count, Vocabulary(model)), request.upto);
    *digest = DigestOutputs(model.method()).at(0).sha256;
  }
  if (state != nullptr) state->Hold(std::move(kept));
  return reply;
}

protocol::WalkReply Walk(Model& model, const protocol::WalkRequest& request) {
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
  const auto step = [&](std::int64_t count, std::int64_t at, std::int64_t executed, bool choose) {
    const std::int64_t inputs = MonotonicNow() - now - executed;
    reply.execute_ns.push_back(executed);
    now += executed;
    lap(reply.inputs_ns, now + inputs);
    if (choose) reply.generated.push_back(Greedy(model));
    lap(reply.argmax_ns, MonotonicNow());
    const WaitReading after = meter.Read();
    reply.tokens.push_back(count);
    reply.at.push_back(at);
    reply.wait_ns.push_back(WaitedTime(before, after));
    before = after;
    lap(reply.between_ns, MonotonicNow());
  };
  std::int64_t features = 0;  // the positions before the prompt
  if (!MethodsOf(model, StepRole::kEncoder).empty()) {
    const std::vector<Rows> before_prompt = Encode(model);
    reply.encode_ns = MonotonicNow() - now;
    now += *reply.encode_ns;
    for (const Rows& rows : before_prompt) {
      for (std::int64_t begin = 0; begin < rows.count();) {
        const std::int64_t count = NextChunk(model, rows.count() - begin, rows.count());
        SelectStep(model, count);
        model.SetEmbeddings(rows, begin, count, features);
        model.GiveInputs();
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
  if (state != nullptr) state->Hold(state->saved());
  return reply;
}

}  // namespace etprof::runner
