#include "measure/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "measure/conditions.h"
#include "measure/load_watch.h"
#include "measure/manifest_fields.h"
#include "stats/distribution.h"

namespace etprof {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

template <typename T>
ordered_json OrNull(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}
ordered_json OrNull(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json OrNullMs(const std::optional<double>& nanoseconds) {
  return nanoseconds ? ordered_json(*nanoseconds / 1e6) : ordered_json(nullptr);
}

// Texts may come from file names and workers; what is not UTF-8 must not spoil the file.
std::string Relative(const std::filesystem::path& path, const std::filesystem::path& folder) {
  if (path.empty()) return "";
  const std::filesystem::path relative = path.lexically_relative(folder);
  return relative.empty() || relative.native().starts_with("..") ? path.string() : relative.string();
}

ordered_json BurstJson(const Burst& burst) {
  ordered_json object;
  object["round"] = burst.round;
  object["order"] = burst.order;
  object["level"] = burst.level;
  object["opening_runs"] = burst.opening.size();
  object["recorded_runs"] = burst.recorded.size();
  object["clean_runs"] = burst.CleanLatencies().size();
  object["traced_runs"] = burst.traced.size();
  object["median_ns"] = OrNull(burst.Median());
  object["start_ns"] = burst.start;
  object["end_ns"] = burst.end;
  object["cpu_time_ns"] = OrNull(burst.cpu_time);
  object["cpu_start"] = OrNull(burst.cpu_start);
  object["cpu_end"] = OrNull(burst.cpu_end);
  object["migrations"] = OrNull(burst.migrations);
  object["involuntary_switches"] = OrNull(burst.involuntary_switches);
  object["frequency_khz"] = OrNull(burst.frequency_khz);
  object["frequency_cap_khz"] = OrNull(burst.frequency_cap_khz);
  object["temperature_celsius"] = OrNull(burst.temperature_celsius);
  object["load_average"] = OrNull(burst.load_average);
  object["steal_ns"] = OrNull(burst.steal);
  object["throttled_ns"] = OrNull(burst.throttled);
  object["frequency_start_khz"] = OrNull(burst.frequency_start_khz);
  object["thread_cpu_ns"] = burst.thread_cpu;
  return object;
}

// Runs of the same launch, round and phase as one entry with their number.
ordered_json RunsJson(const std::vector<RunLabel>& runs) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < runs.size();) {
    std::size_t end = i;
    while (end < runs.size() && runs[end].launch == runs[i].launch && runs[end].round == runs[i].round &&
           runs[end].phase == runs[i].phase) {
      ++end;
    }
    ordered_json entry;
    entry["launch"] = runs[i].launch;
    entry["round"] = runs[i].round;
    entry["phase"] = std::string(PhaseName(runs[i].phase));
    entry["runs"] = end - i;
    list.push_back(entry);
    i = end;
  }
  return list;
}

ordered_json LaunchJson(const Launch& launch) {
  ordered_json object;
  object["index"] = launch.index;
  object["status"] = StatusName(launch.status);
  if (!launch.problem.empty()) object["problem"] = launch.problem;
  object["clocks"] = launch.clocks ? ordered_json(json(*launch.clocks)) : ordered_json(nullptr);
  object["load_ns"] = OrNull(launch.load);
  object["load_wait_ns"] = OrNull(launch.load_wait);
  object["first_run_ns"] = OrNull(launch.first_run);
  object["first_run_wait_ns"] = OrNull(launch.first_run_wait);
  object["warmup_runs"] = launch.warmup.size();
  object["rss_after_load_bytes"] = OrNull(launch.rss_after_load);
  object["peak_rss_bytes"] = OrNull(launch.peak_rss);
  if (!launch.etdump_part.empty()) {
    object["etdump_part"] = launch.etdump_part;
    object["traced_runs"] = RunsJson(launch.traced_runs);
  }
  object["bursts"] = ordered_json::array();
  for (const Burst& burst : launch.bursts) object["bursts"].push_back(BurstJson(burst));
  return object;
}

