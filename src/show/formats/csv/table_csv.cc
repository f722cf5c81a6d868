#include "show/formats/csv/table_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "core/json/json_schema_of.h"
#include "core/text/csv_members.h"
#include "core/views.h"
#include "measure/instructions/instructions.h"
#include "measure/store/counters.h"
#include "measure/store/latency_csv.h"
#include "measure/store/run_files.h"
#include "profile/timeline/timeline_row.h"
#include "show/formats/csv/csv_table.h"
#include "show/formats/csv/kit_files.h"

namespace etprof {
namespace {

using stats::Distribution;

// Identifies the experiment of a row. Every table except the comparison begins with these columns.
struct ExperimentCsvRow {
  const Report& report;
  const ReportExperiment& experiment;

  static void Describe(auto& v) {
    using Record = const ExperimentCsvRow&;
    v("model_id",
      [](Record record) {
        const auto& profile = record.experiment.profile;
        return profile && !profile->model_id.empty() ? profile->model_id : record.report.model_id;
      },
      {.meaning = kModelId});
    v("experiment", [](Record record) { return record.experiment.Data(record.report).name; },
      {.meaning = kExperimentName});
    v("label", [](Record record) { return record.experiment.label; }, {.meaning = kExperimentLabel});
    v("threads", [](Record record) { return record.experiment.threads; }, kThreadsOfPool);
  }
};

struct LatencyCsvRow : ExperimentCsvRow {
  const Distribution& source = experiment.latency;

  static void Describe(auto& v) {
    ExperimentCsvRow::Describe(v);
    using L = const LatencyCsvRow&;
    const auto bound = [&](const char* key, double LatencyInterval::*member) {
      v(key,
        [member](L row) {
          return row.experiment.interval ? std::optional(*row.experiment.interval.*member) : std::nullopt;
        },
        {.meaning = "of the median, over launches", .scale = 1e6});
    };
    v("latency_from", [](L row) { return row.experiment.LatencySource(); }, kLatencySource);
    v("runs", &Distribution::n, {.meaning = kRunsOfLatency});
    v("median_ms", &Distribution::p50, kMs.WithMeaning(kMedianOfLatency));
    v("mean_ms", &Distribution::mean, kMs.WithMeaning(kMeanOfRuns));
    v("sd_ms", &Distribution::sd, kMs.WithMeaning(kSdOfRuns));
    v("cv", &Distribution::cv, {.meaning = kCvMeaning});
    v("min_ms", &Distribution::min, kMs.WithMeaning(kMinOfRuns));
    v("max_ms", &Distribution::max, kMs.WithMeaning(kMaxOfRuns));
    v("p90_ms", &Distribution::p90, kMs.WithMeaning(kP90OfRuns));
    v("p95_ms", &Distribution::p95, kMs.WithMeaning(kP95OfRuns));
    v("p99_ms", &Distribution::p99, kMs.WithMeaning(kP99OfRuns));
    v("mad_ms", &Distribution::mad, kMs.WithMeaning("median absolute deviation"));
    v("trimmed_mean_5_ms", &Distribution::trimmed_mean_5,
      kMs.WithMeaning("without the lowest and highest 5%"));
    v("trimmed_mean_10_ms", &Distribution::trimmed_mean_10,
      kMs.WithMeaning("without the lowest and highest 10%"));
    v("outliers", &Distribution::outliers, {.meaning = "outside Tukey's fences"});
    bound("interval_low_ms", &LatencyInterval::low);
    bound("interval_high_ms", &LatencyInterval::high);
    v("first_run_ms", [](L row) { return row.experiment.first_run; }, kMs.WithMeaning(kFirstRun));
    v("load_ms", [](L row) { return row.experiment.load; }, kMs.WithMeaning(kLoadTime));
    v("peak_rss_bytes", [](L row) { return row.experiment.peak_rss; }, {.meaning = kPeakRss});
  }
};

// `kColumn`: name of the column with the rows' names. `kMeaning`: its meaning.
template <const char* kColumn, const char* kMeaning>
struct BreakdownCsvRow : ExperimentCsvRow {
  const Breakdown& breakdown;
  const AdditiveRow& row;

