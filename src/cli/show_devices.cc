#include "cli/show_devices.h"

#include <nlohmann/json.hpp>

#include "device/clusters.h"
#include "device/describe.h"

namespace etprof {
namespace {

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

nlohmann::ordered_json DevicesJson(const std::vector<DeviceSurvey>& devices,
                                   const std::vector<std::string>& notes) {
  nlohmann::ordered_json json = {{"schema_version", 1}, {"devices", nlohmann::ordered_json::array()}};
  for (const DeviceSurvey& device : devices) json["devices"].push_back(DeviceJson(device));
  json["notes"] = notes;
  return json;
}

}  // namespace etprof
