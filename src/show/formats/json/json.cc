#include "show/formats/json/json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "core/json/json_schema_of.h"
#include "core/text/text.h"
#include "core/views.h"
#include "show/formats/json/comparison_json.h"
#include "show/formats/json/experiment_json.h"
#include "show/subjects/run/report.h"

namespace etprof {
namespace {

using Totals = std::vector<std::pair<std::string, double>>;  // ns by name

Totals MakeTotals(const Breakdown& breakdown) {
  return MapEach(breakdown.rows,
                 [](const AdditiveRow& row) { return Totals::value_type(row.name, row.total); });
}

struct EtdumpJson {
  const ReportExperiment& source;

  static void Describe(auto& v) {
    using J = const EtdumpJson&;
    v("etdump", &ReportExperiment::etdump_name, {.meaning = "file name", .or_null = true});
    v("experiment", [](J json, const Report& report) { return json.source.Data(report).name; },
      {.meaning = "its name in the configuration"});
    v("threads", &ReportExperiment::threads,
      {.meaning = "of the runner's thread pool; null: not known", .min = 1});
    v("runs", [](J json) { return json.source.groups.runs; },
      {.meaning = "of the common set, which the totals are over"});
    v("category_totals_ms", [](J json) { return MakeTotals(json.source.groups); },
      {.meaning = "self time by group", .scale = 1e6});
    v("fine_category_totals_ms", [](J json) { return MakeTotals(json.source.categories); },
      {.meaning = "self time by category", .scale = 1e6});
  }
};

struct PlotExperimentJson {
  std::size_t index;

  static void Describe(auto& v) {
    using J = const PlotExperimentJson&;
    using Plot = const LatencyPlot&;
    v.Flat([](J json, Plot plot, const Report& report) {
      return NamedExperimentJson{report.experiments[plot.experiments[json.index]]};
    });
    v("counts", [](J json, Plot plot) { return plot.histogram.counts[json.index]; },
      {.meaning = "runs, bin by bin"});
    v("beyond", [](J json, Plot plot) { return plot.histogram.above_axis[json.index]; },
      {.meaning = "runs that took longer than the axis goes"});
  }
};

struct PlotJson {
  const LatencyPlot& source;

  static constexpr const char* kSchemaName = "latency_plot";
  static void Describe(auto& v) {
    using Plot = const LatencyPlot&;
    v("from_ms", [](Plot plot) { return plot.histogram.from; },
      {.meaning = "where the first bin begins", .scale = 1e6});
    v("width_ms", [](Plot plot) { return plot.histogram.width; },
      {.meaning = "of a bin; 0 where all times are equal", .min = 0, .scale = 1e6});
    v("experiments", [](Plot plot) { return MakeIndexViews<PlotExperimentJson>(plot.experiments.size()); },
      {.meaning = "on the same axis"});
  }
};

// The distinct kinds of findings: "bottleneck_shift|bottleneck|...".
template <typename... Findings>
std::string JoinKinds(const std::variant<Findings...>&) {
  std::vector<std::string> kinds;
  (AppendUnique(std::string(Findings::kKind), kinds), ...);
  return fmt::format("{}", fmt::join(kinds, "|"));
}
const std::string& FindingKinds() {
  static const std::string kinds = JoinKinds(Finding::Details());
  return kinds;
}

struct FindingJson {
  const Report& report;
  const Finding& source;
  show::FindingTexts texts = show::MakeFindingTexts(report, source);

  std::string ToText(const show::Text& text) const { return show::ToText(text, show::LatencyRange(report)); }

  static void Describe(auto& v) {
    using J = const FindingJson&;
    v("kind", &Finding::kind, {.meaning = "of the finding", .choices = FindingKinds()});
    v("text", [](J json) { return json.ToText(json.texts.text); }, {.meaning = "the finding"});
    v("at_stake_ms", &Finding::impact_ns,
      {.meaning = "of one inference; findings are sorted by it, after those of kind `tracing`",
       .scale = 1e6,
       .or_null = true});
    v("experiment",
      [](J json) { return json.report.experiments[json.source.experiment].Data(json.report).name; },
      {.meaning = "that it is of"});
    v("evidence",
      [](J json) {
        return MapEach(json.texts.evidence, [&](const show::Text& line) { return json.ToText(line); });
      },
      {.meaning = "what it is concluded from, line by line"});
    v("formula", [](J json) { return json.texts.formula; }, {.meaning = "how its numbers are computed"});
  }
};

// Describes keys that several files have in common.
void DescribeMeasurement(auto& v) {
  v("platform", [](const Report& report) { return report.run.platform; },
    {.meaning = "of the device, as in the manifest", .or_null = true});
  v("generated_at", [](const Report& report) { return report.run.generated_at; },
    {.meaning = "when the measurement began, UTC", .or_null = true});
  v("status", [](const Report& report) { return report.run.status; },
    {.meaning = "of the measurement; `running` also means killed"});
}

struct AnalysisJson {
  const Report& source;

  std::vector<EtdumpJson> Etdumps() const {
    std::vector<EtdumpJson> etdumps;
    for (const ReportExperiment& experiment : source.experiments) {
      if (experiment.profile) etdumps.push_back({experiment});
    }
    return etdumps;
  }
  Totals GroupTotals() const {
    Totals sums;
    for (const EtdumpJson& etdump : Etdumps()) {
      for (const auto& [name, total] : MakeTotals(etdump.source.groups)) {
        const auto found = std::ranges::find(sums, name, &Totals::value_type::first);
        if (found == sums.end()) {
          sums.emplace_back(name, total);
        } else {
          found->second += total;
        }
      }
    }
    return sums;
  }
  std::vector<std::string> Tables() const {
    std::vector<std::string> tables = source.artifacts;
    std::erase_if(tables, [](const std::string& file) { return !file.ends_with(".csv"); });
    return tables;
  }

