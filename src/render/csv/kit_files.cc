#include "render/csv/kit_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/json.h"
#include "core/json_schema_of.h"
#include "render/csv/csv_table.h"
#include "report/findings/robust.h"
#include "say/wording.h"

namespace etprof {
namespace {

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

std::optional<double> Percent(const std::optional<double>& ratio) {
  return ratio ? std::optional(*ratio * 100) : std::nullopt;
}

std::optional<double> Quotient(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b || *b <= 0) return std::nullopt;
  return *a / *b;
}

struct RobustStatsJson {
  const Report& report;
  const ReportExperiment& experiment;
  const LatencySeries& series;
  RobustLatency robust;

  static void Describe(auto& v) {
    using J = const RobustStatsJson&;
    const auto all = [](auto member) { return [member](J json) { return json.robust.all.*member; }; };
    const auto inside = [](auto member) { return [member](J json) { return json.robust.inside.*member; }; };
    using D = stats::Distribution;
    v.Constant("schema_version", 1);
    v("name", [](J json) { return json.experiment.label; });
    v("count", all(&D::n));
    v("mean_ms", all(&D::mean), kMs);
    v("median_ms", all(&D::p50), kMs);
    v("std_dev_ms", all(&D::sd), kMs);
    v("cv_percent", [](J json) { return Percent(json.robust.all.cv); });
    v("min_ms", all(&D::min), kMs);
    v("max_ms", all(&D::max), kMs);
    v.Object("percentiles", [&](auto& in) {
      in("p50", all(&D::p50), kMs);
      in("p75", [](J json) { return json.robust.p75; }, kMs);
      in("p90", all(&D::p90), kMs);
      in("p95", all(&D::p95), kMs);
      in("p99", all(&D::p99), kMs);
    });
    v.Object("outliers", [&](auto& in) {
      in("count", all(&D::outliers));
      in("percentage", [](J json) {
        const D& of = json.robust.all;
        return of.n > 0 ? std::optional(100.0 * static_cast<double>(of.outliers) / static_cast<double>(of.n))
                        : std::nullopt;
      });
      in("values", [](J json) { return json.robust.outliers; }, kMs);
      in.Object("bounds", [](auto& bounds) {
        bounds("lower", [](J json) { return json.robust.fences.low; }, {.scale = 1e6, .or_null = true});
        bounds("upper", [](J json) { return json.robust.fences.high; }, {.scale = 1e6, .or_null = true});
      });
    });
    v("trimmed_mean_5_ms", all(&D::trimmed_mean_5), kMs);
    v("trimmed_mean_10_ms", all(&D::trimmed_mean_10), kMs);
    v.Object("robust_stats", [&](auto& in) {
      in("count", inside(&D::n));
      in("mean_ms", inside(&D::mean), kMs);
      in("median_ms", inside(&D::p50), kMs);
      in("std_dev_ms", inside(&D::sd), kMs);
      in("cv_percent", [](J json) { return Percent(json.robust.inside.cv); });
    });
    v("latencies_ms", [](J json) -> const auto& { return json.series.ns; }, kMs);
    v("run_indices", [](J json) -> const auto& { return json.series.run; });
    v("mad_ms", all(&D::mad), kMs);
    v("latency_from",
      [](J json) -> std::optional<std::string_view> {
        if (json.robust.all.n == 0) return std::nullopt;
        return json.experiment.latency_from_trace ? "trace" : "untraced";
      },
      {.choices = "untraced|trace"});
    v("experiment", [](J json) { return json.report.run.experiments[json.experiment.index].name; });
    v("threads", [](J json) { return json.experiment.threads; }, {.least = 1});
  }
};

struct RobustSideJson {
  const std::string& name;
  RobustLatency robust;

  static void Describe(auto& v) {
    using J = const RobustSideJson&;
    v("name", [](J json) -> const auto& { return json.name; });
    v("median_ms", [](J json) { return json.robust.inside.p50; }, kMs);
    v("trimmed_mean_ms", [](J json) { return json.robust.all.trimmed_mean_5; }, kMs);
    v("cv_percent", [](J json) { return Percent(json.robust.inside.cv); });
    v("count", [](J json) { return json.robust.all.n; });
  }
};

struct RobustComparisonJson {
  const Comparison& comparison;
  RobustSideJson a, b;

  std::string Text() const {
    const VerdictWords words = WordsOf(comparison.latency);
    return fmt::format("{} against {}: {}{}", comparison.candidate_label, comparison.baseline_label,
                       words.verdict, words.interval.empty() ? "" : " " + words.interval);
  }
  std::optional<std::string> MoreVariable() const {
    const std::optional<double>&of_a = a.robust.inside.cv, &of_b = b.robust.inside.cv;
    if (!of_a || !of_b || *of_a == *of_b) return std::nullopt;
    return *of_a > *of_b ? a.name : b.name;
  }

  static void Describe(auto& v) {
    using J = const RobustComparisonJson&;
    const auto estimate = [](auto read) {
      return [read](J json) -> std::optional<double> {
        const auto& told = json.comparison.latency.estimate;
        return told ? std::optional(read(*told)) : std::nullopt;
      };
    };
    v.Constant("schema_version", 1);
    v("config1", [](J json) -> const auto& { return json.a; });
    v("config2", [](J json) -> const auto& { return json.b; });
    v.Object("speedup", [](auto& in) {
      in("median_based", [](J json) { return Quotient(json.a.robust.inside.p50, json.b.robust.inside.p50); });
      in("trimmed_mean_based",
         [](J json) { return Quotient(json.a.robust.all.trimmed_mean_5, json.b.robust.all.trimmed_mean_5); });
      in("description", &RobustComparisonJson::Text);
    });
    v.Object("variability", [](auto& in) {
      in("config1_cv", [](J json) { return Percent(json.a.robust.inside.cv); });
      in("config2_cv", [](J json) { return Percent(json.b.robust.inside.cv); });
      in("more_variable", &RobustComparisonJson::MoreVariable);
      in("cv_ratio", [](J json) { return Quotient(json.a.robust.inside.cv, json.b.robust.inside.cv); });
    });
    v("verdict", [](J json) { return json.comparison.latency.verdict; });
    v("ratio", estimate([](const auto& told) { return told.ratio(); }));
    v("ratio_low", estimate([](const auto& told) { return told.low(); }));
    v("ratio_high", estimate([](const auto& told) { return told.high(); }));
    v("confidence", estimate([](const auto& told) { return told.confidence; }));
  }
};

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
  out << JsonText(ToJson(RobustStatsJson{report, experiment, series, DescribeRobustly(series.ns)}), 2)
      << '\n';
}

nlohmann::ordered_json RobustStatsSchema() {
  return SchemaOf<RobustStatsJson>(
      "<stem>_robust_stats.json: an experiment's latency in statistics that a few disturbed runs do not move",
      "docs/reference/files.md. What is not defined is null.");
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
  const auto side = [&](const std::string& name, std::size_t experiment) {
    return RobustSideJson{name, DescribeRobustly(LatencySeriesOf(report, report.experiments[experiment]).ns)};
  };
  const RobustComparisonJson json{pair.comparison, side(pair.comparison.baseline_label, pair.baseline),
                                  side(pair.comparison.candidate_label, pair.candidate)};
  out << JsonText(ToJson(json), 2) << '\n';
}

nlohmann::ordered_json RobustComparisonSchema() {
  return SchemaOf<RobustComparisonJson>("<model>_robust_comparison.json: the latencies of a pair",
                                        "docs/reference/files.md. What is not defined is null.");
}

}  // namespace etprof
