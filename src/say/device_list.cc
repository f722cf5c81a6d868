#include "say/device_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "core/units.h"
#include "device/clusters.h"
#include "device/cpus.h"
#include "device/describe.h"

namespace etprof::say {
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
    text += fmt::format("; the cache's {} stay: {} going on there {} them", SizeText(device.stored.cache),
                        CountedText(live, "run"), live == 1 ? "uses" : "use");
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

Facts FactsOf(const DeviceSurvey& device) {
  Facts facts{"device", ""};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.facts.emplace_back(name, value);
  };
  add("problem", device.problem);
  add("remedy", device.remedy);
  if (!device.problem.empty()) return facts;
  const DeviceProperties& properties = device.properties;
  add("model", properties.cpu_model);
  add("system", properties.os);
  add("kernel", properties.kernel);
  add("CPUs", ClustersText(properties));
  const std::vector<std::string> features = TellingFeatures(properties);
  add("features", features.empty() ? "none that XNNPACK would choose kernels by"
                                   : fmt::format("{}", fmt::join(features, ", ")));
  add("governor", GovernorText(properties));
  add("temperature", TemperatureText(device.vitals));
  add("battery", BatteryText(device.vitals));
  if (device.stored.cache > 0)
    add("cache", SizeText(device.stored.cache) + " of runners, models, and inputs");
  if (device.stored.old_runs > 0) {
    add("kept",
        SizeText(device.stored.old_runs) + " of runs that are over; `etprof devices --clean` removes them");
  }
  if (device.stored.live_runs > 0)
    add("busy", CountedText(device.stored.live_runs, "run") + " of etprof going on");
  if (device.removed) add("cleaned", RemovedText(device));
  for (const std::string& warning : properties.warnings) add("note", warning);
  return facts;
}

}  // namespace

Document SayDeviceList(const std::vector<DeviceSurvey>& devices, const std::vector<std::string>& notes) {
  Document document;
  document.title = "etprof devices";
  document.sections_are = "section";
  document.notes = NotesOf(notes, "warning");
  Table table{"devices",
              "",
              {{"device", "device"},
               {"platform", "platform"},
               {"sme2", "SME2"},
               {"free_memory", "free memory", true},
               {"state", "state"}}};
  for (const DeviceSurvey& device : devices) {
    if (!device.problem.empty()) {
      table.rows.push_back({device.name, "", "", "", Cell("cannot be used", Tone::kBad)});
    } else {
      table.rows.push_back({device.name, device.properties.platform,
                            HasSme2(device.properties) ? "yes" : "no",
                            device.properties.memory_available
                                ? Cell(Size{static_cast<double>(*device.properties.memory_available)})
                                : Cell(),
                            Cell("ready", Tone::kGood)});
    }
  }
  document.sections = {{"", Level::kUsual, {std::move(table)}}};
  for (const DeviceSurvey& device : devices)
    document.sections.push_back({device.name, Level::kUsual, {FactsOf(device)}});
  return document;
}

}  // namespace etprof::say
