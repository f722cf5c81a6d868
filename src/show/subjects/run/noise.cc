#include <algorithm>
#include <cmath>
#include <set>

#include "show/subjects/run/report_parts.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenNoiseRows = 20, kMinChartPoints = 4;

// The time of the module's own operators, excluding its submodules; absent if no own operator has a time.
std::optional<double> ModuleSelfTime(const ReportExperiment& experiment, const std::string& path) {
  const auto layer = std::ranges::find(experiment.layers, path, &LayerRow::path);
  if (layer == experiment.layers.end() || layer->self <= 0 || experiment.common_runs <= 0)
    return std::nullopt;
  return static_cast<double>(layer->self) / static_cast<double>(experiment.common_runs);
}

std::string NoiseLayerName(const std::string& path) { return path.empty() ? "(the model)" : path; }

Cell DecibelsCell(const std::optional<double>& decibels) {
  return decibels ? Cell(Number{*decibels, ""}) : Cell("");
}

Table MakeNoiseTable(const OutputBudget& budget, const ReportExperiment& experiment) {
  Table table{.id = "noise",
              .title = "By value",
              .screen_rows = kScreenNoiseRows,
              .hidden_rows_hint = "in the `.pte.accuracy.json`"};
  using Value = QuantizedValue;
  table.Fill<Value>(
      {{Left("value"), &Value::name},
       {Left("kind").WithDropPriority(2), &Value::kind},
       {Left("layer"), [](const Value& value) { return NoiseLayerName(value.module); }},
       {Right("share", "% of noise"), [](const Value& value) { return OptionalCell<Share>(value.share); }},
       {Right("sqnr_db", "alone, dB"), [](const Value& value) { return DecibelsCell(value.sqnr_db); }},
       {Right("clipped").WithDropPriority(1),
        [](const Value& value) { return CellOrBlank<Share>(value.clipped); }},
       {Right("layer_self", "layer's own time"),
        [&](const Value& value) { return CellOrBlank<Time>(ModuleSelfTime(experiment, value.module)); }}},
      budget.values);
  table.AddRow("interaction", "", "", OptionalCell<Share>(budget.interaction), "", "", "");
  return table;
}

// The noise of a module's own operators and values, excluding its submodules.
struct NoiseLayer {
  std::string path;
  double share = 0;
  std::int64_t values = 0;
  std::optional<double> sqnr_db, device_db, self_ns;
};

// The layers by decreasing share of the noise, each with the lowest SQNR of its operators on the device.
std::vector<NoiseLayer> MakeNoiseLayers(const NoiseBudget& noise, const OutputBudget& budget,
                                        const ReportExperiment& experiment) {
  std::vector<NoiseLayer> layers;
  const auto find_or_add_layer = [&](const std::string& path) -> NoiseLayer& {
    const auto found = std::ranges::find(layers, path, &NoiseLayer::path);
    if (found != layers.end()) return *found;
    NoiseLayer& layer = layers.emplace_back();
    layer.path = path;
    layer.self_ns = ModuleSelfTime(experiment, path);
    return layer;
  };
  for (const QuantizedValue& value : budget.values) {
    NoiseLayer& layer = find_or_add_layer(value.module);
    layer.share += value.share.value_or(0);
    ++layer.values;
  }
  for (const DeviceOperator& op : noise.operators) {
    if (op.method != budget.method || !op.sqnr_db) continue;
    NoiseLayer& layer = find_or_add_layer(op.module);
    layer.device_db = std::min(layer.device_db.value_or(*op.sqnr_db), *op.sqnr_db);
  }
  for (NoiseLayer& layer : layers) {
    if (layer.share > 0 && budget.sqnr_db) layer.sqnr_db = *budget.sqnr_db - 10 * std::log10(layer.share);
  }
  std::ranges::stable_sort(layers, std::ranges::greater(), &NoiseLayer::share);
  return layers;
}

Table MakeNoiseByLayerTable(const NoiseBudget& noise, const OutputBudget& budget,
                            const ReportExperiment& experiment) {
  const std::vector<NoiseLayer> layers = MakeNoiseLayers(noise, budget, experiment);
  const bool has_device =
      std::ranges::any_of(layers, [](const NoiseLayer& layer) { return layer.device_db.has_value(); });
  Table table{.id = "noise_by_layer", .title = "By layer"};
  table.Fill<NoiseLayer>(
      {{Left("layer"), [](const NoiseLayer& layer) { return NoiseLayerName(layer.path); }},
       {Right("share", "% of noise"), [](const NoiseLayer& layer) { return Share(layer.share); }},
       {Right("sqnr_db", "alone, dB"), [](const NoiseLayer& layer) { return DecibelsCell(layer.sqnr_db); }},
       {Right("device_db", "the .pte, dB"),
        [](const NoiseLayer& layer) { return DecibelsCell(layer.device_db); }, has_device},
       {Right("values").WithDropPriority(1), [](const NoiseLayer& layer) { return Count(layer.values); }},
       {Right("layer_self", "own time"),
        [](const NoiseLayer& layer) { return CellOrBlank<Time>(layer.self_ns); }}},
      layers);
  table.screen_rows = kScreenNoiseRows;
  return table;
}