void AddMetrics(ordered_json& object, const ExperimentData& experiment, const std::filesystem::path& folder) {
  const std::vector<Nanoseconds> latencies = experiment.Latencies();
  const stats::Distribution spread = stats::Describe(std::vector<double>(latencies.begin(), latencies.end()));
  object["latency_ms"] = OrNullMs(spread.mean);
  object["median_ms"] = OrNullMs(spread.p50);
  object["min_ms"] = OrNullMs(spread.min);
  object["max_ms"] = OrNullMs(spread.max);
  object["runs"] = spread.n;
  object["all_runs"] = experiment.AllLatencies().size();
  object["threads"] = experiment.threads;
  object["etdump"] = OrNull(Relative(experiment.etdump, folder));
  object["log"] = OrNull(Relative(experiment.log, folder));
}

ordered_json ExperimentJson(const ExperimentData& data, const std::filesystem::path& folder) {
  ordered_json object;
  object["experiment"] = data.name;
  object["label"] = data.label;
  object["mode"] = data.mode;
  AddMetrics(object, data, folder);
  object["latency_csv"] = OrNull(Relative(data.latency_csv, folder));
  object["xnntrace_log"] = OrNull(Relative(data.xnntrace_log, folder));
  object["error"] = OrNull(data.error);
  object["warnings"] = data.warnings;
  object["trace_enabled"] = data.trace_enabled;
  object["foreign"] = data.foreign;
  object["emulated"] = data.emulated;
  object["tracer_always_on"] = data.tracer_always_on;
  object["runner_path"] = data.runner.string();
  object["runner_sha256"] = OrNull(data.runner_sha256);
  object["configuration_sha256"] = OrNull(data.configuration_sha256);
  object["command_line"] = data.command_line;
  object["model"] = data.model.string();
  object["model_sha256"] = OrNull(data.model_sha256);
  object["executorch_version"] = OrNull(data.executorch_version);
  object["export_executorch_version"] = OrNull(data.export_executorch_version);
  object["operator_clock"] = OrNull(data.operator_clock);
  object["wait_source"] = OrNull(data.wait_source);
  object["isa"] = data.isa;
  object["isa_state"] = data.isa_state ? ordered_json(json(*data.isa_state)) : ordered_json(nullptr);
  object["cpus"] = data.cpus;
  object["period_ns"] = data.period;
  object["backends"] = data.backends;
  object["inputs"] = json(data.inputs);
  object["outputs"] = json(data.outputs);
  object["inputs_from"] = data.inputs_from;
  object["load_ns"] = OrNull(data.MedianLoad());
  object["first_run_ns"] = OrNull(data.MedianFirstRun());
  object["peak_rss_bytes"] = OrNull(data.PeakRss());
  object["output_digests"] = json(data.output_digests);
  object["etdump_runs"] = RunsJson(data.etdump_runs);
  object["launches"] = ordered_json::array();
  for (const Launch& launch : data.launches) object["launches"].push_back(LaunchJson(launch));
  return object;
}

ordered_json DeviceJson(const DeviceProperties& device) {
  ordered_json object;
  object["name"] = device.name;
  object["platform"] = device.platform;
  object["architecture"] = device.architecture;
  object["cpu_model"] = device.cpu_model;
  object["features"] = device.features;
  object["cores"] = device.cores;
  object["topology"] = device.topology;
  object["memory_total_bytes"] = OrNull(device.memory_total);
  object["memory_available_bytes"] = OrNull(device.memory_available);
  object["os"] = device.os;
  object["kernel"] = device.kernel;
  object["virtualization"] = device.virtualization;
  object["power_mode"] = device.power_mode;
  object["warnings"] = device.warnings;
  object["cpus"] = ordered_json::array();
  for (const DeviceProperties::Cpu& cpu : device.cpus) {
    ordered_json entry;
    entry["id"] = cpu.id;
    entry["model"] = OrNull(cpu.model);
    entry["governor"] = OrNull(cpu.governor);
    entry["min_khz"] = OrNull(cpu.min_khz);
    entry["max_khz"] = OrNull(cpu.max_khz);
    entry["hardware_max_khz"] = OrNull(cpu.hardware_max_khz);
    entry["capacity"] = OrNull(cpu.capacity);
    object["cpus"].push_back(entry);
  }
  return object;
}

