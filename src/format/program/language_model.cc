#include "format/program/language_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "format/program/xnn/memory_estimate.h"

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

// The inputs of a method that may be a step.
struct StepInputs {
  const ProgramTensor *tokens = nullptr, *position = nullptr, *rows = nullptr;
  std::string rejection;  // they are others; empty: they are a step's
  const ProgramTensor& First() const { return tokens != nullptr ? *tokens : *rows; }
};

bool AreRows(const ProgramTensor& tensor) {
  return IsReal(tensor) && tensor.shape.size() == 3 && tensor.shape[0] == 1 && tensor.shape[1] > 0;
}
bool AreTokens(const ProgramTensor& tensor) {
  return IsInteger(tensor) && tensor.shape.size() == 2 && tensor.shape[0] == 1 && tensor.shape[1] > 0;
}

StepInputs StepInputsOf(const Method& method) {
  StepInputs found;
  bool others = false;
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    const ProgramTensor* const tensor = TensorAt(method, method.inputs, i);
    const ProgramTensor** const place = tensor == nullptr                                 ? nullptr
                                        : AreTokens(*tensor)                              ? &found.tokens
                                        : IsInteger(*tensor) && tensor->shape.size() == 1 ? &found.position
                                        : AreRows(*tensor)                                ? &found.rows
                                                                                          : nullptr;
    others = others || place == nullptr || *place != nullptr;
    if (place != nullptr) *place = tensor;
  }
  if (!others && found.tokens != nullptr && found.position == nullptr && found.rows == nullptr) {
    found.rejection =
        "takes tokens without a position: it keeps no cache, and computes the whole text for each token";
    return found;
  }
  const bool step =
      !others && found.position != nullptr && (found.tokens != nullptr || found.rows != nullptr);
  const bool positions =
      step && !found.position->shape.empty() &&
      (found.position->shape[0] == 1 || found.position->shape[0] >= found.First().shape[1]);
  if (!positions)
    found.rejection = fmt::format("takes {}, not tokens [1, n] and a position", InputsText(method));
  return found;
}

// The real numbers that a method gives first, if all that it takes are real numbers or, for an embedding,
// tokens. Null: it gives a step nothing.
const ProgramTensor* GivenRows(const Method& method, bool of_tokens) {
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    const ProgramTensor* const tensor = TensorAt(method, method.inputs, i);
    if (tensor == nullptr || !(of_tokens ? AreTokens(*tensor) : IsReal(*tensor))) return nullptr;
  }
  const ProgramTensor* const rows = TensorAt(method, method.outputs, 0);
  const bool given = !method.inputs.empty() && (!of_tokens || method.inputs.size() == 1) && rows != nullptr &&
                     IsReal(*rows) && rows->shape.size() >= 2;
  return given ? rows : nullptr;
}

// Finds the methods that give the steps what they take besides tokens and positions. Returns why there are
// none, in one clause; empty: they are there, or not needed.
std::string FindGivers(const Program& program, LanguageModel& model) {
  for (TokenStep& step : model.steps) {
    if (!step.takes_embeddings && !step.takes_features) continue;
    const Method& method = *std::ranges::find(program.methods, step.method, &Method::name);
    const ProgramTensor& rows = *StepInputsOf(method).rows;
    std::string tokens_encoder;
    bool fed = false;
    for (const Method& giver : program.methods) {
      if (giver.IsMetadata() ||
          std::ranges::find(model.steps, giver.name, &TokenStep::method) != model.steps.end())
        continue;
      const ProgramTensor* const of_tokens = GivenRows(giver, true);
      if (step.takes_embeddings && of_tokens != nullptr && AreRows(*of_tokens) &&
          of_tokens->shape.back() == rows.shape.back() && of_tokens->type.name == rows.type.name) {
        const ProgramTensor& taken = *TensorAt(giver, giver.inputs, 0);
        const bool enough = taken.HasDynamicShape() ? taken.shape[1] >= step.tokens
                                                    : !step.dynamic && taken.shape[1] == step.tokens;
        if (!enough) continue;
        step.embedding_method = giver.name;
        fed = true;
        continue;
      }
      if (step.takes_features && of_tokens != nullptr) tokens_encoder = giver.name;
      const ProgramTensor* const encoded = GivenRows(giver, false);
      if (encoded == nullptr || encoded->shape.back() != rows.shape.back() ||
          encoded->type.name != rows.type.name)
        continue;
      if (step.takes_features) {
        if (ElementCount(encoded->shape) != ElementCount(rows.shape) || fed) continue;
        fed = true;
      }
      if (std::ranges::find(model.encoders, giver.name) != model.encoders.end()) continue;
      model.encoders.push_back(giver.name);
      if (step.takes_embeddings)
        model.encoder_positions +=
            ElementCount(encoded->shape).value_or(0) / std::max<std::int64_t>(1, rows.shape.back());
    }
    if (fed) continue;
    const std::string shape = fmt::format("{} [{}]", rows.type.name, fmt::join(rows.shape, ", "));
    if (step.takes_embeddings)
      return fmt::format("'{}' takes embeddings, {}, and no method gives those of as many tokens",
                         step.method, shape);
    if (!tokens_encoder.empty())
      return fmt::format("its encoder '{}' takes tokens, of which it is not known how many there are",
                         tokens_encoder);
    return fmt::format("'{}' takes {} besides tokens and a position, and no encoder gives that", step.method,
                       shape);
  }
  return "";
}

