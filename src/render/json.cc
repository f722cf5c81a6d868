#include "render/json.h"

#include <nlohmann/json.hpp>

#include "core/escape.h"
#include "core/json.h"
#include "core/table.h"
#include "render/facts.h"
#include "render/json_parts.h"
#include "render/ladder_files.h"
#include "render/markdown_text.h"
#include "render/wording.h"

namespace etprof {
namespace {

Json CategoryTotals(const Breakdown& breakdown) {
  Json totals = Json::object();
  for (const AdditiveRow& row : breakdown.rows) totals[row.name] = static_cast<double>(row.total) / 1e6;
  return totals;
}

Json LatencyPlotJson(const Report& report, const LatencyPlot& plot) {
  const stats::SharedHistogram& histogram = plot.histogram;
  Json json = {{"from_ms", Number(histogram.from / 1e6)},
               {"width_ms", Number(histogram.width / 1e6)},
               {"experiments", Json::array()}};
  for (std::size_t i = 0; i < plot.experiments.size(); ++i) {
    const ReportExperiment& experiment = report.experiments[plot.experiments[i]];
    json["experiments"].push_back({{"experiment", report.run.experiments[experiment.index].name},
                                   {"label", experiment.label},
                                   {"threads", experiment.threads},
                                   {"counts", histogram.counts[i]},
                                   {"beyond", histogram.beyond[i]}});
  }
  return json;
}

const char* KindName(Insight::Kind kind) {
  switch (kind) {
    case Insight::Kind::kBottleneckShift:
      return "bottleneck_shift";
    case Insight::Kind::kBottleneck:
      return "bottleneck";
    case Insight::Kind::kAmdahl:
      return "amdahl";
    case Insight::Kind::kPortable:
      return "portable";
    case Insight::Kind::kLayout:
      return "data_movement";
    case Insight::Kind::kDelegates:
      return "delegate_overhead";
    case Insight::Kind::kSlower:
      return "slower_operators";
    case Insight::Kind::kFirstRun:
      return "first_run";
    case Insight::Kind::kUnknown:
      return "unknown_operators";
    case Insight::Kind::kEvidence:
      return "kernel_evidence";
    case Insight::Kind::kNotOnKleidiai:
      return "not_on_kleidiai";
    case Insight::Kind::kRoofline:
      return "roofline";
    case Insight::Kind::kContention:
      return "contention";
    case Insight::Kind::kCpuTime:
      return "cpu_time";
    case Insight::Kind::kNoise:
      return "noise";
    case Insight::Kind::kTracing:
      return "tracing";
  }
  return "other";
}

// Names come from files: bytes that are not UTF-8 become U+FFFD, so that what is written is JSON.
void Write(const Json& json, std::ostream& out) { out << JsonText(json, 2) << '\n'; }

}  // namespace

void RenderAnalysisJson(const Report& report, std::ostream& out) {
  Json json;
  json["schema_version"] = kAnalysisSchemaVersion;
  json["model_id"] = Text(report.model_id);
  json["backend"] = Text(report.backend);
  json["dtype"] = Text(report.dtype);
  json["platform"] = Text(report.run.platform);
  json["generated_at"] = Text(report.run.generated_at);
  json["status"] = NameOf(report.run.status);
  json["noise_floor"] = Number(report.noise_floor);
  json["conditions"] = FactsJson(RunFacts(report));
  Json totals = Json::object();
  Json per_etdump = Json::array();
  Json files = Json::array();
  for (const ReportExperiment& experiment : report.experiments) {
    if (!experiment.profile) continue;
    for (const AdditiveRow& row : experiment.groups.rows) {
      totals[row.name] = totals.value(row.name, 0.0) + static_cast<double>(row.total) / 1e6;
    }
    per_etdump.push_back({{"etdump", Text(experiment.etdump_name)},
                          {"experiment", report.run.experiments[experiment.index].name},
                          {"threads", experiment.threads},
                          {"runs", experiment.groups.runs},
                          {"category_totals_ms", CategoryTotals(experiment.groups)},
                          {"fine_category_totals_ms", CategoryTotals(experiment.categories)}});
  }
  for (const std::string& file : report.artifacts) {
    if (file.ends_with(".csv")) files.push_back(file);
  }
  json["category_totals_ms"] = std::move(totals);
  json["per_etdump"] = std::move(per_etdump);
  json["csv_files"] = std::move(files);
  json["experiments"] = Json::array();
  for (const ReportExperiment& experiment : report.experiments)
    json["experiments"].push_back(ExperimentJson(report, experiment));
  json["comparisons"] = Json::array();
  for (const ReportComparison& pair : report.comparisons)
    json["comparisons"].push_back(ComparisonJson(report, pair));
  json["matrices"] = Json::array();
  for (const Matrix& matrix : report.matrices) json["matrices"].push_back(MatrixJson(report, matrix));
  json["latency_plots"] = Json::array();
  for (const LatencyPlot& plot : report.latency_plots)
    json["latency_plots"].push_back(LatencyPlotJson(report, plot));
  json["ladder"] = report.ladder ? LadderJson(report) : Json(nullptr);
  json["insights"] = Json::array();
  for (const Insight& insight : report.insights) {
    json["insights"].push_back(
        {{"kind", KindName(insight.kind)},
         {"text", insight.text},
         {"at_stake_ms", Number(insight.at_stake / 1e6)},
         {"experiment", report.run.experiments[report.experiments[insight.experiment].index].name},
         {"evidence", insight.evidence},
         {"formula", insight.formula}});
  }
  json["warnings"] = report.warnings;
  Write(json, out);
}

void RenderPipelineSummaryJson(const Report& report, std::ostream& out) {
  Json json;
  json["schema_version"] = kAnalysisSchemaVersion;
  json["model"] = Text(report.model_id);
  json["platform"] = Text(report.run.platform);
  json["generated_at"] = Text(report.run.generated_at);
  json["status"] = NameOf(report.run.status);
  json["results"] = Json::array();
  for (const ReportExperiment& experiment : report.experiments) {
    json["results"].push_back({{"experiment", report.run.experiments[experiment.index].name},
                               {"label", experiment.label},
                               {"threads", experiment.threads},
                               {"runs", experiment.latency.n},
                               {"median_ms", Ms(experiment.latency.p50)},
                               {"mean_ms", Ms(experiment.latency.mean)},
                               {"min_ms", Ms(experiment.latency.min)},
                               {"max_ms", Ms(experiment.latency.max)},
                               {"std_ms", Ms(experiment.latency.sd)}});
  }
  json["comparisons"] = Json::array();
  for (const ReportComparison& pair : report.comparisons) {
    Json row = QuantityJson(pair.comparison.latency);
    row["baseline"] = pair.comparison.baseline_label;
    row["candidate"] = pair.comparison.candidate_label;
    json["comparisons"].push_back(std::move(row));
  }
  Write(json, out);
}

void RenderPipelineSummaryMarkdown(const Report& report, std::ostream& file) {
  markdown::Out out(file);
  out << "# " << HeaderText(report) << "\n\n";
  Table table{{{"experiment", Table::Align::kLeft},
               {"threads", Table::Align::kRight},
               {"runs", Table::Align::kRight},
               {"median", Table::Align::kRight},
               {"min", Table::Align::kRight},
               {"max", Table::Align::kRight}},
              {}};
  for (const ReportExperiment& experiment : report.experiments) {
    const auto time = [](const std::optional<double>& ns) {
      return ns ? FormatDuration(*ns) : std::string(kUndefined);
    };
    table.AddRow({experiment.label, std::to_string(experiment.threads), std::to_string(experiment.latency.n),
                  time(experiment.latency.p50), time(experiment.latency.min), time(experiment.latency.max)});
  }
  out << table;
  for (const ReportComparison& pair : report.comparisons) {
    const VerdictWords words = WordsOf(pair.comparison.latency);
    out << "\n- " << pair.comparison.candidate_label << " against " << pair.comparison.baseline_label << ": "
        << words.verdict << (words.interval.empty() ? "" : " " + words.interval) << '\n';
  }
}

}  // namespace etprof
