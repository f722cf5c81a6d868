#include "render/json/json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/json.h"
#include "core/json_schema_of.h"
#include "core/views.h"
#include "render/json/comparison_json.h"
#include "render/json/experiment_json.h"
#include "render/json/ladder_json.h"
#include "render/json/payoff_json.h"
#include "say/facts.h"
#include "say/findings.h"

namespace etprof {
namespace {

using Totals = std::vector<std::pair<std::string, double>>;  // ns by name

Totals TotalsOf(const Breakdown& breakdown) {
  Totals totals;
  for (const AdditiveRow& row : breakdown.rows) totals.emplace_back(row.name, row.total);
  return totals;
}

struct EtdumpJson {
  const Report& report;
  const ReportExperiment& experiment;

  static void Describe(auto& v) {
    using J = const EtdumpJson&;
    v("etdump", [](J json) { return json.experiment.etdump_name; }, {.or_null = true});
    v("experiment", [](J json) { return NameOfExperiment(json.report, json.experiment); });
    v("threads", [](J json) { return json.experiment.threads; }, {.least = 1});
    v("runs", [](J json) { return json.experiment.groups.runs; });
    v("category_totals_ms", [](J json) { return TotalsOf(json.experiment.groups); }, kMs);
    v("fine_category_totals_ms", [](J json) { return TotalsOf(json.experiment.categories); }, kMs);
  }
};

struct PlotSetJson {
  const Report& report;
  const LatencyPlot& plot;
  std::size_t set;

  const ReportExperiment& Experiment() const { return report.experiments[plot.experiments[set]]; }

  static void Describe(auto& v) {
    using J = const PlotSetJson&;
    v.Flat([](J json) { return NamedExperimentJson{json.report, json.Experiment()}; });
    v("counts", [](J json) { return json.plot.histogram.counts[json.set]; });
    v("beyond", [](J json) { return json.plot.histogram.beyond[json.set]; },
      {.meaning = "runs that took longer than the axis goes"});
  }
};

struct PlotJson {
  const Report& report;
  const LatencyPlot& plot;

  static constexpr const char* kSchemaName = "latency_plot";
  static void Describe(auto& v) {
    using J = const PlotJson&;
    v("from_ms", [](J json) { return json.plot.histogram.from; }, kMs);
    v("width_ms", [](J json) { return json.plot.histogram.width; },
      {.meaning = "of a bin; 0 where all times are equal", .least = 0, .scale = 1e6});
    v("experiments", [](J json) {
      std::vector<PlotSetJson> sets;
      for (std::size_t i = 0; i < json.plot.experiments.size(); ++i)
        sets.push_back({json.report, json.plot, i});
      return sets;
    });
  }
};

struct InsightJson {
  const Report& report;
  const Insight& insight;
  say::FindingWords words = say::SayFinding(report, insight);

  static void Describe(auto& v) {
    using J = const InsightJson&;
    v("kind", [](J json) { return json.insight.kind(); });
    v("text", [](J json) { return json.words.text; });
    v("at_stake_ms", [](J json) { return json.insight.at_stake; }, {.scale = 1e6, .or_null = true});
    v("experiment",
      [](J json) { return NameOfExperiment(json.report, json.report.experiments[json.insight.experiment]); });
    v("evidence", [](J json) { return json.words.evidence; });
    v("formula", [](J json) { return json.words.formula; });
  }
};

struct AnalysisJson {
  const Report& report;

  std::vector<EtdumpJson> Etdumps() const {
    std::vector<EtdumpJson> etdumps;
    for (const ReportExperiment& experiment : report.experiments) {
      if (experiment.profile) etdumps.push_back({report, experiment});
    }
    return etdumps;
  }
  Totals GroupTotals() const {
    Totals sums;
    for (const EtdumpJson& etdump : Etdumps()) {
      for (const auto& [name, total] : TotalsOf(etdump.experiment.groups)) {
        const auto same = std::ranges::find(sums, name, &Totals::value_type::first);
        if (same == sums.end()) {
          sums.emplace_back(name, total);
        } else {
          same->second += total;
        }
      }
    }
    return sums;
  }
  std::vector<std::string> Tables() const {
    std::vector<std::string> tables;
    for (const std::string& file : report.artifacts) {
      if (file.ends_with(".csv")) tables.push_back(file);
    }
    return tables;
  }

