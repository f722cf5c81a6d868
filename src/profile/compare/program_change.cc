#include "profile/compare/program_change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "profile/analysis/operators.h"
#include "profile/compare/operator_nodes.h"

namespace etprof {
namespace {

std::string DataTypes(const OperatorTensors& tensors) {
  std::vector<std::string> types;
  const auto add = [&](const OperatorTensor& tensor) {
    if (!tensor.constant && std::ranges::find(types, tensor.type.name) == types.end())
      types.push_back(tensor.type.name);
  };
  std::ranges::for_each(tensors.inputs, add);
  std::ranges::for_each(tensors.outputs, add);
  return fmt::format("{}", fmt::join(types, " "));
}

std::string WeightsDataType(const OperatorTensors& tensors) {
  const OperatorTensor* weights = FindWeights(tensors);
  return weights == nullptr ? "" : weights->type.name;
}

// Unifies the names of floating-point types in PyTorch and XNNPACK, so that a type has the same name before
// and after a change of the backend.
std::string UnifiedTypeName(std::string type) {
  for (const auto& [from, to] : {std::pair("float32", "fp32"), std::pair("float16", "fp16")}) {
    if (type == from) return to;
  }
  return type;
}

// Formats the shapes of the tensors, without data types. Constants are left out.
std::string ShapesText(const std::vector<OperatorTensor>& tensors) {
  OperatorTensors shapes;
  for (OperatorTensor tensor : tensors) {
    tensor.type.name = "";
    if (!tensor.constant) shapes.outputs.push_back(std::move(tensor));
  }
  std::string text =
      shapes.outputs.empty() ? "" : FormatTensors(shapes).substr(std::string_view("-> ").size());
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

std::string TextOrNone(const std::string& text) { return text.empty() ? "none" : text; }

// Lists the differences between two matched nodes: backend, channels, shapes, data types, settings, fused
// activation, and other fused operators. Contents of weights are not compared. Properties that are unknown
// for a node, or that backends record differently, are left out.
std::vector<std::string> DescribeDifferences(const ChangedNode& a, const ChangedNode& b) {
  std::vector<std::string> differences;
  const auto add = [&](const char* label, const std::string& from, const std::string& to) {
    if (from != to) differences.push_back(fmt::format("{}{} → {}", label, TextOrNone(from), TextOrNone(to)));
  };
  const bool is_same_backend = a.backend == b.backend;
  add("delegate ", a.backend, b.backend);
  if (a.identity.text != b.identity.text) differences.push_back("was " + a.identity.text);
  OperatorTensors tensors_a = a.tensors, tensors_b = b.tensors;
  const bool are_tensors_known = !tensors_a.outputs.empty() && !tensors_b.outputs.empty();
  if (!is_same_backend) {
    // Backends record the inputs of a node differently; only the first output is comparable.
    for (OperatorTensors* tensors : {&tensors_a, &tensors_b}) {
      tensors->inputs.clear();
      if (!tensors->outputs.empty()) tensors->outputs.resize(1);
    }
  }
  if (are_tensors_known && a.identity.text == b.identity.text) {
    const bool has_other_output = is_same_backend
                                      ? ShapesText(tensors_a.outputs) != ShapesText(tensors_b.outputs)
                                      : ShapesKey(tensors_a) != ShapesKey(tensors_b);
    if (has_other_output)
      add("output ", ShapesText(tensors_a.outputs), ShapesText(tensors_b.outputs));
    else
      add("input ", ShapesText(tensors_a.inputs), ShapesText(tensors_b.inputs));
  }
  if (are_tensors_known) {
    const auto type = [](const OperatorTensors& tensors) {
      std::string types = UnifiedTypeName(DataTypes(tensors));
      const std::string weights = UnifiedTypeName(WeightsDataType(tensors));
      return weights.empty() || weights == types ? types : types + " / " + weights;
    };
    add("type ", type(tensors_a), type(tensors_b));
  }
  if (!is_same_backend) return differences;
  add("settings ", a.identity.settings, b.identity.settings);
  add("fused activation ", a.identity.bounds, b.identity.bounds);
  // Leave out conversions, which are already reported as a change of the type.
  const auto join_fused_kinds = [](std::vector<std::string> kinds) {
    std::erase(kinds, "Convert");
    return fmt::format("{}", fmt::join(kinds, " "));
  };
  add("fused ", join_fused_kinds(a.fused), join_fused_kinds(b.fused));
  return differences;
}

// Describes the operator with this index for FindProgramChange. The result is absent if `index` is absent, or
// if the program does not have the operator.
std::optional<ChangedNode> MakeChangedNode(const Profile& profile, const std::optional<std::size_t>& index) {
  if (!index || !IsOperator(profile.operators[*index])) return std::nullopt;
  const Operator& op = profile.operators[*index];
  const OperatorSource& source = profile.program->operators[*index];
  if (source.join != OperatorSource::Join::kKernel && source.join != OperatorSource::Join::kNodes)
    return std::nullopt;
  ChangedNode node;
  node.module = ModulePath(*profile.program, *index).value_or("");
  node.identity = source.identity;
  if (node.identity.text.empty()) node.identity.text = NodeKind(OperationName(op.type));
  node.fused = source.fused;
  node.tensors = source.tensors;
  node.backend = op.portable ? "portable" : op.backend;
  return node;
}

}  // namespace

std::string ProgramChange::Text() const {
  const std::string changes = fmt::format("{}", fmt::join(differences, ", "));
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

std::string NodeName(const ChangedNode& node) {
  return node.module.empty() ? node.identity.text : node.module + ' ' + node.identity.text;
}

std::optional<ProgramChange> FindProgramChange(const ChangedNode* baseline, const ChangedNode* candidate,
                                               bool moved) {
  if (baseline == nullptr && candidate == nullptr) return std::nullopt;
  ProgramChange change;
  change.name = NodeName(candidate != nullptr ? *candidate : *baseline);
  if (baseline == nullptr || candidate == nullptr) {
    change.kind = baseline == nullptr ? ProgramChange::Kind::kInserted : ProgramChange::Kind::kRemoved;
    return change;
  }
  change.kind = moved ? ProgramChange::Kind::kMoved : ProgramChange::Kind::kChanged;
  change.differences = DescribeDifferences(*baseline, *candidate);
  if (!moved && change.differences.empty()) return std::nullopt;
  return change;
}

std::optional<ProgramChange> FindProgramChange(const Profile& baseline, const Profile& candidate,
                                               std::optional<std::size_t> in_baseline,
                                               std::optional<std::size_t> in_candidate, bool moved) {
  if (!IsProgramKnown(baseline) || !IsProgramKnown(candidate)) return std::nullopt;
  const std::optional<ChangedNode> a = MakeChangedNode(baseline, in_baseline);
  const std::optional<ChangedNode> b = MakeChangedNode(candidate, in_candidate);
  if ((in_baseline && !a) || (in_candidate && !b)) return std::nullopt;
  return FindProgramChange(a ? &*a : nullptr, b ? &*b : nullptr, moved);
}

}  // namespace etprof
