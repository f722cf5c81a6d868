#include "cli/experiment_options.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "cli/device_option.h"
#include "core/error.h"
#include "device/clusters.h"
#include "device/shell.h"

namespace etprof {
namespace {

std::filesystem::path Absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal();
}

// What the config file of a run says of inputs goes for the command line too.
std::optional<protocol::InputSpec> Inputs(const std::vector<std::string>& texts) {
  if (texts.empty()) return std::nullopt;
  protocol::InputSpec inputs;
  if (texts.size() == 1 && (texts[0] == "ones" || texts[0] == "random")) {
    inputs.kind = texts[0];
    inputs.seed = 1;
    return inputs;
  }
  inputs.kind = texts.size() == 1 && texts[0].ends_with(".inputs") ? "saved" : "files";
  for (const std::string& text : texts) inputs.paths.push_back(std::filesystem::absolute(text).string());
  return inputs;
}

}  // namespace

std::string ExperimentOptions::Given() const {
  if (!cpus.empty()) return "--cpus";
  if (!period.empty()) return "--period";
  if (!runner.empty()) return "--runner";
  if (method != ExperimentOptions().method) return "--method";
  if (!data.empty()) return "--data";
  if (!inputs.empty()) return "--inputs";
  return exec_wrapper.empty() ? "" : "--exec-wrapper";
}

void AddExperimentOptions(CLI::App& app, ExperimentOptions& options) {
  app.add_option("--runs", options.runs, "traced runs of each experiment [100]")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  app.add_option("--cpus", options.cpus,
                 "run on these CPUs only: 0,2-3, a mask such as 0x80, or big, mid, little");
  app.add_option("--period", options.period, "start a run so often, as a camera does: 33ms [back to back]")
      ->type_name("TIME");
  app.add_option("--runner", options.runner, "etprof-runner or an executor_runner [the one beside etprof]")
      ->type_name("PATH");
  app.add_option("--method", options.method, "the method [forward]");
  app.add_option("--data", options.data, "external data, a .ptd file")->type_name("FILE.ptd");
  app.add_option("--inputs", options.inputs,
                 "ones, random, an .inputs file, or one raw file a tensor [those saved beside the model]")
      ->delimiter(',');
  app.add_option("--exec-wrapper", options.exec_wrapper,
                 "put before the runner: an emulator or a tool, as the device names it")
      ->type_name("\"CMD ..\"");
}

void AddSustainedOption(CLI::App& app, std::string& text) {
  app.add_option("--sustained", text,
                 "run each experiment so long without a rest, one after the other: latency, clock and "
                 "temperature over time")
      ->type_name("TIME");
}

Nanoseconds SustainedOf(const std::string& text) {
  if (text.empty()) return 0;
  const auto duration = ParseSustained(text);
  if (!duration)
    throw Error(ExitCode::kUsage, fmt::format("--sustained `{}` is not a duration", text))
        .Remedy(kSustainedRemedy);
  return *duration;
}

void CheckExperimentOptions(const ExperimentOptions& options) {
  if (!options.cpus.empty()) CheckCpus(options.cpus);
  if (!options.period.empty() && !ParsePeriod(options.period)) {
    throw Error(ExitCode::kUsage, fmt::format("--period `{}` is not a duration", options.period))
        .Remedy(kPeriodRemedy);
  }
}

ExperimentConfig ExperimentOf(const ExperimentOptions& options, const std::string& model,
                              const Device& device, const DeviceProperties& properties) {
  CheckExperimentOptions(options);
  ExperimentConfig experiment;
  experiment.model = Absolute(model);
  experiment.runner = options.runner.empty() ? RunnerFor(device, properties) : Absolute(options.runner);
  experiment.exec_wrapper = CommandWords(options.exec_wrapper);
  if (!options.data.empty()) experiment.data = Absolute(options.data);
  experiment.method = options.method;
  experiment.inputs = Inputs(options.inputs);
  experiment.cpu_affinity = options.cpus;
  if (!options.period.empty()) experiment.period = ParsePeriod(options.period).value_or(0);
  if (options.runs) experiment.runs = *options.runs;
  return experiment;
}

}  // namespace etprof
