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

// The properties of one device for `etprof devices`, or why the device cannot be used.
struct DeviceSurvey {
  std::string name;     // as `--device` takes it
  std::string problem;  // why the device cannot be used, in one line; empty: the members below are known
  std::string remedy;
  DeviceProperties properties;
  DeviceVitals vitals;
  StoredFiles stored;                  // stored files, after SurveyOptions::clean has removed files
  std::optional<StoredFiles> removed;  // present with SurveyOptions::clean

  bool IsReachable() const { return problem.empty(); }

  // The JSON members of a reachable device.
  struct ReachableMembers {
    const DeviceSurvey& survey;

    static void Describe(auto& v) {
      using J = const ReachableMembers&;
      constexpr MemberInfo kText{.meaning = "empty: not known"};
      v("platform", [](J json) { return json.survey.properties.platform; }, kText);
      v("architecture", [](J json) { return json.survey.properties.architecture; }, kText);
      v("os", [](J json) { return json.survey.properties.os; }, kText);
      v("kernel", [](J json) { return json.survey.properties.kernel; }, kText);
      v("cpu_model", [](J json) { return json.survey.properties.cpu_model; }, kText);
      v("cores", [](J json) { return json.survey.properties.cores; }, {.meaning = "CPUs online"});
      v("clusters", [](J json) { return FindCpuClusters(json.survey.properties); },
        {.meaning = "CPUs of one kind, the slowest first"});
      v("features", [](J json) { return CpuFeatureNames(json.survey.properties); },
        {.meaning = "named as `etprof isa` does, the widest first, as the device's kernel reports them"});
      v("sme2", [](J json) { return HasSme2(json.survey.properties); }, {.meaning = "its CPUs have SME2"});
      v("governors", [](J json) { return CpuGovernors(json.survey.properties); },
        {.meaning = "of its CPUs, each once"});
      v("cpu_celsius", [](J json) { return json.survey.vitals.cpu_celsius; },
        {.meaning = "of the hottest sensor", .min = kNoMinimum});
      v("skin_celsius", [](J json) { return json.survey.vitals.skin_celsius; },
        {.meaning = "of the hottest sensor", .min = kNoMinimum});
      v("battery_percent", [](J json) { return json.survey.vitals.battery_percent; },
        {.meaning = "null: it has none, or does not say"});
      v("battery_status", [](J json) { return json.survey.vitals.battery_status; }, kText);
      v("memory_total", [](J json) { return json.survey.properties.memory_total; }, {.meaning = "bytes"});
      v("memory_available", [](J json) { return json.survey.properties.memory_available; },
        {.meaning = "bytes"});
      v("cache_bytes", [](J json) { return json.survey.stored.cache; },
        {.meaning = "what etprof left there, after `--clean`"});
      v("old_runs_bytes", [](J json) { return json.survey.stored.old_runs; },
        {.meaning = "what finished runs left there, after `--clean`"});
      v("live_runs", [](J json) { return json.survey.stored.live_runs; },
        {.meaning = "of other etprofs, now"});
      v("warnings", [](J json) { return json.survey.properties.warnings; },
        {.meaning = "what makes timings there less steady"});
      v("freed_bytes",
        [](J json) {
          const std::optional<StoredFiles>& freed = json.survey.removed;
          return freed ? std::optional(freed->cache + freed->old_runs) : std::nullopt;
        },
        {.meaning = "with `--clean`", .omit_if_empty = true});
    }
  };
  // The JSON members of an unreachable device.
  struct UnreachableMembers {
    const DeviceSurvey& survey;

    static void Describe(auto& v) {
      using J = const UnreachableMembers&;
      v("problem", [](J json) { return json.survey.problem; }, {.meaning = "why it cannot be used"});
      v("remedy", [](J json) { return json.survey.remedy; },
        {.meaning = "what to do about it", .or_null = true});
    }
  };
  static void Describe(auto& v) {
    using J = const DeviceSurvey&;
    v("name", &DeviceSurvey::name, {.meaning = "as `--device` takes it"});
    v("reachable", &DeviceSurvey::IsReachable, {.meaning = "it answered"});
    v.Flat(
        [](J json) { return json.IsReachable() ? std::nullopt : std::optional(UnreachableMembers{json}); });
    v.Flat([](J json) { return json.IsReachable() ? std::optional(ReachableMembers{json}) : std::nullopt; });
  }
};

struct SurveyOptions {
  double answer_seconds = 10;  // time limit for the device to report its properties
  bool clean = false;          // remove the files that etprof stored on the device
  std::function<bool()> interrupted;
};

// Opens a device and reads its properties. An unreachable device is a result with a `problem`, not an error.
// Throws Error: kUsage for an invalid name, kInterrupted.
DeviceSurvey SurveyDevice(const std::string& name, const SurveyOptions& options);

}  // namespace etprof
