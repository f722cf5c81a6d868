#include "report/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "core/units.h"
#include "report/run/pair.h"
#include "stats/distribution.h"
#include "stats/ratio/unpaired.h"
#include "stats/ratio/verdict.h"

namespace etprof {
namespace {

// Returns whether too few launches have clean runs for a comparison.
bool IsContended(const ExperimentData& data) {
  const auto measured = std::ranges::count_if(data.launches, [](const Launch& launch) {
    return launch.status != Launch::Status::kFailed &&
           std::ranges::any_of(launch.bursts, [](const Burst& burst) { return !burst.recorded.empty(); });
  });
  return AreTooFewClean(data.LaunchLatencies().size(), static_cast<std::size_t>(measured));
}

// Makes the unique names of the runs' devices. Several runs of one device get the name of their folder; runs
// of unknown devices are named after the platform or the folder.
std::vector<std::string> MakeDeviceNames(const std::vector<Report>& runs) {
  std::map<std::string, int> count;
  std::vector<std::string> names;
  for (const Report& report : runs) {
    const RunData& run = report.run;
    std::string name = run.device && !run.device->name.empty() ? run.device->name : run.platform;
    if (name.empty()) name = run.folder.filename().string();
    if (name.empty()) name = "run";
    ++count[name];
    names.push_back(name);
  }
  std::set<std::string> used_names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string folder = runs[i].run.folder.filename().string();
    if (count[names[i]] > 1 && !folder.empty() && folder != names[i]) names[i] += " (" + folder + ")";
    const std::string base_name = names[i];
    for (int n = 2; !used_names.insert(names[i]).second; ++n) names[i] = fmt::format("{} #{}", base_name, n);
  }
  return names;
}

class SectionBuilder {
 public:
  SectionBuilder(const DevicesReport& report, ModelSection& section) : report_(report), section_(section) {}

  void Fill() {
    AddRows();
    JoinRowsWithEqualConfiguration();
    for (DeviceRow& row : section_.experiments) {
      Compare(row);
      AddDifferences(row);
    }
    AddPairs();
  }

 private:
  const Report& GetRun(std::size_t device) const { return report_.runs[section_.devices[device].run]; }
  const ReportExperiment* GetExperiment(const DeviceRow& row, std::size_t device) const {
    return report_.FindExperiment(section_, row, device);
  }
  const ExperimentData* GetData(const DeviceRow& row, std::size_t device) const {
    const ReportExperiment* experiment = GetExperiment(row, device);
    return experiment != nullptr ? &GetRun(device).run.experiments[experiment->index] : nullptr;
  }

  template <typename Row>
  static Row& FindOrAddRow(std::vector<Row>& rows, const auto& fits) {
    const auto row = std::ranges::find_if(rows, fits);
    return row == rows.end() ? rows.emplace_back() : *row;
  }

  void AddRows() {
    for (std::size_t device = 0; device < section_.devices.size(); ++device) {
      const Report& run = GetRun(device);
      for (std::size_t e = 0; e < run.experiments.size(); ++e) {
        const ReportExperiment& experiment = run.experiments[e];
        DeviceRow& row = FindOrAddRow(section_.experiments, [&](const DeviceRow& existing) {
          return existing.label == experiment.label && existing.threads == experiment.threads &&
                 !existing.cells[device].experiment;
        });
        row.label = experiment.label;
        row.threads = experiment.threads;
        row.cells.resize(section_.devices.size());
        row.cells[device].experiment = e;
      }
    }
  }

  // A key of the configuration, which is equal for equal experiments with different labels.
  std::string ConfigurationKey(const DeviceRow& row) const {
    for (std::size_t device = 0; device < row.cells.size(); ++device) {
      const ExperimentData* data = GetData(row, device);
      if (data == nullptr) continue;
      return fmt::format("{}|{}|{}|{}|{}|{}", row.threads.value_or(0), data->isa, data->cpus, data->mode,
                         data->third_party_runner, data->model_sha256);
    }
    return "";
  }

