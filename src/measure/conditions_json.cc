#include <nlohmann/json.hpp>

#include "device/cpus.h"
#include "measure/conditions.h"

namespace etprof {
namespace {

using nlohmann::ordered_json;

template <typename T>
ordered_json OrNull(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

}  // namespace

ordered_json ConditionsJson(const RoundConditions& conditions) {
  const DeviceVitals& vitals = conditions.vitals;
  ordered_json object;
  object["launch"] = conditions.launch;
  object["round"] = conditions.round;
  object["order"] = conditions.order;
  object["capped"] = conditions.capped;
  object["hot"] = conditions.hot;
  object["waited_seconds"] = conditions.waited_seconds;
  object["cpu_celsius"] = OrNull(vitals.cpu_celsius);
  object["skin_celsius"] = OrNull(vitals.skin_celsius);
  object["battery_percent"] = OrNull(vitals.battery_percent);
  object["battery_status"] = vitals.battery_status;
  object["battery_celsius"] = OrNull(vitals.battery_celsius);
  object["thermal_status"] = OrNull(vitals.thermal_status);
  object["clocks"] = ordered_json::array();
  for (const DeviceVitals::Clock& clock : vitals.clocks) {
    ordered_json entry;
    entry["cpus"] = clock.cpus;
    entry["khz"] = OrNull(clock.khz);
    entry["cap_khz"] = OrNull(clock.cap_khz);
    entry["hardware_max_khz"] = OrNull(clock.hardware_max_khz);
    object["clocks"].push_back(entry);
  }
  object["cooling"] = ordered_json::array();
  for (const DeviceVitals::Cooling& cooling : vitals.cooling) {
    ordered_json entry;
    entry["type"] = cooling.type;
    entry["state"] = cooling.state;
    entry["highest_state"] = cooling.highest_state;
    object["cooling"].push_back(entry);
  }
  return object;
}

RoundConditions ReadConditions(const ManifestFields& fields) {
  RoundConditions conditions;
  DeviceVitals& vitals = conditions.vitals;
  fields.Get("launch", conditions.launch);
  fields.Get("round", conditions.round);
  fields.Get("order", conditions.order);
  fields.Get("capped", conditions.capped);
  fields.Get("hot", conditions.hot);
  fields.Get("waited_seconds", conditions.waited_seconds);
  fields.Get("cpu_celsius", vitals.cpu_celsius);
  fields.Get("skin_celsius", vitals.skin_celsius);
  fields.Get("battery_percent", vitals.battery_percent);
  fields.Get("battery_status", vitals.battery_status);
  fields.Get("battery_celsius", vitals.battery_celsius);
  fields.Get("thermal_status", vitals.thermal_status);
  fields.Each("clocks", [&](const ManifestFields& entry) {
    DeviceVitals::Clock clock;
    entry.Get("cpus", clock.cpus);
    entry.Get("khz", clock.khz);
    entry.Get("cap_khz", clock.cap_khz);
    entry.Get("hardware_max_khz", clock.hardware_max_khz);
    vitals.clocks.push_back(std::move(clock));
  });
  fields.Each("cooling", [&](const ManifestFields& entry) {
    DeviceVitals::Cooling cooling;
    entry.Get("type", cooling.type);
    entry.Get("state", cooling.state);
    entry.Get("highest_state", cooling.highest_state);
    vitals.cooling.push_back(std::move(cooling));
  });
  return conditions;
}

ordered_json PowerModeJson(const PowerMode& mode) {
  ordered_json object;
  object["name"] = mode.name;
  object["settings"] = ordered_json::array();
  for (const PowerSetting& setting : mode.settings) {
    ordered_json entry;
    entry["key"] = setting.key;
    entry["value"] = setting.value;
    entry["before"] = setting.before == "null" ? ordered_json(nullptr) : ordered_json(setting.before);
    object["settings"].push_back(entry);
  }
  return object;
}

PowerMode ReadPowerModeFields(const ManifestFields& fields) {
  PowerMode mode;
  fields.Get("name", mode.name);
  fields.Each("settings", [&](const ManifestFields& entry) {
    PowerSetting setting;
    setting.before = "null";
    entry.Get("key", setting.key);
    entry.Get("value", setting.value);
    entry.Get("before", setting.before);
    mode.settings.push_back(std::move(setting));
  });
  return mode;
}

}  // namespace etprof
