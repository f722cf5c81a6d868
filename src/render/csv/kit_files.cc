#include "render/csv/kit_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json/json_schema_of.h"
#include "render/csv/csv_table.h"
#include "report/findings/robust.h"
#include "say/wording.h"

namespace etprof {
namespace {

// An operator, or (absent) the time that was clipped.
struct OfDetails {
  const ReportExperiment& experiment;
  std::optional<std::size_t> index;
  Nanoseconds total = 0;

  const Operator& op() const { return experiment.profile->operators[*index]; }
  const SpanStatistics& statistics() const { return experiment.profile->statistics[*index]; }
};

CsvColumns<OfDetails> OperatorColumns() {
  using Of = OfDetails;
  // `of_operator` of an operator, else `clipped`.
  const auto either = [](auto of_operator, const char* clipped) {
    return [=](const Of& of) { return of.index ? std::string(of_operator(of)) : clipped; };
  };
  return {{"operator", either([](const Of& of) { return of.op().name; }, "Clipped")},
          {"category", either([](const Of& of) { return of.op().category.name; }, "framework")},
          {"total_ms", [](const Of& of) { return ExactMilliseconds(of.total); }},
          {"avg_ms", [](const Of& of) { return MeanMsCell(of.total, of.experiment.common_runs); }},
          {"pct_of_e2e", [](const Of& of) { return PercentCell(of.total, of.experiment.groups.total); }},
          {"event_count", either([](const Of& of) { return std::to_string(of.statistics().runs); }, "")},
          {"key", either([](const Of& of) { return KeyText(of.op().key); }, "clipped")},
          {"type", either([](const Of& of) { return of.op().type; }, "Clipped")},
          {"delegate_backend", either([](const Of& of) { return of.op().backend; }, "")},
          {"group", either([](const Of& of) { return GroupName(of.op().category.group); }, "Clipped")},
          {"runs", [](const Of& of) { return std::to_string(of.experiment.common_runs); }},
          {"median_ms", either([](const Of& of) { return MsCell(of.statistics().self.p50); }, "")},
          {"max_ms", either([](const Of& of) { return MsCell(of.statistics().self.max); }, "")},
          {"cv", either([](const Of& of) { return NumberCell(of.statistics().self.cv); }, "")},
          {"layer",
           either([](const Of& of) { return LayerOf(*of.experiment.profile, *of.index).value_or(""); }, "")},
          {"source",
           either([](const Of& of) { return SourceLineOf(*of.experiment.profile, *of.index).value_or(""); },
                  "")}};
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
    v("latency_from", [](J json) { return json.experiment.LatencySource(); }, kLatencyFrom);
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
  const Breakdown& categories = experiment.categories;
  using Of = AdditiveRow;
  CsvRows<Of> table(out,
                    {{"category", [](const Of& of) { return of.name; }},
                     {"total_ms", [](const Of& of) { return ExactMilliseconds(of.total); }},
                     {"avg_ms", [&](const Of& of) { return MeanMsCell(of.total, categories.runs); }},
                     {"pct_of_e2e", [&](const Of& of) { return PercentCell(of.total, categories.total); }},
                     {"operator_count", [](const Of& of) { return std::to_string(of.operators); }},
                     {"runs", [&](const Of&) { return std::to_string(categories.runs); }}});
  std::vector<AdditiveRow> rows = categories.rows;
  if (rows.empty()) return;
  const AdditiveRow clipped = rows.back();
  rows.pop_back();
  std::ranges::stable_sort(rows,
                           [](const AdditiveRow& a, const AdditiveRow& b) { return a.total > b.total; });
  if (clipped.total != 0) rows.push_back(clipped);
  for (const AdditiveRow& row : rows) table.Row(row);
}

void RenderOperatorDetailsCsv(const ReportExperiment& experiment, std::ostream& out) {
  CsvRows<OfDetails> table(out, OperatorColumns());
  Nanoseconds rest = experiment.groups.total;
  for (const std::size_t op : ByFallingTime(*experiment.profile)) {
    const Nanoseconds total = experiment.profile->statistics[op].total_self;
    table.Row({experiment, op, total});
    rest -= total;
  }
  if (rest != 0) table.Row({experiment, std::nullopt, rest});
}

void RenderOtherTopOpsCsv(const ReportExperiment& experiment, std::ostream& out) {
  CsvRows<OfDetails> table(out, OperatorColumns());
  for (const std::size_t op : ByFallingTime(*experiment.profile)) {
    if (experiment.profile->operators[op].category.name == "OTHER")
      table.Row({experiment, op, experiment.profile->statistics[op].total_self});
  }
}

void RenderE2eLatencyCsv(const Report& report, const ReportExperiment& experiment, std::ostream& out) {
  const Profile& profile = *experiment.profile;
  std::optional<Nanoseconds> min;
  std::optional<Nanoseconds> max;
  for (const std::size_t run : profile.CommonSet()) {
    const Nanoseconds total = profile.runs[run].total;
    min = std::min(min.value_or(total), total);
    max = std::max(max.value_or(total), total);
  }
  const auto exact = [](const std::optional<Nanoseconds>& ns) { return ns ? ExactMilliseconds(*ns) : ""; };
  using Of = ReportExperiment;
  CsvRows<Of> table(
      out, {{"model_name", [&](const Of&) { return profile.model_id; }},
            {"num_runs", [](const Of& of) { return std::to_string(of.common_runs); }},
            {"total_ms", [](const Of& of) { return ExactMilliseconds(of.groups.total); }},
            {"avg_ms", [](const Of& of) { return MeanMsCell(of.groups.total, of.common_runs); }},
            {"min_ms", [&](const Of&) { return exact(min); }},
            {"max_ms", [&](const Of&) { return exact(max); }},
            {"experiment", [&](const Of& of) { return report.run.experiments[of.index].name; }},
            {"threads", [](const Of& of) { return std::to_string(of.threads); }},
            {"latency_from", [](const Of& of) { return std::string(of.LatencySource().value_or("")); }},
            {"latency_runs", [](const Of& of) { return std::to_string(of.latency.n); }},
            {"latency_median_ms", [](const Of& of) { return MsCell(of.latency.p50); }},
            {"latency_mean_ms", [](const Of& of) { return MsCell(of.latency.mean); }},
            {"latency_sd_ms", [](const Of& of) { return MsCell(of.latency.sd); }},
            {"latency_p90_ms", [](const Of& of) { return MsCell(of.latency.p90); }},
            {"latency_p99_ms", [](const Of& of) { return MsCell(of.latency.p99); }},
            {"first_run_ms", [](const Of& of) { return MsCell(of.first_run); }},
            {"load_ms", [](const Of& of) { return MsCell(of.load); }},
            {"peak_rss_bytes", [](const Of& of) { return IntegerCell(of.peak_rss); }}});
  table.Row(experiment);
}

void RenderRobustStatsJson(const Report& report, const ReportExperiment& experiment, std::ostream& out) {
  const LatencySeries series = LatencySeriesOf(report, experiment);
  WriteJson(RobustStatsJson{report, experiment, series, DescribeRobustly(series.ns)}, 2, out);
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
  struct Of {
    const DeltaRow& row;
    std::optional<double> before, after;
    bool clipped = row.name == "Clipped";
  };
  using E = stats::RatioEstimate;
  const auto estimate = [](auto member) {
    return [member](const Of& of) { return EstimateCell(of.row.quantity, member); };
  };
  CsvRows<Of> table(
      out,
      {{"category", [](const Of& of) { return of.row.name; }},
       {a + "_ms", [](const Of& of) { return MsCell(of.before); }},
       {b + "_ms", [](const Of& of) { return MsCell(of.after); }},
       {"speedup",
        [](const Of& of) {
          const bool both = of.row.baseline_total > 0 && of.row.candidate_total > 0;
          return both ? NumberCell(Quotient(of.before, of.after)) : "";
        }},
       {a + "_pct",
        [&](const Of& of) { return PercentCell(of.row.baseline_total, comparison.baseline_total); }},
       {b + "_pct",
        [&](const Of& of) { return PercentCell(of.row.candidate_total, comparison.candidate_total); }},
       {"delta_ms",
        [](const Of& of) { return of.before && of.after ? NumberCell((*of.after - *of.before) / 1e6) : ""; }},
       {"ratio", estimate(&E::ratio)},
       {"ratio_low", estimate(&E::low)},
       {"ratio_high", estimate(&E::high)},
       {"p_value", estimate(&E::p_value)},
       {"verdict", [](const Of& of) { return of.clipped ? "" : NameOf(of.row.quantity.verdict); }}});
  for (const DeltaRow& row : comparison.categories) {
    if (row.name == "Clipped" && row.baseline_total == 0 && row.candidate_total == 0) continue;
    table.Row({row, MaybeMean(row.baseline_total, comparison.baseline_runs),
               MaybeMean(row.candidate_total, comparison.candidate_runs)});
  }
}

void RenderRobustComparisonJson(const Report& report, const ReportComparison& pair, std::ostream& out) {
  const auto side = [&](const std::string& name, std::size_t experiment) {
    return RobustSideJson{name, DescribeRobustly(LatencySeriesOf(report, report.experiments[experiment]).ns)};
  };
  const RobustComparisonJson json{pair.comparison, side(pair.comparison.baseline_label, pair.baseline),
                                  side(pair.comparison.candidate_label, pair.candidate)};
  WriteJson(json, 2, out);
}

nlohmann::ordered_json RobustComparisonSchema() {
  return SchemaOf<RobustComparisonJson>("<model>_robust_comparison.json: the latencies of a pair",
                                        "docs/reference/files.md. What is not defined is null.");
}

}  // namespace etprof
