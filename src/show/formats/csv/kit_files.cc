#include "show/formats/csv/kit_files.h"

#include <fmt/format.h>

#include <algorithm>
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

// Every operator, including the framework's spans, by decreasing time: indices into Profile::operators.
std::vector<std::size_t> OperatorsByDecreasingTime(const Profile& profile) {
  std::vector<std::size_t> order(profile.operators.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return profile.statistics[a].total_self > profile.statistics[b].total_self;
  });
  return order;
}

// Rounds the mean of whole nanoseconds to the nearest nanosecond; it stays exact as total / count. Absent if
// there are no runs.
std::optional<Nanoseconds> NearestMean(Nanoseconds total, std::int64_t n) {
  if (n <= 0) return std::nullopt;
  const Nanoseconds rest = total % n;  // has the sign of `total`, and is smaller than n
  const std::int64_t up = (rest < 0 ? -rest : rest) >= n - (rest < 0 ? -rest : rest) ? 1 : 0;
  return total / n + (total < 0 ? -up : up);
}

// An operator, or (index absent) the truncated time.
struct OperatorOrClipped {
  const Profile& profile;
  std::optional<std::size_t> index;

  const Operator& op() const { return profile.operators[*index]; }
  const SpanStatistics& sums() const { return profile.statistics[*index]; }

  // Reads a text of an operator; `clipped` for truncated time.
  static auto OperatorText(auto read, const char* clipped) {
    return [=](const auto& of) { return of.index ? std::string(read(of)) : clipped; };
  }
  static auto OperatorValue(auto read) {
    return [=](const auto& of) { return of.index ? std::optional(read(of)) : std::nullopt; };
  }
  static auto SelfTimeStatistic(std::optional<double> Distribution::*member) {
    return [=](const auto& of) { return of.index ? of.sums().self.*member : std::nullopt; };
  }
};

struct OperatorStatisticsRow : OperatorOrClipped {
  static constexpr int kDigits = 6;
  Nanoseconds self = 0, whole = 0;
  std::int64_t runs = 0;

  static void Describe(auto& v) {
    using Of = const OperatorStatisticsRow&;
    v("model_id", [](Of of) { return of.profile.model_id; }, {.meaning = kModelId});
    v("name", OperatorText([](Of of) { return of.op().name; }, "Clipped"), {.meaning = kNameInInspector});
    v("type", OperatorText([](Of of) { return of.op().type; }, "Clipped"), {.meaning = kOperatorType});
    v("delegate_backend", OperatorText([](Of of) { return of.op().backend; }, ""), kOperatorBackend);
    v("count", OperatorValue([](Of of) { return of.sums().runs; }), {.meaning = kRunsOfOperator});
    v("total_ms", OperatorValue([](Of of) { return of.sums().total_duration; }),
      {.meaning = "its duration over the common set", .scale = 1e6});
    v("avg_ms",
      [](Of of) { return of.index ? NearestMean(of.sums().total_duration, of.sums().runs) : std::nullopt; },
      {.meaning = "divided by `count`", .scale = 1e6});
    v("pct_total", OperatorValue([](Of of) { return PercentShare{of.sums().total_duration, of.whole}; }),
      {.meaning = "of all `Method::execute`; nested, does not add up"});
    v("key", OperatorText([](Of of) { return KeyText(of.op().key); }, "clipped"), {.meaning = kKeyAsNodeId});
    v("category", OperatorText([](Of of) { return of.op().category.name; }, "framework"),
      {.meaning = kOperatorCategory});
    v("group", OperatorText([](Of of) { return GroupName(of.op().category.group); }, "Clipped"),
      {.meaning = kOperatorGroup});
    v("self_total_ms", &OperatorStatisticsRow::self,
      {.meaning = "self time over the common set; the column adds up to all `Method::execute`",
       .scale = 1e6});
    v("self_avg_ms", [](Of of) { return NearestMean(of.self, of.runs); },
      {.meaning = "divided by `runs`", .scale = 1e6});
    v("self_pct", [](Of of) { return PercentShare{of.self, of.whole}; }, {.meaning = kPercentOfMethod});
    v("runs", &OperatorStatisticsRow::runs, {.meaning = kRunsOfCommonSet});
    v("p50_ms", SelfTimeStatistic(&Distribution::p50), kMs.WithMeaning(kSelfMedian));
    v("p90_ms", SelfTimeStatistic(&Distribution::p90), kMs.WithMeaning(kP90OfRuns));
    v("p95_ms", SelfTimeStatistic(&Distribution::p95), kMs.WithMeaning(kP95OfRuns));
    v("p99_ms", SelfTimeStatistic(&Distribution::p99), kMs.WithMeaning(kP99OfRuns));
    v("min_ms", SelfTimeStatistic(&Distribution::min), kMs.WithMeaning(kMinOfRuns));
    v("max_ms", SelfTimeStatistic(&Distribution::max), kMs.WithMeaning(kMaxOfRuns));
    v("sd_ms", SelfTimeStatistic(&Distribution::sd), kMs.WithMeaning(kSdOfRuns));
    v("cv", SelfTimeStatistic(&Distribution::cv), {.meaning = kMeaningOfCv});
  }
};

