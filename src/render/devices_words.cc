#include "render/devices_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/number.h"
#include "device/describe.h"
#include "say/wording.h"

namespace etprof::devices {
namespace {

TimeScale ScaleOfMedian(const ReportExperiment& experiment) {
  const double median = experiment.latency.p50.value_or(0);
  return ScaleFor(median, median);
}

}  // namespace

std::string CountText(std::size_t runs, std::size_t distinct_devices) {
  if (distinct_devices == runs) return fmt::format("{} device{}", runs, runs == 1 ? "" : "s");
  if (distinct_devices == 1) return fmt::format("{} runs of one device", runs);
  return fmt::format("{} runs of {} devices", runs, distinct_devices);
}

const char* ColumnsAre(std::size_t distinct_devices) { return distinct_devices == 1 ? "runs" : "devices"; }

std::string UnpairedText(std::size_t distinct_devices) {
  const bool one = distinct_devices == 1;
  return fmt::format(
      "Between {} nothing is paired: each has {} of its own, and the intervals (Welch's t over launches) "
      "know "
      "what each process adds, not what {} temperature or load did meanwhile.",
      ColumnsAre(distinct_devices), one ? "a time and conditions" : "a clock and conditions",
      one ? "the device's" : "a device's");
}

std::string NameOf(const DeviceColumn& device) {
  return device.name + (device.emulated ? " (emulated)" : "");
}

std::vector<std::string> FeaturesOfRun(const Report& run) {
  for (const ExperimentData& data : run.run.experiments) {
    if (!data.isa_state || data.isa_state->detected.empty()) continue;
    std::vector<std::string> features = TellingFeatures(data.isa_state->detected);
    std::reverse(features.begin(), features.end());
    return features;
  }
  return run.run.device ? TellingFeatures(*run.run.device) : std::vector<std::string>{};
}

std::string GovernorText(const Report& run) {
  return run.run.device ? fmt::format("{}", fmt::join(GovernorsOf(*run.run.device), ", ")) : "";
}

std::string SystemText(const Report& run) {
  if (!run.run.device) return "";
  const DeviceProperties& device = *run.run.device;
  return device.os + (device.os.empty() || device.kernel.empty() ? "" : ", ") + device.kernel;
}

std::string CpuText(const Report& run) {
  if (!run.run.device) return "";
  const DeviceProperties& device = *run.run.device;
  std::string text = device.cpu_model;
  if (device.cores > 0)
    text += fmt::format("{}{} core{}", text.empty() ? "" : ", ", device.cores, device.cores == 1 ? "" : "s");
  if (!device.topology.empty()) text += " (" + device.topology + ")";
  return text;
}

const ReportExperiment* ExperimentOf(const DevicesReport& report, const ModelSection& model,
                                     const DeviceRow& row, std::size_t device) {
  const auto& experiment = row.cells[device].experiment;
  return experiment ? &report.runs[model.devices[device].run].experiments[*experiment] : nullptr;
}

const ReportComparison* ComparisonOf(const DevicesReport& report, const ModelSection& model,
                                     const DevicePairRow& row, std::size_t device) {
  const auto& comparison = row.comparisons[device];
  return comparison ? &report.runs[model.devices[device].run].comparisons[*comparison] : nullptr;
}

std::string MedianInterval(const Report& run, const ReportExperiment& experiment) {
  const bool emulated = run.run.experiments[experiment.index].emulated;
  if (!experiment.interval || emulated || experiment.latency_from_trace || !experiment.latency.p50) return "";
  // In the unit of the median, and as many digits as it has.
  const TimeScale scale = ScaleOfMedian(experiment);
  const std::string median = FormatNumber(*experiment.latency.p50 / scale.unit_ns);
  const std::size_t point = median.find('.');
  const std::size_t decimals = point == std::string::npos ? 0 : median.size() - point - 1;
  return fmt::format("[{:.{}f}, {:.{}f}]", experiment.interval->low / scale.unit_ns, decimals,
                     experiment.interval->high / scale.unit_ns, decimals);
}

std::string MedianText(const Report& run, const ReportExperiment* experiment) {
  if (experiment == nullptr || !experiment->latency.p50) return kUndefined;
  const TimeScale scale = ScaleOfMedian(*experiment);
  std::string text = FormatNumber(*experiment->latency.p50 / scale.unit_ns) + ' ' + scale.unit;
  if (run.run.experiments[experiment->index].emulated) return text + ", emulated";
  if (experiment->latency_from_trace || experiment->tracer_always_on) text += ", traced";
  const std::string interval = MedianInterval(run, *experiment);
  return text + (interval.empty() ? "" : " " + interval);
}

std::string AgainstFirstText(const Quantity& quantity) {
  if (quantity.verdict == stats::Verdict::kEmulated) return WordsOf(quantity).verdict;
  return quantity.estimate ? WordsOf(quantity).verdict : "no interval";
}

std::vector<GroupRow> GroupRows(const DevicesReport& report, const ModelSection& model,
                                const DeviceRow& row) {
  std::vector<GroupRow> rows;
  std::map<std::string, std::size_t> place;
  for (std::size_t device = 0; device < row.cells.size(); ++device) {
    const ReportExperiment* experiment = ExperimentOf(report, model, row, device);
    if (experiment == nullptr || experiment->groups.runs == 0) continue;
    for (const AdditiveRow& group : experiment->groups.rows) {
      const auto [at, added] = place.try_emplace(group.name, rows.size());
      if (added) rows.push_back({group.name, {}});
      std::vector<std::optional<double>>& mean = rows[at->second].mean;
      mean.resize(row.cells.size());
      mean[device] = static_cast<double>(group.total) / static_cast<double>(experiment->groups.runs);
    }
  }
  std::erase_if(rows, [](const GroupRow& group) {
    return std::all_of(group.mean.begin(), group.mean.end(),
                       [](const std::optional<double>& mean) { return mean.value_or(0) == 0; });
  });
  return rows;
}

}  // namespace etprof::devices