  static void Describe(auto& v) {
    ExperimentCsvRow::Describe(v);
    using Record = const BreakdownCsvRow&;
    v(kColumn, [](Record record) { return record.row.name; }, {.meaning = kMeaning});
    v("total_ms", [](Record record) { return record.row.total; }, kSelfTotal);
    v("mean_ms", [](Record record) { return QuotientIfDefined(record.row.total, record.breakdown.runs); },
      {.meaning = kMeanOverRuns, .scale = 1e6});
    v("pct_total", [](Record record) { return MaybePercent(record.row.total, record.breakdown.total); },
      {.meaning = kPercentOfMethod});
    v("operators", [](Record record) { return record.row.operators; }, {.meaning = kOperatorsOfRow});
    v("runs", [](Record record) { return record.breakdown.runs; }, {.meaning = kRunsOfCommonSet});
  }
};

struct OperatorCsvRow : ExperimentCsvRow {
  const OperatorRow& source;

  const Profile& profile() const { return *experiment.profile; }
  const Operator& op() const { return profile().operators[source.op]; }
  Work work() const { return profile().program ? profile().program->operators[source.op].work : Work(); }

  static void Describe(auto& v) {
    ExperimentCsvRow::Describe(v);
    using Record = const OperatorCsvRow&;
    const auto ms = [&](const char* name, auto member, std::string_view meaning) {
      v(name, [member](Record record) { return record.source.self.*member; }, kMs.WithMeaning(meaning));
    };
    v("key", [](Record record) { return KeyText(record.op().key); }, {.meaning = kKeyAsNodeId});
    v("name", [](Record record) { return record.op().name; }, {.meaning = kNameInInspector});
    v("type", [](Record record) { return record.op().type; }, {.meaning = kOperatorType});
    v("delegate_backend", [](Record record) { return record.op().backend; }, kOperatorBackend);
    v("category", [](Record record) { return record.op().category.name; }, {.meaning = kOperatorCategory});
    v("group", [](Record record) { return OperatorGroupName(record.op().category.group); },
      {.meaning = kOperatorGroup});
    v("portable", [](Record record) { return record.op().portable; },
      {.meaning = "1: a kernel that is not delegated"});
    v("runs", &OperatorRow::runs, {.meaning = kRunsOfOperator});
    v("total_ms", &OperatorRow::total_self, kSelfTotal);
    v("mean_ms", &OperatorRow::mean_self_ns,
      kMs.WithMeaning("`total_ms` over all runs of the common set: it adds up over operators"));
    v("pct_total",
      [](Record record) { return MaybePercent(record.source.total_self, record.experiment.groups.total); },
      {.meaning = kPercentOfMethod});
    ms("p50_ms", &Distribution::p50, kSelfMedian);
    ms("p90_ms", &Distribution::p90, kP90OfRuns);
    ms("p99_ms", &Distribution::p99, kP99OfRuns);
    ms("min_ms", &Distribution::min, kMinOfRuns);
    ms("max_ms", &Distribution::max, kMaxOfRuns);
    ms("sd_ms", &Distribution::sd, kSdOfRuns);
    v("cv", [](Record record) { return record.source.self.cv; }, {.meaning = kCvMeaning});
    v("layer", [](Record record) { return LayerName(record.profile(), record.source.op); },
      {.meaning = kInnermostModule});
    v("source", [](Record record) { return SourceLineName(record.profile(), record.source.op); },
      {.meaning = kSourceLine});
    v("macs", [](Record record) { return record.work().macs; },
      {.meaning = "multiply-accumulates of one run; empty: not known"});
    v("bytes", [](Record record) { return record.work().bytes; },
      {.meaning = "read and written by one run; empty: not known"});
  }
};

struct DelegateValueCsvRow : ExperimentCsvRow {
  const ReportedValue& source;

