#include "show/formats/csv/kit_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/json/json_schema_of.h"
#include "core/text/csv_members.h"
#include "measure/store/run_files.h"
#include "report/findings/robust.h"
#include "show/formats/csv/csv_table.h"
#include "show/wording.h"

namespace etprof {
namespace {

using stats::Distribution;

// Indices into Profile::operators of every operator, including the framework's spans, by decreasing time.
std::vector<std::size_t> OperatorsByDecreasingTime(const Profile& profile) {
  std::vector<std::size_t> order(profile.operators.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::size_t op) { return profile.statistics[op].total_self; });
  return order;
}

// Returns total / n, rounded to the nearest nanosecond by integer arithmetic. Absent if there are no runs.
std::optional<Nanoseconds> NearestMean(Nanoseconds total, std::int64_t n) {
  if (n <= 0) return std::nullopt;
  const Nanoseconds remainder = std::abs(total % n);
  const std::int64_t rounding = remainder >= n - remainder ? 1 : 0;
  return total / n + (total < 0 ? -rounding : rounding);
}

// An operator, or the truncated time (absent index).
struct OperatorOrClipped {
  const Profile& profile;
  std::optional<std::size_t> index;

  const Operator& op() const { return profile.operators[*index]; }
  const SpanStatistics& sums() const { return profile.statistics[*index]; }

  // Reads a text of an operator; `clipped` for truncated time.
  static auto OperatorText(auto read, const char* clipped) {
    return [=](const auto& record) { return record.index ? std::string(read(record)) : clipped; };
  }
  static auto OperatorValue(auto read) {
    return [=](const auto& record) { return record.index ? std::optional(read(record)) : std::nullopt; };
  }
  static auto SelfTimeStatistic(std::optional<double> Distribution::*member) {
    return [=](const auto& record) { return record.index ? record.sums().self.*member : std::nullopt; };
  }
};

struct OperatorStatisticsRow : OperatorOrClipped {
  static constexpr int kDigits = 6;
  Nanoseconds self = 0, execute_total = 0;
  std::int64_t runs = 0;

  static void Describe(auto& v) {
    using Record = const OperatorStatisticsRow&;
    v("model_id", [](Record record) { return record.profile.model_id; }, {.meaning = kModelId});
    v("name", OperatorText([](Record record) { return record.op().name; }, kClipped),
      {.meaning = kNameInInspector});
    v("type", OperatorText([](Record record) { return record.op().type; }, kClipped),
      {.meaning = kOperatorType});
    v("delegate_backend", OperatorText([](Record record) { return record.op().backend; }, ""),
      kOperatorBackend);
    v("count", OperatorValue([](Record record) { return record.sums().runs; }), {.meaning = kRunsOfOperator});
    v("total_ms", OperatorValue([](Record record) { return record.sums().total_duration; }),
      {.meaning = "its duration over the common set", .scale = 1e6});
    v("avg_ms",
      [](Record record) {
        return record.index ? NearestMean(record.sums().total_duration, record.sums().runs) : std::nullopt;
      },
      {.meaning = "divided by `count`", .scale = 1e6});
    v("pct_total", OperatorValue([](Record record) {
        return PercentShare{record.sums().total_duration, record.execute_total};
      }),
      {.meaning = "of all `Method::execute`; nested, does not add up"});
    v("key", OperatorText([](Record record) { return KeyText(record.op().key); }, "clipped"),
      {.meaning = kKeyAsNodeId});
    v("category", OperatorText([](Record record) { return record.op().category.name; }, "framework"),
      {.meaning = kOperatorCategory});
    v("group",
      OperatorText([](Record record) { return OperatorGroupName(record.op().category.group); }, kClipped),
      {.meaning = kOperatorGroup});
    v("self_total_ms", &OperatorStatisticsRow::self,
      {.meaning = "self time over the common set; the column adds up to all `Method::execute`",
       .scale = 1e6});
    v("self_avg_ms", [](Record record) { return NearestMean(record.self, record.runs); },
      {.meaning = "divided by `runs`", .scale = 1e6});
    v("self_pct", [](Record record) { return PercentShare{record.self, record.execute_total}; },
      {.meaning = kPercentOfMethod});
    v("runs", &OperatorStatisticsRow::runs, {.meaning = kRunsOfCommonSet});
    v("p50_ms", SelfTimeStatistic(&Distribution::p50), kMs.WithMeaning(kSelfMedian));
    v("p90_ms", SelfTimeStatistic(&Distribution::p90), kMs.WithMeaning(kP90OfRuns));
    v("p95_ms", SelfTimeStatistic(&Distribution::p95), kMs.WithMeaning(kP95OfRuns));
    v("p99_ms", SelfTimeStatistic(&Distribution::p99), kMs.WithMeaning(kP99OfRuns));
    v("min_ms", SelfTimeStatistic(&Distribution::min), kMs.WithMeaning(kMinOfRuns));
    v("max_ms", SelfTimeStatistic(&Distribution::max), kMs.WithMeaning(kMaxOfRuns));
    v("sd_ms", SelfTimeStatistic(&Distribution::sd), kMs.WithMeaning(kSdOfRuns));
    v("cv", SelfTimeStatistic(&Distribution::cv), {.meaning = kCvMeaning});
  }
};

struct OperatorDetailsRow : OperatorOrClipped {
  const ReportExperiment& experiment;
  Nanoseconds total = 0;