ordered_json PairJson(const ComparePair& pair, const RunData& run) {
  const auto side = [&](std::size_t index, const std::string& label) {
    ordered_json object;
    object["experiment"] = run.experiments[index].name;
    object["threads"] = run.experiments[index].threads;
    object["label"] = label;
    return object;
  };
  ordered_json object;
  object["baseline"] = side(pair.baseline, pair.baseline_label);
  object["candidate"] = side(pair.candidate, pair.candidate_label);
  object["label"] = pair.label;
  if (pair.outputs) {
    object["outputs"]["comparable"] = pair.outputs->comparable;
    object["outputs"]["equal"] = pair.outputs->equal;
    object["outputs"]["largest_absolute"] = OrNull(pair.outputs->largest_absolute);
    object["outputs"]["largest_relative"] = OrNull(pair.outputs->largest_relative);
    object["outputs"]["note"] = pair.outputs->note;
  }
  return object;
}

ordered_json ParsedOrNull(const std::string& text) {
  ordered_json value = ordered_json::parse(text, nullptr, false);
  return value.is_discarded() ? ordered_json(nullptr) : value;
}

}  // namespace

ordered_json ManifestJson(const RunData& run) {
  ordered_json object;
  object["schema_version"] = kManifestSchema;
  object["status"] = StatusName(run.status);
  object["generated_at"] = run.generated_at;
  object["etprof_version"] = run.etprof_version;
  object["config"] = OrNull(run.config.string());
  object["config_hash"] = run.config_hash;
  object["model"] = run.model.string();
  object["model_id"] = run.model_id;
  object["model_sha256"] = OrNull(run.model_sha256);
  object["method"] = run.method;
  object["executorch"]["sha"] = OrNull(run.executorch_sha);
  object["executorch"]["dirty"] = OrNull(run.executorch_dirty);
  object["platform"] = run.platform;
  object["device"] = run.device ? DeviceJson(*run.device) : ordered_json(nullptr);
  object["power_mode"] = run.power_mode ? PowerModeJson(*run.power_mode) : ordered_json(nullptr);

  const ScheduleData& schedule = run.schedule;
  ordered_json& plan = object["schedule"];
  plan["seed"] = schedule.seed;
  plan["launches"] = schedule.launches;
  plan["rounds"] = schedule.rounds;
  plan["repeated_bursts"] = schedule.repeated_bursts;
  plan["sustained_seconds"] = schedule.sustained_seconds;
  plan["interleaved"] = schedule.interleaved;
  plan["why_not_interleaved"] = OrNull(schedule.why_not_interleaved);
  plan["stopped"] = schedule.stopped;
  plan["seconds"] = schedule.seconds;
  plan["waited_seconds"] = schedule.waited_seconds;
  plan["max_seconds"] = schedule.max_seconds;
  plan["precision"] = schedule.precision;
  plan["margin"] = schedule.margin;
  plan["confidence"] = schedule.confidence;
  plan["look_confidence"] = schedule.look_confidence;

  object["warnings"] = run.warnings;
  object["conditions"] = ordered_json::array();
  for (const RoundConditions& conditions : run.conditions)
    object["conditions"].push_back(ConditionsJson(conditions));
  object["other_load"] = OtherLoadJson(run);
  object["pairs"] = ordered_json::array();
  for (const ComparePair& pair : run.pairs) object["pairs"].push_back(PairJson(pair, run));
  object["results"] = ordered_json::array();
  for (const ExperimentData& experiment : run.experiments)
    object["results"].push_back(ExperimentJson(experiment, run.folder));
  object["configuration"] = ParsedOrNull(run.configuration);
  object["model_info"] = ParsedOrNull(run.model_info);
  return object;
}

