#include "compare/program_change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "analysis/operators.h"
#include "compare/operator_nodes.h"

namespace etprof {
namespace {

std::string TypesOf(const OperatorTensors& tensors) {
  std::vector<std::string> types;
  const auto add = [&](const OperatorTensor& tensor) {
    if (!tensor.constant && std::ranges::find(types, tensor.type.name) == types.end())
      types.push_back(tensor.type.name);
  };
  std::ranges::for_each(tensors.inputs, add);
  std::ranges::for_each(tensors.outputs, add);
  return fmt::format("{}", fmt::join(types, " "));
}

std::string TypeOfWeights(const OperatorTensors& tensors) {
  const OperatorTensor* largest = nullptr;
  for (const OperatorTensor& tensor : tensors.inputs) {
    if (!tensor.constant) continue;
    if (largest == nullptr || ElementCount(tensor.shape) > ElementCount(largest->shape)) largest = &tensor;
  }
  return largest == nullptr ? "" : largest->type.name;
}

// PyTorch's names, so that the same type reads the same on both sides of a change of the backend.
std::string CommonType(std::string type) {
  for (const auto& [from, to] : {std::pair("float32", "fp32"), std::pair("float16", "fp16")}) {
    if (type == from) return to;
  }
  return type;
}

std::string ShapesText(OperatorTensors tensors) {
  std::erase_if(tensors.inputs, [](const OperatorTensor& tensor) { return tensor.constant; });
  for (auto* side : {&tensors.inputs, &tensors.outputs}) {
    for (OperatorTensor& tensor : *side) tensor.type.name = "";
  }
  std::string text = TensorsText(tensors);
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

std::string OrNone(const std::string& text) { return text.empty() ? "none" : text; }

ChangedNode NodeOfOperator(const Profile& profile, std::size_t op) {
  const OperatorSource& source = profile.program->operators[op];
  ChangedNode node;
  node.module = ModulePath(*profile.program, op).value_or("");
  node.identity = source.identity;
  if (node.identity.text.empty()) node.identity.text = KindOf(OperationOf(profile.operators[op].type));
  node.fused = source.fused;
  node.tensors = source.tensors;
  node.backend = profile.operators[op].portable ? "portable" : profile.operators[op].backend;
  return node;
}

bool IsKnownToProgram(const Profile& profile, std::optional<std::size_t> op) {
  if (!op || !IsOperator(profile.operators[*op])) return false;
  const OperatorSource::Join join = profile.program->operators[*op].join;
  return join == OperatorSource::Join::kKernel || join == OperatorSource::Join::kNodes;
}

}  // namespace

std::string ProgramChange::Text() const {
  const std::string changes = fmt::format("{}", fmt::join(what, ", "));
  switch (kind) {
    case Kind::kInserted:
      return "+ " + name;
    case Kind::kRemoved:
      return "− " + name;
    case Kind::kMoved:
      return name + ": moved" + (changes.empty() ? "" : ", " + changes);
    case Kind::kChanged:
      break;
  }
  return name + ": " + changes;
}

std::string NameOfNode(const ChangedNode& node) {
  return node.module.empty() ? node.identity.text : node.module + ' ' + node.identity.text;
}

std::vector<std::string> DifferencesOf(const ChangedNode& a, const ChangedNode& b) {
  std::vector<std::string> differences;
  const auto add = [&](const char* what, const std::string& from, const std::string& to) {
    if (from != to) differences.push_back(fmt::format("{}{} → {}", what, OrNone(from), OrNone(to)));
  };
  const bool one_backend = a.backend == b.backend;
  add("delegate ", a.backend, b.backend);
  add("", a.identity.text, b.identity.text);
  const bool known = !a.tensors.outputs.empty() && !b.tensors.outputs.empty();
  if (known && one_backend) {
    add("shapes ", ShapesText(a.tensors), ShapesText(b.tensors));
  } else if (known && ShapesKey(a.tensors) != ShapesKey(b.tensors)) {
    add("shapes ", ShapesText(a.tensors), ShapesText(b.tensors));
  }
  if (known) {
    const auto type = [](const OperatorTensors& tensors) {
      std::string types = CommonType(TypesOf(tensors));
      const std::string weights = CommonType(TypeOfWeights(tensors));
      return weights.empty() || weights == types ? types : types + " / " + weights;
    };
    add("type ", type(a.tensors), type(b.tensors));
  }
  if (!one_backend) return differences;
  add("settings ", a.identity.settings, b.identity.settings);
  add("fused activation ", a.identity.bounds, b.identity.bounds);
  add("fused ", fmt::format("{}", fmt::join(a.fused, " ")), fmt::format("{}", fmt::join(b.fused, " ")));
  return differences;
}

std::optional<ProgramChange> ChangeOf(const Profile& baseline, const Profile& candidate,
                                      std::optional<std::size_t> in_baseline,
                                      std::optional<std::size_t> in_candidate, bool moved) {
  if (!baseline.program || !candidate.program) return std::nullopt;
  if (!baseline.program->problem.empty() || !candidate.program->problem.empty()) return std::nullopt;
  const bool has_a = IsKnownToProgram(baseline, in_baseline);
  const bool has_b = IsKnownToProgram(candidate, in_candidate);
  ProgramChange change;
  if (in_baseline && in_candidate) {
    if (!has_a || !has_b) return std::nullopt;
    const ChangedNode b = NodeOfOperator(candidate, *in_candidate);
    change.kind = moved ? ProgramChange::Kind::kMoved : ProgramChange::Kind::kChanged;
    change.name = NameOfNode(b);
    change.what = DifferencesOf(NodeOfOperator(baseline, *in_baseline), b);
    if (!moved && change.what.empty()) return std::nullopt;
    return change;
  }
  if (!has_a && !has_b) return std::nullopt;
  change.kind = has_a ? ProgramChange::Kind::kRemoved : ProgramChange::Kind::kInserted;
  change.name =
      NameOfNode(has_a ? NodeOfOperator(baseline, *in_baseline) : NodeOfOperator(candidate, *in_candidate));
  return change;
}

}  // namespace etprof