  static void Describe(auto& v) {
    using Record = const OperatorDetailsRow&;
    v("operator", OperatorText([](Record record) { return record.op().name; }, kClipped),
      {.meaning = kNameInInspector});
    v("category", OperatorText([](Record record) { return record.op().category.name; }, "framework"),
      {.meaning = kOperatorCategory});
    v("total_ms", &OperatorDetailsRow::total, kSelfTotal);
    v("avg_ms", [](Record record) { return QuotientIfDefined(record.total, record.experiment.common_runs); },
      {.meaning = "divided by `runs`", .scale = 1e6});
    v("pct_of_e2e", [](Record record) { return MaybePercent(record.total, record.experiment.groups.total); },
      {.meaning = kPercentOfMethod});
    v("event_count", OperatorValue([](Record record) { return record.sums().runs; }),
      {.meaning = kRunsOfOperator});
    v("key", OperatorText([](Record record) { return KeyText(record.op().key); }, "clipped"),
      {.meaning = kKeyAsNodeId});
    v("type", OperatorText([](Record record) { return record.op().type; }, kClipped),
      {.meaning = kOperatorType});
    v("delegate_backend", OperatorText([](Record record) { return record.op().backend; }, ""),
      kOperatorBackend);
    v("group",
      OperatorText([](Record record) { return OperatorGroupName(record.op().category.group); }, kClipped),
      {.meaning = kOperatorGroup});
    v("runs", [](Record record) { return record.experiment.common_runs; }, {.meaning = kRunsOfCommonSet});
    v("median_ms", SelfTimeStatistic(&Distribution::p50), kMs.WithMeaning(kSelfMedian));
    v("max_ms", SelfTimeStatistic(&Distribution::max), kMs.WithMeaning(kMaxOfRuns));
    v("cv", SelfTimeStatistic(&Distribution::cv), {.meaning = kCvMeaning});
    v("layer",
      [](Record record) {
        return record.index ? LayerName(*record.experiment.profile, *record.index) : std::nullopt;
      },
      {.meaning = kInnermostModule});
    v("source",
      [](Record record) {
        return record.index ? SourceLineName(*record.experiment.profile, *record.index) : std::nullopt;
      },
      {.meaning = kSourceLine});
  }
};

struct CategoryRow {
  const Breakdown& categories;
  const AdditiveRow& row;

  static void Describe(auto& v) {
    using Record = const CategoryRow&;
    v("category", [](Record record) { return record.row.name; }, {.meaning = "what its operators compute"});
    v("total_ms", [](Record record) { return record.row.total; }, kSelfTotal);
    v("avg_ms", [](Record record) { return QuotientIfDefined(record.row.total, record.categories.runs); },
      {.meaning = "divided by `runs`", .scale = 1e6});
    v("pct_of_e2e", [](Record record) { return MaybePercent(record.row.total, record.categories.total); },
      {.meaning = kPercentOfMethod});
    v("operator_count", [](Record record) { return record.row.operators; }, {.meaning = kOperatorsOfRow});
    v("runs", [](Record record) { return record.categories.runs; }, {.meaning = kRunsOfCommonSet});
  }
};

struct E2eLatencyRow {
  const Report& report;
  const ReportExperiment& experiment;
  std::optional<Nanoseconds> min, max;  // extremes over the runs of the common set

