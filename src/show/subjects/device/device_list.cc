#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "core/process/cpus.h"
#include "core/units.h"
#include "device/conditions/clusters.h"
#include "device/describe.h"
#include "device/survey.h"
#include "show/subjects.h"

namespace etprof::show {
namespace {

std::string TemperatureText(const DeviceVitals& vitals) {
  std::vector<std::string> texts;
  if (vitals.cpu_celsius) texts.push_back(fmt::format("CPU {:.1f} °C", *vitals.cpu_celsius));
  if (vitals.skin_celsius) texts.push_back(fmt::format("skin {:.1f} °C", *vitals.skin_celsius));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string BatteryText(const DeviceVitals& vitals) {
  std::string status = vitals.battery_status;
  if (!vitals.battery_percent) return status;
  if (!status.empty()) status.front() = static_cast<char>(std::tolower(status.front()));
  return fmt::format("{}%{}{}", *vitals.battery_percent, status.empty() ? "" : " ", status);
}

std::string SizeText(Bytes bytes) { return FormatBytes(static_cast<double>(bytes)); }

std::string RemovedText(const DeviceSurvey& device) {
  std::string text = SizeText(device.removed->cache + device.removed->old_runs) + " freed";
  const int live = device.removed->live_runs;
  if (live > 0 && device.stored.cache > 0) {
    text += fmt::format("; the cache's {} stay, since {} {} them", SizeText(device.stored.cache),
                        CountedText(live, "active run"), live == 1 ? "uses" : "use");
  }
  return text;
}

std::string ClustersText(const DeviceProperties& properties) {
  std::vector<std::string> texts;
  const std::vector<CpuCluster> clusters = FindCpuClusters(properties);
  for (const CpuCluster& cluster : clusters) {
    texts.push_back(ClusterText(cluster));
    if (clusters.size() > 1) texts.back() += ": CPU " + CpusText(cluster.cpus);
  }
  if (texts.empty() && properties.cores > 0) texts.push_back(fmt::format("{} CPUs", properties.cores));
  if (texts.empty()) return "not known";
  return fmt::format("{}", fmt::join(texts, ", "));
}

Facts MakeDeviceFacts(const DeviceSurvey& device) {
  Facts facts{"device", ""};
  facts.Add("problem", device.problem);
  facts.Add("remedy", device.remedy);
  if (!device.problem.empty()) return facts;
  const DeviceProperties& properties = device.properties;
  facts.Add("model", properties.cpu_model);
  facts.Add("system", properties.os);
  facts.Add("kernel", properties.kernel);
  facts.Add("cores", ClustersText(properties));
  const std::vector<std::string> features = NotableFeatures(properties);
  facts.Add("features", features.empty() ? "none that XNNPACK chooses kernels by"
                                         : fmt::format("{}", fmt::join(features, ", ")));
  facts.Add("governor", GovernorText(properties));
  facts.Add("temperature", TemperatureText(device.vitals));
  facts.Add("battery", BatteryText(device.vitals));
  if (device.stored.cache > 0)
    facts.Add("cache", SizeText(device.stored.cache) + " of runners, models, and inputs");
  if (device.stored.old_runs > 0) {
    facts.Add("kept",
              SizeText(device.stored.old_runs) + " of finished runs; `etprof devices --clean` removes them");
  }
  if (device.stored.live_runs > 0)
    facts.Add("busy", CountedText(device.stored.live_runs, "active run") + " of etprof");
  if (device.removed) facts.Add("cleaned", RemovedText(device));
  for (const std::string& warning : properties.warnings) facts.Add("note", warning);
  return facts;
}

}  // namespace

Document MakeDeviceListDocument(const std::vector<DeviceSurvey>& devices,
                                const std::vector<std::string>& notes) {
  Document document{.title = "etprof devices", .section_kind = "section", .notes = ToNotes(notes, "warning")};
  Table table{.id = "devices",
              .columns = {Left("device"), Left("platform"), Left("sme2", "SME2"),
                          Right("free_memory", "free memory"), Left("state")}};
  for (const DeviceSurvey& device : devices) {
    if (!device.problem.empty()) {
      table.rows.push_back({device.name, "", "", "", Cell("cannot be used", Tone::kBad)});
    } else {
      table.rows.push_back(
          {device.name, device.properties.platform, HasSme2(device.properties) ? "yes" : "no",
           OptionalCell<Size>(device.properties.memory_available), Cell("ready", Tone::kGood)});
    }
  }
  document.sections = {{"", {std::move(table)}}};
  for (const DeviceSurvey& device : devices)
    document.sections.push_back({device.name, {MakeDeviceFacts(device)}});
  return document;
}

}  // namespace etprof::show