  static void Describe(auto& v) {
    ExperimentCsvRow::Describe(v);
    using Record = const DelegateValueCsvRow&;
    v("delegate_backend", &ReportedValue::backend,
      {.meaning = "that reports it; empty: not known", .or_null = true});
    v("instruction", &ReportedValue::instruction, {.meaning = "of the delegate call"});
    v("name", &ReportedValue::name, {.meaning = "of the event that holds the value"});
    v("kind", &ReportedValue::kind, {.meaning = "what the value is (docs/concepts/kernels.md)"});
    v("unit", &ReportedValue::unit, {.meaning = "of the value; empty: not known", .or_null = true});
    v("median", [](Record record) { return record.source.values.p50; },
      {.meaning = "over `runs`, in `unit`"});
    v("min", [](Record record) { return record.source.values.min; }, {.meaning = "over `runs`, in `unit`"});
    v("max", [](Record record) { return record.source.values.max; }, {.meaning = "over `runs`, in `unit`"});
    v("runs", [](Record record) { return record.source.values.n; },
      {.meaning = "that reported it, of those that `median`, `min`, and `max` are of"});
  }
};

// A module, or another row of the table by layer (absent depth).
struct LayerCsvRow : ExperimentCsvRow {
  std::string name, type;
  std::optional<int> depth;
  Nanoseconds total, self;
  std::size_t operators;

  const Breakdown& breakdown() const { return experiment.by_layer; }

  static void Describe(auto& v) {
    ExperimentCsvRow::Describe(v);
    using Record = const LayerCsvRow&;
    v("layer", &LayerCsvRow::name, {.meaning = "path of the module, or the name of what runs in none"});
    v("type", &LayerCsvRow::type,
      {.meaning = "class of the module; empty: not known, or no module", .or_null = true});
    v("depth", &LayerCsvRow::depth, {.meaning = "of the module; 0: the model; empty: no module"});
    v("total_ms", &LayerCsvRow::total,
      {.meaning = "self time of all that runs in it, over the common set; modules are nested", .scale = 1e6});
    v("mean_ms", [](Record record) { return QuotientIfDefined(record.total, record.breakdown().runs); },
      {.meaning = kMeanOverRuns, .scale = 1e6});
    v("pct_total", [](Record record) { return MaybePercent(record.total, record.breakdown().total); },
      {.meaning = "of `Method::execute`"});
    v("self_ms", &LayerCsvRow::self, {.meaning = "of `total_ms`, what is in no inner module", .scale = 1e6});
    v("operators", &LayerCsvRow::operators, {.meaning = "distinct ones that run in it"});
    v("runs", [](Record record) { return record.breakdown().runs; }, {.meaning = kRunsOfCommonSet});
  }
};

struct ComparisonCsvRow {
  const Report& report;
  const ReportComparison& pair;
  std::string subject, name, baseline_key, candidate_key;
  TimeComparison time_comparison;
  bool has_verdict = true;

  // An operator that one variant lacks takes no time there.
  std::optional<double> Delta() const {
    if (!time_comparison.baseline_ns && !time_comparison.candidate_ns) return std::nullopt;
    return time_comparison.candidate_ns.value_or(0) - time_comparison.baseline_ns.value_or(0);
  }

  static void Describe(auto& v) {
    using Record = const ComparisonCsvRow&;
    v("baseline", [](Record record) { return record.pair.comparison.baseline_label; },
      {.meaning = "label of the baseline"});
    v("candidate", [](Record record) { return record.pair.comparison.candidate_label; },
      {.meaning = "label of the candidate"});
    v("threads", [](Record record) { return record.report.experiments[record.pair.candidate].threads; },
      {.meaning = "of the candidate's thread pool", .min = 1});
    v("what", &ComparisonCsvRow::subject,
      {.meaning = "what the row's times are of; `whole`: `Method::execute`",
       .choices = "latency|whole|group|category|layer|source|delegate|operator"});
    v("name", &ComparisonCsvRow::name,
      {.meaning = "of the group, category, layer, line, delegate, or operator"});
    const auto key = [&](const char* column, std::string ComparisonCsvRow::*member) {
      v(column, member,
        {.meaning = "of the operator there, as `node_id` of timelines; empty: none, or no row of an operator",
         .or_null = true});
    };
    key("baseline_key", &ComparisonCsvRow::baseline_key);
    key("candidate_key", &ComparisonCsvRow::candidate_key);
    const MemberInfo time_info =
        kMs.WithMeaning("median of a latency, mean `Method::execute`, or mean self time");
    v("baseline_ms", [](Record record) { return record.time_comparison.baseline_ns; }, time_info);
    v("candidate_ms", [](Record record) { return record.time_comparison.candidate_ns; }, time_info);
    v("delta_ms", &ComparisonCsvRow::Delta, {.meaning = "candidate minus baseline", .scale = 1e6});
    v.Flat([](Record record) { return record.time_comparison.EstimateUnlessEmulated(); }, {.or_null = true});
    v("verdict",
      [](Record record) {
        return record.has_verdict ? std::optional(record.time_comparison.verdict) : std::nullopt;
      },
      {.meaning = kVerdict});
  }
};

struct LadderCsvRow {
  const Report& report;
  const char* subject;
  const LadderRow& row;
  const LadderCell& source;