// The operators of the .pte that were compared with PyTorch's.
Table MakeDeviceNoiseTable(const NoiseBudget& noise, const std::string& method) {
  std::vector<DeviceOperator> rows;
  std::ranges::copy_if(noise.operators, std::back_inserter(rows),
                       [&](const DeviceOperator& op) { return op.method == method; });
  Table table{.id = "noise_on_device", .title = "Operators of the .pte against PyTorch"};
  table.Fill<DeviceOperator>(
      {{NameColumn("operator"), &DeviceOperator::name},
       {Left("layer"), [](const DeviceOperator& op) { return NoiseLayerName(op.module); }},
       {Right("device_db", "the .pte, dB"),
        [](const DeviceOperator& op) {
          return op.sqnr_db || !op.note.empty() ? DecibelsCell(op.sqnr_db) : Cell("identical");
        }},
       {Left("note").WithWrapping(), &DeviceOperator::note}},
      rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].deviates) table.rows[i].visibility = Visibility::kPage;
  }
  table.screen_rows = kScreenNoiseRows;
  return table;
}

// Shows how the error grows along the program.
Chart MakeDeviceNoiseChart(const NoiseBudget& noise, const std::string& method) {
  Chart::Series series{"the .pte, dB", {}, [](double ratio) { return Cell(Number{ratio, "dB"}); }};
  Chart chart;
  for (const DeviceOperator& op : noise.operators) {
    if (op.method != method || !op.sqnr_db) continue;
    series.values.emplace_back(*op.sqnr_db);
    chart.points.push_back(NoiseLayerName(op.module) + ", " + op.name);
  }
  chart.series = {std::move(series)};
  return chart;
}

// States whether the data type or the lowering causes the error.
Text DeviceSummary(const NoiseBudget& noise) {
  if (!noise.no_operators_reason.empty())
    return FormatText(" Operators were not compared with PyTorch's: {}.", noise.no_operators_reason);
  if (const DeviceOperator* const first_different = noise.FindFirstDeviation()) {
    return FormatText(
        " The first operator of the .pte that leaves PyTorch's value in the same type is {} ({}): {}.",
        first_different->name, NoiseLayerName(first_different->module),
        first_different->sqnr_db ? FormatText("{}", Number{*first_different->sqnr_db, "dB"})
                                 : Text("not finite"));
  }
  std::int64_t num_compared = 0;
  std::optional<double> lowest;
  for (const DeviceOperator& op : noise.operators) {
    num_compared += op.note.empty() ? 1 : 0;
    if (op.sqnr_db) lowest = std::min(lowest.value_or(*op.sqnr_db), *op.sqnr_db);
  }
  if (num_compared == 0) return {};
  Text text =
      FormatText(" {} operators of the .pte agree with PyTorch's in the same type: ", Count(num_compared));
  text += lowest ? FormatText("the lowest has {}.", Number{*lowest, "dB"}) : Text("all are identical.");
  return text;
}

Text NoiseSummary(const OutputBudget& budget) {
  Text text = budget.sqnr_db ? FormatText("{}", Number{*budget.sqnr_db, "dB"}) : Text("No noise");
  text += FormatText(" on {} {}inputs", Count(budget.inputs), budget.held_out ? "held-out " : "");
  if (budget.device_sqnr_db) text += FormatText(" (the .pte: {})", Number{*budget.device_sqnr_db, "dB"});
  if (!budget.sqnr_db) return text + ".";
  text += FormatText(". Half of the noise is in {} of {} values: {}.", Count(budget.values_with_half_noise),
                     Count(budget.values.size()), budget.concentrated ? "concentrated" : "diffuse");
  return text;
}

}  // namespace

Document MakeNoiseDocument(const Report& report) {
  Document document{.title = "Noise", .section_kind = "experiment"};
  std::set<std::string> seen_programs;
  for (const ReportExperiment& experiment : report.experiments) {
    const ExperimentData& data = experiment.Data(report);
    if (!experiment.noise || !seen_programs.insert(experiment.noise->pte_sha256 + data.label).second)
      continue;
    const std::string method = experiment.profile ? experiment.profile->MethodName() : "";
    for (const OutputBudget& budget : experiment.noise->budgets) {
      if (!method.empty() && budget.method != method) continue;
      std::string title = experiment.label;
      if (experiment.noise->budgets.size() > 1) title += ", output " + std::to_string(budget.output);
      const NoiseBudget& noise = *experiment.noise;
      Section section{title, {Paragraph{NoiseSummary(budget) + DeviceSummary(noise)}}};
      section.AddUnlessEmpty(MakeNoiseByLayerTable(noise, budget, experiment));
      section.AddUnlessEmpty(MakeNoiseTable(budget, experiment));
      if (budget.output == noise.budgets.front().output) {
        Chart chart = MakeDeviceNoiseChart(noise, budget.method);
        if (chart.points.size() >= kMinChartPoints) section.parts.emplace_back(std::move(chart));
        section.AddUnlessEmpty(MakeDeviceNoiseTable(noise, budget.method));
      }
      document.sections.push_back(std::move(section));
    }
  }
  document.method =
      "Share of the error at the output with one value alone quantized or rounded, emulated in PyTorch "
      "(docs/guides/accuracy.md). The .pte's decibels are of an operator's value against PyTorch's in the "
      "same type, of a layer the lowest. Own time is of the operators of a module, without modules in it.";
  return document;
}

}  // namespace etprof::show
