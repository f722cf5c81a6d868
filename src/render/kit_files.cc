#include "render/kit_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/json.h"
#include "render/csv_table.h"
#include "render/wording.h"
#include "report/robust.h"

namespace etprof {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

// Every operator, the framework's spans too, by falling self time.
std::vector<std::size_t> ByFallingTime(const Profile& profile) {
  std::vector<std::size_t> order(profile.operators.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return profile.statistics[a].total_self > profile.statistics[b].total_self;
  });
  return order;
}

const std::vector<std::string>& OperatorColumns() {
  static const std::vector<std::string> columns = {"operator",         "category",    "total_ms", "avg_ms",
                                                   "pct_of_e2e",       "event_count", "key",      "type",
                                                   "delegate_backend", "group",       "runs",     "median_ms",
                                                   "max_ms",           "cv",          "layer",    "source"};
  return columns;
}

void OperatorRowOf(const ReportExperiment& experiment, std::size_t index, CsvTable& table) {
  const Operator& op = experiment.profile->operators[index];
  const SpanStatistics& statistics = experiment.profile->statistics[index];
  table.Row({op.name, std::string(op.category.name), ExactMilliseconds(statistics.total_self),
             MeanMsCell(statistics.total_self, experiment.common_runs),
             PercentCell(statistics.total_self, experiment.groups.total), std::to_string(statistics.runs),
             KeyText(op.key), op.type, op.backend, std::string(GroupName(op.category.group)),
             std::to_string(experiment.common_runs), MsCell(statistics.self.p50), MsCell(statistics.self.max),
             NumberCell(statistics.self.cv), LayerOf(*experiment.profile, index).value_or(""),
             SourceLineOf(*experiment.profile, index).value_or("")});
}

Json Number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}
Json Ms(const std::optional<double>& ns) { return ns ? Number(*ns / 1e6) : Json(nullptr); }
Json Percent(const std::optional<double>& ratio) { return ratio ? Number(*ratio * 100) : Json(nullptr); }

void Write(const Json& json, std::ostream& out) { out << JsonText(json, 2) << '\n'; }

std::optional<double> Quotient(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b || *b <= 0) return std::nullopt;
  return *a / *b;
}

}  // namespace

void RenderCategorySummaryCsv(const ReportExperiment& experiment, std::ostream& out) {
  CsvTable table(out, {"category", "total_ms", "avg_ms", "pct_of_e2e", "operator_count", "runs"});
  const Breakdown& categories = experiment.categories;
  std::vector<AdditiveRow> rows = categories.rows;
  if (rows.empty()) return;
  const AdditiveRow clipped = rows.back();
  rows.pop_back();
  std::stable_sort(rows.begin(), rows.end(),
                   [](const AdditiveRow& a, const AdditiveRow& b) { return a.total > b.total; });
  if (clipped.total != 0) rows.push_back(clipped);
  for (const AdditiveRow& row : rows) {
    table.Row({row.name, ExactMilliseconds(row.total), MeanMsCell(row.total, categories.runs),
               PercentCell(row.total, categories.total), std::to_string(row.operators),
               std::to_string(categories.runs)});
  }
}

void RenderOperatorDetailsCsv(const ReportExperiment& experiment, std::ostream& out) {
  CsvTable table(out, OperatorColumns());
  Nanoseconds rest = experiment.groups.total;
  for (const std::size_t op : ByFallingTime(*experiment.profile)) {
    OperatorRowOf(experiment, op, table);
    rest -= experiment.profile->statistics[op].total_self;
  }
  if (rest == 0) return;
  table.Row({"Clipped", "framework", ExactMilliseconds(rest), MeanMsCell(rest, experiment.common_runs),
             PercentCell(rest, experiment.groups.total), "", "clipped", "Clipped", "", "Clipped",
             std::to_string(experiment.common_runs), "", "", "", "", ""});
}

void RenderOtherTopOpsCsv(const ReportExperiment& experiment, std::ostream& out) {
  CsvTable table(out, OperatorColumns());
  for (const std::size_t op : ByFallingTime(*experiment.profile)) {
    if (experiment.profile->operators[op].category.name == "OTHER") OperatorRowOf(experiment, op, table);
  }
}