// Whether decoding sees what a prompt left: one method does both, or they share their state (exir's
// share_mutable_buffers plans it for the second buffer).
bool SharesState(const Program& program, const LanguageModel& model) {
  const TokenStep* const decode = model.StepFor(1);
  if (decode == nullptr || decode == &model.steps.front()) return true;
  return std::ranges::all_of(std::array{decode, &model.steps.front()}, [&](const TokenStep* step) {
    const auto method = std::ranges::find(program.methods, step->method, &Method::name);
    return method->planned_buffers.size() > 1 && method->planned_buffers[1] > 0;
  });
}

}  // namespace

std::optional<TokenStep> FindTokenStep(const Method& method, std::string* why) {
  const auto none = [&](std::string reason) {
    if (why != nullptr) *why = std::move(reason);
    return std::nullopt;
  };
  const StepInputs inputs = StepInputsOf(method);
  if (!inputs.rejection.empty()) return none(inputs.rejection);
  const ProgramTensor& tokens = inputs.First();
  const ProgramTensor* const logits = TensorAt(method, method.outputs, 0);
  TokenStep step;
  step.method = method.name;
  step.tokens = tokens.shape[1];
  step.dynamic = tokens.HasDynamicShape();
  step.per_token_positions = inputs.position->shape[0] > 1;
  step.takes_embeddings = inputs.tokens == nullptr;
  step.takes_features = !step.takes_embeddings && inputs.rows != nullptr;
  const bool real =
      logits != nullptr && IsReal(*logits) && !logits->shape.empty() && logits->shape.back() > 1;
  if (!real) return none("does not give logits as its first output");
  step.vocabulary = logits->shape.back();
  const std::int64_t rows = ElementCount(logits->shape).value_or(0) / step.vocabulary;
  if (rows != 1 && rows != step.tokens)
    return none("gives as its first output no logits of the last token, or of each");
  step.per_token_logits = rows > 1;
  return step;
}

const TokenStep* LanguageModel::StepFor(std::int64_t tokens) const {
  const TokenStep* best = nullptr;
  for (const TokenStep& step : steps) {
    const bool takes = step.dynamic ? tokens <= step.tokens : tokens == step.tokens;
    if (takes && (best == nullptr || step.tokens < best->tokens)) best = &step;
  }
  return best;
}

LanguageModel FindLanguageModel(const Program& program) {
  LanguageModel model;
  std::string reasons;
  bool branches = false;
  for (const Method& method : program.methods) {
    if (method.name == "get_n_layers" && method.IsMetadata())
      model.layers = method.values[method.outputs.front()].integer;
    if (method.IsMetadata()) continue;
    std::string why;
    const auto step = FindTokenStep(method, &why);
    if (!step) {
      reasons += fmt::format("{}'{}' {}", reasons.empty() ? "" : "; ", method.name, why);
      continue;
    }
    model.steps.push_back(*step);
    model.steps.back().weights = PackedBytes(method, program);
    std::vector<PlannedTensor> planned = PlannedTensors(method, program);
    if (const auto whole = FindMethodState(planned, method, program))
      model.state = std::max(model.state, whole->bytes);
    // What it keeps of an encoder's rows does not grow with the tokens.
    if (step->takes_features) {
      const std::int64_t rows = StepInputsOf(method).rows->shape[1];
      for (PlannedTensor& tensor : planned)
        if (rows > 1 && std::ranges::count(method.values[tensor.value].tensor->shape, rows) > 0)
          tensor.state = false;
    }
    const std::optional<MethodState> state = FindMethodState(planned, method, program);
    branches = branches || !state;
    if (!state) continue;
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
  std::string missing = FindGivers(program, model);
  if (model.steps.empty()) {
    model.rejection = reasons.empty() ? "has no methods that compute anything" : reasons;
  } else if (std::ranges::none_of(model.steps,
                                  [](const TokenStep& one) { return one.dynamic || one.tokens == 1; })) {
    model.rejection = fmt::format("takes exactly {} tokens at once, and generating takes one at a time",
                                  model.steps.back().tokens);
  } else if (!missing.empty()) {
    model.rejection = std::move(missing);
  } else if (branches) {
    model.rejection = "has branches, so that it is not known what it keeps between inferences";
  } else if (!model.context) {
    model.rejection = model.state > 0
                          ? "keeps a state of which it is not known for how many tokens it has room"
                          : "keeps nothing between inferences, so that a position means nothing to it";
  } else if (!SharesState(program, model)) {
    model.rejection =
        "its methods keep a state each, so that decoding sees nothing of a prompt (export them with "
        "MemoryPlanningPass(share_mutable_buffers=True))";
  }
  return model;
}

}  // namespace etprof