  void JoinRowsWithEqualConfiguration() {
    std::vector<DeviceRow>& rows = section_.experiments;
    std::map<std::string, std::vector<std::size_t>> rows_by_configuration;
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows_by_configuration[ConfigurationKey(rows[i])].push_back(i);
    for (const auto& [configuration, members] : rows_by_configuration) {
      if (members.size() < 2) continue;
      std::vector<int> used(section_.devices.size(), 0);
      for (const std::size_t member : members) {
        for (std::size_t device = 0; device < used.size(); ++device)
          used[device] += rows[member].cells[device].experiment ? 1 : 0;
      }

      // If a device ran two of these rows (an A/A pair), the match with the row of another device is
      // ambiguous.
      if (std::ranges::any_of(used, [](int count) { return count > 1; })) continue;
      DeviceRow& first = rows[members.front()];
      for (std::size_t m = 1; m < members.size(); ++m) {
        const DeviceRow& other = rows[members[m]];
        first.label += " / " + other.label;
        for (std::size_t device = 0; device < used.size(); ++device) {
          if (other.cells[device].experiment) first.cells[device] = other.cells[device];
        }
        rows[members[m]].cells.clear();
      }
    }
    std::erase_if(rows, [](const DeviceRow& row) { return row.cells.empty(); });
  }

  void Compare(DeviceRow& row) const {
    for (std::size_t device = 0; device < row.cells.size() && !row.first; ++device) {
      const ReportExperiment* experiment = GetExperiment(row, device);
      if (experiment != nullptr && experiment->latency.p50) row.first = device;
    }
    if (!row.first) return;
    const ReportExperiment& first = *GetExperiment(row, *row.first);
    const ExperimentData& first_data = *GetData(row, *row.first);
    const std::vector<double> first_medians = first_data.LaunchLatencies();
    const auto sustained_seconds = [&](std::size_t device) {
      return GetRun(device).run.schedule.sustained_seconds;
    };
    for (std::size_t device = *row.first + 1; device < row.cells.size(); ++device) {
      const ReportExperiment* experiment = GetExperiment(row, device);
      if (experiment == nullptr || !experiment->latency.p50) continue;
      const ExperimentData& data = *GetData(row, device);
      TimeComparison& time_comparison = row.cells[device].comparison_with_first;
      time_comparison.baseline_ns = first.latency.p50;
      time_comparison.candidate_ns = experiment->latency.p50;
      if (data.emulated || first_data.emulated) {
        time_comparison.verdict = stats::Verdict::kEmulated;
        continue;
      }
      // Times that include tracing cannot be compared between devices.
      const bool traced = first.latency_from_trace || experiment->latency_from_trace || data.trace_enabled ||
                          first_data.trace_enabled || data.tracer_always_on != first_data.tracer_always_on;
      if (traced || sustained_seconds(device) != sustained_seconds(*row.first)) continue;
      if (IsContended(data) || IsContended(first_data)) {
        time_comparison.verdict = stats::Verdict::kContended;
        continue;
      }
      time_comparison.estimate = stats::EstimateLaunchesWithDrift(
          first_medians, data.LaunchLatencies(), CompareOptions().confidence, CompareOptions().drift);
      if (time_comparison.estimate) {
        time_comparison.verdict =
            stats::DecideVerdict(time_comparison.estimate->log_low, time_comparison.estimate->log_high,
                                 MakeCompareOptions(GetRun(device).run).margin);
      }
    }
  }

  void AddDifferences(DeviceRow& row) const {
    const auto add_difference = [&](const char* name, const auto& value_of) {
      std::string text;
      std::set<std::string> values;
      for (std::size_t device = 0; device < row.cells.size(); ++device) {
        const ExperimentData* data = GetData(row, device);
        if (data == nullptr) continue;
        std::string value;
        if constexpr (std::is_invocable_v<decltype(value_of), const RunData&>)
          value = value_of(GetRun(device).run);
        else
          value = value_of(*data);
        values.insert(value);
        text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", value.empty() ? "none" : value,
                            section_.devices[device].name);
      }
      if (values.size() > 1) row.differences.push_back(fmt::format("{}: {}", name, text));
    };
    add_difference("load (not compared)", [](const RunData& run) {
      const double seconds = run.schedule.sustained_seconds;
      return seconds > 0 ? fmt::format("{:.4g} s without a rest", seconds) : std::string("bursts");
    });
    add_difference("period", [](const ExperimentData& data) {
      return data.period > 0 ? FormatExactDuration(data.period) : std::string("back to back");
    });
    add_difference("features masked", [](const ExperimentData& data) { return data.isa; });
    add_difference("CPUs", [](const ExperimentData& data) { return data.cpus.empty() ? "any" : data.cpus; });
    add_difference("ExecuTorch", [](const ExperimentData& data) {
      return data.executorch_version.empty() ? "not known" : data.executorch_version;
    });
    add_difference("runner", [](const ExperimentData& data) {
      return std::string(data.third_party_runner ? "executor_runner" : "etprof-runner");
    });
    // Omit the path of "saved FILE", which differs between devices.
    add_difference("inputs", [](const ExperimentData& data) {
      return data.inputs_from.substr(0, data.inputs_from.find('/'));
    });
  }

