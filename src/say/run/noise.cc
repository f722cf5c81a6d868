#include <algorithm>
#include <set>

#include "say/run/report_parts.h"

namespace etprof::say {
namespace {

constexpr std::size_t kUsualNoise = 20;

struct NoiseRow {
  std::string name, kind, layer;
  std::optional<double> share, sqnr_db, clipped;
  std::optional<double> self_ns;  // of the layer's own operators
};

// The time of the operators that are the module's own, not of modules in it; absent where it has none.
std::optional<double> TimeOfModule(const ReportExperiment& experiment, const std::string& path) {
  const auto layer = std::ranges::find(experiment.layers, path, &LayerRow::path);
  if (layer == experiment.layers.end() || layer->self <= 0 || experiment.common_runs <= 0)
    return std::nullopt;
  return static_cast<double>(layer->self) / static_cast<double>(experiment.common_runs);
}

std::vector<NoiseRow> NoiseRows(const OutputBudget& budget, const ReportExperiment& experiment) {
  std::vector<NoiseRow> rows;
  for (const QuantizedValue& value : budget.values) {
    rows.push_back({value.name, value.kind, value.module.empty() ? "(the model)" : value.module, value.share,
                    value.sqnr_db, value.clipped, TimeOfModule(experiment, value.module)});
  }
  rows.push_back({"interaction", "", "", budget.interaction, {}, {}, {}});
  return rows;
}

Table NoiseTable(const OutputBudget& budget, const ReportExperiment& experiment) {
  Table table{.id = "noise"};
  const std::vector<NoiseRow> rows = NoiseRows(budget, experiment);
  using Of = NoiseRow;
  table.Fill<Of>(
      {{Left("value"), &Of::name},
       {Left("kind").WithDropPriority(2), &Of::kind},
       {Left("layer"), &Of::layer},
       {Right("share", "% of noise"), [](const Of& row) { return OptionalCell<Share>(row.share); }},
       {Right("sqnr_db", "alone, dB"),
        [](const Of& row) { return row.sqnr_db ? Cell(Number{*row.sqnr_db, ""}) : Cell(""); }},
       {Right("clipped").WithDropPriority(1), [](const Of& row) { return CellOrBlank<Share>(row.clipped); }},
       {Right("layer_self", "layer's own time"),
        [](const Of& row) { return CellOrBlank<Time>(row.self_ns); }}},
      rows);
  table.screen_rows = kUsualNoise;
  table.hidden_rows_hint = "in the `.pte.accuracy.json`";
  return table;
}

Text NoiseSummary(const OutputBudget& budget) {
  Text text = budget.sqnr_db ? FormatText("{}", Number{*budget.sqnr_db, "dB"}) : Text("No noise");
  text += FormatText(" on {} {}inputs", Count(budget.inputs), budget.held_out ? "held-out " : "");
  if (budget.device_sqnr_db) text += FormatText(" (the .pte: {})", Number{*budget.device_sqnr_db, "dB"});
  text += FormatText(". Half of the noise is in {} of {} values: {}.", Count(budget.values_of_half),
                     Count(budget.values.size()), budget.concentrated ? "concentrated" : "diffuse");
  return text;
}

}  // namespace

Document MakeNoiseSections(const Report& report) {
  Document document;
  document.title = "Noise";
  document.section_kind = "experiment";
  std::set<std::string> seen;
  for (const ReportExperiment& experiment : report.experiments) {
    const ExperimentData& data = report.run.experiments[experiment.index];
    if (!experiment.noise || !seen.insert(experiment.noise->pte_sha256 + data.label).second) continue;
    const std::string method = experiment.profile && !experiment.profile->operators.empty()
                                   ? experiment.profile->operators.front().key.method
                                   : "";
    for (const OutputBudget& budget : experiment.noise->budgets) {
      if (!method.empty() && budget.method != method) continue;
      std::string title = experiment.label;
      if (experiment.noise->budgets.size() > 1) title += ", output " + std::to_string(budget.output);
      Section section{title, Level::kUsual, {Paragraph{NoiseSummary(budget)}}};
      section.AddUnlessEmpty(NoiseTable(budget, experiment));
      document.sections.push_back(std::move(section));
    }
  }
  document.method =
      "Share of the error at the output with one value alone quantized, emulated in PyTorch (docs/guides/"
      "accuracy.md). The layer's own time is of the operators of its module, without modules in it.";
  return document;
}

}  // namespace etprof::say
