#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "render/devices.h"
#include "render/devices_words.h"
#include "render/wording.h"

namespace etprof {
namespace {

using namespace devices;
using Json = nlohmann::ordered_json;

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json Ms(const std::optional<double>& ns) { return ns ? Number(*ns / 1e6) : Json(nullptr); }
Json Text(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// The interval means nothing where the CPU was emulated.
void AddEstimate(const Quantity& quantity, Json& object) {
  const bool told = quantity.estimate && quantity.verdict != stats::Verdict::kEmulated;
  object["ratio"] = told ? Number(quantity.estimate->ratio()) : Json(nullptr);
  object["ratio_low"] = told ? Number(quantity.estimate->low()) : Json(nullptr);
  object["ratio_high"] = told ? Number(quantity.estimate->high()) : Json(nullptr);
  object["confidence"] = told ? Number(quantity.estimate->confidence) : Json(nullptr);
  object["p_value"] =
      told && quantity.estimate->p_value ? Number(*quantity.estimate->p_value) : Json(nullptr);
  object["verdict"] = stats::VerdictName(quantity.verdict);
}

Json DeviceJson(const DevicesReport& report, std::size_t index) {
  const Report& run = report.runs[index];
  const std::optional<DeviceProperties>& device = run.run.device;
  Json object;
  object["name"] = report.names[index];
  object["run"] = run.run.folder.string();
  object["model_id"] = run.model_id;
  object["method"] = run.run.method;
  object["status"] = NameOf(run.run.status);
  object["generated_at"] = Text(run.run.generated_at);
  object["platform"] = Text(run.run.platform);
  object["cpu_model"] = device ? Text(device->cpu_model) : Json(nullptr);
  object["cores"] = device && device->cores > 0 ? Json(device->cores) : Json(nullptr);
  object["features"] = FeaturesOfRun(run);
  object["governor"] = Text(GovernorText(run));
  object["os"] = device ? Text(device->os) : Json(nullptr);
  object["kernel"] = device ? Text(device->kernel) : Json(nullptr);
  object["virtualization"] = device ? Text(device->virtualization) : Json(nullptr);
  object["power_mode"] = device ? Text(device->power_mode) : Json(nullptr);
  object["emulated"] = run.emulated;
  object["warnings"] = run.warnings;
  return object;
}

Json GroupsJson(const ReportExperiment& experiment) {
  Json groups = Json::array();
  const double whole = experiment.MeanExecute().value_or(0);
  for (const AdditiveRow& row : experiment.groups.rows) {
    if (experiment.groups.runs == 0) break;
    const double mean = static_cast<double>(row.total) / static_cast<double>(experiment.groups.runs);
    groups.push_back({{"name", row.name},
                      {"mean_ms", Number(mean / 1e6)},
                      {"share", whole > 0 ? Number(mean / whole) : Json(nullptr)}});
  }
  return groups;
}

Json ExperimentJson(const DevicesReport& report, const ModelSection& model, const DeviceRow& row) {
  Json cells = Json::array();
  for (std::size_t device = 0; device < row.cells.size(); ++device) {
    const ReportExperiment* experiment = ExperimentOf(report, model, row, device);
    if (experiment == nullptr) continue;
    const Report& run = report.runs[model.devices[device].run];
    const ExperimentData& data = run.run.experiments[experiment->index];
    Json cell;
    cell["device"] = model.devices[device].name;
    cell["experiment"] = data.name;
    cell["emulated"] = data.emulated;
    cell["median_ms"] = Ms(experiment->latency.p50);
    const bool interval = experiment->interval && !data.emulated && !experiment->latency_from_trace;
    cell["median_low_ms"] = interval ? Number(experiment->interval->low / 1e6) : Json(nullptr);
    cell["median_high_ms"] = interval ? Number(experiment->interval->high / 1e6) : Json(nullptr);
    cell["latency_from"] = experiment->latency_from_trace ? "trace" : "untraced";
    cell["runs"] = experiment->latency.n;
    cell["launches"] = experiment->launches;
    cell["groups"] = GroupsJson(*experiment);
    Json against = nullptr;
    if (row.first && device != *row.first && row.cells[device].against_first.candidate_ns) {
      against = Json::object();
      against["device"] = model.devices[*row.first].name;
      against["paired"] = false;
      AddEstimate(row.cells[device].against_first, against);
    }
    cell["against_first"] = std::move(against);
    cells.push_back(std::move(cell));
  }
  return {{"label", row.label},
          {"threads", row.threads},
          {"differences", row.differences},
          {"devices", std::move(cells)}};
}

Json PairJson(const DevicesReport& report, const ModelSection& model, const DevicePairRow& row) {
  Json cells = Json::array();
  for (std::size_t device = 0; device < row.comparisons.size(); ++device) {
    const ReportComparison* pair = ComparisonOf(report, model, row, device);
    if (pair == nullptr) continue;
    Json cell;
    cell["device"] = model.devices[device].name;
    cell["baseline_ms"] = Ms(pair->comparison.latency.baseline_ns);
    cell["candidate_ms"] = Ms(pair->comparison.latency.candidate_ns);
    cell["pairing"] = pair->comparison.pairing == Pairing::kLaunches   ? "launches"
                      : pair->comparison.pairing == Pairing::kUnpaired ? "unpaired"
                                                                       : "none";
    AddEstimate(pair->comparison.latency, cell);
    cells.push_back(std::move(cell));
  }
  return {
      {"baseline", row.baseline_label}, {"candidate", row.candidate_label}, {"devices", std::move(cells)}};
}

}  // namespace

void RenderDevicesJson(const DevicesReport& report, std::ostream& out) {
  Json root;
  root["schema_version"] = kDevicesSchemaVersion;
  root["title"] = Text(report.title);
  root["emulated"] = report.emulated;
  root["devices"] = Json::array();
  for (std::size_t i = 0; i < report.runs.size(); ++i) root["devices"].push_back(DeviceJson(report, i));
  root["models"] = Json::array();
  for (const ModelSection& model : report.models) {
    Json section;
    section["model_id"] = model.model_id;
    section["model_sha256"] = Text(model.model_sha256);
    section["method"] = model.method;
    section["devices"] = Json::array();
    for (const DeviceColumn& device : model.devices) section["devices"].push_back(device.name);
    section["experiments"] = Json::array();
    for (const DeviceRow& row : model.experiments)
      section["experiments"].push_back(ExperimentJson(report, model, row));
    section["comparisons"] = Json::array();
    for (const DevicePairRow& row : model.pairs)
      section["comparisons"].push_back(PairJson(report, model, row));
    root["models"].push_back(std::move(section));
  }
  root["unpaired"] = UnpairedText(report.distinct_devices);
  out << JsonText(root, 1) << '\n';
}

}  // namespace etprof