void RenderE2eLatencyCsv(const Report& report, const ReportExperiment& experiment, std::ostream& out) {
  CsvTable table(out,
                 {"model_name", "num_runs", "total_ms", "avg_ms", "min_ms", "max_ms", "experiment", "threads",
                  "latency_from", "latency_runs", "latency_median_ms", "latency_mean_ms", "latency_sd_ms",
                  "latency_p90_ms", "latency_p99_ms", "first_run_ms", "load_ms", "peak_rss_bytes"});
  const Profile& profile = *experiment.profile;
  std::optional<Nanoseconds> min;
  std::optional<Nanoseconds> max;
  for (const std::size_t run : profile.CommonSet()) {
    const Nanoseconds total = profile.runs[run].total;
    min = std::min(min.value_or(total), total);
    max = std::max(max.value_or(total), total);
  }
  const stats::Distribution& latency = experiment.latency;
  table.Row({profile.model_id, std::to_string(experiment.common_runs),
             ExactMilliseconds(experiment.groups.total),
             MeanMsCell(experiment.groups.total, experiment.common_runs), min ? ExactMilliseconds(*min) : "",
             max ? ExactMilliseconds(*max) : "", report.run.experiments[experiment.index].name,
             std::to_string(experiment.threads),
             latency.n == 0                  ? ""
             : experiment.latency_from_trace ? "trace"
                                             : "untraced",
             std::to_string(latency.n), MsCell(latency.p50), MsCell(latency.mean), MsCell(latency.sd),
             MsCell(latency.p90), MsCell(latency.p99), MsCell(experiment.first_run), MsCell(experiment.load),
             experiment.peak_rss ? std::to_string(*experiment.peak_rss) : ""});
}

void RenderRobustStatsJson(const Report& report, const ReportExperiment& experiment, std::ostream& out) {
  const LatencySeries series = LatencySeriesOf(report, experiment);
  const RobustLatency robust = DescribeRobustly(series.ns);
  const stats::Distribution& all = robust.all;
  const auto in_ms = [](const std::vector<double>& ns) {
    Json values = Json::array();
    for (const double value : ns) values.push_back(value / 1e6);
    return values;
  };
  Json json;
  json["schema_version"] = kSchemaVersion;
  json["name"] = experiment.label;
  json["count"] = all.n;
  json["mean_ms"] = Ms(all.mean);
  json["median_ms"] = Ms(all.p50);
  json["std_dev_ms"] = Ms(all.sd);
  json["cv_percent"] = Percent(all.cv);
  json["min_ms"] = Ms(all.min);
  json["max_ms"] = Ms(all.max);
  json["percentiles"] = {{"p50", Ms(all.p50)},
                         {"p75", Ms(robust.p75)},
                         {"p90", Ms(all.p90)},
                         {"p95", Ms(all.p95)},
                         {"p99", Ms(all.p99)}};
  json["outliers"] = {
      {"count", all.outliers},
      {"percentage", all.n > 0 ? Json(100.0 * static_cast<double>(all.outliers) / static_cast<double>(all.n))
                               : Json(nullptr)},
      {"values", in_ms(robust.outliers)},
      {"bounds", {{"lower", Ms(robust.fences.low)}, {"upper", Ms(robust.fences.high)}}}};
  json["trimmed_mean_5_ms"] = Ms(all.trimmed_mean_5);
  json["trimmed_mean_10_ms"] = Ms(all.trimmed_mean_10);
  json["robust_stats"] = {{"count", robust.inside.n},
                          {"mean_ms", Ms(robust.inside.mean)},
                          {"median_ms", Ms(robust.inside.p50)},
                          {"std_dev_ms", Ms(robust.inside.sd)},
                          {"cv_percent", Percent(robust.inside.cv)}};
  json["latencies_ms"] = in_ms(series.ns);
  json["run_indices"] = series.run;
  json["mad_ms"] = Ms(all.mad);
  json["latency_from"] = all.n == 0 ? Json(nullptr) : experiment.latency_from_trace ? "trace" : "untraced";
  json["experiment"] = report.run.experiments[experiment.index].name;
  json["threads"] = experiment.threads;
  Write(json, out);
}

