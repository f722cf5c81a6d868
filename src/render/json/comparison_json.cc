#include "render/json/comparison_json.h"

namespace etprof {

std::vector<DeltaJson> ComparisonJson::Rows(const std::vector<DeltaRow>& of) const {
  return ViewsOf<DeltaJson>(of, Of());
}

std::vector<OperatorDeltaJson> ComparisonJson::Operators() const {
  std::vector<OperatorDeltaJson> rows;
  for (const OperatorMatch& match : Of().operators) {
    const OperatorPairJson operators{
        match.baseline ? &Baseline().profile->operators[*match.baseline] : nullptr,
        match.candidate ? &Candidate().profile->operators[*match.candidate] : nullptr, match};
    const std::string& name =
        operators.candidate != nullptr ? operators.candidate->name : operators.baseline->name;
    rows.push_back({Of(), {name, match.baseline_total, match.candidate_total, match.quantity}, operators});
  }
  rows.push_back({Of(), {"Clipped", Of().baseline_clipped, Of().candidate_clipped, {}}, std::nullopt});
  return rows;
}

}  // namespace etprof