struct OperatorDetailsRow : OperatorOrClipped {
  const ReportExperiment& experiment;
  Nanoseconds total = 0;

  static void Describe(auto& v) {
    using Of = const OperatorDetailsRow&;
    v("operator", OperatorText([](Of of) { return of.op().name; }, "Clipped"), {.meaning = kNameInInspector});
    v("category", OperatorText([](Of of) { return of.op().category.name; }, "framework"),
      {.meaning = kOperatorCategory});
    v("total_ms", &OperatorDetailsRow::total, kSelfTotal);
    v("avg_ms", [](Of of) { return QuotientIfDefined(of.total, of.experiment.common_runs); },
      {.meaning = "divided by `runs`", .scale = 1e6});
    v("pct_of_e2e", [](Of of) { return MaybePercent(of.total, of.experiment.groups.total); },
      {.meaning = kPercentOfMethod});
    v("event_count", OperatorValue([](Of of) { return of.sums().runs; }), {.meaning = kRunsOfOperator});
    v("key", OperatorText([](Of of) { return KeyText(of.op().key); }, "clipped"), {.meaning = kKeyAsNodeId});
    v("type", OperatorText([](Of of) { return of.op().type; }, "Clipped"), {.meaning = kOperatorType});
    v("delegate_backend", OperatorText([](Of of) { return of.op().backend; }, ""), kOperatorBackend);
    v("group", OperatorText([](Of of) { return GroupName(of.op().category.group); }, "Clipped"),
      {.meaning = kOperatorGroup});
    v("runs", [](Of of) { return of.experiment.common_runs; }, {.meaning = kRunsOfCommonSet});
    v("median_ms", SelfTimeStatistic(&Distribution::p50), kMs.WithMeaning(kSelfMedian));
    v("max_ms", SelfTimeStatistic(&Distribution::max), kMs.WithMeaning(kMaxOfRuns));
    v("cv", SelfTimeStatistic(&Distribution::cv), {.meaning = kMeaningOfCv});
    v("layer", [](Of of) { return of.index ? LayerName(*of.experiment.profile, *of.index) : std::nullopt; },
      {.meaning = kInnermostModule});
    v("source",
      [](Of of) { return of.index ? SourceLineName(*of.experiment.profile, *of.index) : std::nullopt; },
      {.meaning = kSourceLine});
  }
};

struct CategoryRow {
  const Breakdown& categories;
  const AdditiveRow& row;

  static void Describe(auto& v) {
    using Of = const CategoryRow&;
    v("category", [](Of of) { return of.row.name; }, {.meaning = "what its operators compute"});
    v("total_ms", [](Of of) { return of.row.total; }, kSelfTotal);
    v("avg_ms", [](Of of) { return QuotientIfDefined(of.row.total, of.categories.runs); },
      {.meaning = "divided by `runs`", .scale = 1e6});
    v("pct_of_e2e", [](Of of) { return MaybePercent(of.row.total, of.categories.total); },
      {.meaning = kPercentOfMethod});
    v("operator_count", [](Of of) { return of.row.operators; }, {.meaning = kOperatorsOfRow});
    v("runs", [](Of of) { return of.categories.runs; }, {.meaning = kRunsOfCommonSet});
  }
};

