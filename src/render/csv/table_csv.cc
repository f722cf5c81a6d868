#include "render/csv/table_csv.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "render/csv/csv_table.h"
#include "say/wording.h"

namespace etprof {
namespace {

// What a row is of. Every table begins with the experiment.
struct OfExperiment {
  const Report& report;
  const ReportExperiment& experiment;
};
struct OfBreakdown : OfExperiment {
  const Breakdown& whole;
  const AdditiveRow& row;
};
struct OfOperator : OfExperiment {
  const OperatorRow& row;

  const Profile& profile() const { return *experiment.profile; }
  const Operator& op() const { return profile().operators[row.op]; }
  Work work() const { return profile().program ? profile().program->operators[row.op].work : Work(); }
};
struct OfReported : OfExperiment {
  const ReportedValue& value;
};
struct OfLayer : OfExperiment {
  std::string name, type, depth;
  Nanoseconds total, self;
  std::size_t operators;

  const Breakdown& whole() const { return experiment.by_layer; }
};

template <typename Of>
CsvColumns<Of> WithExperiment(CsvColumns<Of> more) {
  CsvColumns<Of> columns = {
      {"model_id",
       [](const auto& of) {
         const auto& profile = of.experiment.profile;
         return profile && !profile->model_id.empty() ? profile->model_id : of.report.model_id;
       }},
      {"experiment", [](const auto& of) { return of.report.run.experiments[of.experiment.index].name; }},
      {"label", [](const auto& of) { return of.experiment.label; }},
      {"threads", [](const auto& of) { return std::to_string(of.experiment.threads); }}};
  std::ranges::move(more, std::back_inserter(columns));
  return columns;
}

void Latency(const Report& report, std::ostream& out) {
  using Of = OfExperiment;
  using D = stats::Distribution;
  const auto ms = [](auto member) {
    return [member](const Of& of) { return MsCell(of.experiment.latency.*member); };
  };
  const auto bound = [](double LatencyInterval::*member) {
    return [member](const Of& of) {
      return of.experiment.interval ? NumberCell(*of.experiment.interval.*member / 1e6) : "";
    };
  };
  CsvRows<Of> rows(
      out, WithExperiment<Of>(
               {{"latency_from",
                 [](const Of& of) { return std::string(of.experiment.LatencySource().value_or("")); }},
                {"runs", [](const Of& of) { return std::to_string(of.experiment.latency.n); }},
                {"median_ms", ms(&D::p50)},
                {"mean_ms", ms(&D::mean)},
                {"sd_ms", ms(&D::sd)},
                {"cv", [](const Of& of) { return NumberCell(of.experiment.latency.cv); }},
                {"min_ms", ms(&D::min)},
                {"max_ms", ms(&D::max)},
                {"p90_ms", ms(&D::p90)},
                {"p95_ms", ms(&D::p95)},
                {"p99_ms", ms(&D::p99)},
                {"mad_ms", ms(&D::mad)},
                {"trimmed_mean_5_ms", ms(&D::trimmed_mean_5)},
                {"trimmed_mean_10_ms", ms(&D::trimmed_mean_10)},
                {"outliers", [](const Of& of) { return std::to_string(of.experiment.latency.outliers); }},
                {"interval_low_ms", bound(&LatencyInterval::low)},
                {"interval_high_ms", bound(&LatencyInterval::high)},
                {"first_run_ms", [](const Of& of) { return MsCell(of.experiment.first_run); }},
                {"load_ms", [](const Of& of) { return MsCell(of.experiment.load); }},
                {"peak_rss_bytes", [](const Of& of) { return IntegerCell(of.experiment.peak_rss); }}}));
  for (const ReportExperiment& experiment : report.experiments) rows.Row({report, experiment});
}

void Breakdowns(const Report& report, const char* name, const Breakdown ReportExperiment::*member,
                std::ostream& out) {
  using Of = OfBreakdown;
  CsvRows<Of> rows(out,
                   WithExperiment<Of>(
                       {{name, [](const Of& of) { return of.row.name; }},
                        {"total_ms", [](const Of& of) { return ExactMilliseconds(of.row.total); }},
                        {"mean_ms", [](const Of& of) { return MeanMsCell(of.row.total, of.whole.runs); }},
                        {"pct_total", [](const Of& of) { return PercentCell(of.row.total, of.whole.total); }},
                        {"operators", [](const Of& of) { return std::to_string(of.row.operators); }},
                        {"runs", [](const Of& of) { return std::to_string(of.whole.runs); }}}));
  for (const ReportExperiment& experiment : report.experiments) {
    const Breakdown& breakdown = experiment.*member;
    for (const AdditiveRow& row : breakdown.rows) rows.Row({{report, experiment}, breakdown, row});
  }
}

void Operators(const Report& report, std::ostream& out) {
  using Of = OfOperator;
  using D = stats::Distribution;
  const auto ms = [](auto member) { return [member](const Of& of) { return MsCell(of.row.self.*member); }; };
  CsvRows<Of> rows(
      out, WithExperiment<Of>(
               {{"key", [](const Of& of) { return KeyText(of.op().key); }},
                {"name", [](const Of& of) { return of.op().name; }},
                {"type", [](const Of& of) { return of.op().type; }},
                {"delegate_backend", [](const Of& of) { return of.op().backend; }},
                {"category", [](const Of& of) { return std::string(of.op().category.name); }},
                {"group", [](const Of& of) { return std::string(GroupName(of.op().category.group)); }},
                {"portable", [](const Of& of) { return of.op().portable ? "1" : "0"; }},
                {"runs", [](const Of& of) { return std::to_string(of.row.runs); }},
                {"total_ms", [](const Of& of) { return ExactMilliseconds(of.row.total_self); }},
                {"mean_ms", [](const Of& of) { return MsCell(of.row.mean_self); }},
                {"pct_total",
                 [](const Of& of) { return PercentCell(of.row.total_self, of.experiment.groups.total); }},
                {"p50_ms", ms(&D::p50)},
                {"p90_ms", ms(&D::p90)},
                {"p99_ms", ms(&D::p99)},
                {"min_ms", ms(&D::min)},
                {"max_ms", ms(&D::max)},
                {"sd_ms", ms(&D::sd)},
                {"cv", [](const Of& of) { return NumberCell(of.row.self.cv); }},
                {"layer", [](const Of& of) { return LayerOf(of.profile(), of.row.op).value_or(""); }},
                {"source", [](const Of& of) { return SourceLineOf(of.profile(), of.row.op).value_or(""); }},
                {"macs", [](const Of& of) { return IntegerCell(of.work().macs); }},
                {"bytes", [](const Of& of) { return IntegerCell(of.work().bytes); }}}));
  for (const ReportExperiment& experiment : report.experiments) {
    for (const OperatorRow& row : experiment.operators) rows.Row({{report, experiment}, row});
  }
}

void DelegateValues(const Report& report, std::ostream& out) {
  using Of = OfReported;
  using D = stats::Distribution;
  const auto number = [](auto member) {
    return [member](const Of& of) { return NumberCell(of.value.values.*member); };
  };
  CsvRows<Of> rows(
      out,
      WithExperiment<Of>({{"delegate_backend", [](const Of& of) { return of.value.backend; }},
                          {"instruction", [](const Of& of) { return std::to_string(of.value.instruction); }},
                          {"name", [](const Of& of) { return of.value.name; }},
                          {"kind", [](const Of& of) { return std::string(NameOf(of.value.kind)); }},
                          {"unit", [](const Of& of) { return of.value.unit; }},
                          {"median", number(&D::p50)},
                          {"min", number(&D::min)},
                          {"max", number(&D::max)},
                          {"runs", [](const Of& of) { return std::to_string(of.value.values.n); }}}));
  for (const ReportExperiment& experiment : report.experiments) {
    if (!experiment.profile) continue;
    for (const ReportedValue& value : experiment.profile->reported) rows.Row({{report, experiment}, value});
  }
}

// Modules, each with all that runs in it; then what has none.
void Layers(const Report& report, std::ostream& out) {
  using Of = OfLayer;
  CsvRows<Of> rows(
      out,
      WithExperiment<Of>({{"layer", &Of::name},
                          {"type", &Of::type},
                          {"depth", &Of::depth},
                          {"total_ms", [](const Of& of) { return ExactMilliseconds(of.total); }},
                          {"mean_ms", [](const Of& of) { return MeanMsCell(of.total, of.whole().runs); }},
                          {"pct_total", [](const Of& of) { return PercentCell(of.total, of.whole().total); }},
                          {"self_ms", [](const Of& of) { return ExactMilliseconds(of.self); }},
                          {"operators", [](const Of& of) { return std::to_string(of.operators); }},
                          {"runs", [](const Of& of) { return std::to_string(of.whole().runs); }}}));
  for (const ReportExperiment& experiment : report.experiments) {
    if (experiment.layers.empty()) continue;
    std::set<std::string> modules;
    for (const LayerRow& layer : experiment.layers) {
      modules.insert(layer.path);
      rows.Row({{report, experiment},
                layer.path,
                layer.type,
                std::to_string(layer.depth),
                layer.total,
                layer.self,
                layer.operators.size()});
    }
    for (const AdditiveRow& row : experiment.by_layer.rows) {
      if (modules.contains(row.name) || row.total == 0) continue;
      rows.Row({{report, experiment},
                row.name,
                "",
                "",
                row.total,
                row.total,
                static_cast<std::size_t>(row.operators)});
    }
  }
}

struct OfComparison {
  const Report& report;
  const ReportComparison& pair;
  std::string what, name, baseline_key, candidate_key;
  Quantity quantity;
  bool judged = true;

