#include <nlohmann/json.hpp>

#include "core/json/json_schema_of.h"
#include "core/views.h"
#include "device/describe.h"
#include "report/devices.h"
#include "show/formats/json/json.h"
#include "show/subjects.h"

namespace etprof {
namespace {

using OptionalNumber = std::optional<double>;

constexpr MemberInfo kName{.non_empty = true};
constexpr MemberInfo kTextOrNull{.or_null = true, .non_empty = true};

struct DeviceJson {
  const DevicesReport& report;
  std::size_t index;
  DeviceProperties source = Run().device.value_or(DeviceProperties());

  const RunData& Run() const { return report.runs[index].run; }

  static constexpr const char* kSchemaName = "device";
  static void Describe(auto& v) {
    using J = const DeviceJson&;
    v("name", [](J json) { return json.report.names[json.index]; },
      {.meaning = "as --device takes it; unique in this file", .non_empty = true});
    v("run", [](J json) { return json.Run().folder; }, {.meaning = "the results directory"});
    v("model_id", [](J json) { return json.report.runs[json.index].model_id; },
      {.meaning = "file name without .pte"});
    v("method", [](J json) { return json.Run().method; }, {.meaning = "that ran"});
    v("status", [](J json) { return json.Run().status; },
      {.meaning = "of the measurement; `running` also means killed"});
    v("generated_at", [](J json) { return json.Run().generated_at; },
      {.meaning = "when the measurement began, UTC", .or_null = true, .non_empty = true});
    v("platform", [](J json) { return json.Run().platform; },
      {.meaning = "of the device, as in the manifest", .or_null = true, .non_empty = true});
    v("cpu_model", &DeviceProperties::cpu_model, kTextOrNull.WithMeaning("as the system calls it"));
    v("cores", [](J json) { return json.source.cores > 0 ? std::optional(json.source.cores) : std::nullopt; },
      {.meaning = "CPUs online", .min = 1});
    v("features", [](J json) { return show::GetFeatures(json.report.runs[json.index]); },
      {.meaning = "what kernels are chosen by, the widest first, as the runner saw it"});
    v("governor", [](J json) { return GovernorText(json.Run().device); },
      {.meaning = "of the CPUs' frequencies", .or_null = true, .non_empty = true});
    v("os", &DeviceProperties::os, kTextOrNull.WithMeaning("of the device"));
    v("kernel", &DeviceProperties::kernel, kTextOrNull.WithMeaning("of the device"));
    v("virtualization", &DeviceProperties::virtualization,
      kTextOrNull.WithMeaning("`kvm`, `container`, `wsl`, ...; null: none seen"));
    v("power_mode", &DeviceProperties::power_mode, kTextOrNull.WithMeaning("`on battery`, `low power`, ..."));
    v("emulated", [](J json) { return json.report.runs[json.index].emulated; },
      {.meaning = "the CPU of an experiment was emulated: times are not meaningful"});
    v("warnings", [](J json) { return json.report.runs[json.index].warnings; },
      {.meaning = "what makes the results less certain"});
  }
};

// A group of operators in one experiment.
struct GroupJson {
  const ReportExperiment& experiment;
  const AdditiveRow& row;

  double Mean() const {  // ns
    return static_cast<double>(row.total) / static_cast<double>(experiment.groups.runs);
  }
  std::optional<double> Share() const {
    const double execute_ns = experiment.MeanExecute().value_or(0);
    return execute_ns > 0 ? std::optional(Mean() / execute_ns) : std::nullopt;
  }

  static constexpr const char* kSchemaName = "group";
  static void Describe(auto& v) {
    v("name", [](const GroupJson& json) { return json.row.name; },
      {.meaning = "what the operators compute", .non_empty = true});
    v("mean_ms", &GroupJson::Mean,
      {.meaning = "self time of a run", .min = 0, .scale = 1e6, .or_null = true});
    v("share", &GroupJson::Share, {.meaning = "of that device's whole inference", .min = 0, .max = 1});
  }
};

std::vector<GroupJson> MakeGroups(const ReportExperiment& experiment) {
  if (experiment.groups.runs == 0) return {};
  return MakeViews<GroupJson>(experiment.groups.rows, experiment);
}

// The comparison with the first device that has a latency.
struct ComparisonWithFirstJson {
  std::string device;
  const TimeComparison& time_comparison;