ordered_json MetricsJson(const RunData& run) {
  ordered_json object;
  object["schema_version"] = kManifestSchema;
  object["results"] = ordered_json::array();
  for (const ExperimentData& experiment : run.experiments) {
    ordered_json entry;
    entry["experiment"] = experiment.name;
    AddMetrics(entry, experiment, run.folder);
    object["results"].push_back(entry);
  }
  return object;
}

namespace {

using Fields = ManifestFields;

std::filesystem::path Absolute(const std::string& text, const std::filesystem::path& folder) {
  if (text.empty()) return {};
  const std::filesystem::path path = text;
  return path.is_absolute() ? path : folder / path;
}

// A relative path that does not lead out of its folder. What a manifest calls its own is written and removed.
bool StaysInside(const std::filesystem::path& path) {
  return path.is_relative() && std::none_of(path.begin(), path.end(),
                                            [](const std::filesystem::path& part) { return part == ".."; });
}

std::vector<RunLabel> ReadRuns(const Fields& fields, const char* key) {
  constexpr std::int64_t kMost = 10'000'000;  // of one ETDump
  std::vector<RunLabel> runs;
  fields.Each(key, [&](const Fields& entry) {
    RunLabel label;
    std::string phase = "steady";
    std::int64_t count = 0;
    entry.Get("launch", label.launch);
    entry.Get("round", label.round);
    entry.Get("phase", phase);
    entry.Get("runs", count);
    label.phase = PhaseNamed(phase).value_or(Phase::kSteady);
    if (count < 0 || count > kMost - static_cast<std::int64_t>(runs.size())) {
      fields.CountWrong();
      return;
    }
    runs.insert(runs.end(), static_cast<std::size_t>(count), label);
  });
  return runs;
}

Burst ReadBurst(const Fields& fields) {
  Burst burst;
  fields.Get("round", burst.round);
  fields.Get("order", burst.order);
  fields.Get("level", burst.level);
  fields.Get("start_ns", burst.start);
  fields.Get("end_ns", burst.end);
  fields.Get("cpu_time_ns", burst.cpu_time);
  fields.Get("cpu_start", burst.cpu_start);
  fields.Get("cpu_end", burst.cpu_end);
  fields.Get("migrations", burst.migrations);
  fields.Get("involuntary_switches", burst.involuntary_switches);
  fields.Get("frequency_khz", burst.frequency_khz);
  fields.Get("frequency_cap_khz", burst.frequency_cap_khz);
  fields.Get("temperature_celsius", burst.temperature_celsius);
  fields.Get("load_average", burst.load_average);
  fields.Get("steal_ns", burst.steal);
  fields.Get("throttled_ns", burst.throttled);
  fields.Get("frequency_start_khz", burst.frequency_start_khz);
  fields.Get("thread_cpu_ns", burst.thread_cpu);
  return burst;
}

Launch ReadLaunch(const Fields& fields) {
  Launch launch;
  std::string status = "failed";
  fields.Get("index", launch.index);
  fields.Get("status", status);
  launch.status = status == "complete"  ? Launch::Status::kComplete
                  : status == "partial" ? Launch::Status::kPartial
                                        : Launch::Status::kFailed;
  fields.Get("problem", launch.problem);
  fields.Get("clocks", launch.clocks);
  fields.Get("load_ns", launch.load);
  fields.Get("load_wait_ns", launch.load_wait);
  fields.Get("first_run_ns", launch.first_run);
  fields.Get("first_run_wait_ns", launch.first_run_wait);
  fields.Get("rss_after_load_bytes", launch.rss_after_load);
  fields.Get("peak_rss_bytes", launch.peak_rss);
  fields.Get("etdump_part", launch.etdump_part);
  if (!StaysInside(launch.etdump_part)) {
    fields.CountWrong();
    launch.etdump_part.clear();
  }
  launch.traced_runs = ReadRuns(fields, "traced_runs");
  fields.Each("bursts", [&](const Fields& burst) { launch.bursts.push_back(ReadBurst(burst)); });
  return launch;
}

ExperimentData ReadExperiment(const Fields& fields, const std::filesystem::path& folder) {
  ExperimentData data;
  std::string runner, model, etdump, log, latency_csv, xnntrace_log;
  fields.Get("experiment", data.name);
  fields.Get("threads", data.threads);
  fields.Get("label", data.label);
  fields.Get("mode", data.mode);
  fields.Get("runner_path", runner);
  fields.Get("runner_sha256", data.runner_sha256);
  fields.Get("configuration_sha256", data.configuration_sha256);
  fields.Get("foreign", data.foreign);
  fields.Get("emulated", data.emulated);
  fields.Get("trace_enabled", data.trace_enabled);
  fields.Get("tracer_always_on", data.tracer_always_on);
  fields.Get("command_line", data.command_line);
  fields.Get("model", model);
  fields.Get("model_sha256", data.model_sha256);
  fields.Get("executorch_version", data.executorch_version);
  fields.Get("export_executorch_version", data.export_executorch_version);
  fields.Get("operator_clock", data.operator_clock);
  fields.Get("wait_source", data.wait_source);
  fields.Get("isa", data.isa);
  fields.Get("isa_state", data.isa_state);
  fields.Get("cpus", data.cpus);
  fields.Get("period_ns", data.period);
  fields.Get("backends", data.backends);
  fields.Get("inputs", data.inputs);
  fields.Get("outputs", data.outputs);
  fields.Get("inputs_from", data.inputs_from);
  fields.Get("output_digests", data.output_digests);
  fields.Get("etdump", etdump);
  fields.Get("log", log);
  fields.Get("latency_csv", latency_csv);
  fields.Get("xnntrace_log", xnntrace_log);
  fields.Get("error", data.error);
  fields.Get("warnings", data.warnings);
  data.runner = runner;
  data.model = model;
  data.etdump = Absolute(etdump, folder);
  data.log = Absolute(log, folder);
  data.latency_csv = Absolute(latency_csv, folder);
  data.xnntrace_log = Absolute(xnntrace_log, folder);
  if (data.label.empty()) data.label = data.name;
  data.etdump_runs = ReadRuns(fields, "etdump_runs");
  fields.Each("launches", [&](const Fields& launch) { data.launches.push_back(ReadLaunch(launch)); });
  return data;
}

DeviceProperties ReadDevice(const Fields& fields) {
  DeviceProperties device;
  fields.Get("name", device.name);
  fields.Get("platform", device.platform);
  fields.Get("architecture", device.architecture);
  fields.Get("cpu_model", device.cpu_model);
  fields.Get("features", device.features);
  fields.Get("cores", device.cores);
  fields.Get("topology", device.topology);
  fields.Get("memory_total_bytes", device.memory_total);
  fields.Get("memory_available_bytes", device.memory_available);
  fields.Get("os", device.os);
  fields.Get("kernel", device.kernel);
  fields.Get("virtualization", device.virtualization);
  fields.Get("power_mode", device.power_mode);
  fields.Get("warnings", device.warnings);
  fields.Each("cpus", [&](const Fields& entry) {
    DeviceProperties::Cpu cpu;
    entry.Get("id", cpu.id);
    entry.Get("model", cpu.model);
    entry.Get("governor", cpu.governor);
    entry.Get("min_khz", cpu.min_khz);
    entry.Get("max_khz", cpu.max_khz);
    entry.Get("hardware_max_khz", cpu.hardware_max_khz);
    entry.Get("capacity", cpu.capacity);
    device.cpus.push_back(cpu);
  });
  return device;
}

void ReadPair(const Fields& fields, RunData& run) {
  ComparePair pair;
  bool found = true;
  const auto side = [&](const char* key, std::size_t& index, std::string& label) {
    std::string name;
    int threads = 1;
    fields.Within(key, [&](const Fields& object) {
      object.Get("experiment", name);
      object.Get("threads", threads);
      object.Get("label", label);
    });
    for (std::size_t i = 0; i < run.experiments.size(); ++i) {
      if (run.experiments[i].name == name && run.experiments[i].threads == threads) {
        index = i;
        return;
      }
    }
    found = false;
  };
  side("baseline", pair.baseline, pair.baseline_label);
  side("candidate", pair.candidate, pair.candidate_label);
  fields.Get("label", pair.label);
  fields.Within("outputs", [&](const Fields& object) {
    ComparePair::OutputDifference difference;
    object.Get("comparable", difference.comparable);
    object.Get("equal", difference.equal);
    object.Get("largest_absolute", difference.largest_absolute);
    object.Get("largest_relative", difference.largest_relative);
    object.Get("note", difference.note);
    pair.outputs = difference;
  });
  if (found) {
    run.pairs.push_back(pair);
  } else {
    run.problems.push_back("manifest.json: a pair names an experiment that has no results");
  }
}

}  // namespace