  static void Describe(auto& v) {
    using Record = const E2eLatencyRow&;
    const auto latency = [&](const char* name, auto member, std::string_view meaning) {
      v(name, [member](Record record) { return record.experiment.latency.*member; },
        {.meaning = meaning, .scale = 1e6});
    };
    v("model_name", [](Record record) { return record.experiment.profile->model_id; }, {.meaning = kModelId});
    v("num_runs", [](Record record) { return record.experiment.common_runs; }, {.meaning = kRunsOfCommonSet});
    v("total_ms", [](Record record) { return record.experiment.groups.total; },
      {.meaning = "`Method::execute` over the common set", .scale = 1e6});
    v("avg_ms",
      [](Record record) {
        return QuotientIfDefined(record.experiment.groups.total, record.experiment.common_runs);
      },
      {.meaning = "divided by `num_runs`", .scale = 1e6});
    v("min_ms", &E2eLatencyRow::min, kMs.WithMeaning("shortest `Method::execute` of these runs"));
    v("max_ms", &E2eLatencyRow::max, kMs.WithMeaning("longest `Method::execute` of these runs"));
    v("experiment", [](Record record) { return record.experiment.Data(record.report).name; },
      {.meaning = kExperimentName});
    v("threads", [](Record record) { return record.experiment.threads; }, kThreadsOfPool);
    v("latency_from", [](Record record) { return record.experiment.LatencySource(); }, kLatencySource);
    v("latency_runs", [](Record record) { return record.experiment.latency.n; }, {.meaning = kRunsOfLatency});
    latency("latency_median_ms", &Distribution::p50, kMedianOfLatency);
    latency("latency_mean_ms", &Distribution::mean, kMeanOfRuns);
    latency("latency_sd_ms", &Distribution::sd, kSdOfRuns);
    latency("latency_p90_ms", &Distribution::p90, kP90OfRuns);
    latency("latency_p99_ms", &Distribution::p99, kP99OfRuns);
    v("first_run_ms", [](Record record) { return record.experiment.first_run; }, kMs.WithMeaning(kFirstRun));
    v("load_ms", [](Record record) { return record.experiment.load; }, kMs.WithMeaning(kLoadTime));
    v("peak_rss_bytes", [](Record record) { return record.experiment.peak_rss; }, {.meaning = kPeakRss});
  }
};

std::optional<double> Percent(const std::optional<double>& ratio) {
  return ratio ? std::optional(*ratio * 100) : std::nullopt;
}

std::optional<double> Quotient(const std::optional<double>& numerator,
                               const std::optional<double>& denominator) {
  if (!numerator || !denominator || *denominator <= 0) return std::nullopt;
  return *numerator / *denominator;
}

struct RobustStatsJson {
  const Report& report;
  const ReportExperiment& experiment;
  const LatencySeries& series;
  RobustLatency robust;