  static void Describe(auto& v) {
    v("device", &ComparisonWithFirstJson::device,
      kName.WithMeaning("that has the baseline's latency: the first one that has any"));
    v.Constant("paired", false, {.meaning = "two devices share no launches"});
    v.Flat([](const ComparisonWithFirstJson& json) { return RatioAndVerdict{json.time_comparison}; });
  }
};

struct CellJson {
  const DevicesReport& report;
  const ModelSection& model;
  const DeviceRow& row;
  std::size_t device;
  const ReportExperiment& experiment;

  const ExperimentData& Data() const { return experiment.Data(report.runs[model.devices[device].run]); }
  // One end of the interval of the median over launches; absent if it is not meaningful.
  OptionalNumber End(double LatencyInterval::*end) const {
    const bool meaningful = experiment.interval && !Data().emulated && !experiment.latency_from_trace;
    return meaningful ? OptionalNumber((*experiment.interval).*end) : std::nullopt;
  }
  std::optional<ComparisonWithFirstJson> MakeComparisonWithFirst() const {
    if (!row.first || device == *row.first || !row.cells[device].comparison_with_first.candidate_ns)
      return std::nullopt;
    return ComparisonWithFirstJson{model.devices[*row.first].name, row.cells[device].comparison_with_first};
  }

  static constexpr const char* kSchemaName = "experiment_on_device";
  static void Describe(auto& v) {
    using J = const CellJson&;
    v("device", [](J json) { return json.model.devices[json.device].name; },
      {.meaning = "its name in `devices`", .non_empty = true});
    v("experiment", [](J json) { return json.Data().name; }, {.meaning = "its name in that run"});
    v("emulated", [](J json) { return json.Data().emulated; },
      {.meaning = "the CPU was emulated: times are not meaningful"});
    v("median_ms", [](J json) { return json.experiment.latency.p50; },
      {.meaning = "of the latency", .min = 0, .scale = 1e6});
    v("median_low_ms", [](J json) { return json.End(&LatencyInterval::low); },
      {.meaning = "of its 95 % interval over the device's launches", .min = 0, .scale = 1e6});
    v("median_high_ms", [](J json) { return json.End(&LatencyInterval::high); },
      {.meaning = "of its 95 % interval over the device's launches", .min = 0, .scale = 1e6});
    v(
        "latency_from", [](J json) { return LatencySourceName(json.experiment.latency_from_trace); },
        kLatencySource);
    v("runs", [](J json) { return json.experiment.latency.n; }, {.meaning = "that the median is of"});
    v("launches", [](J json) { return json.experiment.launches; },
      {.meaning = "complete or partial ones; 0: not known"});
    v("groups", [](J json) { return MakeGroups(json.experiment); },
      {.meaning = "self times by kind of computation; empty: no trace"});
    v("against_first", &CellJson::MakeComparisonWithFirst,
      {.meaning = "the first device's latency over this one's; null: it is the first, or has none"});
  }
};

struct DeviceExperimentJson {
  const DevicesReport& report;
  const ModelSection& model;
  const DeviceRow& source;

  static constexpr const char* kSchemaName = "experiment";
  static void Describe(auto& v) {
    using J = const DeviceExperimentJson&;
    v("label", &DeviceRow::label, {.meaning = "its name in reports"});
    v("threads", &DeviceRow::threads, {.meaning = "of the runner's thread pool; null: not known", .min = 1});
    v("differences", &DeviceRow::differences,
      {.meaning = "in what it differs between the devices beside the device"});
    v("devices",
      [](J json) {
        std::vector<CellJson> cells;
        for (std::size_t device = 0; device < json.source.cells.size(); ++device) {
          if (const auto* experiment = json.report.FindExperiment(json.model, json.source, device))
            cells.push_back({json.report, json.model, json.source, device, *experiment});
        }
        return cells;
      },
      {.meaning = "that measured it", .non_empty = true});
  }
};

struct PairCellJson {
  std::string device;
  const Comparison& comparison;

