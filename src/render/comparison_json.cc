#include "core/table.h"
#include "program/tensors.h"
#include "render/facts.h"
#include "render/json_parts.h"
#include "render/speedup_words.h"
#include "render/wording.h"
#include "report/matrix.h"

namespace etprof {
Json QuantityJson(const Quantity& quantity) {
  Json json = {{"baseline_ms", Ms(quantity.baseline_ns)},
               {"candidate_ms", Ms(quantity.candidate_ns)},
               {"verdict", stats::VerdictName(quantity.verdict)}};
  if (quantity.estimate) {
    const stats::RatioEstimate& estimate = *quantity.estimate;
    json["ratio"] = Number(estimate.ratio());
    json["ratio_low"] = Number(estimate.low());
    json["ratio_high"] = Number(estimate.high());
    json["confidence"] = Number(estimate.confidence);
    json["p_value"] = Number(estimate.p_value);
  } else {
    for (const char* key : {"ratio", "ratio_low", "ratio_high", "confidence", "p_value"}) json[key] = nullptr;
  }
  return json;
}

namespace {

Json CostJson(const SideCost& cost, const std::string& unit, double scale) {
  const auto scaled = [&](const std::optional<double>& value) {
    return value ? Number(*value / scale) : Json(nullptr);
  };
  const bool estimated = cost.estimate.has_value();
  return {{"baseline_" + unit, scaled(cost.baseline)},
          {"candidate_" + unit, scaled(cost.candidate)},
          {"verdict", stats::VerdictName(cost.verdict)},
          {"ratio", estimated ? Number(cost.estimate->ratio()) : Json(nullptr)},
          {"ratio_low", estimated ? Number(cost.estimate->low()) : Json(nullptr)},
          {"ratio_high", estimated ? Number(cost.estimate->high()) : Json(nullptr)},
          {"confidence", estimated ? Number(cost.estimate->confidence) : Json(nullptr)},
          {"p_value", estimated ? Number(cost.estimate->p_value) : Json(nullptr)}};
}

Json MatrixRowJson(const Report& report, const Matrix& matrix, const MatrixRow& row) {
  const ReportExperiment& baseline = report.experiments[matrix.baseline];
  Json json = {{"name", row.name},
               {"key", row.op ? Json(KeyText(baseline.profile->operators[*row.op].key)) : Json(nullptr)},
               {"against", Json::array()}};
  for (std::size_t i = 0; i < row.against.size(); ++i) {
    Json cell = QuantityJson(row.against[i]);
    cell["efficiency"] = matrix.threads
                             ? Number(EfficiencyOf(row.against[i], baseline.threads,
                                                   report.experiments[matrix.candidates[i]].threads))
                             : Json(nullptr);
    json["against"].push_back(std::move(cell));
  }
  return json;
}

Json FactorsJson(const ReportComparison& pair) {
  const auto& factors = pair.factors;
  if (!factors) return nullptr;
  return {{"dtype", factors->dtype},
          {"operators", factors->operators},
          {"macs", factors->macs},
          {"share_of_baseline", Number(factors->share_of_baseline)},
          {"share_of_candidate", Number(factors->share_of_candidate)},
          {"ratio", Number(factors->ratio.ratio())},
          {"ratio_low", Number(factors->ratio.low())},
          {"ratio_high", Number(factors->ratio.high())},
          {"peak_ratio", Number(factors->peak())},
          {"use_ratio", Number(factors->use())},
          {"baseline_peak_macs_per_s", Number(factors->baseline_peak)},
          {"candidate_peak_macs_per_s", Number(factors->candidate_peak)},
          {"baseline_share_of_peak", Number(factors->baseline_of_peak)},
          {"candidate_share_of_peak", Number(factors->candidate_of_peak)},
          {"text", FactorsText(pair)}};
}

// candidate_total / candidate_runs - baseline_total / baseline_runs as one fraction, exactly.
std::int64_t DeltaNumerator(const Comparison& comparison, Nanoseconds baseline, Nanoseconds candidate) {
  return candidate * comparison.baseline_runs - baseline * comparison.candidate_runs;
}

Json RowJson(const Comparison& comparison, const std::string& name, Nanoseconds baseline,
             Nanoseconds candidate, const Quantity& quantity) {
  Json json = {{"name", name},
               {"baseline_total_ns", baseline},
               {"candidate_total_ns", candidate},
               {"delta_numerator_ns", DeltaNumerator(comparison, baseline, candidate)}};
  json.update(QuantityJson(quantity));
  return json;
}

}  // namespace

Json MatrixJson(const Report& report, const Matrix& matrix) {
  const auto experiment = [&](std::size_t index) {
    const ReportExperiment& of = report.experiments[index];
    return Json{
        {"experiment", report.run.experiments[of.index].name}, {"label", of.label}, {"threads", of.threads}};
  };
  const auto rows = [&](const std::vector<MatrixRow>& of) {
    Json made = Json::array();
    for (const MatrixRow& row : of) made.push_back(MatrixRowJson(report, matrix, row));
    return made;
  };
  Json json = {{"kind", matrix.threads ? "threads" : "experiments"},
               {"interleaved", matrix.interleaved},
               {"baseline", experiment(matrix.baseline)},
               {"candidates", Json::array()},
               {"latency", MatrixRowJson(report, matrix, matrix.latency)},
               {"groups", rows(matrix.groups)},
               {"operators", rows(matrix.operators)},
               {"load", Json::array()},
               {"peak_memory", Json::array()}};
  for (const std::size_t candidate : matrix.candidates) json["candidates"].push_back(experiment(candidate));
  for (const SideCosts& costs : matrix.costs) {
    json["load"].push_back(CostJson(costs.load, "ms", 1e6));
    json["peak_memory"].push_back(CostJson(costs.peak_memory, "bytes", 1));
  }
  return json;
}

Json ComparisonJson(const Report& report, const ReportComparison& pair) {
  const Comparison& comparison = pair.comparison;
  const ReportExperiment& baseline = report.experiments[pair.baseline];
  const ReportExperiment& candidate = report.experiments[pair.candidate];
  const char* pairing = comparison.pairing == Pairing::kLaunches   ? "launches"
                        : comparison.pairing == Pairing::kUnpaired ? "unpaired"
                                                                   : "none";
  Json json = {{"label", Text(pair.label)},
               {"baseline", comparison.baseline_label},
               {"candidate", comparison.candidate_label},
               {"baseline_experiment", report.run.experiments[baseline.index].name},
               {"candidate_experiment", report.run.experiments[candidate.index].name},
               {"pairing", pairing},
               {"launches", comparison.launches},
               {"rounds", comparison.rounds},
               {"half_width", Number(pair.half_width)},
               {"same_configuration", pair.same_configuration},
               {"latency_from", comparison.latency_from_trace ? "trace" : "untraced"},
               {"latency", QuantityJson(comparison.latency)}};
  json["baseline_runs"] = comparison.baseline_runs;
  json["candidate_runs"] = comparison.candidate_runs;
  json["delta_denominator"] = comparison.baseline_runs * comparison.candidate_runs;
  json["whole"] = {{"baseline_total_ns", comparison.baseline_total},
                   {"candidate_total_ns", comparison.candidate_total},
                   {"delta_numerator_ns",
                    DeltaNumerator(comparison, comparison.baseline_total, comparison.candidate_total)}};
  for (const auto& [key, rows] :
       {std::pair{"groups", &comparison.groups}, std::pair{"categories", &comparison.categories}}) {
    json[key] = Json::array();
    for (const DeltaRow& row : *rows) {
      json[key].push_back(
          RowJson(comparison, row.name, row.baseline_total, row.candidate_total, row.quantity));
    }
  }
  json["layers"] = Json::array();
  for (const LayerDelta& layer : pair.layers) {
    Json row = RowJson(comparison, layer.row.name, layer.row.baseline_total, layer.row.candidate_total,
                       layer.row.quantity);
    row["depth"] = layer.depth;
    row["type"] = Text(layer.type);
    json["layers"].push_back(std::move(row));
  }
  for (const auto& [key, rows] :
       {std::pair{"by_source", &pair.by_source}, std::pair{"by_delegate", &pair.by_delegate}}) {
    json[key] = Json::array();
    for (const DeltaRow& row : *rows)
      json[key].push_back(
          RowJson(comparison, row.name, row.baseline_total, row.candidate_total, row.quantity));
  }
  json["operators"] = Json::array();
  for (const OperatorMatch& match : comparison.operators) {
    const Operator* before = match.baseline ? &baseline.profile->operators[*match.baseline] : nullptr;
    const Operator* after = match.candidate ? &candidate.profile->operators[*match.candidate] : nullptr;
    Json row = RowJson(comparison, after != nullptr ? after->name : before->name, match.baseline_total,
                       match.candidate_total, match.quantity);
    row["baseline_key"] = before != nullptr ? Json(KeyText(before->key)) : Json(nullptr);
    row["candidate_key"] = after != nullptr ? Json(KeyText(after->key)) : Json(nullptr);
    row["baseline_name"] = before != nullptr ? Json(before->name) : Json(nullptr);
    row["candidate_name"] = after != nullptr ? Json(after->name) : Json(nullptr);
    json["operators"].push_back(std::move(row));
  }
  json["operators"].push_back(
      RowJson(comparison, "Clipped", comparison.baseline_clipped, comparison.candidate_clipped, {}));
  if (pair.outputs) {
    json["outputs"] = {{"comparable", pair.outputs->comparable},
                       {"equal", pair.outputs->equal},
                       {"largest_absolute", Number(pair.outputs->largest_absolute)},
                       {"largest_relative", Number(pair.outputs->largest_relative)},
                       {"note", Text(pair.outputs->note)}};
  } else {
    json["outputs"] = nullptr;
  }
  json["load"] = CostJson(pair.costs.load, "ms", 1e6);
  json["first_run"] = CostJson(pair.costs.first_run, "ms", 1e6);
  json["peak_memory"] = CostJson(pair.costs.peak_memory, "bytes", 1);
  json["speedup_factors"] = FactorsJson(pair);
  json["warnings"] = comparison.warnings;
  return json;
}

}  // namespace etprof