struct E2eLatencyRow {
  const Report& report;
  const ReportExperiment& experiment;
  std::optional<Nanoseconds> min, max;  // extremes over the runs of the common set

  static void Describe(auto& v) {
    using Of = const E2eLatencyRow&;
    const auto latency = [&](const char* name, auto member, std::string_view meaning) {
      v(name, [member](Of of) { return of.experiment.latency.*member; }, kMs.WithMeaning(meaning));
    };
    v("model_name", [](Of of) { return of.experiment.profile->model_id; }, {.meaning = kModelId});
    v("num_runs", [](Of of) { return of.experiment.common_runs; }, {.meaning = kRunsOfCommonSet});
    v("total_ms", [](Of of) { return of.experiment.groups.total; },
      {.meaning = "`Method::execute` over the common set", .scale = 1e6});
    v("avg_ms",
      [](Of of) { return QuotientIfDefined(of.experiment.groups.total, of.experiment.common_runs); },
      {.meaning = "divided by `num_runs`", .scale = 1e6});
    v("min_ms", &E2eLatencyRow::min, kMs.WithMeaning("shortest `Method::execute` of these runs"));
    v("max_ms", &E2eLatencyRow::max, kMs.WithMeaning("longest `Method::execute` of these runs"));
    v("experiment", [](Of of) { return of.report.run.experiments[of.experiment.index].name; },
      {.meaning = kExperimentName});
    v("threads", [](Of of) { return of.experiment.threads; }, kThreadsOfPool);
    v("latency_from", [](Of of) { return of.experiment.LatencySource(); }, kLatencySource);
    v("latency_runs", [](Of of) { return of.experiment.latency.n; }, {.meaning = kRunsOfLatency});
    latency("latency_median_ms", &Distribution::p50, kMedianOfLatency);
    latency("latency_mean_ms", &Distribution::mean, kMeanOfRuns);
    latency("latency_sd_ms", &Distribution::sd, kSdOfRuns);
    latency("latency_p90_ms", &Distribution::p90, kP90OfRuns);
    latency("latency_p99_ms", &Distribution::p99, kP99OfRuns);
    v("first_run_ms", [](Of of) { return of.experiment.first_run; }, kMs.WithMeaning(kFirstRun));
    v("load_ms", [](Of of) { return of.experiment.load; }, kMs.WithMeaning(kLoadTime));
    v("peak_rss_bytes", [](Of of) { return of.experiment.peak_rss; }, {.meaning = kPeakRss});
  }
};

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
             [&](auto& in) {
               in("p50", all(&Distribution::p50), kMs.WithMeaning("median"));
               in("p75", [](J json) { return json.robust.p75; }, kMs.WithMeaning("third quartile"));
               in("p90", all(&Distribution::p90), kMs.WithMeaning("90th percentile"));
               in("p95", all(&Distribution::p95), kMs.WithMeaning("95th percentile"));
               in("p99", all(&Distribution::p99), kMs.WithMeaning("99th percentile"));
             },
             {.meaning = "milliseconds, by linear interpolation"});
    v.Object("outliers",
             [&](auto& in) {
               in("count", all(&Distribution::outliers), {.meaning = "how many there are"});
               in("percentage",
                  [](J json) {
                    const Distribution& of = json.robust.all;
                    return of.n > 0 ? std::optional(100.0 * static_cast<double>(of.outliers) /
                                                    static_cast<double>(of.n))
                                    : std::nullopt;
                  },
                  {.meaning = "of `count` above"});
               in(
                   "values", [](J json) { return json.robust.outliers; },
                   kMs.WithMeaning("milliseconds, in the order in which they were measured"));
               in.Object("bounds",
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
             [&](auto& in) {
               in("count", inside(&Distribution::n), {.meaning = "how many there are"});
               in("mean_ms", inside(&Distribution::mean), kMs.WithMeaning("of the runs within the fences"));
               in("median_ms", inside(&Distribution::p50), kMs.WithMeaning("of the runs within the fences"));
               in("std_dev_ms", inside(&Distribution::sd), kMs.WithMeaning("with n - 1"));
               in("cv_percent", [](J json) { return Percent(json.robust.inside.cv); },
                  {.meaning = "standard deviation over mean"});
             },
             {.meaning = "of the runs within the fences"});
    v(
        "latencies_ms", [](J json) -> const auto& { return json.series.ns; },
        kMs.WithMeaning("in the order in which they were measured"));
    v("run_indices", [](J json) -> const auto& { return json.series.run; },
      {.meaning = "of each latency: its place among the recorded runs, or in the ETDump where the latency is "
                  "the traced one"});
    v("mad_ms", all(&Distribution::mad),
      kMs.WithMeaning("median of the distances from the median, not scaled"));
    v("latency_from", [](J json) { return json.experiment.LatencySource(); }, kLatencySource);
    v("experiment", [](J json) { return json.report.run.experiments[json.experiment.index].name; },
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
    using Of = const ComparisonRow&;
    const auto estimate = [&](const char* name, auto read, std::string_view meaning) {
      v(name, [read](Of of) { return ReadEstimate(of.row.quantity, read); }, {.meaning = meaning});
    };
    using E = stats::RatioEstimate;
    v("category", [](Of of) { return of.row.name; }, {.meaning = "what its operators compute"});
    v("<baseline>_ms", &ComparisonRow::baseline_ns, {.meaning = "mean self time; adds up", .scale = 1e6});
    v("<candidate>_ms", &ComparisonRow::candidate_ns, kMs.WithMeaning("mean self time; adds up"));
    v("speedup", &ComparisonRow::Speedup, {.meaning = "their quotient; above 1: the candidate is faster"});
    v("<baseline>_pct",
      [](Of of) { return MaybePercent(of.row.baseline_total, of.comparison.baseline_total); },
      {.meaning = kPercentOfMethod});
    v("<candidate>_pct",
      [](Of of) { return MaybePercent(of.row.candidate_total, of.comparison.candidate_total); },
      {.meaning = kPercentOfMethod});
    v("delta_ms", &ComparisonRow::Delta, {.meaning = "candidate minus baseline; adds up", .scale = 1e6});
    estimate("ratio", &E::ratio,
             "baseline / candidate by the launches: what the verdict is of; empty: not known");
    estimate("ratio_low", &E::low, "lower bound of the ratio");
    estimate("ratio_high", &E::high, "upper bound of the ratio; empty: unbounded, or no ratio");
    estimate("p_value", &E::p_value, "two-sided, of the claim that there is no difference");
    v("verdict",
      [](Of of) { return of.row.name == "Clipped" ? std::nullopt : std::optional(of.row.quantity.verdict); },
      {.meaning = kVerdict});
  }
};

struct RobustSideJson {
  const std::string& name;
  RobustLatency robust;

  static void Describe(auto& v) {
    using J = const RobustSideJson&;
    v("name", [](J json) -> const auto& { return json.name; }, {.meaning = "label of the experiment"});
    v(
        "median_ms", [](J json) { return json.robust.inside.p50; },
        kMs.WithMeaning("of the runs within Tukey's fences"));
    v(
        "trimmed_mean_ms", [](J json) { return json.robust.all.trimmed_mean_5; },
        kMs.WithMeaning("without the lowest and the highest 5% of all runs"));
    v("cv_percent", [](J json) { return Percent(json.robust.inside.cv); },
      {.meaning = "of the runs within Tukey's fences: standard deviation over mean"});
    v("count", [](J json) { return json.robust.all.n; }, {.meaning = "all runs that the latency is of"});
  }
};

struct RobustComparisonJson {
  const Comparison& comparison;
  RobustSideJson a, b;

  std::string Text() const {
    const VerdictTexts words = MakeVerdictTexts(comparison.latency);
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
    using E = stats::RatioEstimate;
    const auto estimate = [](auto read) {
      return [read](J json) { return ReadEstimate(json.comparison.latency, read); };
    };
    DescribeSchemaVersion(v);
    v("config1", [](J json) -> const auto& { return json.a; }, {.meaning = "the baseline"});
    v("config2", [](J json) -> const auto& { return json.b; }, {.meaning = "the candidate"});
    v.Object("speedup",
             [](auto& in) {
               in("median_based",
                  [](J json) { return Quotient(json.a.robust.inside.p50, json.b.robust.inside.p50); },
                  {.meaning = "of their median_ms"});
               in("trimmed_mean_based",
                  [](J json) {
                    return Quotient(json.a.robust.all.trimmed_mean_5, json.b.robust.all.trimmed_mean_5);
                  },
                  {.meaning = "of their trimmed_mean_ms"});
               in("description", &RobustComparisonJson::Text, {.meaning = "the verdict in words"});
             },
             {.meaning = "config1 over config2; above 1, the candidate is faster"});
    v.Object(
        "variability",
        [](auto& in) {
          in("config1_cv", [](J json) { return Percent(json.a.robust.inside.cv); }, {.meaning = "percent"});
          in("config2_cv", [](J json) { return Percent(json.b.robust.inside.cv); }, {.meaning = "percent"});
          in("more_variable", &RobustComparisonJson::MoreVariable,
             {.meaning = "name of the one with the larger of these; null: they are equal"});
          in("cv_ratio", [](J json) { return Quotient(json.a.robust.inside.cv, json.b.robust.inside.cv); },
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
  Nanoseconds whole = 0, clipped = 0;
  for (const std::size_t run : common) {
    whole += profile.runs[run].total;
    clipped += profile.runs[run].clipped;
  }
  const auto runs = static_cast<std::int64_t>(common.size());
  CsvWriter<OperatorStatisticsRow> rows(out);
  for (const std::size_t op : OperatorsByDecreasingTime(profile))
    rows.Row({{profile, op}, profile.statistics[op].total_self, whole, runs});
  if (clipped != 0) rows.Row({{profile, std::nullopt}, clipped, whole, runs});
}

void RenderCategorySummaryCsv(const ReportExperiment& experiment, std::ostream& out) {
  const Breakdown& categories = experiment.categories;
  CsvWriter<CategoryRow> table(out);
  std::vector<AdditiveRow> rows = categories.rows;
  if (rows.empty()) return;
  const AdditiveRow clipped = rows.back();
  rows.pop_back();
  std::ranges::stable_sort(rows,
                           [](const AdditiveRow& a, const AdditiveRow& b) { return a.total > b.total; });
  if (clipped.total != 0) rows.push_back(clipped);
  for (const AdditiveRow& row : rows) table.Row({categories, row});
}

void RenderOperatorDetailsCsv(const ReportExperiment& experiment, std::ostream& out) {
  CsvWriter<OperatorDetailsRow> table(out);
  Nanoseconds rest = experiment.groups.total;
  for (const std::size_t op : OperatorsByDecreasingTime(*experiment.profile)) {
    const Nanoseconds total = experiment.profile->statistics[op].total_self;
    table.Row({{*experiment.profile, op}, experiment, total});
    rest -= total;
  }
  if (rest != 0) table.Row({{*experiment.profile, std::nullopt}, experiment, rest});
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
  WriteJson(RobustStatsJson{report, experiment, series, DescribeWithoutOutliers(series.ns)}, 2, out);
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
    if (row.name == "Clipped" && row.baseline_total == 0 && row.candidate_total == 0) continue;
    table.Row({comparison, row, QuotientIfDefined(row.baseline_total, comparison.baseline_runs),
               QuotientIfDefined(row.candidate_total, comparison.candidate_runs)});
  }
}

void RenderRobustComparisonJson(const Report& report, const ReportComparison& pair, std::ostream& out) {
  const auto side = [&](const std::string& name, std::size_t experiment) {
    return RobustSideJson{
        name, DescribeWithoutOutliers(CollectLatencySeries(report, report.experiments[experiment]).ns)};
  };
  const RobustComparisonJson json{pair.comparison, side(pair.comparison.baseline_label, pair.baseline),
                                  side(pair.comparison.candidate_label, pair.candidate)};
  WriteJson(json, 2, out);
}

nlohmann::ordered_json RobustComparisonSchema() {
  return MakeSchema<RobustComparisonJson>("<model>_robust_comparison.json: the latencies of a pair",
                                          "docs/reference/files.md. What is not defined is null.");
}

}  // namespace etprof