  static void Describe(auto& v) {
    using J = const RobustStatsJson&;
    const auto all = [](auto member) { return [member](J json) { return json.robust.all.*member; }; };
    const auto within_fences = [](auto member) {
      return [member](J json) { return json.robust.within_fences.*member; };
    };
    DescribeSchemaVersion(v);
    v("name", [](J json) { return json.experiment.label; }, {.meaning = "label of the experiment"});
    v("count", all(&Distribution::n), {.meaning = "runs that the latency is of"});
    v("mean_ms", all(&Distribution::mean), kMs.WithMeaning("of all of these runs, as what follows"));
    v("median_ms", all(&Distribution::p50), kMs.WithMeaning("of these runs"));
    v("std_dev_ms", all(&Distribution::sd), kMs.WithMeaning("with n - 1"));
    v("cv_percent", [](J json) { return Percent(json.robust.all.cv); },
      {.meaning = "standard deviation over mean"});
    v("min_ms", all(&Distribution::min), kMs.WithMeaning("of these runs"));
    v("max_ms", all(&Distribution::max), kMs.WithMeaning("of these runs"));
    v.Object("percentiles",
             [&](auto& object) {
               object("p50", all(&Distribution::p50), kMs.WithMeaning("median"));
               object("p75", [](J json) { return json.robust.p75; }, kMs.WithMeaning("third quartile"));
               object("p90", all(&Distribution::p90), kMs.WithMeaning("90th percentile"));
               object("p95", all(&Distribution::p95), kMs.WithMeaning("95th percentile"));
               object("p99", all(&Distribution::p99), kMs.WithMeaning("99th percentile"));
             },
             {.meaning = "milliseconds, by linear interpolation"});
    v.Object("outliers",
             [&](auto& object) {
               object("count", all(&Distribution::outliers), {.meaning = "how many there are"});
               object("percentage",
                      [](J json) {
                        const Distribution& latencies = json.robust.all;
                        return latencies.n > 0
                                   ? std::optional(100.0 * static_cast<double>(latencies.outliers) /
                                                   static_cast<double>(latencies.n))
                                   : std::nullopt;
                      },
                      {.meaning = "of `count` above"});
               object("values", [](J json) { return json.robust.outliers; },
                      {.meaning = "milliseconds, in the order in which they were measured", .scale = 1e6});
               object.Object("bounds",
                             [](auto& bounds) {
                               bounds("lower", [](J json) { return json.robust.fences.low; },
                                      {.meaning = "null: there is none, of fewer than four runs",
                                       .scale = 1e6,
                                       .or_null = true});
                               bounds("upper", [](J json) { return json.robust.fences.high; },
                                      {.meaning = "null: there is none, of fewer than four runs",
                                       .scale = 1e6,
                                       .or_null = true});
                             },
                             {.meaning = "the fences, milliseconds"});
             },
             {.meaning = "runs outside of Tukey's fences: 1.5 interquartile ranges beyond the quartiles"});
    v("trimmed_mean_5_ms", all(&Distribution::trimmed_mean_5),
      kMs.WithMeaning("without the lowest and the highest 5% of the runs"));
    v("trimmed_mean_10_ms", all(&Distribution::trimmed_mean_10),
      kMs.WithMeaning("without the lowest and the highest 10% of the runs"));
    v.Object("robust_stats",
             [&](auto& object) {
               object("count", within_fences(&Distribution::n), {.meaning = "how many there are"});
               object("mean_ms", within_fences(&Distribution::mean),
                      kMs.WithMeaning("of the runs within the fences"));
               object("median_ms", within_fences(&Distribution::p50),
                      kMs.WithMeaning("of the runs within the fences"));
               object("std_dev_ms", within_fences(&Distribution::sd), kMs.WithMeaning("with n - 1"));
               object("cv_percent", [](J json) { return Percent(json.robust.within_fences.cv); },
                      {.meaning = "standard deviation over mean"});
             },
             {.meaning = "of the runs within the fences"});
    v("latencies_ms", [](J json) -> const auto& { return json.series.ns; },
      {.meaning = "in the order in which they were measured", .scale = 1e6});
    v("run_indices", [](J json) -> const auto& { return json.series.run_indices; },
      {.meaning = "of each latency: its place among the recorded runs, or in the ETDump where the latency is "
                  "the traced one"});
    v("mad_ms", all(&Distribution::mad),
      kMs.WithMeaning("median of the distances from the median, not scaled"));
    v("latency_from", [](J json) { return json.experiment.LatencySource(); }, kLatencySource);
    v("experiment", [](J json) { return json.experiment.Data(json.report).name; },
      {.meaning = kExperimentName});
    v("threads", [](J json) { return json.experiment.threads; }, kThreadsOfPool);
  }
};

constexpr std::string_view kBaseline = "<baseline>", kCandidate = "<candidate>";

struct ComparisonRow {
  const Comparison& comparison;
  const DeltaRow& row;
  std::optional<double> baseline_ns, candidate_ns;  // mean self times

