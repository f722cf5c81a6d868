#include "cli/show_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "device/clusters.h"
#include "device/cpus.h"
#include "device/describe.h"

namespace etprof {
namespace {

std::string Temperature(const DeviceVitals& vitals) {
  std::string text;
  if (vitals.cpu_celsius) text = fmt::format("CPU {:.1f} °C", *vitals.cpu_celsius);
  if (vitals.skin_celsius)
    text += fmt::format("{}skin {:.1f} °C", text.empty() ? "" : ", ", *vitals.skin_celsius);
  return text.empty() ? "-" : text;
}

std::string Battery(const DeviceVitals& vitals) {
  if (!vitals.battery_percent) return vitals.battery_status.empty() ? "-" : vitals.battery_status;
  std::string status = vitals.battery_status;
  if (!status.empty()) status.front() = static_cast<char>(std::tolower(status.front()));
  return fmt::format("{}%{}{}", *vitals.battery_percent, status.empty() ? "" : " ", status);
}

std::string Size(std::optional<Bytes> bytes) {
  return bytes ? FormatBytes(static_cast<double>(*bytes)) : "-";
}

std::string Runs(int count) { return fmt::format("{} run{}", count, count == 1 ? "" : "s"); }

std::string RemovedText(const DeviceSurvey& device) {
  const StoredFiles& gone = *device.removed;
  std::string text = FormatBytes(static_cast<double>(gone.cache + gone.old_runs)) + " freed";
  if (gone.live_runs > 0 && device.stored.cache > 0) {
    text += fmt::format("; the cache's {} stay: {} going on there {} them", Size(device.stored.cache),
                        Runs(gone.live_runs), gone.live_runs == 1 ? "uses" : "use");
  }
  return text;
}

std::string ClustersText(const DeviceProperties& properties) {
  std::vector<std::string> texts;
  const std::vector<CpuCluster> clusters = ClustersOf(properties);
  for (const CpuCluster& cluster : clusters) {
    texts.push_back(ClusterText(cluster));
    if (clusters.size() > 1) texts.back() += ": CPU " + CpusText(cluster.cpus);
  }
  if (texts.empty() && properties.cores > 0) texts.push_back(fmt::format("{} CPUs", properties.cores));
  if (texts.empty()) return "not known";
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string DetailsText(const DeviceSurvey& device) {
  std::string text = "\n" + device.name + "\n";
  const auto add = [&text](const char* title, const std::string& what) {
    if (!what.empty()) text += fmt::format("  {:<9} {}\n", title, what);
  };
  if (!device.problem.empty()) {
    add("problem", device.problem);
    add("remedy", device.remedy);
    return text;
  }
  const DeviceProperties& properties = device.properties;
  add("model", properties.cpu_model);
  add("system", properties.os);
  add("kernel", properties.kernel);
  add("CPUs", ClustersText(properties));
  const std::vector<std::string> features = TellingFeatures(properties);
  add("features", features.empty() ? "none that XNNPACK would choose kernels by"
                                   : fmt::format("{}", fmt::join(features, ", ")));
  if (device.stored.old_runs > 0)
    add("kept",
        Size(device.stored.old_runs) + " of runs that are over; `etprof devices --clean` removes them");
  if (device.stored.live_runs > 0) add("busy", Runs(device.stored.live_runs) + " of etprof going on");
  if (device.removed) add("cleaned", RemovedText(device));
  for (const std::string& warning : properties.warnings) add("note", warning);
  return text;
}

nlohmann::ordered_json OrNull(const auto& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json DeviceJson(const DeviceSurvey& device) {
  using Json = nlohmann::ordered_json;
  Json json = {{"name", device.name}, {"reachable", device.problem.empty()}};
  if (!device.problem.empty()) {
    json["problem"] = device.problem;
    json["remedy"] = device.remedy.empty() ? Json() : Json(device.remedy);
    return json;
  }
  const DeviceProperties& properties = device.properties;
  json["platform"] = properties.platform;
  json["architecture"] = properties.architecture;
  json["os"] = properties.os;
  json["kernel"] = properties.kernel;
  json["cpu_model"] = properties.cpu_model;
  json["cores"] = properties.cores;
  json["clusters"] = Json::array();
  for (const CpuCluster& cluster : ClustersOf(properties)) {
    json["clusters"].push_back({{"name", cluster.name},
                                {"cpus", cluster.cpus},
                                {"model", cluster.model},
                                {"max_khz", OrNull(cluster.max_khz)},
                                {"capacity", OrNull(cluster.capacity)}});
  }
  json["features"] = FeaturesOf(properties);
  json["sme2"] = HasSme2(properties);
  json["governors"] = GovernorsOf(properties);
  json["cpu_celsius"] = OrNull(device.vitals.cpu_celsius);
  json["skin_celsius"] = OrNull(device.vitals.skin_celsius);
  json["battery_percent"] = OrNull(device.vitals.battery_percent);
  json["battery_status"] = device.vitals.battery_status;
  json["memory_total"] = OrNull(properties.memory_total);
  json["memory_available"] = OrNull(properties.memory_available);
  json["cache_bytes"] = device.stored.cache;
  json["old_runs_bytes"] = device.stored.old_runs;
  json["live_runs"] = device.stored.live_runs;
  json["warnings"] = properties.warnings;
  if (device.removed) json["freed_bytes"] = device.removed->cache + device.removed->old_runs;
  return json;
}

}  // namespace

std::string DevicesText(const std::vector<DeviceSurvey>& devices) {
  Table table;
  for (const char* title : {"device", "platform", "SME2", "governor", "temperature", "battery"})
    table.columns.push_back({title, Table::Align::kLeft});
  table.columns.push_back({"free memory", Table::Align::kRight});
  table.columns.push_back({"etprof's cache", Table::Align::kRight});
  table.columns.push_back({"state", Table::Align::kLeft});
  for (const DeviceSurvey& device : devices) {
    if (!device.problem.empty()) {
      table.AddRow({device.name, "-", "-", "-", "-", "-", "-", "-", device.problem});
      continue;
    }
    const std::vector<std::string> governors = GovernorsOf(device.properties);
    table.AddRow({device.name, device.properties.platform, HasSme2(device.properties) ? "yes" : "no",
                  governors.empty() ? "-" : fmt::format("{}", fmt::join(governors, ", ")),
                  Temperature(device.vitals), Battery(device.vitals),
                  Size(device.properties.memory_available),
                  device.name == "local" ? "-" : Size(device.stored.cache),
                  device.removed && device.name != "local" ? RemovedText(device) : "ready"});
  }
  std::string text = table.ToText();
  for (const DeviceSurvey& device : devices) text += DetailsText(device);
  return text;
}

nlohmann::ordered_json DevicesJson(const std::vector<DeviceSurvey>& devices,
                                   const std::vector<std::string>& notes) {
  nlohmann::ordered_json json = {{"schema_version", 1}, {"devices", nlohmann::ordered_json::array()}};
  for (const DeviceSurvey& device : devices) json["devices"].push_back(DeviceJson(device));
  json["notes"] = notes;
  return json;
}

}  // namespace etprof
