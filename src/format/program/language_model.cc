#include "format/program/language_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "format/program/xnn/memory_estimate.h"

namespace etprof {
namespace {

bool HasIntegerType(const ProgramTensor& tensor) {
  return tensor.type.name == "int64" || tensor.type.name == "int32";
}
bool HasRealType(const ProgramTensor& tensor) {
  return tensor.type.name == "float32" || tensor.type.name == "float16" || tensor.type.name == "bfloat16";
}

const ProgramTensor* GetTensor(const Method& method, const std::vector<std::size_t>& indices, std::size_t i) {
  if (i >= indices.size()) return nullptr;
  const std::optional<ProgramTensor>& tensor = method.values[indices[i]].tensor;
  return tensor ? &*tensor : nullptr;
}

std::string InputsText(const Method& method) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, method.inputs.size()); ++i) {
    const ProgramTensor* const tensor = GetTensor(method, method.inputs, i);
    texts.push_back(tensor == nullptr
                        ? std::string(GetName(method.values[method.inputs[i]].kind))
                        : fmt::format("{} [{}]", tensor->type.name, fmt::join(tensor->shape, ", ")));
  }
  return fmt::format("{}{}", fmt::join(texts, ", "), method.inputs.size() > 3 ? ", ..." : "");
}

// The inputs of a method by their roles in a token step. `rows` are real numbers, one row per position.
struct StepInputs {
  const ProgramTensor *tokens = nullptr, *position = nullptr, *rows = nullptr;
  std::string rejection;  // why the inputs are not those of a step; empty: they are valid
  const ProgramTensor& Sequence() const { return tokens != nullptr ? *tokens : *rows; }
};

bool IsRowsTensor(const ProgramTensor& tensor) {
  return HasRealType(tensor) && tensor.shape.size() == 3 && tensor.shape[0] == 1 && tensor.shape[1] > 0;
}
bool IsTokensTensor(const ProgramTensor& tensor) {
  return HasIntegerType(tensor) && tensor.shape.size() == 2 && tensor.shape[0] == 1 && tensor.shape[1] > 0;
}

StepInputs ClassifyInputs(const Method& method) {
  StepInputs inputs;
  bool has_other_inputs = false;
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    const ProgramTensor* const tensor = GetTensor(method, method.inputs, i);
    const ProgramTensor** const role = tensor == nullptr         ? nullptr
                                       : IsTokensTensor(*tensor) ? &inputs.tokens
                                       : HasIntegerType(*tensor) && tensor->shape.size() == 1
                                           ? &inputs.position
                                       : IsRowsTensor(*tensor) ? &inputs.rows
                                                               : nullptr;
    has_other_inputs = has_other_inputs || role == nullptr || *role != nullptr;
    if (role != nullptr) *role = tensor;
  }
  if (!has_other_inputs && inputs.tokens != nullptr && inputs.position == nullptr && inputs.rows == nullptr) {
    inputs.rejection =
        "takes tokens without a position: it keeps no cache, and computes the whole text for each token";
    return inputs;
  }
  const bool is_step =
      !has_other_inputs && inputs.position != nullptr && (inputs.tokens != nullptr || inputs.rows != nullptr);
  const bool has_positions =
      is_step && !inputs.position->shape.empty() &&
      (inputs.position->shape[0] == 1 || inputs.position->shape[0] >= inputs.Sequence().shape[1]);
  if (!has_positions)
    inputs.rejection = fmt::format("takes {}, not tokens [1, n] and a position", InputsText(method));
  return inputs;
}

// The first output of a method, if it consists of real numbers and all inputs are real numbers, or if
// `from_tokens` and the only input is a tensor of tokens. Null: the method provides no rows for a step.
const ProgramTensor* FindProvidedRows(const Method& method, bool from_tokens) {
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    const ProgramTensor* const tensor = GetTensor(method, method.inputs, i);
    if (tensor == nullptr || !(from_tokens ? IsTokensTensor(*tensor) : HasRealType(*tensor))) return nullptr;
  }
  const ProgramTensor* const rows = GetTensor(method, method.outputs, 0);
  const bool provides_rows = !method.inputs.empty() && (!from_tokens || method.inputs.size() == 1) &&
                             rows != nullptr && HasRealType(*rows) && rows->shape.size() >= 2;
  return provides_rows ? rows : nullptr;
}