  static void Describe(auto& v) {
    using R = const LadderCsvRow&;
    v("model_id", [](R shown) { return shown.report.model_id; }, {.meaning = kModelId});
    v("level", &LadderCell::level, {.meaning = "name of the level: `avx2`"});
    v("threads", &LadderCell::threads, kThreadsOfPool);
    v("what", &LadderCsvRow::subject,
      {.meaning = "what the row's time is of", .choices = "latency|group|category|operator"});
    v("name", [](R shown) { return shown.source.op_name.value_or(shown.row.name); },
      {.meaning = "of the group, the category, or the operator at this setting"});
    v("key", [](R shown) { return shown.source.op_key.value_or(""); },
      {.meaning = "of the operator at this setting, as `node_id` of timelines; empty: none, or no row of an "
                  "operator",
       .or_null = true});
    v("ms", &LadderCell::ns,
      kMs.WithMeaning("median of a latency, else mean self time; empty: not there, or not measured"));
    const auto over = [&](const std::string& name, auto member, std::string_view meaning) {
      const auto add_member = [&](const char* end, auto read, std::string_view member_meaning) {
        v((name + end).c_str(),
          [member, read](R shown) {
            const std::optional<TimeComparison>& time_comparison = shown.source.*member;
            return time_comparison ? ReadEstimate(*time_comparison, read) : std::nullopt;
          },
          {.meaning = member_meaning});
      };
      using E = stats::RatioEstimate;
      add_member("", &E::ratio, meaning);
      add_member("_low", &E::low, "lower bound of this speedup");
      add_member("_high", &E::high, "upper bound of this speedup; empty: unbounded, or no speedup");
      v((name + "_verdict").c_str(),
        [member](R shown) {
          const std::optional<TimeComparison>& time_comparison = shown.source.*member;
          return time_comparison ? std::optional(time_comparison->verdict) : std::nullopt;
        },
        {.meaning = "of that interval, on this setting; empty: nothing to compare with"});
    };
    over("over_below", &LadderCell::over_level_below,
         "speedup over the next lower level that was measured, at the same threads; empty: not at these");
    over("over_lowest", &LadderCell::over_lowest_level,
         "speedup over the lowest level that was measured, at the same threads");
    over("over_fewest_threads", &LadderCell::over_fewest_threads,
         "speedup over the fewest threads, at the same level");
    v("efficiency", &LadderCell::efficiency,
      {.meaning = "`over_fewest_threads` over the ratio of the threads; 1 is perfect"});
  }
};

void WriteLatency(const Report& report, std::ostream& out) {
  CsvWriter<LatencyCsvRow> rows(out);
  for (const ReportExperiment& experiment : report.experiments) rows.Row({{report, experiment}});
}

template <typename Row>
void WriteBreakdowns(const Report& report, const Breakdown ReportExperiment::*member, std::ostream& out) {
  CsvWriter<Row> rows(out);
  for (const ReportExperiment& experiment : report.experiments) {
    const Breakdown& breakdown = experiment.*member;
    for (const AdditiveRow& row : breakdown.rows) rows.Row({{report, experiment}, breakdown, row});
  }
}

void WriteOperators(const Report& report, std::ostream& out) {
  CsvWriter<OperatorCsvRow> rows(out);
  for (const ReportExperiment& experiment : report.experiments) {
    for (const OperatorRow& row : experiment.operators) rows.Row({{report, experiment}, row});
  }
}

void WriteDelegateValues(const Report& report, std::ostream& out) {
  CsvWriter<DelegateValueCsvRow> rows(out);
  for (const ReportExperiment& experiment : report.experiments) {
    if (!experiment.profile) continue;
    for (const ReportedValue& value : experiment.profile->reported) rows.Row({{report, experiment}, value});
  }
}

// Writes the modules, each with everything that runs in it, then rows for the time outside of modules.
void WriteLayers(const Report& report, std::ostream& out) {
  CsvWriter<LayerCsvRow> rows(out);
  for (const ReportExperiment& experiment : report.experiments) {
    if (experiment.layers.empty()) continue;
    std::set<std::string> modules;
    for (const LayerRow& layer : experiment.layers) {
      modules.insert(layer.path);
      rows.Row({{report, experiment},
                layer.path,
                layer.type,
                layer.depth,
                layer.total,
                layer.self,
                layer.operators.size()});
    }
    for (const AdditiveRow& row : experiment.by_layer.rows) {
      if (modules.contains(row.name) || row.total == 0) continue;
      rows.Row({{report, experiment},
                row.name,
                "",
                std::nullopt,
                row.total,
                row.total,
                static_cast<std::size_t>(row.operators)});
    }
  }
}

void WriteComparisons(const Report& report, std::ostream& out) {
  CsvWriter<ComparisonCsvRow> rows(out);
  for (const ReportComparison& pair : report.comparisons) {
    const Comparison& comparison = pair.comparison;
    const auto add = [&](const char* subject, const DeltaRow& row) {
      TimeComparison time_comparison = row.time_comparison;
      time_comparison.baseline_ns = QuotientIfDefined(row.baseline_total, comparison.baseline_runs);
      time_comparison.candidate_ns = QuotientIfDefined(row.candidate_total, comparison.candidate_runs);
      rows.Row({report, pair, subject, row.name, "", "", time_comparison, row.name != kClipped});
    };
    rows.Row({report, pair, "latency", "median", "", "", comparison.latency});
    TimeComparison execute;
    execute.baseline_ns = QuotientIfDefined(comparison.baseline_total, comparison.baseline_runs);
    execute.candidate_ns = QuotientIfDefined(comparison.candidate_total, comparison.candidate_runs);
    if (execute.baseline_ns && execute.candidate_ns)
      rows.Row({report, pair, "whole", "Method::execute", "", "", execute, false});
    for (const DeltaRow& row : comparison.groups) add("group", row);
    for (const DeltaRow& row : comparison.categories) add("category", row);
    for (const LayerDelta& layer : pair.layers) add("layer", layer.row);
    for (const DeltaRow& row : pair.by_source) add("source", row);
    for (const DeltaRow& row : pair.by_delegate) add("delegate", row);
    const ReportExperiment& baseline_experiment = report.experiments[pair.baseline];
    const ReportExperiment& candidate_experiment = report.experiments[pair.candidate];
    for (const OperatorMatch& match : comparison.operators) {
      const Operator* baseline_operator =
          match.baseline ? &baseline_experiment.profile->operators[*match.baseline] : nullptr;
      const Operator* candidate_operator =
          match.candidate ? &candidate_experiment.profile->operators[*match.candidate] : nullptr;
      rows.Row({report, pair, "operator",
                candidate_operator != nullptr ? candidate_operator->name : baseline_operator->name,
                baseline_operator != nullptr ? KeyText(baseline_operator->key) : "",
                candidate_operator != nullptr ? KeyText(candidate_operator->key) : "",
                match.time_comparison});
    }
    if (execute.baseline_ns && execute.candidate_ns)
      add("operator", {kClipped, comparison.baseline_clipped, comparison.candidate_clipped, {}});
  }
}

// One row per time (whole, group, category, or operator) and setting (ISA level and threads).
void WriteLadder(const Report& report, std::ostream& out) {
  CsvWriter<LadderCsvRow> rows(out);
  if (!report.ladder) return;
  const Ladder& ladder = *report.ladder;
  const auto add = [&](const char* subject, const LadderRow& row) {
    for (const LadderCell& cell : row.AllCells()) rows.Row({report, subject, row, cell});
  };
  add("latency", ladder.latency);
  for (const LadderRow& row : ladder.groups) add("group", row);
  for (const LadderRow& row : ladder.categories) add("category", row);
  for (const LadderRow& row : ladder.operators) add("operator", row);
}

struct NamedTable {
  std::string name;
  std::function<void(const Report&, std::ostream&)> render;
  nlohmann::ordered_json (*schema)(std::string_view title, std::string_view description);
  std::string_view rows;
};

constexpr char kGroup[] = "group", kCategory[] = "category", kSource[] = "source", kDelegate[] = "delegate";
constexpr char kCategoryMeaning[] =
    "what its operators compute; `Clipped`: time that spans claimed outside of their parent, or twice";
constexpr char kLineOfModel[] = "file and line of the model, or the name of what has none";
constexpr char kBackendAndInstruction[] =
    "backend and instruction of its call, `portable`, or the name of what neither ran";

template <const char* kColumn, const char* kMeaning>
NamedTable BreakdownTable(const char* name, const Breakdown ReportExperiment::*member) {
  return {name,
          [=](const Report& report, std::ostream& out) {
            WriteBreakdowns<BreakdownCsvRow<kColumn, kMeaning>>(report, member, out);
          },
          MakeSchema<BreakdownCsvRow<kColumn, kMeaning>>, kColumn};
}

const std::vector<NamedTable>& NamedTables() {
  static const std::vector<NamedTable> tables = {
      {"operators", WriteOperators, MakeSchema<OperatorCsvRow>, "operator"},
      BreakdownTable<kGroup, kCategoryMeaning>("groups", &ReportExperiment::groups),
      BreakdownTable<kCategory, kCategoryMeaning>("categories", &ReportExperiment::categories),
      {"latency", WriteLatency, MakeSchema<LatencyCsvRow>, "experiment"},
      {"comparison", WriteComparisons, MakeSchema<ComparisonCsvRow>, "time of a pair"},
      {"layers", WriteLayers, MakeSchema<LayerCsvRow>, "module, then one per layer without a module"},
      BreakdownTable<kSource, kLineOfModel>("sources", &ReportExperiment::by_source),
      BreakdownTable<kDelegate, kBackendAndInstruction>("delegates", &ReportExperiment::by_delegate),
      {"delegate_values", WriteDelegateValues, MakeSchema<DelegateValueCsvRow>,
       "value that a delegate reports"},
      {"ladder", WriteLadder, MakeSchema<LadderCsvRow>, "time at a level and a number of threads"}};
  return tables;
}

}  // namespace

const std::vector<std::string>& ReportTableNames() {
  static const std::vector<std::string> names = MapEach(NamedTables(), &NamedTable::name);
  return names;
}

void RenderReportTableCsv(const Report& report, const std::string& table, std::ostream& out) {
  std::ranges::find(NamedTables(), table, &NamedTable::name)->render(report, out);
}

void RenderSustainedCsv(const Sustained& sustained, std::ostream& out) {
  CsvWriter<SustainedPoint> rows(out);
  for (const SustainedPoint& point : sustained.points) rows.Row(point);
}

std::map<std::string, nlohmann::ordered_json> CsvSchemas() {
  std::map<std::string, nlohmann::ordered_json> schemas = KitCsvSchemas();
  for (const NamedTable& table : NamedTables()) {
    schemas["--csv=" + table.name] = table.schema(fmt::format("`etprof analyze --csv={}`", table.name),
                                                  fmt::format("One row per {}.", table.rows));
  }
  schemas["_timeline.csv"] = MakeSchema<TimelineRow>(
      "`<stem>_exec_all_runs_timeline.csv`, `<stem>_exec_run0_timeline.csv`",
      "One row per event of the `Execute` blocks, in the file's order (children before parents), including "
      "the framework's own spans. `run0` is the first run alone.");
  schemas[kLatencySuffix] = MakeSchema<LatencyRow>(
      "`<stem>_latency.csv`", "One row per run, in order. Rows of runs that were not clean are included.");
  schemas[kCountersSuffix] =
      MakeSchema<CountersCsv>("`<stem>_counters.csv`",
                              "One row per operator, delegate call, and method "
                              "(docs/guides/bottlenecks.md). All threads are counted.");
  schemas[kInstructionsSuffix] = MakeSchema<InstructionsRow>(
      "`<stem>_instructions.csv`", "One row for the method and per operator (docs/guides/instructions.md).");
  schemas[kValuesFile] =
      MakeSchema<ValuesRow>("`values.csv`",
                            "One row per operator that two variants have, in the order of execution "
                            "(docs/guides/values.md).");
  schemas[kKernelsSuffix] = KernelsCsvSchema();
  schemas[kSustainedSuffix] = MakeSchema<SustainedPoint>("`<stem>_sustained.csv`", "One row per burst.");
  return schemas;
}

}  // namespace etprof