  std::optional<double> Speedup() const {
    return row.baseline_total > 0 && row.candidate_total > 0 ? Quotient(baseline_ns, candidate_ns)
                                                             : std::nullopt;
  }
  std::optional<double> Delta() const {
    return baseline_ns && candidate_ns ? std::optional(*candidate_ns - *baseline_ns) : std::nullopt;
  }

  static void Describe(auto& v) {
    using Record = const ComparisonRow&;
    const auto estimate = [&](const char* name, auto read, std::string_view meaning) {
      v(name, [read](Record record) { return ReadEstimate(record.row.time_comparison, read); },
        {.meaning = meaning});
    };
    using E = stats::RatioEstimate;
    v("category", [](Record record) { return record.row.name; }, {.meaning = "what its operators compute"});
    v("<baseline>_ms", &ComparisonRow::baseline_ns, {.meaning = "mean self time; adds up", .scale = 1e6});
    v("<candidate>_ms", &ComparisonRow::candidate_ns, kMs.WithMeaning("mean self time; adds up"));
    v("speedup", &ComparisonRow::Speedup, {.meaning = "their quotient; above 1: the candidate is faster"});
    v("<baseline>_pct",
      [](Record record) { return MaybePercent(record.row.baseline_total, record.comparison.baseline_total); },
      {.meaning = kPercentOfMethod});
    v("<candidate>_pct",
      [](Record record) {
        return MaybePercent(record.row.candidate_total, record.comparison.candidate_total);
      },
      {.meaning = kPercentOfMethod});
    v("delta_ms", &ComparisonRow::Delta, {.meaning = "candidate minus baseline; adds up", .scale = 1e6});
    estimate("ratio", &E::ratio,
             "baseline / candidate by the launches: what the verdict is of; empty: not known");
    estimate("ratio_low", &E::low, "lower bound of the ratio");
    estimate("ratio_high", &E::high, "upper bound of the ratio; empty: unbounded, or no ratio");
    estimate("p_value", &E::p_value, "two-sided, of the claim that there is no difference");
    v("verdict",
      [](Record record) {
        return record.row.name == kClipped ? std::nullopt : std::optional(record.row.time_comparison.verdict);
      },
      {.meaning = kVerdict});
  }
};

struct RobustVariantJson {
  const std::string& name;
  RobustLatency robust;

  static void Describe(auto& v) {
    using J = const RobustVariantJson&;
    v("name", [](J json) -> const auto& { return json.name; }, {.meaning = "label of the experiment"});
    v("median_ms", [](J json) { return json.robust.within_fences.p50; },
      {.meaning = "of the runs within Tukey's fences", .scale = 1e6});
    v("trimmed_mean_ms", [](J json) { return json.robust.all.trimmed_mean_5; },
      {.meaning = "without the lowest and the highest 5% of all runs", .scale = 1e6});
    v("cv_percent", [](J json) { return Percent(json.robust.within_fences.cv); },
      {.meaning = "of the runs within Tukey's fences: standard deviation over mean"});
    v("count", [](J json) { return json.robust.all.n; }, {.meaning = "all runs that the latency is of"});
  }
};

struct RobustComparisonJson {
  const Comparison& comparison;
  RobustVariantJson baseline, candidate;

  std::string Text() const {
    const VerdictTexts texts = MakeVerdictTexts(comparison.latency);
    return fmt::format("{} against {}: {}{}", comparison.candidate_label, comparison.baseline_label,
                       texts.verdict, texts.interval.empty() ? "" : " " + texts.interval);
  }
  std::optional<std::string> MoreVariable() const {
    const std::optional<double>&baseline_cv = baseline.robust.within_fences.cv,
          &candidate_cv = candidate.robust.within_fences.cv;
    if (!baseline_cv || !candidate_cv || *baseline_cv == *candidate_cv) return std::nullopt;
    return *baseline_cv > *candidate_cv ? baseline.name : candidate.name;
  }

