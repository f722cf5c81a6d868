#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "core/process/cpus.h"
#include "core/units.h"
#include "core/views.h"
#include "device/conditions/clusters.h"
#include "device/describe.h"
#include "device/survey.h"
#include "protocol/peaks.h"
#include "report/cpu_features.h"
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

// The share by which the median rate is below the best rate: an estimate of interference by other processes.
Cell MedianBelowBest(const protocol::Rate& rate) {
  return rate.best > 0 ? Cell(Share{1 - rate.median / rate.best}) : Cell();
}

Table MakeComputePeaksTable(const protocol::Peaks& peaks) {
  Table table{.id = "compute",
              .columns = {Left("level"), Left("dtype", "type"), Right("macs_per_s", "MAC/s"),
                          Right("flops_per_s", "FLOP/s"), Right("macs_per_cycle", "MAC/cycle"),
                          Right("median_below", "median below"), Left("instruction")}};
  const double cycles = peaks.clock_hz * peaks.threads;
  for (const protocol::ComputePeak& peak : peaks.compute) {
    table.AddRow(peak.level, peak.dtype, Amount{peak.macs.best}, Amount{2 * peak.macs.best},
                 cycles > 0 ? Cell(Number{peak.macs.best / cycles, ""}) : Cell(), MedianBelowBest(peak.macs),
                 peak.instruction);
  }
  return table;
}

Table MakeMemoryPeaksTable(const protocol::Peaks& peaks) {
  Table table{.id = "memory",
              .columns = {Left("level", "memory"), Left("access"), Right("bytes_per_s", "B/s"),
                          Right("working_set", "working set"), Right("capacity"),
                          Right("median_below", "median below")}};
  for (const protocol::MemoryPeak& peak : peaks.memory) {
    table.AddRow(peak.level, peak.access, Amount{peak.bytes.best}, Size{peak.working_set_bytes},
                 CellOrBlank<Size>(peak.capacity_bytes), MedianBelowBest(peak.bytes));
  }
  return table;
}

}  // namespace

Document MakeDeviceListDocument(const std::vector<DeviceSurvey>& devices,
                                const std::vector<std::string>& notes) {
  Document document{
      .title = "etprof devices", .section_kind = "section", .notes = MakeNoteList(notes, "warning")};
  Table table{.id = "devices",
              .columns = {Left("device"), Left("platform"), Left("sme2", "SME2"),
                          Right("free_memory", "free memory"), Left("state")}};
  for (const DeviceSurvey& device : devices) {
    if (!device.problem.empty()) {
      table.AddRow(device.name, "", "", "", Cell("cannot be used", Tone::kBad));
    } else {
      table.AddRow(device.name, device.properties.platform, HasSme2(device.properties) ? "yes" : "no",
                   OptionalCell<Size>(device.properties.memory_available), Cell("ready", Tone::kGood));
    }
  }
  document.sections = {{"", {std::move(table)}}};
  for (const DeviceSurvey& device : devices)
    document.sections.push_back({device.name, {MakeDeviceFacts(device)}});
  return document;
}

Document MakeCpuFeaturesDocument(const CpuFeatures& cpu) {
  Document document{.title = fmt::format("CPU features of {}", isa::ArchitectureName(cpu.architecture)),
                    .section_kind = "section"};
  Table table{.id = "features", .columns = {Left("feature"), Left("here"), Left("needs")}};
  for (const isa::Feature& feature : isa::Features(cpu.architecture)) {
    table.AddRow(std::string(feature.name), cpu.Has(feature.name) ? "yes" : "no",
                 fmt::format("{}", fmt::join(feature.needs, ", ")));
  }
  Facts facts{"cpu", ""};
  if (cpu.widest) {
    facts.Add("widest extension", fmt::format("{} (etprof profile MODEL.pte --vs isa={})", cpu.widest->name,
                                              cpu.widest->off_mask));
  }
  if (cpu.levels.size() > 1) {
    facts.Add("levels", fmt::format("{} (etprof isa MODEL.pte)",
                                    fmt::join(MapEach(cpu.levels, &isa::Level::name), ", ")));
  }
  if (!cpu.state.can_mask)
    facts.Add("masking", "features cannot be disabled here: " + cpu.state.masking_problem);
  document.sections = {{"", {std::move(table)}}};
  if (!facts.facts.empty()) document.sections.push_back({"", {std::move(facts)}});
  return document;
}

Document MakePeaksDocument(const protocol::Peaks& peaks, const std::string& device, bool emulated) {
  Document document{.title = "etprof peaks",
                    .facts = {device, CountedText(peaks.threads, "thread") +
                                          (peaks.cpus.empty() ? "" : " on CPUs " + peaks.cpus)}};
  if (!peaks.isa.empty()) document.facts.push_back("isa " + peaks.isa);
  if (peaks.clock_hz > 0) document.facts.push_back(fmt::format("clock {:.2f} GHz", peaks.clock_hz / 1e9));
  if (emulated) document.notes = {{"emulated CPU: timings are not meaningful", "warning"}};
  document.sections = {{"", {MakeComputePeaksTable(peaks), MakeMemoryPeaksTable(peaks)}}};
  return document;
}

}  // namespace etprof::show
