#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "core/json.h"
#include "device/clusters.h"
#include "device/describe.h"
#include "say/device_list.h"
#include "workflow/devices.h"

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

// As docs/reference/devices.md says.
nlohmann::ordered_json DevicesJson(const DevicesFound& found) {
  nlohmann::ordered_json json = {{"schema_version", 1}, {"devices", nlohmann::ordered_json::array()}};
  for (const DeviceSurvey& device : found.devices) json["devices"].push_back(DeviceJson(device));
  json["notes"] = found.notes;
  return json;
}

int RunDevices(const DevicesOptions& options, const View& view) {
  const DevicesFound found = WithProgress(FindDevices, options);
  ShowDocument(say::SayDeviceList(found.devices, found.notes), view, "",
               [&](std::ostream& out) { out << JsonText(DevicesJson(found), 2) << '\n'; });
  const bool failed = std::ranges::any_of(found.devices, [&](const DeviceSurvey& device) {
    return !device.problem.empty() && std::ranges::find(options.named, device.name) != options.named.end();
  });
  return static_cast<int>(failed ? ExitCode::kDeviceFailed : ExitCode::kDone);
}

}  // namespace

std::function<int()> DevicesCommand(CLI::App& app) {
  const auto parsed = std::make_shared<Parsed<DevicesOptions>>();
  auto& [options, view] = *parsed;
  AddOption(app, "--device DEVICE", options.named,
            "Show this one, too: ssh:HOST, adb:SERIAL, adb:HOST:PORT; may be repeated")
      ->allow_extra_args(false);
  app.add_flag("--clean", options.clean,
               "Remove what etprof left on the named devices, or on all that can be reached");
  AddOption(app, "--timeout S", options.answer_seconds,
            "Seconds after which a device that does not answer is unreachable (default: 10)",
            CLI::Range(0.1, 3600.0));
  app.add_flag("--json", view.json, "Show them as JSON");
  AddDocumentOptions(app, view);
  return [parsed] { return RunDevices(parsed->options, parsed->view); };
}

}  // namespace etprof
