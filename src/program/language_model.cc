#include "program/language_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "program/xnn/memory_estimate.h"

namespace etprof {
namespace {

bool IsInteger(const ProgramTensor& tensor) {
  return tensor.type.name == "int64" || tensor.type.name == "int32";
}
bool IsReal(const ProgramTensor& tensor) {
  return tensor.type.name == "float32" || tensor.type.name == "float16" || tensor.type.name == "bfloat16";
}

const ProgramTensor* TensorAt(const Method& method, const std::vector<std::size_t>& places, std::size_t i) {
  if (i >= places.size()) return nullptr;
  const std::optional<ProgramTensor>& tensor = method.values[places[i]].tensor;
  return tensor ? &*tensor : nullptr;
}

std::string InputsText(const Method& method) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, method.inputs.size()); ++i) {
    const ProgramTensor* const tensor = TensorAt(method, method.inputs, i);
    texts.push_back(tensor == nullptr
                        ? std::string(GetName(method.values[method.inputs[i]].kind))
                        : fmt::format("{} [{}]", tensor->type.name, fmt::join(tensor->shape, ", ")));
  }
  return fmt::format("{}{}", fmt::join(texts, ", "), method.inputs.size() > 3 ? ", ..." : "");
}

// Why a method's inputs are not tokens and a position; empty: they are.
std::string OtherInputs(const Method& method) {
  const ProgramTensor* const first = TensorAt(method, method.inputs, 0);
  const ProgramTensor* const second = TensorAt(method, method.inputs, 1);
  const bool tokens = first != nullptr && IsInteger(*first) && first->shape.size() == 2 &&
                      first->shape[0] == 1 && first->shape[1] > 0;
  const std::size_t count = method.inputs.size();
  if (tokens && count == 1)
    return "takes tokens without a position: it keeps no cache, and computes the whole text for each token";
  const bool position = second != nullptr && IsInteger(*second) && second->shape.size() == 1 &&
                        (second->shape[0] == 1 || (tokens && second->shape[0] >= first->shape[1]));
  if (position && count == 2 && first != nullptr && IsReal(*first) && first->shape.size() == 3)
    return "takes embeddings, not tokens: it is a part of a model of several methods";
  if (tokens && position && count == 2) return "";
  return fmt::format("takes {}, not tokens [1, n] and a position", InputsText(method));
}

}  // namespace

std::optional<TokenStep> TokenStepOf(const Method& method, std::string* why) {
  const auto none = [&](std::string reason) {
    if (why != nullptr) *why = std::move(reason);
    return std::nullopt;
  };
  if (std::string reason = OtherInputs(method); !reason.empty()) return none(std::move(reason));
  const ProgramTensor& tokens = *TensorAt(method, method.inputs, 0);
  const ProgramTensor* const logits = TensorAt(method, method.outputs, 0);
  TokenStep step;
  step.method = method.name;
  step.tokens = tokens.shape[1];
  step.dynamic = tokens.HasDynamicShape();
  step.position_of_each = TensorAt(method, method.inputs, 1)->shape[0] > 1;
  const bool real =
      logits != nullptr && IsReal(*logits) && !logits->shape.empty() && logits->shape.back() > 1;
  if (!real) return none("does not give logits as its first output");
  step.vocabulary = logits->shape.back();
  const std::int64_t rows = ElementCount(logits->shape).value_or(0) / step.vocabulary;
  if (rows != 1 && rows != step.tokens)
    return none("gives as its first output no logits of the last token, or of each");
  step.logits_of_each = rows > 1;
  return step;
}

LanguageModel LanguageModelOf(const Program& program) {
  LanguageModel model;
  std::string reasons;
  bool branches = false;
  for (const Method& method : program.methods) {
    if (method.name == "get_n_layers" && method.IsMetadata())
      model.layers = method.values[method.outputs.front()].integer;
    if (method.IsMetadata()) continue;
    std::string why;
    const auto step = TokenStepOf(method, &why);
    if (!step) {
      reasons += fmt::format("{}'{}' {}", reasons.empty() ? "" : "; ", method.name, why);
      continue;
    }
    model.steps.push_back(*step);
    model.steps.back().weights = PackedBytes(method, program);
    const std::vector<PlannedTensor> planned = PlannedTensors(method, program);
    const std::optional<MethodState> state = FindMethodState(planned, method, program);
    branches = branches || !state;
    if (!state) continue;
    model.state = std::max(model.state, state->bytes);
    std::optional<std::int64_t> room = state->tokens;
    // Without metadata: the largest size that all of the cache's tensors have in common.
    if (!room) {
      std::vector<std::int64_t> common;
      bool first = true;
      for (const PlannedTensor& tensor : planned) {
        if (!tensor.state) continue;
        const std::vector<std::int64_t>& shape = method.values[tensor.value].tensor->shape;
        if (first) common = shape;
        std::erase_if(common,
                      [&](std::int64_t size) { return std::ranges::find(shape, size) == shape.end(); });
        first = false;
      }
      const auto largest = std::ranges::max_element(common);
      if (largest != common.end() && *largest >= step->tokens && *largest > 1) room = *largest;
    }
    if (!room) continue;
    model.context = model.context ? std::min(*model.context, *room) : *room;
    if (state->bytes % *room == 0) model.state_per_token = state->bytes / *room;
  }
  std::ranges::stable_sort(model.steps, std::ranges::greater(), &TokenStep::tokens);
  if (model.steps.empty()) {
    model.why_not = reasons.empty() ? "has no methods that compute anything" : reasons;
  } else if (std::ranges::none_of(model.steps,
                                  [](const TokenStep& one) { return one.dynamic || one.tokens == 1; })) {
    model.why_not = fmt::format("takes exactly {} tokens at once, and generating takes one at a time",
                                model.steps.back().tokens);
  } else if (branches) {
    model.why_not = "has branches, so that it is not known what it keeps between inferences";
  } else if (!model.context) {
    model.why_not = model.state > 0
                        ? "keeps a state of which it is not known for how many tokens it has room"
                        : "keeps nothing between inferences, so that a position means nothing to it";
  }
  return model;
}

}  // namespace etprof
