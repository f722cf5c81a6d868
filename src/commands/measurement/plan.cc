#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands/measurement/measure.h"
#include "core/file/file.h"
#include "core/json/json_members.h"
#include "core/json/json_schema_of.h"
#include "core/units.h"
#include "core/views.h"
#include "measure/config/config_keys.h"
#include "measure/participants/emulation.h"
#include "measure/schedule/forecast.h"
#include "measure/schedule/launch_shape.h"

namespace etprof {
namespace {

struct SecondsJson {
  double at_least = 0;
  std::optional<double> at_most;

  static constexpr const char* kSchemaName = "seconds";
  static void Describe(auto& v) {
    v("at_least", &SecondsJson::at_least,
      {.meaning = "about, of models whose runs take some milliseconds at most", .min = 0});
    v("at_most", &SecondsJson::at_most, {.meaning = "null: there is no bound", .min = 0});
  }
};

struct UnitJson {
  const Unit& unit;
  const ExperimentConfig& source;

  static void Describe(auto& v) {
    using J = const UnitJson&;
    v("experiment", &ExperimentConfig::name, {.meaning = "its name in the configuration"});
    v("label", [](J json) { return json.unit.label; }, {.meaning = "its name in reports"});
    v("mode", &ExperimentConfig::mode, {.meaning = "`xnntrace`: a kernel-log run", .choices = kModes});
    v("threads", [](J json) { return json.unit.threads; },
      {.meaning = "of the runner's thread pool", .min = 1});
    v("isa", &ExperimentConfig::isa, {.meaning = "empty: nothing is masked"});
    v("cpus", &ExperimentConfig::cpu_affinity, {.meaning = "empty: any"});
    v("period_ns", &ExperimentConfig::period, {.meaning = "0: back to back"});
    v("runs", &ExperimentConfig::runs, {.meaning = "traced ones", .min = 1});
    v("runner", &ExperimentConfig::runner,
      {.meaning = "its path on this machine; empty: it depends on the device"});
    v("model", &ExperimentConfig::model, {.meaning = "the path of the .pte"});
  }
};

struct PlannedMeasurement {
  const MeasureRequest& request;
  const DeviceMeasurement& measurement;
  Plan plan;
  Forecast forecast;

  std::vector<std::string> TimeTexts() const;
  std::vector<std::string> ExtraTimeTexts() const;

  static constexpr const char* kSchemaName = "device";
  static void Describe(auto& v) {
    using P = const PlannedMeasurement&;
    v("device", [](P planned) { return planned.measurement.device; }, {.meaning = "as `--device` takes it"});
    v("platform",
      [](P planned) { return RunPlatform(planned.measurement.config, planned.measurement.properties); },
      {.meaning = "of the device"});
    v("output_root", [](P planned) { return planned.measurement.config.output_root; },
      {.meaning = "the results directory"});
    v("experiments",
      [](P planned) {
        return MapEach(planned.plan.units, [&](const Unit& unit) {
          return UnitJson{unit, planned.measurement.config.experiments[unit.experiment]};
        });
      },
      {.meaning = "one for each number of threads", .non_empty = true});
    v("pairs", [](P planned) { return planned.plan.pairs; }, {.meaning = "of experiments that are compared"});
    v("launches", [](P planned) { return planned.forecast.launches; },
      {.meaning = "of each experiment that is measured for time"});
    v("rounds", [](P planned) { return planned.forecast.rounds; },
      {.meaning = "of a launch; 0 where it is sustained"});
    v("precision", [](P planned) { return planned.measurement.config.Precision(); },
      {.meaning = "relative half-width asked for", .min = 0, .exclusive = true});
    v("seconds",
      [](P planned) {
        return SecondsJson{planned.forecast.lower_bound_seconds, planned.forecast.upper_bound_seconds};
      },
      {.meaning = "that measuring takes"});
    v("how", &PlannedMeasurement::TimeTexts, {.meaning = "how the seconds come about", .non_empty = true});
    v("besides", &PlannedMeasurement::ExtraTimeTexts, {.meaning = "what is not in the seconds"});
  }
};

struct DevicesPlan {
  std::vector<PlannedMeasurement> devices;