  static void Describe(auto& v) {
    using J = const RobustComparisonJson&;
    using E = stats::RatioEstimate;
    const auto estimate = [](auto read) {
      return [read](J json) { return ReadEstimate(json.comparison.latency, read); };
    };
    DescribeSchemaVersion(v);
    v("config1", [](J json) -> const auto& { return json.baseline; }, {.meaning = "the baseline"});
    v("config2", [](J json) -> const auto& { return json.candidate; }, {.meaning = "the candidate"});
    v.Object("speedup",
             [](auto& object) {
               object("median_based",
                      [](J json) {
                        return Quotient(json.baseline.robust.within_fences.p50,
                                        json.candidate.robust.within_fences.p50);
                      },
                      {.meaning = "of their median_ms"});
               object("trimmed_mean_based",
                      [](J json) {
                        return Quotient(json.baseline.robust.all.trimmed_mean_5,
                                        json.candidate.robust.all.trimmed_mean_5);
                      },
                      {.meaning = "of their trimmed_mean_ms"});
               object("description", &RobustComparisonJson::Text, {.meaning = "the verdict in words"});
             },
             {.meaning = "config1 over config2; above 1, the candidate is faster"});
    v.Object("variability",
             [](auto& object) {
               object("config1_cv", [](J json) { return Percent(json.baseline.robust.within_fences.cv); },
                      {.meaning = "percent"});
               object("config2_cv", [](J json) { return Percent(json.candidate.robust.within_fences.cv); },
                      {.meaning = "percent"});
               object("more_variable", &RobustComparisonJson::MoreVariable,
                      {.meaning = "name of the one with the larger of these; null: they are equal"});
               object("cv_ratio",
                      [](J json) {
                        return Quotient(json.baseline.robust.within_fences.cv,
                                        json.candidate.robust.within_fences.cv);
                      },
                      {.meaning = "config1_cv over config2_cv"});
             },
             {.meaning = "of the runs within Tukey's fences"});
    v("verdict", [](J json) { return json.comparison.latency.verdict; },
      {.meaning = "of the interval, on the candidate; docs/concepts/statistics.md"});
    v("ratio", estimate(&E::ratio),
      {.meaning = "baseline / candidate by the launches: what the verdict is of"});
    v("ratio_low", estimate(&E::low), {.meaning = "lower bound of the ratio"});
    v("ratio_high", estimate(&E::high), {.meaning = "upper bound of the ratio"});
    v("confidence", estimate(&E::confidence), {.meaning = "of the interval"});
  }
};

}  // namespace

std::map<std::string, nlohmann::ordered_json> KitCsvSchemas() {
  return {{kOperatorStatisticsSuffix, MakeSchema<OperatorStatisticsRow>(
                                          "`<stem>_exec_ops_stats.csv`",
                                          "One row per operator (by identity, not by name), by falling self "
                                          "time. A last row `Clipped` completes the sums if spans were "
                                          "truncated.")},
          {kCategorySummarySuffix,
           MakeSchema<CategoryRow>("`<stem>_category_summary.csv`", "One row per category.")},
          {kOperatorDetailsSuffix,
           MakeSchema<OperatorDetailsRow>("`<stem>_operator_details.csv`, `<stem>_other_top_ops.csv`",
                                          "One row per operator; per operator of the category `OTHER`.")},
          {kEndToEndLatencySuffix,
           MakeSchema<E2eLatencyRow>("`<stem>_e2e_latency.csv`",
                                     "One row: `Method::execute`, then the headline latency.")},
          {kComparisonSuffix, MakeSchema<ComparisonRow>(
                                  "`<model>_comparison.csv`",
                                  "One row per category. The labels of the pair stand for `<baseline>` and "
                                  "`<candidate>`.")}};
}

void RenderOperatorStatisticsCsv(const Profile& profile, std::ostream& out) {
  const std::vector<std::size_t> common = profile.CommonSet();
  Nanoseconds execute_total = 0, clipped = 0;
  for (const std::size_t run : common) {
    execute_total += profile.runs[run].total;
    clipped += profile.runs[run].clipped;
  }
  const auto runs = static_cast<std::int64_t>(common.size());
  CsvWriter<OperatorStatisticsRow> rows(out);
  for (const std::size_t op : OperatorsByDecreasingTime(profile))
    rows.Row({{profile, op}, profile.statistics[op].total_self, execute_total, runs});
  if (clipped != 0) rows.Row({{profile, std::nullopt}, clipped, execute_total, runs});
}

