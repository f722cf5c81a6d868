#include "show/subjects/run/operator_names.h"

#include <fmt/format.h>

#include "profile/analysis/operators.h"

namespace etprof {

OperatorNames::OperatorNames(const Profile& profile) : profile_(profile) {
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    ++count_by_name_[PlainName(op)];
    ++count_by_name_and_layer_[{PlainName(op), LayerName(profile, op).value_or("")}];
  }
}

std::string OperatorNames::PlainName(std::size_t op) const {
  const Operator& profiled = profile_.operators[op];
  return IsOperator(profiled) ? profiled.name : profiled.name + " (overhead)";
}

std::string OperatorNames::Location(std::size_t op) const {
  const std::string name = PlainName(op);
  if (count_by_name_.at(name) < 2) return "";
  const std::string layer = LayerName(profile_, op).value_or("");
  const int call = profile_.operators[op].call_index;
  std::string location = layer;
  if ((layer.empty() || count_by_name_and_layer_.at({name, layer}) > 1) && call >= 0)
    location += fmt::format("{}call {}", layer.empty() ? "" : ", ", call);
  return location.empty() ? "" : " (" + location + ")";
}

}  // namespace etprof