  // An operator that one side lacks takes no time there.
  std::string Delta() const {
    if (!quantity.baseline_ns && !quantity.candidate_ns) return "";
    return NumberCell((quantity.candidate_ns.value_or(0) - quantity.baseline_ns.value_or(0)) / 1e6);
  }
};

CsvColumns<OfComparison> ComparisonColumns() {
  using Of = OfComparison;
  using E = stats::RatioEstimate;
  const auto estimate = [](auto member) {
    return [member](const Of& of) { return EstimateCell(of.quantity, member); };
  };
  return {{"baseline", [](const Of& of) { return of.pair.comparison.baseline_label; }},
          {"candidate", [](const Of& of) { return of.pair.comparison.candidate_label; }},
          {"threads",
           [](const Of& of) { return std::to_string(of.report.experiments[of.pair.candidate].threads); }},
          {"what", &Of::what},
          {"name", &Of::name},
          {"baseline_key", &Of::baseline_key},
          {"candidate_key", &Of::candidate_key},
          {"baseline_ms", [](const Of& of) { return MsCell(of.quantity.baseline_ns); }},
          {"candidate_ms", [](const Of& of) { return MsCell(of.quantity.candidate_ns); }},
          {"delta_ms", &Of::Delta},
          {"ratio", estimate(&E::ratio)},
          {"ratio_low", estimate(&E::low)},
          {"ratio_high", estimate(&E::high)},
          {"confidence", estimate(&E::confidence)},
          {"p_value", estimate(&E::p_value)},
          {"verdict", [](const Of& of) { return of.judged ? NameOf(of.quantity.verdict) : ""; }}};
}

void Comparisons(const Report& report, std::ostream& out) {
  CsvRows<OfComparison> rows(out, ComparisonColumns());
  for (const ReportComparison& pair : report.comparisons) {
    const Comparison& comparison = pair.comparison;
    const auto add = [&](const char* what, const DeltaRow& row) {
      Quantity quantity = row.quantity;
      quantity.baseline_ns = MaybeMean(row.baseline_total, comparison.baseline_runs);
      quantity.candidate_ns = MaybeMean(row.candidate_total, comparison.candidate_runs);
      rows.Row({report, pair, what, row.name, "", "", quantity, row.name != "Clipped"});
    };
    rows.Row({report, pair, "latency", "median", "", "", comparison.latency});
    Quantity whole;
    whole.baseline_ns = MaybeMean(comparison.baseline_total, comparison.baseline_runs);
    whole.candidate_ns = MaybeMean(comparison.candidate_total, comparison.candidate_runs);
    if (whole.baseline_ns && whole.candidate_ns)
      rows.Row({report, pair, "whole", "Method::execute", "", "", whole, false});
    for (const DeltaRow& row : comparison.groups) add("group", row);
    for (const DeltaRow& row : comparison.categories) add("category", row);
    for (const LayerDelta& layer : pair.layers) add("layer", layer.row);
    for (const DeltaRow& row : pair.by_source) add("source", row);
    for (const DeltaRow& row : pair.by_delegate) add("delegate", row);
    const ReportExperiment& before = report.experiments[pair.baseline];
    const ReportExperiment& after = report.experiments[pair.candidate];
    for (const OperatorMatch& match : comparison.operators) {
      const Operator* a = match.baseline ? &before.profile->operators[*match.baseline] : nullptr;
      const Operator* b = match.candidate ? &after.profile->operators[*match.candidate] : nullptr;
      rows.Row({report, pair, "operator", b != nullptr ? b->name : a->name,
                a != nullptr ? KeyText(a->key) : "", b != nullptr ? KeyText(b->key) : "", match.quantity});
    }
    if (whole.baseline_ns && whole.candidate_ns)
      add("operator", {"Clipped", comparison.baseline_clipped, comparison.candidate_clipped, {}});
  }
}

struct NamedTable {
  std::string name;
  std::function<void(const Report&, std::ostream&)> render;
};

const std::vector<NamedTable>& NamedTables() {
  const auto breakdown = [](const char* column, const Breakdown ReportExperiment::*member) {
    return [=](const Report& report, std::ostream& out) { Breakdowns(report, column, member, out); };
  };
  static const std::vector<NamedTable> tables = {
      {"operators", Operators},
      {"groups", breakdown("group", &ReportExperiment::groups)},
      {"categories", breakdown("category", &ReportExperiment::categories)},
      {"latency", Latency},
      {"comparison", Comparisons},
      {"layers", Layers},
      {"sources", breakdown("source", &ReportExperiment::by_source)},
      {"delegates", breakdown("delegate", &ReportExperiment::by_delegate)},
      {"delegate_values", DelegateValues},
      {"ladder", RenderLadderCsv}};
  return tables;
}

}  // namespace

const std::vector<std::string>& ReportTableNames() {
  static const std::vector<std::string> names = Each(NamedTables(), &NamedTable::name);
  return names;
}

void RenderReportTableCsv(const Report& report, const std::string& table, std::ostream& out) {
  std::ranges::find(NamedTables(), table, &NamedTable::name)->render(report, out);
}

void RenderSustainedCsv(const Sustained& sustained, std::ostream& out) {
  using Of = SustainedPoint;
  CsvRows<Of> rows(out, {{"seconds", [](const Of& of) { return NumberCell(of.seconds); }},
                         {"runs", [](const Of& of) { return std::to_string(of.runs); }},
                         {"median_ms", [](const Of& of) { return MsCell(of.median_ns); }},
                         {"p95_ms", [](const Of& of) { return MsCell(of.p95_ns); }},
                         {"frequency_mhz", [](const Of& of) { return NumberCell(of.mhz); }},
                         {"frequency_cap_mhz", [](const Of& of) { return NumberCell(of.cap_mhz); }},
                         {"temperature_c", [](const Of& of) { return NumberCell(of.celsius); }}});
  for (const SustainedPoint& point : sustained.points) rows.Row(point);
}

}  // namespace etprof
