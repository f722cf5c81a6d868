#include <nlohmann/json.hpp>

#include "core/json.h"
#include "render/kernels.h"

namespace etprof {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
template <typename Value>
Json OrNull(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json MicrokernelJson(const std::optional<xnnpack::Microkernel>& parsed) {
  if (!parsed) return nullptr;
  const xnnpack::Microkernel& k = *parsed;
  return {{"family", xnnpack::FamilyName(k.family)},
          {"category", xnnpack::CategoryName(k.family)},
          {"operation", k.op},
          {"data_types", k.data_types},
          {"activation", OrNull(k.activation)},
          {"requantization", OrNull(k.requantization)},
          {"shape", OrNull(k.shape)},
          {"mr", OrNull(k.mr)},
          {"nr", OrNull(k.nr)},
          {"kr", OrNull(k.kr)},
          {"sr", OrNull(k.sr)},
          {"scalable", k.scalable},
          {"elements", OrNull(k.elements)},
          {"instruction_set", k.isa},
          {"assembly", k.assembly},
          {"variant", OrNull(k.variant)},
          {"accumulators", OrNull(k.accumulators)},
          {"sme", k.HasSme()},
          {"sme2", k.HasSme2()}};
}

Json OperatorJson(const xnnpack::OperatorUse& op) {
  Json tile = nullptr;
  if (op.tile) tile = {{"m", op.tile->m}, {"n", op.tile->n}, {"mr", op.tile->mr}, {"nr", op.tile->nr}};
  return {{"name", op.name},
          {"graph", op.graph},
          {"index", op.index},
          {"calls", op.calls},
          {"tile", tile},
          {"kernel", OrNull(op.kernel)},
          {"candidates", op.candidates},
          {"reason", OrNull(op.reason)}};
}

Json ViewJson(const KernelView& view) {
  Json kernels = Json::array(), operators = Json::array();
  for (const xnnpack::LoggedKernel& kernel : view.use.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"role", OrNull(kernel.role)},
                       {"status", xnnpack::StatusName(kernel.status)},
                       {"superseded_by", OrNull(kernel.superseded_by)},
                       {"count", kernel.count},
                       {"configs", kernel.configs},
                       {"file", OrNull(kernel.file)},
                       {"line", kernel.line > 0 ? Json(kernel.line) : Json(nullptr)},
                       {"parts", MicrokernelJson(kernel.parsed)}});
  }
  for (const xnnpack::OperatorUse& op : view.use.operators) operators.push_back(OperatorJson(op));
  return {{"label", view.label},
          {"model_id", OrNull(view.model_id)},
          {"log", view.log.string()},
          {"lines", view.lines},
          {"xnnpack_lines", view.xnnpack_lines},
          {"cut_lines", view.cut_lines},
          {"etdump_agrees", OrNull(view.etdump_agrees)},
          {"kernels", kernels},
          {"operators", operators}};
}

Json StatusJson(const std::optional<xnnpack::KernelStatus>& status) {
  return status ? Json(xnnpack::StatusName(*status)) : Json(nullptr);
}

Json ComparisonJson(const KernelReport& report) {
  const KernelComparison& comparison = *report.comparison;
  Json kernels = Json::array(), operators = Json::array();
  for (const auto& row : comparison.kernels) {
    kernels.push_back({{"name", row.kernel},
                       {"baseline", StatusJson(row.baseline)},
                       {"candidate", StatusJson(row.candidate)},
                       {"sme", row.parsed && row.parsed->HasSme()},
                       {"sme2", row.parsed && row.parsed->HasSme2()}});
  }
  for (const auto& row : comparison.operators) {
    operators.push_back({{"baseline", row.baseline},
                         {"candidate", row.candidate},
                         {"baseline_kernel", OrNull(row.baseline_kernel)},
                         {"candidate_kernel", OrNull(row.candidate_kernel)}});
  }
  return {{"baseline", report.views[comparison.baseline].label},
          {"candidate", report.views[comparison.candidate].label},
          {"alike", comparison.alike},
          {"kernels", kernels},
          {"operators", operators}};
}

Json EvidenceJson(const OperatorEvidence& evidence) {
  Json changed = Json::array();
  for (const auto& row : evidence.changed) {
    changed.push_back({{"baseline", OrNull(row.baseline)},
                       {"candidate", OrNull(row.candidate)},
                       {"baseline_kleidiai", row.baseline_kleidiai},
                       {"candidate_kleidiai", row.candidate_kleidiai},
                       {"baseline_sme", row.baseline_sme},
                       {"candidate_sme", row.candidate_sme}});
  }
  return {{"baseline", evidence.baseline_label},
          {"candidate", evidence.candidate_label},
          {"unchanged", evidence.unchanged},
          {"baseline_kleidiai", evidence.baseline_kleidiai},
          {"candidate_kleidiai", evidence.candidate_kleidiai},
          {"changed", changed}};
}

}  // namespace

void RenderKernelsJson(const KernelReport& report, std::ostream& out) {
  Json logs = Json::array(), pairs = Json::array();
  for (const KernelView& view : report.views) logs.push_back(ViewJson(view));
  for (const OperatorEvidence& evidence : report.evidence) pairs.push_back(EvidenceJson(evidence));
  const Json document = {{"schema_version", kKernelsSchemaVersion},
                         {"model_id", OrNull(report.model_id)},
                         {"filter", OrNull(report.filter)},
                         {"logs", logs},
                         {"comparison", report.comparison ? ComparisonJson(report) : Json(nullptr)},
                         {"pairs", pairs},
                         {"notes", report.notes}};
  // A name that is no UTF-8 is replaced, not thrown about.
  out << JsonText(document, 1) << '\n';
}

}  // namespace etprof
