#include "commands/measurement/request.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "core/error.h"
#include "device/conditions/clusters.h"
#include "device/tool.h"

namespace etprof {
namespace {

std::filesystem::path Absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal();
}

// Parses --inputs, which has the same meaning as `inputs` in a configuration.
std::optional<protocol::InputSpec> ParseInputSpec(const std::vector<std::string>& texts) {
  if (texts.empty()) return std::nullopt;
  protocol::InputSpec inputs;
  if (texts.size() == 1 && (texts[0] == "ones" || texts[0] == "random")) {
    inputs.kind = texts[0];
    inputs.seed = 1;
    return inputs;
  }
  for (const std::string& text : texts) {
    if ((text == "ones" || text == "random") && !std::filesystem::exists(text))
      throw Error(ExitCode::kUsage, fmt::format("`--inputs {}` is for all inputs of the method", text))
          .Remedy("give ones, random, or one raw file per tensor");
  }
  inputs.kind = texts.size() == 1 && texts[0].ends_with(".inputs") ? "saved" : "files";
  for (const std::string& text : texts) inputs.paths.push_back(std::filesystem::absolute(text).string());
  return inputs;
}

Nanoseconds RequireSustained(const std::string& text) {
  const auto duration = ParseSustained(text);
  if (!duration)
    throw Error(ExitCode::kUsage, fmt::format("`--sustained {}` is not a duration", text))
        .Remedy(kSustainedRemedy);
  return *duration;
}

}  // namespace

std::string MeasureRequest::FirstModelOption() const {
  if (!cpus.empty()) return "--cpus";
  if (!period.empty()) return "--period";
  if (!runner.empty()) return "--runner";
  if (method != MeasureRequest().method) return "--method";
  if (!data.empty()) return "--data";
  if (!inputs.empty()) return "--inputs";
  if (!load.empty()) return "--load";
  return exec_wrapper.empty() ? "" : "--exec-wrapper";
}

void RequireValidRequest(const MeasureRequest& request) {
  if (!request.cpus.empty()) CheckCpus(request.cpus);
  if (!request.period.empty() && !ParsePeriod(request.period)) {
    throw Error(ExitCode::kUsage, fmt::format("`--period {}` is not a duration", request.period))
        .Remedy(kPeriodRemedy);
  }
  if (!request.sustained.empty()) RequireSustained(request.sustained);
  if (std::set<int>(request.threads.begin(), request.threads.end()).size() != request.threads.size())
    throw Error(ExitCode::kUsage, "a number of `--threads` repeats").Remedy("give each number once");
}

ExperimentConfig MakeExperimentConfig(const MeasureRequest& request, const std::string& model,
                                      const Device& device, const DeviceProperties& properties) {
  RequireValidRequest(request);
  ExperimentConfig experiment;
  experiment.model = Absolute(model);
  experiment.runner = request.runner.empty() ? FindRunner(device, properties) : Absolute(request.runner);
  experiment.exec_wrapper = SplitCommand(request.exec_wrapper);
  if (!request.data.empty()) experiment.data = Absolute(request.data);
  for (const std::string& library : request.load) experiment.load.push_back(Absolute(library).string());
  experiment.method = request.method;
  experiment.inputs = ParseInputSpec(request.inputs);
  experiment.cpu_affinity = request.cpus;
  if (!request.period.empty()) experiment.period = ParsePeriod(request.period).value_or(0);
  if (request.runs) experiment.runs = *request.runs;
  if (!request.threads.empty()) experiment.threads = request.threads;
  experiment.warmup = request.warmup;
  return experiment;
}

void Apply(const MeasureRequest& request, Config& config) {
  if (!request.output_root.empty()) config.output_root = request.output_root;
  if (!request.sustained.empty()) config.sustained = RequireSustained(request.sustained);
  for (const auto& [option, is_given] : {std::pair("--max-seconds", request.max_seconds.has_value()),
                                         {"--launches", request.launches.has_value()},
                                         {"--precision", request.precision.has_value()}}) {
    if (config.sustained > 0 && is_given)
      throw Error(ExitCode::kUsage, fmt::format("`{}` does not go with a sustained measurement", option))
          .Remedy("leave it out: `--sustained` sets the time");
  }
  if (request.max_seconds) config.max_seconds = request.max_seconds;
  if (request.launches) config.launches = request.launches;
  if (request.precision) config.precision = request.precision;
  if (request.margin) config.margin = *request.margin;
  if (request.no_peaks) config.peaks = false;
  if (!request.power_mode.empty()) config.power_mode = request.power_mode;
  if (request.max_temp) config.max_temp = request.max_temp;
  if (request.max_temp_wait) config.max_temp_wait = *request.max_temp_wait;
  if (request.wait_minutes) config.wait_minutes = *request.wait_minutes;
}

void ApplyToExperiments(const MeasureRequest& request, Config& config) {
  for (ExperimentConfig& experiment : config.experiments) {
    if (request.runs) experiment.runs = *request.runs;
    if (!request.threads.empty()) experiment.threads = request.threads;
  }
}

CpuFeatures ReadCpuFeatures(const MeasureRequest& request, WorkflowProgress& progress) {
  const std::unique_ptr<Device> device = Open(request.FirstDevice(), request, progress);
  CpuFeatures cpu;
  cpu.state = QueryRunner(*device, request.runner, request.exec_wrapper).isa;
  const isa::FeatureSet detected(cpu.state.detected.begin(), cpu.state.detected.end());
  cpu.architecture = isa::DetectArchitecture(detected);
  cpu.widest = isa::WidestExtension(cpu.architecture, detected);
  cpu.levels = isa::Ladder(cpu.architecture, detected);
  return cpu;
}

}  // namespace etprof