// Finds the methods that provide the embeddings and features that steps take. Returns the reason why such a
// method is missing, in one clause; empty if none is missing.
std::string FindProviders(const Program& program, LanguageModel& model) {
  for (TokenStep& step : model.steps) {
    if (!step.takes_embeddings && !step.takes_features) continue;
    const Method& method = *FindMethod(program, step.method);
    const ProgramTensor& rows = *ClassifyInputs(method).rows;
    std::string token_encoder;
    bool has_provider = false;
    for (const Method& provider : program.methods) {
      if (provider.IsMetadata() ||
          std::ranges::find(model.steps, provider.name, &TokenStep::method) != model.steps.end())
        continue;
      const ProgramTensor* const embedded_rows = FindProvidedRows(provider, true);
      if (step.takes_embeddings && embedded_rows != nullptr && IsRowsTensor(*embedded_rows) &&
          embedded_rows->shape.back() == rows.shape.back() && embedded_rows->type.name == rows.type.name) {
        const ProgramTensor& token_input = *GetTensor(provider, provider.inputs, 0);
        const bool takes_enough_tokens = token_input.HasDynamicShape()
                                             ? token_input.shape[1] >= step.tokens
                                             : !step.dynamic && token_input.shape[1] == step.tokens;
        if (!takes_enough_tokens) continue;
        step.embedding_method = provider.name;
        has_provider = true;
        continue;
      }
      if (step.takes_features && embedded_rows != nullptr) token_encoder = provider.name;
      const ProgramTensor* const encoded_rows = FindProvidedRows(provider, false);
      if (encoded_rows == nullptr || encoded_rows->shape.back() != rows.shape.back() ||
          encoded_rows->type.name != rows.type.name)
        continue;
      if (step.takes_features) {
        if (ElementCount(encoded_rows->shape) != ElementCount(rows.shape) || has_provider) continue;
        has_provider = true;
      }
      if (std::ranges::find(model.encoders, provider.name) != model.encoders.end()) continue;
      model.encoders.push_back(provider.name);
      if (step.takes_embeddings)
        model.encoder_positions +=
            ElementCount(encoded_rows->shape).value_or(0) / std::max<std::int64_t>(1, rows.shape.back());
    }
    if (has_provider) continue;
    const std::string shape = fmt::format("{} [{}]", rows.type.name, fmt::join(rows.shape, ", "));
    if (step.takes_embeddings)
      return fmt::format("'{}' takes embeddings, {}, and no method gives those of as many tokens",
                         step.method, shape);
    if (!token_encoder.empty())
      return fmt::format("its encoder '{}' takes tokens, of which it is not known how many there are",
                         token_encoder);
    return fmt::format("'{}' takes {} besides tokens and a position, and no encoder gives that", step.method,
                       shape);
  }
  return "";
}

// Returns whether decoding sees the state after the prompt: one method runs both, or the methods share their
// state, which exir's share_mutable_buffers plans in the second buffer.
bool SharesState(const Program& program, const LanguageModel& model) {
  const TokenStep* const decode = model.FindStep(1);
  if (decode == nullptr || decode == &model.steps.front()) return true;
  return std::ranges::all_of(std::array{decode, &model.steps.front()}, [&](const TokenStep* step) {
    const Method* const method = FindMethod(program, step->method);
    return method->planned_buffers.size() > 1 && method->planned_buffers[1] > 0;
  });
}

}  // namespace