  static void Describe(auto& v) {
    using J = const AnalysisJson&;
    v.Constant("schema_version", 1, {.meaning = "keys may be added under the same number"});
    v("model_id", [](J json) { return json.report.model_id; }, {.or_null = true});
    v("backend", [](J json) { return json.report.backend; }, {.or_null = true});
    v("dtype", [](J json) { return json.report.dtype; }, {.or_null = true});
    v("platform", [](J json) { return json.report.run.platform; }, {.or_null = true});
    v("generated_at", [](J json) { return json.report.run.generated_at; }, {.or_null = true});
    v("status", [](J json) { return json.report.run.status; });
    v("noise_floor", [](J json) { return json.report.noise_floor; }, {.least = 0});
    v("conditions", [](J json) { return RunFacts(json.report); },
      {.meaning = "what is the same in the whole run, in words"});
    v("category_totals_ms", &AnalysisJson::GroupTotals, kMs);
    v("per_etdump", &AnalysisJson::Etdumps);
    v("csv_files", &AnalysisJson::Tables);
    v("experiments", [](J json) { return ViewsOf<ExperimentJson>(json.report.experiments, json.report); });
    v("comparisons", [](J json) { return ViewsOf<ComparisonJson>(json.report.comparisons, json.report); });
    v("matrices", [](J json) { return ViewsOf<MatrixJson>(json.report.matrices, json.report); });
    v("latency_plots", [](J json) { return ViewsOf<PlotJson>(json.report.latency_plots, json.report); });
    v("ladder", [](J json) -> std::optional<LadderJson> {
      if (!json.report.ladder) return std::nullopt;
      return LadderJson{json.report};
    });
    v("isa_threads",
      [](J json) {
        std::vector<PayoffJson> payoffs;
        for (const Payoff& payoff : json.report.payoffs) payoffs.push_back({payoff});
        return payoffs;
      },
      {.meaning = "what each level of the ISA gains at each number of threads"});
    v("insights", [](J json) { return ViewsOf<InsightJson>(json.report.insights, json.report); });
    v("warnings", [](J json) { return json.report.warnings; });
  }
};

struct ResultJson {
  const Report& report;
  const ReportExperiment& experiment;

  static void Describe(auto& v) {
    using J = const ResultJson&;
    v.Flat([](J json) { return NamedExperimentJson{json.report, json.experiment}; });
    v("runs", [](J json) { return json.experiment.latency.n; });
    v("median_ms", [](J json) { return json.experiment.latency.p50; }, kMs);
    v("mean_ms", [](J json) { return json.experiment.latency.mean; }, kMs);
    v("min_ms", [](J json) { return json.experiment.latency.min; }, kMs);
    v("max_ms", [](J json) { return json.experiment.latency.max; }, kMs);
    v("std_ms", [](J json) { return json.experiment.latency.sd; }, kMs);
  }
};

struct VerdictJson {
  const Comparison& comparison;

  static void Describe(auto& v) {
    using J = const VerdictJson&;
    v.Flat([](J json) -> const auto& { return json.comparison.latency; });
    v("baseline", [](J json) { return json.comparison.baseline_label; });
    v("candidate", [](J json) { return json.comparison.candidate_label; });
  }
};

struct PipelineSummaryJson {
  const Report& report;

  static void Describe(auto& v) {
    using J = const PipelineSummaryJson&;
    v.Constant("schema_version", 1, {.meaning = "keys may be added under the same number"});
    v("model", [](J json) { return json.report.model_id; }, {.or_null = true});
    v("platform", [](J json) { return json.report.run.platform; }, {.or_null = true});
    v("generated_at", [](J json) { return json.report.run.generated_at; }, {.or_null = true});
    v("status", [](J json) { return json.report.run.status; });
    v("results", [](J json) { return ViewsOf<ResultJson>(json.report.experiments, json.report); });
    v("comparisons", [](J json) {
      std::vector<VerdictJson> verdicts;
      for (const ReportComparison& pair : json.report.comparisons) verdicts.push_back({pair.comparison});
      return verdicts;
    });
  }
};

}  // namespace

// Names come from files: bytes that are not UTF-8 become U+FFFD, so that what is written is JSON.
void RenderAnalysisJson(const Report& report, std::ostream& out) {
  out << JsonText(ToJson(AnalysisJson{report}), 2) << '\n';
}

void RenderPipelineSummaryJson(const Report& report, std::ostream& out) {
  out << JsonText(ToJson(PipelineSummaryJson{report}), 2) << '\n';
}

nlohmann::ordered_json AnalysisSummarySchema() {
  return SchemaOf<AnalysisJson>(
      "analysis_summary.json of an etprof results directory, and `etprof analyze --json`",
      "Everything of the report but the events (docs/reference/files.md). What is not defined is null.");
}

nlohmann::ordered_json PipelineSummarySchema() {
  return SchemaOf<PipelineSummaryJson>(
      "pipeline_summary.json of an etprof results directory",
      "The latency of every experiment and the verdict of every pair (docs/reference/files.md).");
}

}  // namespace etprof