  static constexpr const char* kSchemaName = "comparison_on_device";
  static void Describe(auto& v) {
    using J = const PairCellJson&;
    v("device", &PairCellJson::device, kName.WithMeaning("its name in `devices`"));
    v("baseline_ms", [](J json) { return json.comparison.latency.baseline_ns; },
      {.meaning = "median latency", .min = 0, .scale = 1e6});
    v("candidate_ms", [](J json) { return json.comparison.latency.candidate_ns; },
      {.meaning = "median latency", .min = 0, .scale = 1e6});
    v("pairing", [](J json) { return json.comparison.pairing; },
      {.meaning =
           "`launches`: interleaved; `unpaired`: measured apart, with usual drift; `none`: no interval"});
    v.Flat([](J json) { return RatioAndVerdict{json.comparison.latency}; });
  }
};

struct PairJson {
  const DevicesReport& report;
  const ModelSection& model;
  const DevicePairRow& source;

  static constexpr const char* kSchemaName = "comparison";
  static void Describe(auto& v) {
    using J = const PairJson&;
    v("baseline", &DevicePairRow::baseline_label,
      {.meaning = "label of the variant that the other is compared with"});
    v("candidate", &DevicePairRow::candidate_label,
      {.meaning = "label of the variant that is compared with the baseline"});
    v("devices",
      [](J json) {
        std::vector<PairCellJson> cells;
        for (std::size_t device = 0; device < json.source.comparisons.size(); ++device) {
          if (const auto* pair = json.report.FindComparison(json.model, json.source, device))
            cells.push_back({json.model.devices[device].name, pair->comparison});
        }
        return cells;
      },
      {.meaning = "that measured both", .non_empty = true});
  }
};

struct ModelJson {
  const DevicesReport& report;
  const ModelSection& source;

  static constexpr const char* kSchemaName = "model";
  static void Describe(auto& v) {
    using J = const ModelJson&;
    v("model_id", &ModelSection::model_id, {.meaning = "file name without .pte"});
    v("model_sha256", &ModelSection::model_sha256, kTextOrNull.WithMeaning("of the .pte"));
    v("method", &ModelSection::method, {.meaning = "two methods of one model are two entries"});
    v("devices", [](J json) { return MapEach(json.source.devices, &DeviceColumn::name); },
      {.meaning = "that ran it, as in the list above", .non_empty = true});
    v("experiments",
      [](J json) {
        return MakeViews<DeviceExperimentJson>(json.source.experiments, json.report, json.source);
      },
      {.meaning = "one for each number of threads"});
    v("comparisons", [](J json) { return MakeViews<PairJson>(json.source.pairs, json.report, json.source); },
      {.meaning = "pairs, each within its devices"});
  }
};

struct ReportJson {
  const DevicesReport& source;

  static void Describe(auto& v) {
    using J = const ReportJson&;
    DescribeSchemaVersion(v);
    v("title", &DevicesReport::title, {.meaning = "as given by --title", .or_null = true});
    v("emulated", &DevicesReport::emulated,
      {.meaning = "the CPU of any device was emulated: its timings are not meaningful"});
    v("devices", [](J json) { return MakeIndexViews<DeviceJson>(json.source.runs.size(), json.source); },
      {.meaning = "one for each run"});
    v("models", [](J json) { return MakeViews<ModelJson>(json.source.models, json.source); },
      {.meaning = "one for each method of each .pte"});
    v("unpaired", [](J json) { return show::UnpairedText(json.source.distinct_devices); },
      {.meaning = "what a comparison between devices cannot know"});
  }
};

}  // namespace

void RenderDevicesJson(const DevicesReport& report, std::ostream& out) {
  WriteJson(ReportJson{report}, 1, out);
}

nlohmann::ordered_json DevicesReportSchema() {
  return MakeSchema<ReportJson>("devices_report.json",
                                "One model or several on several devices, side by side "
                                "(docs/reference/files.md). Times are milliseconds.");
}

}  // namespace etprof