void ReadManifest(const json& manifest, RunData& run) {
  std::int64_t wrong = 0;
  const Fields fields(manifest, wrong);
  std::string status, config, model;
  fields.Get("status", status);
  for (const RunData::Status known : {RunData::Status::kRunning, RunData::Status::kComplete,
                                      RunData::Status::kInterrupted, RunData::Status::kFailed}) {
    if (status == StatusName(known)) run.status = known;
  }
  fields.Get("generated_at", run.generated_at);
  fields.Get("etprof_version", run.etprof_version);
  fields.Get("config", config);
  fields.Get("config_hash", run.config_hash);
  fields.Get("model", model);
  fields.Get("model_id", run.model_id);
  fields.Get("model_sha256", run.model_sha256);
  fields.Get("method", run.method);
  fields.Within("executorch", [&](const Fields& object) {
    object.Get("sha", run.executorch_sha);
    object.Get("dirty", run.executorch_dirty);
  });
  fields.Get("platform", run.platform);
  run.config = config;
  run.model = model;
  if (run.model_id.empty()) run.model_id = run.model.stem().string();
  fields.Within("device", [&](const Fields& object) { run.device = ReadDevice(object); });
  fields.Within("schedule", [&](const Fields& object) {
    object.Get("seed", run.schedule.seed);
    object.Get("launches", run.schedule.launches);
    object.Get("rounds", run.schedule.rounds);
    object.Get("repeated_bursts", run.schedule.repeated_bursts);
    object.Get("sustained_seconds", run.schedule.sustained_seconds);
    object.Get("interleaved", run.schedule.interleaved);
    object.Get("why_not_interleaved", run.schedule.why_not_interleaved);
    object.Get("stopped", run.schedule.stopped);
    object.Get("seconds", run.schedule.seconds);
    object.Get("waited_seconds", run.schedule.waited_seconds);
    object.Get("max_seconds", run.schedule.max_seconds);
    object.Get("precision", run.schedule.precision);
    object.Get("margin", run.schedule.margin);
    object.Get("confidence", run.schedule.confidence);
    object.Get("look_confidence", run.schedule.look_confidence);
  });
  fields.Within("power_mode", [&](const Fields& object) { run.power_mode = ReadPowerModeFields(object); });
  fields.Get("warnings", run.warnings);
  fields.Each("conditions", [&](const Fields& entry) { run.conditions.push_back(ReadConditions(entry)); });
  fields.Each("other_load", [&](const Fields& entry) { ReadOtherLoad(entry, run); });
  fields.Each("results",
              [&](const Fields& entry) { run.experiments.push_back(ReadExperiment(entry, run.folder)); });
  fields.Each("pairs", [&](const Fields& entry) { ReadPair(entry, run); });
  const auto text_of = [&](const char* key, std::string& text) {
    const auto found = manifest.find(key);
    if (found != manifest.end() && found->is_object()) text = found->dump();
  };
  text_of("configuration", run.configuration);
  text_of("model_info", run.model_info);
  if (wrong > 0)
    run.problems.push_back(fmt::format(
        "manifest.json: {} entries are wrong (of another type, or cannot be) and are left out", wrong));
}

}  // namespace etprof