std::optional<TokenStep> FindTokenStep(const Method& method, std::string* rejection) {
  const auto reject = [&](std::string reason) {
    if (rejection != nullptr) *rejection = std::move(reason);
    return std::nullopt;
  };
  const StepInputs inputs = ClassifyInputs(method);
  if (!inputs.rejection.empty()) return reject(inputs.rejection);
  const ProgramTensor& tokens = inputs.Sequence();
  const ProgramTensor* const logits = GetTensor(method, method.outputs, 0);
  TokenStep step;
  step.method = method.name;
  step.tokens = tokens.shape[1];
  step.dynamic = tokens.HasDynamicShape();
  step.per_token_positions = inputs.position->shape[0] > 1;
  step.takes_embeddings = inputs.tokens == nullptr;
  step.takes_features = !step.takes_embeddings && inputs.rows != nullptr;
  const bool has_logits =
      logits != nullptr && HasRealType(*logits) && !logits->shape.empty() && logits->shape.back() > 1;
  if (!has_logits) return reject("does not give logits as its first output");
  step.vocabulary = logits->shape.back();
  const std::int64_t logit_rows = ElementCount(logits->shape).value_or(0) / step.vocabulary;
  if (logit_rows != 1 && logit_rows != step.tokens)
    return reject("gives as its first output no logits of the last token, or of each");
  step.per_token_logits = logit_rows > 1;
  return step;
}

const TokenStep* LanguageModel::FindStep(std::int64_t tokens) const {
  const TokenStep* best = nullptr;
  for (const TokenStep& step : steps) {
    const bool fits = step.dynamic ? tokens <= step.tokens : tokens == step.tokens;
    if (fits && (best == nullptr || step.tokens < best->tokens)) best = &step;
  }
  return best;
}

LanguageModel FindLanguageModel(const Program& program) {
  LanguageModel model;
  std::string reasons;
  bool has_branches = false;
  for (const Method& method : program.methods) {
    if (method.name == "get_n_layers" && method.IsMetadata())
      model.layers = method.values[method.outputs.front()].integer;
    if (method.IsMetadata()) continue;
    std::string rejection;
    const auto step = FindTokenStep(method, &rejection);
    if (!step) {
      reasons += fmt::format("{}'{}' {}", reasons.empty() ? "" : "; ", method.name, rejection);
      continue;
    }
    model.steps.push_back(*step);
    model.steps.back().weights = PackedBytes(method, program);
    std::vector<PlannedTensor> planned = PlannedTensors(method, program);
    if (const auto full_state = FindMethodState(planned, method, program))
      model.state = std::max(model.state, full_state->bytes);
    // State with the size of an encoder's rows does not grow with the tokens, so it does not count below.
    if (step->takes_features) {
      const std::int64_t rows = ClassifyInputs(method).rows->shape[1];
      for (PlannedTensor& tensor : planned)
        if (rows > 1 && std::ranges::count(method.values[tensor.value].tensor->shape, rows) > 0)
          tensor.is_state = false;
    }
    const std::optional<MethodState> state = FindMethodState(planned, method, program);
    has_branches = has_branches || !state;
    if (!state) continue;
    std::optional<std::int64_t> capacity = state->tokens;
    // Without metadata, the capacity is the largest size that all tensors of the cache have in common.
    if (!capacity) {
      std::vector<std::int64_t> common_sizes;
      bool is_first = true;
      for (const PlannedTensor& tensor : planned) {
        if (!tensor.is_state) continue;
        const std::vector<std::int64_t>& shape = method.values[tensor.value].tensor->shape;
        if (is_first) common_sizes = shape;
        std::erase_if(common_sizes,
                      [&](std::int64_t size) { return std::ranges::find(shape, size) == shape.end(); });
        is_first = false;
      }
      const auto largest = std::ranges::max_element(common_sizes);
      if (largest != common_sizes.end() && *largest >= step->tokens && *largest > 1) capacity = *largest;
    }
    if (!capacity) continue;
    model.context = model.context ? std::min(*model.context, *capacity) : *capacity;
    if (state->bytes % *capacity == 0) model.state_per_token = state->bytes / *capacity;
  }
  std::ranges::stable_sort(model.steps, std::ranges::greater(), &TokenStep::tokens);
  std::string missing_provider = FindProviders(program, model);
  if (model.steps.empty()) {
    model.rejection = reasons.empty() ? "has no methods that compute anything" : reasons;
  } else if (std::ranges::none_of(model.steps,
                                  [](const TokenStep& step) { return step.dynamic || step.tokens == 1; })) {
    model.rejection = fmt::format("takes exactly {} tokens at once, and generating takes one at a time",
                                  model.steps.back().tokens);
  } else if (!missing_provider.empty()) {
    model.rejection = std::move(missing_provider);
  } else if (has_branches) {
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
