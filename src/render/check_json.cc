#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "render/check.h"
#include "render/check_words.h"

namespace etprof {
namespace {

using Json = nlohmann::ordered_json;

Json Number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}
Json Text(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

const char* PairingName(Pairing pairing) {
  switch (pairing) {
    case Pairing::kLaunches:
      return "launches";
    case Pairing::kUnpaired:
      return "unpaired";
    case Pairing::kNone:
      return "none";
  }
  return "none";
}

Json ItemJson(const CheckItem& item) {
  const bool memory = item.kind == CheckItem::Kind::kPeakMemory;
  return {{"check", CheckKindName(item.kind)},
          {"name", item.name},
          {"key", Text(item.key)},
          {"unit", memory ? "bytes" : "ns"},
          {"baseline", Number(item.baseline)},
          {"candidate", Number(item.candidate)},
          {"growth", Number(item.verdict.growth)},
          {"growth_low", Number(item.verdict.low)},
          {"growth_high", Number(item.verdict.high)},
          {"limit", item.limit},
          {"fail_p_adjusted", item.verdict.fail_p},
          {"pass_p_adjusted", item.verdict.pass_p},
          {"result", GateDecisionName(item.verdict.decision)},
          {"why_not", Text(item.why_not)}};
}

Json MovedJson(const MovedOperator& op) {
  return {{"name", op.name},
          {"key", op.key},
          {"baseline_ns", op.baseline_ns},
          {"candidate_ns", op.candidate_ns},
          {"growth", Number(op.growth)},
          {"growth_low", Number(op.low)},
          {"growth_high", Number(op.high)}};
}

Json PairJson(const CheckPair& pair) {
  Json json = {{"name", pair.name},
               {"baseline", pair.baseline_label},
               {"candidate", pair.candidate_label},
               {"threads", pair.threads},
               {"pairing", PairingName(pair.pairing)},
               {"launches", pair.launches},
               {"result", pair.error.empty() ? GateDecisionName(pair.decision) : "error"},
               {"error", Text(pair.error)},
               {"checks", Json::array()},
               {"moved_operators", Json::array()},
               {"only_in_baseline", pair.only_baseline},
               {"only_in_candidate", pair.only_candidate}};
  for (const CheckItem& item : pair.items) json["checks"].push_back(ItemJson(item));
  for (const MovedOperator& op : pair.moved) json["moved_operators"].push_back(MovedJson(op));
  return json;
}

}  // namespace

void RenderCheckJson(const CheckReport& check, std::ostream& out) {
  Json json = {{"schema_version", kCheckSchemaVersion},
               {"result", check.decision == GateDecision::kInconclusive && check.error
                              ? "error"
                              : GateDecisionName(check.decision)},
               {"model_id", Text(check.model_id)},
               {"generated_at", Text(check.generated_at)},
               {"run_directory", Text(check.folder)},
               {"seconds", check.seconds},
               {"false_discovery", check.false_discovery},
               {"require_conclusive", check.require_conclusive},
               {"pairs", Json::array()},
               {"notes", check.notes}};
  for (const CheckPair& pair : check.pairs) json["pairs"].push_back(PairJson(pair));
  // Names of files need not be UTF-8.
  out << JsonText(json, 2) << '\n';
}

}  // namespace etprof