  DevicesPlan(const std::vector<DeviceMeasurement>& measurements, const MeasureRequest& request) {
    for (const DeviceMeasurement& device : measurements) {
      if (device.error) continue;
      Plan plan = MakePlan(device.config);
      const Forecast forecast = MakeForecast(device.config, plan, device.properties);
      devices.push_back({request, device, std::move(plan), forecast});
    }
  }

  // The devices measure in parallel, so the slowest device determines the time.
  SecondsJson Seconds() const {
    SecondsJson seconds{0, 0};
    for (const PlannedMeasurement& planned : devices) {
      seconds.at_least = std::max(seconds.at_least, planned.forecast.lower_bound_seconds);
      const std::optional<double>& max_seconds = planned.forecast.upper_bound_seconds;
      seconds.at_most = seconds.at_most && max_seconds
                            ? std::optional(std::max(*seconds.at_most, *max_seconds))
                            : std::nullopt;
    }
    return seconds;
  }

  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("seconds", &DevicesPlan::Seconds,
      {.meaning = "of the device that takes longest: they measure side by side"});
    v("devices", &DevicesPlan::devices, {.meaning = "that the configuration measures on", .non_empty = true});
  }
};

// The duration of the bursts: "10 launches x 7 rounds of bursts, 0.1 s a round".
std::string BurstsText(const PlannedMeasurement& planned, int launches) {
  return fmt::format("{} launches x {} of bursts, {} a round", launches,
                     CountedText(static_cast<std::size_t>(planned.forecast.rounds.max), "round"),
                     FormatEstimatedSeconds(planned.forecast.burst_seconds));
}

// The option or rule that sets the time limit.
std::string LimitText(const PlannedMeasurement& planned) {
  if (planned.measurement.config.max_seconds) return "max_seconds";
  const std::size_t pairs = std::max<std::size_t>(1, planned.plan.pairs.size());
  return fmt::format("{} for each pair, {}",
                     FormatEstimatedSeconds(planned.forecast.max_seconds / double(pairs)),
                     planned.plan.pairs.empty() ? "and so without one" : CountedText(pairs, "pair"));
}

// The first text states the estimated time; the others explain it.
std::vector<std::string> PlannedMeasurement::TimeTexts() const {
  const std::string bound = FormatEstimatedSeconds(forecast.max_seconds);
  const std::string launch_rule =
      "a launch is begun only where it fits into that, as those before it tell; two are made in any case";
  switch (forecast.kind) {
    case Forecast::Kind::kStopRule:
      return {fmt::format("at most {} ({})", bound, LimitText(*this)),
              fmt::format("at the soonest after about {}, once the interval is within ±{:.3g}% ({})",
                          FormatEstimatedSeconds(forecast.lower_bound_seconds),
                          100 * measurement.config.Precision(),
                          BurstsText(*this, *forecast.first_analysis_launches)),
              launch_rule};
    case Forecast::Kind::kTimeLimitedLaunches:
      return {fmt::format("at most {} ({})", bound, LimitText(*this)),
              fmt::format("about {} at least ({})", FormatEstimatedSeconds(forecast.lower_bound_seconds),
                          BurstsText(*this, forecast.launches.max)),
              launch_rule};
    case Forecast::Kind::kLaunches:
      return {fmt::format("about {} at least ({})", FormatEstimatedSeconds(forecast.lower_bound_seconds),
                          BurstsText(*this, forecast.launches.max)),
              "no upper bound: launches were given, and no max_seconds"};
    case Forecast::Kind::kSustained:
      return {fmt::format("about {} ({} for {})", FormatEstimatedSeconds(forecast.lower_bound_seconds),
                          FormatEstimatedSeconds(double(measurement.config.sustained) / 1e9),
                          forecast.timed == 1
                              ? std::string("one experiment")
                              : fmt::format("each of {} experiments, one after the other", forecast.timed))};
    case Forecast::Kind::kNothingTimed:
      return {"no upper bound: nothing is measured for time"};
  }
  return {};
}

// Adds the part of a limited time that is reserved for measuring the machine's peaks.
void AddPeaksTime(const Forecast& forecast, std::vector<std::string>& texts) {
  if (forecast.peaks_seconds > 0)
    texts.push_back(fmt::format("about {} of it for the machine's peaks",
                                FormatEstimatedSeconds(forecast.peaks_seconds)));
  if (forecast.peak_measurements > 0 && forecast.max_seconds > 0 &&
      forecast.peaks_seconds < kSecondsPerPeaks * static_cast<double>(forecast.peak_measurements))
    texts.push_back(fmt::format("too short for {} of the machine's peaks: only where time is left",
                                CountedText(forecast.peak_measurements, "measurement")));
}

// Steps that are not part of the estimated seconds.
std::vector<std::string> PlannedMeasurement::ExtraTimeTexts() const {
  const Config& config = measurement.config;
  std::vector<std::string> texts;
  if (forecast.traced > 0) {
    texts.push_back(CountedText(forecast.traced, "kernel-log run") + ", as long as the runs take");
  }
  if (request.counters) texts.emplace_back("runs for the processor's counters");
  if (request.instructions) texts.emplace_back("runs whose instructions are counted");
  if (request.watch) texts.emplace_back("runs in which XNNPACK's calls are watched");
  if (request.values) texts.emplace_back("runs in which the operators' values are read");
  if (forecast.peak_measurements > 0 && forecast.max_seconds == 0)
    texts.push_back(CountedText(forecast.peak_measurements, "measurement") + " of the machine's peaks");
  if (config.wait_minutes > 0) {
    texts.push_back(fmt::format("waiting for a quiet and cool device, at most {} before it begins",
                                FormatEstimatedSeconds(60 * config.wait_minutes)));
  }
  if (config.max_temp) {
    texts.push_back(fmt::format("waiting for {} °C or less, at most {} before each round", *config.max_temp,
                                FormatEstimatedSeconds(config.max_temp_wait)));
  }
  texts.emplace_back("starting and analysis");
  return texts;
}

std::string LaunchesText(const Forecast& forecast) {
  switch (forecast.kind) {
    case Forecast::Kind::kStopRule:
      return fmt::format("{} to {} of each experiment, fewer (at least {}) where time is short",
                         *forecast.first_analysis_launches, forecast.launches.max, forecast.launches.min);
    case Forecast::Kind::kTimeLimitedLaunches:
      if (forecast.launches.max > forecast.launches.min)
        return fmt::format("{} of each experiment, fewer (at least {}) where time is short",
                           forecast.launches.max, forecast.launches.min);
      [[fallthrough]];
    case Forecast::Kind::kLaunches:
    case Forecast::Kind::kSustained:
      return fmt::format("{} of each experiment", forecast.launches.max);
    case Forecast::Kind::kNothingTimed:
      break;
  }
  return "none for time";
}

std::string RoundsText(const Forecast& forecast) {
  const auto [min, max] = forecast.rounds;
  if (max == 0) return "none: one burst after the other";
  const std::string rounds = min < max ? fmt::format("{} to {} in a launch, as many as time allows", min, max)
                                       : fmt::format("{} in a launch", max);
  return rounds + "; of an executor_runner one long one";
}

// States the recorded runs of each experiment. The number that fits is unknown before a run has been timed.
std::string RunsText(const PlannedMeasurement& planned) {
  if (planned.measurement.config.sustained > 0) return "one after the other, as many as the time holds";
  int traced = 0;
  for (const ExperimentConfig& experiment : planned.measurement.config.experiments)
    traced = std::max(traced, experiment.runs);
  return fmt::format(
      "at least {} untraced of each experiment, then at least {} traced in each launch, {} traced in all "
      "where time allows; fewer only where that does not fit",
      kMinUntracedRuns, kMinTracedRuns, traced);
}

// Adds the distinct paths of one kind. If there are several, each is followed by the experiments that use it.
void AddPaths(const PlannedMeasurement& planned, const char* name,
              std::filesystem::path ExperimentConfig::*member, show::Facts& facts) {
  std::vector<std::pair<std::string, std::string>> paths;  // each path with the labels of its experiments
  for (const Unit& unit : planned.plan.units) {
    const std::string path = ShortestPath(planned.measurement.config.experiments[unit.experiment].*member);
    if (path.empty()) continue;  // the path depends on a device that is not known yet
    auto entry = std::ranges::find(paths, path, &std::pair<std::string, std::string>::first);
    if (entry == paths.end()) entry = paths.insert(entry, {path, ""});
    entry->second += (entry->second.empty() ? "" : ", ") + unit.label;
  }
  for (const auto& [path, labels] : paths)
    facts.Add(name, paths.size() > 1 ? fmt::format("{} ({})", path, labels) : path);
}

show::Table ExperimentsTable(const PlannedMeasurement& planned) {
  show::Table table{
      .id = "experiments",
      .columns = {show::Left("experiment"), show::Right("threads"), show::Left("isa"),
                  show::Left("cpus", "CPUs"), show::Left("mode"), show::Right("traced_runs", "traced runs")}};
  for (const Unit& unit : planned.plan.units) {
    const ExperimentConfig& experiment = planned.measurement.config.experiments[unit.experiment];
    table.rows.push_back({unit.label, show::Count{unit.threads},
                          experiment.isa.empty() ? "all" : experiment.isa,
                          experiment.cpu_affinity.empty() ? "any" : experiment.cpu_affinity, experiment.mode,
                          show::Count{experiment.runs}});
  }
  return table;
}

show::Section DeviceSection(const PlannedMeasurement& planned) {
  show::Facts facts{"plan", ""};
  const auto add = [&](const char* name, std::string text) { facts.Add(name, std::move(text)); };
  for (const ComparePair& pair : planned.plan.pairs)
    add("compare", fmt::format("{} (baseline) with {}", pair.baseline_label, pair.candidate_label));
  if (planned.plan.pairs.empty()) add("compare", "nothing: there is no pair");
  add("launches", LaunchesText(planned.forecast));
  if (planned.forecast.timed > 0) add("rounds", RoundsText(planned.forecast));
  if (planned.forecast.timed > 0) add("runs", RunsText(planned));
  std::vector<std::string> time_texts = planned.TimeTexts();
  AddPeaksTime(planned.forecast, time_texts);
  for (std::string& text : time_texts) add("time", std::move(text));
  for (std::string& text : planned.ExtraTimeTexts()) add("besides", std::move(text));
  AddPaths(planned, "runner", &ExperimentConfig::runner, facts);
  AddPaths(planned, "model", &ExperimentConfig::model, facts);
  add("into", planned.measurement.config.output_root.string());
  return {
      planned.measurement.device, show::Visibility::kDefault, {std::move(facts), ExperimentsTable(planned)}};
}

}  // namespace

show::Document MakePlanDocument(const std::vector<DeviceMeasurement>& devices,
                                const MeasureRequest& request) {
  const DevicesPlan plans(devices, request);
  show::Document document;
  document.title = "etprof run --dry-run";
  document.section_kind = "device";
  document.sections = MapEach(plans.devices, DeviceSection);
  if (plans.devices.size() > 1) document.notes = {{"the devices measure at the same time"}};
  return document;
}

nlohmann::ordered_json PlanJson(const std::vector<DeviceMeasurement>& devices,
                                const MeasureRequest& request) {
  return ToJson(DevicesPlan(devices, request));
}

nlohmann::ordered_json DryRunSchema() {
  return MakeSchema<DevicesPlan>(
      "`etprof run --dry-run --json`",
      "What would be measured and how long it takes (docs/concepts/measurement.md).");
}

}  // namespace etprof
