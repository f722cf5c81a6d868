#include "profile/compare/operator_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "format/delegates/delegate.h"
#include "profile/analysis/operators.h"

namespace etprof {
namespace {

std::string SizesKey(const OperatorTensor& tensor) {
  std::vector<std::int64_t> sizes = tensor.shape;
  std::erase(sizes, 1);
  std::ranges::sort(sizes);
  return fmt::format("{}", fmt::join(sizes, "x"));
}

// The sizes of the largest constant.
std::string WeightsKey(const OperatorTensors& tensors) {
  const OperatorTensor* weights = FindWeights(tensors);
  return weights == nullptr ? "" : "of " + SizesKey(*weights);
}

}  // namespace

std::string ShapesKey(const OperatorTensors& tensors) {
  const auto join_keys = [](const std::vector<OperatorTensor>& list) {
    std::vector<std::string> keys;
    for (const OperatorTensor& tensor : list) {
      if (!tensor.constant) keys.push_back(SizesKey(tensor));
    }
    return fmt::format("{}", fmt::join(keys, ", "));
  };
  if (tensors.inputs.empty() && tensors.outputs.empty()) return "";
  return join_keys(tensors.inputs) + " | " + join_keys(tensors.outputs);
}

void FillMatchNode(const OperatorTensors& tensors, const NodeIdentity& identity, MatchNode& node) {
  node.shapes = ShapesKey(tensors);
  node.weights = WeightsKey(tensors);
  node.settings = identity.settings + identity.bounds;
  for (const std::string& content : identity.contents) node.contents += content + ' ';
}

bool IsProgramKnown(const Profile& profile) { return profile.program && profile.program->problem.empty(); }

std::string_view OperationName(std::string_view type) {
  const std::size_t parenthesis = type.find(" (");
  return parenthesis == std::string_view::npos ? type : type.substr(0, parenthesis);
}

std::vector<MatchNode> MakeMatchNodes(const Profile& profile, const std::vector<std::size_t>& operators,
                                      bool with_program) {
  std::vector<std::size_t> positions(profile.operators.size(), operators.size());
  for (std::size_t i = 0; i < operators.size(); ++i) positions[operators[i]] = i;
  std::vector<MatchNode> nodes;
  for (const std::size_t index : operators) {
    const Operator& op = profile.operators[index];
    const OperatorSource* source = with_program ? &profile.program->operators[index] : nullptr;
    MatchNode node;
    node.type = op.type;
    node.family =
        std::string(OperationName(op.type)) + op.type.substr(std::min(op.type.size(), op.type.find(')')));
    node.position =
        fmt::format("{} {} {} {}", op.key.chain, op.key.instruction, op.key.ordinal, op.key.occurrence);
    // Events of the runtime keep their names.
    node.kind = IsOperator(op) ? NodeKind(OperationName(op.type)) : "event " + op.type;
    if (source != nullptr) {
      if (!source->identity.kind.empty()) node.kind = source->identity.kind;
      if (source->join == OperatorSource::Join::kInserted) node.kind = "inserted " + node.kind;
      if (const auto path = ModulePath(*profile.program, index)) {
        node.has_module = true;
        node.module = *path;
      }
      node.line = SourceLine(*profile.program, index).value_or("");
      FillMatchNode(source->tensors, source->identity, node);
      node.has_known_producers = !source->tensors.outputs.empty();
      for (const std::size_t producer : source->producers) {
        if (positions[producer] < operators.size()) node.producers.push_back(positions[producer]);
      }
    }
    // OpenVINO cuts the model into its own layers. Without their modules, they have no counterparts in other
    // backends.
    if (!node.has_module && delegates::ParseOpenvinoLayer(op.name)) node.kind = "OpenVINO " + node.kind;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace etprof
