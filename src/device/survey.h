#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/json/describe.h"
#include "device/conditions/clusters.h"
#include "device/conditions/vitals.h"
#include "device/describe.h"
#include "device/device.h"
#include "device/properties.h"

namespace etprof {

// What one device said of itself, or why it did not.
struct DeviceSurvey {
  std::string name;     // as `--device` takes it
  std::string problem;  // why it cannot be used, one line; empty: it answered, and what follows is known
  std::string remedy;
  DeviceProperties properties;
  DeviceVitals vitals;
  StoredFiles stored;                  // after the removal, if any
  std::optional<StoredFiles> removed;  // with SurveyOptions::clean

  bool Reached() const { return problem.empty(); }

  // What is known of one that answered, and of one that did not.
  struct Answer {
    const DeviceSurvey& of;

    static void Describe(auto& v) {
      using J = const Answer&;
      constexpr About kText{.meaning = "empty: not known"};
      v("platform", [](J json) { return json.of.properties.platform; }, kText);
      v("architecture", [](J json) { return json.of.properties.architecture; }, kText);
      v("os", [](J json) { return json.of.properties.os; }, kText);
      v("kernel", [](J json) { return json.of.properties.kernel; }, kText);
      v("cpu_model", [](J json) { return json.of.properties.cpu_model; }, kText);
      v("cores", [](J json) { return json.of.properties.cores; }, {.meaning = "CPUs online"});
      v("clusters", [](J json) { return ClustersOf(json.of.properties); },
        {.meaning = "CPUs of one kind, the slowest first"});
      v("features", [](J json) { return FeaturesOf(json.of.properties); },
        {.meaning = "named as `etprof isa` does, the widest first, as the device's kernel reports them"});
      v("sme2", [](J json) { return HasSme2(json.of.properties); }, {.meaning = "its CPUs have SME2"});
      v("governors", [](J json) { return GovernorsOf(json.of.properties); },
        {.meaning = "of its CPUs, each once"});
      v("cpu_celsius", [](J json) { return json.of.vitals.cpu_celsius; },
        {.meaning = "of the hottest sensor", .least = kAnyNumber});
      v("skin_celsius", [](J json) { return json.of.vitals.skin_celsius; },
        {.meaning = "of the hottest sensor", .least = kAnyNumber});
      v("battery_percent", [](J json) { return json.of.vitals.battery_percent; },
        {.meaning = "null: it has none, or does not say"});
      v("battery_status", [](J json) { return json.of.vitals.battery_status; }, kText);
      v("memory_total", [](J json) { return json.of.properties.memory_total; }, {.meaning = "bytes"});
      v("memory_available", [](J json) { return json.of.properties.memory_available; }, {.meaning = "bytes"});
      v("cache_bytes", [](J json) { return json.of.stored.cache; },
        {.meaning = "what etprof left there, after `--clean`"});
      v("old_runs_bytes", [](J json) { return json.of.stored.old_runs; },
        {.meaning = "what finished runs left there, after `--clean`"});
      v("live_runs", [](J json) { return json.of.stored.live_runs; }, {.meaning = "of other etprofs, now"});
      v("warnings", [](J json) { return json.of.properties.warnings; },
        {.meaning = "what makes timings there less steady"});
      v("freed_bytes",
        [](J json) {
          const std::optional<StoredFiles>& gone = json.of.removed;
          return gone ? std::optional(gone->cache + gone->old_runs) : std::nullopt;
        },
        {.meaning = "with `--clean`", .if_any = true});
    }
  };
  struct Silence {
    const DeviceSurvey& of;

    static void Describe(auto& v) {
      v("problem", [](const Silence& json) { return json.of.problem; }, {.meaning = "why it cannot be used"});
      v("remedy", [](const Silence& json) { return json.of.remedy; },
        {.meaning = "what to do about it", .or_null = true});
    }
  };
  static void Describe(auto& v) {
    using J = const DeviceSurvey&;
    v("name", &DeviceSurvey::name, {.meaning = "as `--device` takes it"});
    v("reachable", &DeviceSurvey::Reached, {.meaning = "it answered"});
    v.Flat([](J json) { return json.Reached() ? std::nullopt : std::optional(Silence{json}); });
    v.Flat([](J json) { return json.Reached() ? std::optional(Answer{json}) : std::nullopt; });
  }
};

struct SurveyOptions {
  double answer_seconds = 10;  // a device that needs longer to say what it is counts as silent
  bool clean = false;          // remove what etprof left there
  std::function<bool()> interrupted;
};

// Asks a device. Nothing is thrown for one that cannot be reached; Error (kUsage) for a name that is none,
// kInterrupted.
DeviceSurvey SurveyDevice(const std::string& name, const SurveyOptions& options);

}  // namespace etprof
