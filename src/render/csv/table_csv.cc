#include "render/csv/table_csv.h"

#include <algorithm>
#include <set>

#include "render/csv/csv_table.h"
#include "render/ladder_files.h"

namespace etprof {
namespace {

std::vector<std::string> Concat(std::vector<std::string> first, const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string WorkCell(const Profile& profile, std::size_t op, std::optional<std::int64_t> Work::*member) {
  if (!profile.program) return "";
  const std::optional<std::int64_t> value = profile.program->operators[op].work.*member;
  return value ? std::to_string(*value) : "";
}

std::string Bool(bool value) { return value ? "1" : "0"; }

const std::vector<std::string> kOf = {"model_id", "experiment", "label", "threads"};

std::vector<std::string> Of(const Report& report, const ReportExperiment& experiment) {
  return {experiment.profile && !experiment.profile->model_id.empty() ? experiment.profile->model_id
                                                                      : report.model_id,
          report.run.experiments[experiment.index].name, experiment.label,
          std::to_string(experiment.threads)};
}

void Latency(const Report& report, std::ostream& out) {
  CsvTable table(out, Concat(kOf, {"latency_from",
                                   "runs",
                                   "median_ms",
                                   "mean_ms",
                                   "sd_ms",
                                   "cv",
                                   "min_ms",
                                   "max_ms",
                                   "p90_ms",
                                   "p95_ms",
                                   "p99_ms",
                                   "mad_ms",
                                   "trimmed_mean_5_ms",
                                   "trimmed_mean_10_ms",
                                   "outliers",
                                   "interval_low_ms",
                                   "interval_high_ms",
                                   "first_run_ms",
                                   "load_ms",
                                   "peak_rss_bytes"}));
  for (const ReportExperiment& experiment : report.experiments) {
    const stats::Distribution& d = experiment.latency;
    const auto& interval = experiment.interval;
    table.Row(
        Concat(Of(report, experiment), {d.n == 0                        ? ""
                                        : experiment.latency_from_trace ? "trace"
                                                                        : "untraced",
                                        std::to_string(d.n),
                                        MsCell(d.p50),
                                        MsCell(d.mean),
                                        MsCell(d.sd),
                                        NumberCell(d.cv),
                                        MsCell(d.min),
                                        MsCell(d.max),
                                        MsCell(d.p90),
                                        MsCell(d.p95),
                                        MsCell(d.p99),
                                        MsCell(d.mad),
                                        MsCell(d.trimmed_mean_5),
                                        MsCell(d.trimmed_mean_10),
                                        std::to_string(d.outliers),
                                        interval ? NumberCell(interval->low / 1e6) : "",
                                        interval ? NumberCell(interval->high / 1e6) : "",
                                        MsCell(experiment.first_run),
                                        MsCell(experiment.load),
                                        experiment.peak_rss ? std::to_string(*experiment.peak_rss) : ""}));
  }
}

void Breakdowns(const Report& report, const char* name, const Breakdown ReportExperiment::*member,
                std::ostream& out) {
  CsvTable table(out, Concat(kOf, {name, "total_ms", "mean_ms", "pct_total", "operators", "runs"}));
  for (const ReportExperiment& experiment : report.experiments) {
    const Breakdown& breakdown = experiment.*member;
    for (const AdditiveRow& row : breakdown.rows) {
      table.Row(Concat(Of(report, experiment),
                       {row.name, ExactMilliseconds(row.total), MeanMsCell(row.total, breakdown.runs),
                        PercentCell(row.total, breakdown.total), std::to_string(row.operators),
                        std::to_string(breakdown.runs)}));
    }
  }
}

void Operators(const Report& report, std::ostream& out) {
  CsvTable table(out, Concat(kOf, {"key",      "name",    "type",      "delegate_backend",
                                   "category", "group",   "portable",  "runs",
                                   "total_ms", "mean_ms", "pct_total", "p50_ms",
                                   "p90_ms",   "p99_ms",  "min_ms",    "max_ms",
                                   "sd_ms",    "cv",      "layer",     "source",
                                   "macs",     "bytes"}));
  for (const ReportExperiment& experiment : report.experiments) {
    for (const OperatorRow& row : experiment.operators) {
      const Operator& op = experiment.profile->operators[row.op];
      table.Row(Concat(Of(report, experiment), {KeyText(op.key),
                                                op.name,
                                                op.type,
                                                op.backend,
                                                std::string(op.category.name),
                                                std::string(GroupName(op.category.group)),
                                                Bool(op.portable),
                                                std::to_string(row.runs),
                                                ExactMilliseconds(row.total_self),
                                                MsCell(row.mean_self),
                                                PercentCell(row.total_self, experiment.groups.total),
                                                MsCell(row.self.p50),
                                                MsCell(row.self.p90),
                                                MsCell(row.self.p99),
                                                MsCell(row.self.min),
                                                MsCell(row.self.max),
                                                MsCell(row.self.sd),
                                                NumberCell(row.self.cv),
                                                LayerOf(*experiment.profile, row.op).value_or(""),
                                                SourceLineOf(*experiment.profile, row.op).value_or(""),
                                                WorkCell(*experiment.profile, row.op, &Work::macs),
                                                WorkCell(*experiment.profile, row.op, &Work::bytes)}));
    }
  }
}

// Modules, each with all that runs in it; then what has none.
void Layers(const Report& report, std::ostream& out) {
  CsvTable table(out, Concat(kOf, {"layer", "type", "depth", "total_ms", "mean_ms", "pct_total", "self_ms",
                                   "operators", "runs"}));
  for (const ReportExperiment& experiment : report.experiments) {
    const Breakdown& whole = experiment.by_layer;
    for (const LayerRow& layer : experiment.layers) {
      table.Row(Concat(Of(report, experiment),
                       {layer.path, layer.type, std::to_string(layer.depth), ExactMilliseconds(layer.total),
                        MeanMsCell(layer.total, whole.runs), PercentCell(layer.total, whole.total),
                        ExactMilliseconds(layer.self), std::to_string(layer.operators.size()),
                        std::to_string(whole.runs)}));
    }
    if (experiment.layers.empty()) continue;
    std::set<std::string> modules;
    for (const LayerRow& layer : experiment.layers) modules.insert(layer.path);
    for (const AdditiveRow& row : whole.rows) {
      if (modules.contains(row.name) || row.total == 0) continue;
      table.Row(Concat(Of(report, experiment),
                       {row.name, "", "", ExactMilliseconds(row.total), MeanMsCell(row.total, whole.runs),
                        PercentCell(row.total, whole.total), ExactMilliseconds(row.total),
                        std::to_string(row.operators), std::to_string(whole.runs)}));
    }
  }
}

class ComparisonTable {
 public:
  ComparisonTable(const Report& report, std::ostream& out)
      : report_(report),
        table_(out, {"baseline", "candidate", "threads", "what", "name", "baseline_key", "candidate_key",
                     "baseline_ms", "candidate_ms", "delta_ms", "ratio", "ratio_low", "ratio_high",
                     "confidence", "p_value", "verdict"}) {}

  void Add(const ReportComparison& pair) {
    pair_ = &pair;
    const Comparison& comparison = pair.comparison;
    Row("latency", "median", "", "", comparison.latency);
    Quantity whole;
    whole.baseline_ns = Mean(comparison.baseline_total, comparison.baseline_runs);
    whole.candidate_ns = Mean(comparison.candidate_total, comparison.candidate_runs);
    if (whole.baseline_ns && whole.candidate_ns) Row("whole", "Method::execute", "", "", whole, false);
    for (const DeltaRow& row : comparison.groups) AddDelta("group", row);
    for (const DeltaRow& row : comparison.categories) AddDelta("category", row);
    for (const LayerDelta& layer : pair.layers) AddDelta("layer", layer.row);
    for (const DeltaRow& row : pair.by_source) AddDelta("source", row);
    for (const DeltaRow& row : pair.by_delegate) AddDelta("delegate", row);
    const ReportExperiment& before = report_.experiments[pair.baseline];
    const ReportExperiment& after = report_.experiments[pair.candidate];
    for (const OperatorMatch& match : comparison.operators) {
      const Operator* a = match.baseline ? &before.profile->operators[*match.baseline] : nullptr;
      const Operator* b = match.candidate ? &after.profile->operators[*match.candidate] : nullptr;
      Row("operator", b != nullptr ? b->name : a->name, a != nullptr ? KeyText(a->key) : "",
          b != nullptr ? KeyText(b->key) : "", match.quantity);
    }
    if (comparison.baseline_runs > 0 && comparison.candidate_runs > 0) {
      AddDelta("operator", {"Clipped", comparison.baseline_clipped, comparison.candidate_clipped, {}});
    }
  }

 private:
  static std::optional<double> Mean(Nanoseconds total, std::int64_t runs) {
    if (runs == 0) return std::nullopt;
    return static_cast<double>(total) / static_cast<double>(runs);
  }

  void AddDelta(const char* what, const DeltaRow& row) {
    Quantity quantity = row.quantity;
    quantity.baseline_ns = Mean(row.baseline_total, pair_->comparison.baseline_runs);
    quantity.candidate_ns = Mean(row.candidate_total, pair_->comparison.candidate_runs);
    Row(what, row.name, "", "", quantity, row.name != "Clipped");
  }

  void Row(const char* what, const std::string& name, const std::string& baseline_key,
           const std::string& candidate_key, const Quantity& quantity, bool judged = true) {
    const auto& estimate = quantity.estimate;
    // An operator that one side lacks takes no time there.
    const double before = quantity.baseline_ns.value_or(0);
    const double after = quantity.candidate_ns.value_or(0);
    const bool any = quantity.baseline_ns || quantity.candidate_ns;
    table_.Row({pair_->comparison.baseline_label, pair_->comparison.candidate_label,
                std::to_string(report_.experiments[pair_->candidate].threads), what, name, baseline_key,
                candidate_key, MsCell(quantity.baseline_ns), MsCell(quantity.candidate_ns),
                any ? NumberCell((after - before) / 1e6) : "", estimate ? NumberCell(estimate->ratio()) : "",
                estimate ? NumberCell(estimate->low()) : "", estimate ? NumberCell(estimate->high()) : "",
                estimate ? NumberCell(estimate->confidence) : "",
                estimate ? NumberCell(estimate->p_value) : "", judged ? NameOf(quantity.verdict) : ""});
  }

  const Report& report_;
  CsvTable table_;
  const ReportComparison* pair_ = nullptr;
};

}  // namespace

const std::vector<std::string>& ReportTableNames() {
  static const std::vector<std::string> names = {"operators", "groups",     "categories",
                                                 "latency",   "comparison", "layers",
                                                 "sources",   "delegates",  "ladder"};
  return names;
}

std::optional<ReportTable> ReportTableNamed(const std::string& name) {
  const auto& names = ReportTableNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<ReportTable>(found - names.begin());
}

void RenderReportTableCsv(const Report& report, ReportTable table, std::ostream& out) {
  switch (table) {
    case ReportTable::kOperators:
      return Operators(report, out);
    case ReportTable::kGroups:
      return Breakdowns(report, "group", &ReportExperiment::groups, out);
    case ReportTable::kCategories:
      return Breakdowns(report, "category", &ReportExperiment::categories, out);
    case ReportTable::kLatency:
      return Latency(report, out);
    case ReportTable::kLayers:
      return Layers(report, out);
    case ReportTable::kSources:
      return Breakdowns(report, "source", &ReportExperiment::by_source, out);
    case ReportTable::kDelegates:
      return Breakdowns(report, "delegate", &ReportExperiment::by_delegate, out);
    case ReportTable::kComparison: {
      ComparisonTable rows(report, out);
      for (const ReportComparison& pair : report.comparisons) rows.Add(pair);
      return;
    }
    case ReportTable::kLadder:
      return RenderLadderCsv(report, out);
  }
}

void RenderSustainedCsv(const Sustained& sustained, std::ostream& out) {
  CsvTable table(
      out, {"seconds", "runs", "median_ms", "p95_ms", "frequency_mhz", "frequency_cap_mhz", "temperature_c"});
  for (const SustainedPoint& point : sustained.points) {
    table.Row({NumberCell(point.seconds), std::to_string(point.runs), MsCell(point.median_ns),
               MsCell(point.p95_ns), NumberCell(point.mhz), NumberCell(point.cap_mhz),
               NumberCell(point.celsius)});
  }
}

}  // namespace etprof