void RenderComparisonCsv(const ReportComparison& pair, std::ostream& out) {
  const Comparison& comparison = pair.comparison;
  const std::string& a = comparison.baseline_label;
  const std::string& b = comparison.candidate_label;
  CsvTable table(out, {"category", a + "_ms", b + "_ms", "speedup", a + "_pct", b + "_pct", "delta_ms",
                       "ratio", "ratio_low", "ratio_high", "p_value", "verdict"});
  for (const DeltaRow& row : comparison.categories) {
    const bool is_clipped = row.name == "Clipped";
    if (is_clipped && row.baseline_total == 0 && row.candidate_total == 0) continue;
    const auto mean = [](Nanoseconds total, std::int64_t runs) -> std::optional<double> {
      if (runs == 0) return std::nullopt;
      return static_cast<double>(total) / static_cast<double>(runs);
    };
    const auto before = mean(row.baseline_total, comparison.baseline_runs);
    const auto after = mean(row.candidate_total, comparison.candidate_runs);
    std::vector<std::string> cells = {
        row.name,
        MsCell(before),
        MsCell(after),
        row.baseline_total > 0 && row.candidate_total > 0 ? NumberCell(Quotient(before, after)) : "",
        PercentCell(row.baseline_total, comparison.baseline_total),
        PercentCell(row.candidate_total, comparison.candidate_total),
        before && after ? NumberCell((*after - *before) / 1e6) : ""};
    const auto& estimate = row.quantity.estimate;
    for (const std::optional<double>& value : {estimate ? std::optional(estimate->ratio()) : std::nullopt,
                                               estimate ? std::optional(estimate->low()) : std::nullopt,
                                               estimate ? std::optional(estimate->high()) : std::nullopt,
                                               estimate ? estimate->p_value : std::nullopt}) {
      cells.push_back(NumberCell(value));
    }
    cells.emplace_back(is_clipped ? "" : NameOf(row.quantity.verdict));
    table.Row(cells);
  }
}

void RenderRobustComparisonJson(const Report& report, const ReportComparison& pair, std::ostream& out) {
  const Comparison& comparison = pair.comparison;
  const auto robust_of = [&](std::size_t experiment) {
    return DescribeRobustly(LatencySeriesOf(report, report.experiments[experiment]).ns);
  };
  const RobustLatency a = robust_of(pair.baseline);
  const RobustLatency b = robust_of(pair.candidate);
  const auto side = [](const std::string& name, const RobustLatency& robust) {
    return Json{{"name", name},
                {"median_ms", Ms(robust.inside.p50)},
                {"trimmed_mean_ms", Ms(robust.all.trimmed_mean_5)},
                {"cv_percent", Percent(robust.inside.cv)},
                {"count", robust.all.n}};
  };
  Json json;
  json["schema_version"] = kSchemaVersion;
  json["config1"] = side(comparison.baseline_label, a);
  json["config2"] = side(comparison.candidate_label, b);
  const VerdictWords words = WordsOf(comparison.latency);
  json["speedup"] = {{"median_based", Number(Quotient(a.inside.p50, b.inside.p50))},
                     {"trimmed_mean_based", Number(Quotient(a.all.trimmed_mean_5, b.all.trimmed_mean_5))},
                     {"description", fmt::format("{} against {}: {}{}", comparison.candidate_label,
                                                 comparison.baseline_label, words.verdict,
                                                 words.interval.empty() ? "" : " " + words.interval)}};
  const auto& cv_a = a.inside.cv;
  const auto& cv_b = b.inside.cv;
  json["variability"] = {{"config1_cv", Percent(cv_a)},
                         {"config2_cv", Percent(cv_b)},
                         {"more_variable", !cv_a || !cv_b || *cv_a == *cv_b ? Json(nullptr)
                                           : *cv_a > *cv_b                  ? Json(comparison.baseline_label)
                                                           : Json(comparison.candidate_label)},
                         {"cv_ratio", Number(Quotient(cv_a, cv_b))}};
  const auto& estimate = comparison.latency.estimate;
  json["verdict"] = NameOf(comparison.latency.verdict);
  json["ratio"] = estimate ? Number(estimate->ratio()) : Json(nullptr);
  json["ratio_low"] = estimate ? Number(estimate->low()) : Json(nullptr);
  json["ratio_high"] = estimate ? Number(estimate->high()) : Json(nullptr);
  json["confidence"] = estimate ? Number(estimate->confidence) : Json(nullptr);
  Write(json, out);
}

}  // namespace etprof