  void AddPairs() {
    for (std::size_t device = 0; device < section_.devices.size(); ++device) {
      const Report& run = GetRun(device);
      for (std::size_t c = 0; c < run.comparisons.size(); ++c) {
        const Comparison& comparison = run.comparisons[c].comparison;
        DevicePairRow& row = FindOrAddRow(section_.pairs, [&](const DevicePairRow& existing) {
          return existing.baseline_label == comparison.baseline_label &&
                 existing.candidate_label == comparison.candidate_label && !existing.comparisons[device];
        });
        row.baseline_label = comparison.baseline_label;
        row.candidate_label = comparison.candidate_label;
        row.comparisons.resize(section_.devices.size());
        row.comparisons[device] = c;
      }
    }
  }

  const DevicesReport& report_;
  ModelSection& section_;
};

// A key of the run's device; unique if the device is not known.
std::string DeviceKey(const DevicesReport& report, std::size_t run) {
  const std::optional<DeviceProperties>& device = report.runs[run].run.device;
  if (!device || device->name.empty()) return "run " + report.names[run];
  return fmt::format("{}|{}|{}|{}", device->name, device->architecture, device->cpu_model, device->cores);
}

// Finds the section of a run, or adds one. A run without a digest belongs to the first model with its name.
ModelSection& FindOrAddSection(std::vector<ModelSection>& models, const Report& report) {
  for (ModelSection& model : models) {
    if (model.method != report.run.method) continue;
    const bool digests = !model.model_sha256.empty() && !report.run.model_sha256.empty();
    if (digests ? model.model_sha256 == report.run.model_sha256 : model.model_id == report.model_id) {
      if (model.model_sha256.empty()) model.model_sha256 = report.run.model_sha256;
      return model;
    }
  }
  ModelSection& added = models.emplace_back();
  added.model_id = report.model_id;
  added.model_sha256 = report.run.model_sha256;
  added.method = report.run.method;
  return added;
}

}  // namespace

DevicesReport AssembleDevicesReport(std::vector<Report> runs) {
  DevicesReport report;
  report.names = MakeDeviceNames(runs);
  report.runs = std::move(runs);
  std::set<std::string> devices;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const Report& run = report.runs[i];
    report.emulated = report.emulated || run.emulated;
    devices.insert(DeviceKey(report, i));
    FindOrAddSection(report.models, run).devices.push_back({i, report.names[i], run.emulated});
  }
  report.distinct_devices = devices.size();
  for (ModelSection& model : report.models) {
    const auto differs_for_same_id = [&](const auto& member) {
      return std::ranges::any_of(report.models, [&](const ModelSection& other) {
        return other.model_id == model.model_id && other.*member != model.*member;
      });
    };
    model.title = model.model_id.empty() ? "a model without a name" : model.model_id;
    if (differs_for_same_id(&ModelSection::model_sha256) && !model.model_sha256.empty())
      model.title += fmt::format(" ({})", model.model_sha256.substr(0, 12));
    if (differs_for_same_id(&ModelSection::method) || model.method != "forward")
      model.title += ", method " + model.method;
    std::set<std::string> section_devices;
    for (const DeviceColumn& device : model.devices) section_devices.insert(DeviceKey(report, device.run));
    model.distinct_devices = section_devices.size();
    SectionBuilder(report, model).Fill();
  }
  return report;
}

}  // namespace etprof