void RenderCategorySummaryCsv(const ReportExperiment& experiment, std::ostream& out) {
  const Breakdown& categories = experiment.categories;
  CsvWriter<CategoryRow> table(out);
  std::vector<AdditiveRow> rows = categories.rows;
  if (rows.empty()) return;
  std::ranges::stable_sort(rows.begin(), rows.end() - 1, std::greater(), &AdditiveRow::total);
  if (rows.back().total == 0) rows.pop_back();  // truncated time
  for (const AdditiveRow& row : rows) table.Row({categories, row});
}

void RenderOperatorDetailsCsv(const ReportExperiment& experiment, std::ostream& out) {
  CsvWriter<OperatorDetailsRow> table(out);
  Nanoseconds clipped = experiment.groups.total;
  for (const std::size_t op : OperatorsByDecreasingTime(*experiment.profile)) {
    const Nanoseconds total = experiment.profile->statistics[op].total_self;
    table.Row({{*experiment.profile, op}, experiment, total});
    clipped -= total;
  }
  if (clipped != 0) table.Row({{*experiment.profile, std::nullopt}, experiment, clipped});
}

void RenderOtherTopOpsCsv(const ReportExperiment& experiment, std::ostream& out) {
  CsvWriter<OperatorDetailsRow> table(out);
  for (const std::size_t op : OperatorsByDecreasingTime(*experiment.profile)) {
    if (experiment.profile->operators[op].category.name == "OTHER")
      table.Row({{*experiment.profile, op}, experiment, experiment.profile->statistics[op].total_self});
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
  CsvWriter<E2eLatencyRow>(out).Row({report, experiment, min, max});
}

void RenderRobustStatsJson(const Report& report, const ReportExperiment& experiment, std::ostream& out) {
  const LatencySeries series = CollectLatencySeries(report, experiment);
  WriteJson(RobustStatsJson{report, experiment, series, SummarizeWithoutOutliers(series.ns)}, 2, out);
}

nlohmann::ordered_json RobustStatsSchema() {
  return MakeSchema<RobustStatsJson>(
      "<stem>_robust_stats.json: an experiment's latency in statistics that a few disturbed runs do not move",
      "docs/reference/files.md. What is not defined is null.");
}

void RenderComparisonCsv(const ReportComparison& pair, std::ostream& out) {
  const Comparison& comparison = pair.comparison;
  std::vector<std::string> columns = CsvColumns<ComparisonRow>();
  for (std::string& column : columns) {
    if (column.starts_with(kBaseline)) {
      column.replace(0, kBaseline.size(), comparison.baseline_label);
    } else if (column.starts_with(kCandidate)) {
      column.replace(0, kCandidate.size(), comparison.candidate_label);
    }
  }
  CsvWriter<ComparisonRow> table(out, columns);
  for (const DeltaRow& row : comparison.categories) {
    if (row.name == kClipped && row.baseline_total == 0 && row.candidate_total == 0) continue;
    table.Row({comparison, row, QuotientIfDefined(row.baseline_total, comparison.baseline_runs),
               QuotientIfDefined(row.candidate_total, comparison.candidate_runs)});
  }
}

void RenderRobustComparisonJson(const Report& report, const ReportComparison& pair, std::ostream& out) {
  const auto make_variant = [&](const std::string& name, std::size_t experiment) {
    return RobustVariantJson{
        name, SummarizeWithoutOutliers(CollectLatencySeries(report, report.experiments[experiment]).ns)};
  };
  const RobustComparisonJson json{pair.comparison,
                                  make_variant(pair.comparison.baseline_label, pair.baseline),
                                  make_variant(pair.comparison.candidate_label, pair.candidate)};
  WriteJson(json, 2, out);
}

nlohmann::ordered_json RobustComparisonSchema() {
  return MakeSchema<RobustComparisonJson>("<model>_robust_comparison.json: the latencies of a pair",
                                          "docs/reference/files.md. What is not defined is null.");
}

}  // namespace etprof