  static void Describe(auto& v) {
    using J = const AnalysisJson&;
    DescribeSchemaVersion(v);
    v("model_id", &Report::model_id,
      {.meaning = "the model's file name without .pte; null: not known, or several", .or_null = true});
    v("backend", &Report::backend,
      {.meaning = "that it was exported for; null: not known, or several", .or_null = true});
    v("dtype", &Report::dtype,
      {.meaning = "that it was exported in; null: not known, or several", .or_null = true});
    DescribeMeasurement(v);
    v("noise_floor", &Report::noise_floor,
      {.meaning = "the smallest relative change that an A/A pair of this run can show", .min = 0});
    v("conditions", [](J json) { return show::RunFacts(json.source).facts; },
      {.meaning = "what is the same in the whole run, in words"});
    v("category_totals_ms", &AnalysisJson::GroupTotals,
      kMs.WithMeaning("self time by group, over all of per_etdump"));
    v("per_etdump", &AnalysisJson::Etdumps, {.meaning = "experiments with an ETDump that can be read"});
    v("csv_files", &AnalysisJson::Tables, {.meaning = "that the analysis wrote beside it"});
    v("experiments", [](J json) { return MakeViews<ExperimentJson>(json.source.experiments); },
      {.meaning = "one for each number of threads"});
    v("comparisons", [](J json) { return MakeViews<ComparisonJson>(json.source.comparisons); },
      {.meaning = "pairs of experiments"});
    v("matrices", [](J json) { return MakeViews<MatrixJson>(json.source.matrices); },
      {.meaning = "several experiments compared with one baseline; false discovery is controlled within a "
                  "comparison, not over a matrix"});
    v("latency_plots", [](J json) { return MakeViews<PlotJson>(json.source.latency_plots); },
      {.meaning = "histograms of experiments that are compared with each other"});
    v("ladder", &Report::ladder, {.meaning = "of a run that measured levels of the ISA; null: it is none"});
    v("isa_threads", &Report::level_speedups,
      {.meaning = "what each level of the ISA gains at each number of threads"});
    v("insights", [](J json) { return MakeViews<FindingJson>(json.source.findings, json.source); },
      {.meaning = "findings: what to do next"});
    v("warnings", &Report::warnings, {.meaning = "what makes the results less certain"});
  }
};

struct ResultJson {
  const ReportExperiment& experiment;
  const stats::Distribution& source = experiment.latency;

  static void Describe(auto& v) {
    using J = const ResultJson&;
    v.Flat([](J json) { return NamedExperimentJson{json.experiment}; });
    v("runs", &stats::Distribution::n, {.meaning = "that the times are of"});
    v("median_ms", &stats::Distribution::p50, kMs.WithMeaning("of the latency"));
    v("mean_ms", &stats::Distribution::mean, kMs.WithMeaning("of the latency"));
    v("min_ms", &stats::Distribution::min, kMs.WithMeaning("of the latency"));
    v("max_ms", &stats::Distribution::max, kMs.WithMeaning("of the latency"));
    v("std_ms", &stats::Distribution::sd, kMs.WithMeaning("standard deviation of the latency, with n - 1"));
  }
};

struct VerdictJson {
  const ReportComparison& pair;
  const Comparison& source = pair.comparison;

  static void Describe(auto& v) {
    v.Flat(&Comparison::latency);
    v("baseline", &Comparison::baseline_label,
      {.meaning = "label of the variant that the other is compared with"});
    v("candidate", &Comparison::candidate_label,
      {.meaning = "label of the variant that is compared with the baseline"});
  }
};

struct PipelineSummaryJson {
  const Report& source;

  static void Describe(auto& v) {
    using J = const PipelineSummaryJson&;
    DescribeSchemaVersion(v);
    v("model", &Report::model_id,
      {.meaning = "file name without .pte; null: not known, or several", .or_null = true});
    DescribeMeasurement(v);
    v("results", [](J json) { return MakeViews<ResultJson>(json.source.experiments); },
      {.meaning = "latency of each experiment"});
    v("comparisons", [](J json) { return MakeViews<VerdictJson>(json.source.comparisons); },
      {.meaning = "latency of each pair"});
  }
};

}  // namespace

void RenderAnalysisJson(const Report& report, std::ostream& out) { WriteJson(AnalysisJson{report}, 2, out); }

void RenderPipelineSummaryJson(const Report& report, std::ostream& out) {
  WriteJson(PipelineSummaryJson{report}, 2, out);
}

nlohmann::ordered_json AnalysisSummarySchema() {
  return MakeSchema<AnalysisJson>(
      "analysis_summary.json of an etprof results directory, and `etprof analyze --json`",
      "Everything of the report but the events (docs/reference/files.md). What is not defined is null.");
}

nlohmann::ordered_json PipelineSummarySchema() {
  return MakeSchema<PipelineSummaryJson>(
      "pipeline_summary.json of an etprof results directory",
      "The latency of every experiment and the verdict of every pair (docs/reference/files.md).");
}

}  // namespace etprof
