#include "cli/check_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/file.h"
#include "measure/config/device_groups.h"
#include "measure/config/variant.h"

namespace etprof {
namespace {

using Kind = CheckSides::Kind;

// "isa=-avx2": what differs from the other side. A file of such a name wins.
bool IsVariant(const std::string& text) { return text.find('=') != std::string::npos && !Exists(text); }

Kind KindOf(const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::is_directory(text, ignored)) return Kind::kRuns;
  if (IsVariant(text)) return Kind::kModels;
  if (!Exists(text)) throw Error(ExitCode::kBadInput, "no such file or folder").InFile(text);
  return text.ends_with(".json") ? Kind::kConfigs : Kind::kModels;
}

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kModels:
      return "a model";
    case Kind::kConfigs:
      return "a configuration";
    case Kind::kRuns:
      return "a run directory";
  }
  return "";
}

Config ConfigOfModels(const CheckSides& sides, const CheckMeasurement& measurement, Device& device,
                      const DeviceProperties& properties) {
  ExperimentConfig baseline = ExperimentOf(measurement.experiment, sides.baseline, device, properties);
  baseline.name = "baseline";
  if (measurement.threads) baseline.threads = {*measurement.threads};

  Variant variant;
  if (IsVariant(sides.candidate)) {
    variant = ParseVariant(sides.candidate);
  } else {
    variant.model = std::filesystem::absolute(sides.candidate).lexically_normal();
  }
  ExperimentConfig candidate = baseline;
  candidate.name = "candidate";
  if (variant.isa) candidate.isa = *variant.isa;
  if (variant.cpus) candidate.cpu_affinity = *variant.cpus;
  if (variant.threads) candidate.threads = {*variant.threads};
  if (variant.period) candidate.period = *variant.period;
  if (variant.runner) candidate.runner = *variant.runner;
  if (variant.model) candidate.model = *variant.model;
  const VariantLabels labels = LabelsOf(variant, baseline);
  const bool same_names =
      !variant.label && variant.model && ModelId(*variant.model) == ModelId(baseline.model);
  baseline.label = same_names ? "baseline" : labels.as_given;
  candidate.label = same_names ? "candidate" : labels.variant;

  Config config;
  config.pairs_given = true;
  config.pairs.push_back(
      {{baseline.name, baseline.threads[0], ""}, {candidate.name, candidate.threads[0], ""}, ""});
  config.experiments = {std::move(baseline), std::move(candidate)};
  return config;
}

void Override(Config& config, const CheckMeasurement& measurement) {
  if (const std::string option = measurement.experiment.Given(); !option.empty())
    throw Error(ExitCode::kUsage, option + " is for models; a configuration has its own");
  for (ExperimentConfig& experiment : config.experiments) {
    if (measurement.experiment.runs) experiment.runs = *measurement.experiment.runs;
    if (measurement.threads) experiment.threads = {*measurement.threads};
  }
}

// The experiments that both have, the baseline's against the candidate's.
Config ConfigOfTwo(const Config& baseline, const Config& candidate) {
  Config config = candidate;
  config.file.clear();
  config.experiments.clear();
  config.pairs.clear();
  config.pairs_given = true;
  for (const ExperimentConfig& a : baseline.experiments) {
    for (const ExperimentConfig& b : candidate.experiments) {
      if (a.name != b.name || a.mode != "timing" || b.mode != "timing") continue;
      const std::string label = b.label.empty() ? b.name : b.label;
      ExperimentConfig first = a;
      ExperimentConfig second = b;
      first.name = "baseline_" + a.name;
      second.name = "candidate_" + b.name;
      first.label = label + " (baseline)";
      second.label = label + " (candidate)";
      for (const int threads : a.threads) {
        if (std::find(b.threads.begin(), b.threads.end(), threads) == b.threads.end()) continue;
        const bool several = a.threads.size() > 1;
        config.pairs.push_back({{first.name, threads, ""},
                                {second.name, threads, ""},
                                several ? fmt::format("{}, {} threads", label, threads) : label});
      }
      config.experiments.push_back(std::move(first));
      config.experiments.push_back(std::move(second));
    }
  }
  if (config.pairs.empty()) {
    throw Error(ExitCode::kBadInput, fmt::format("{} and {} have no experiment of the same name and threads",
                                                 baseline.file.string(), candidate.file.string()))
        .Remedy("give the experiments to compare the same names");
  }
  return config;
}

}  // namespace

CheckSides SidesOf(const std::vector<std::string>& paths, const std::string& baseline,
                   const std::string& candidate) {
  CheckSides sides{Kind::kModels, baseline, candidate};
  for (const std::string& path : paths) {
    std::string& side = sides.baseline.empty() ? sides.baseline : sides.candidate;
    if (!side.empty())
      throw Error(ExitCode::kUsage, fmt::format("`{}` is a third input, but a check has two", path));
    side = path;
  }
  if (sides.baseline.empty())
    throw Error(ExitCode::kUsage, "nothing to check").Remedy("run `etprof check BASE.pte CANDIDATE.pte`");
  if (IsVariant(sides.baseline)) {
    throw Error(ExitCode::kUsage, "the baseline has to be a model, a configuration or a run directory")
        .Remedy("only the candidate can be what differs: `--candidate isa=-avx2`");
  }
  sides.kind = KindOf(sides.baseline);
  if (sides.candidate.empty()) {
    if (sides.kind == Kind::kModels) {
      throw Error(ExitCode::kUsage, "one model has nothing to be compared with")
          .Remedy("pass a second model, or what differs: `--candidate isa=-avx2`");
    }
    return sides;
  }
  const Kind other = KindOf(sides.candidate);
  if (other != sides.kind) {
    throw Error(ExitCode::kUsage,
                fmt::format("{} cannot be compared with {}", NameOf(sides.kind), NameOf(other)))
        .Remedy("give two models, two configurations or two run directories");
  }
  return sides;
}

Config CheckConfig(const CheckSides& sides, const CheckMeasurement& measurement, Device& device) {
  const DeviceProperties properties = device.Properties();
  Config config;
  if (sides.kind == Kind::kModels) {
    config = ConfigOfModels(sides, measurement, device, properties);
  } else {
    config = ReadConfig(sides.baseline, ContextFor(device, properties));
    Override(config, measurement);
    if (!sides.candidate.empty()) {
      Config candidate = ReadConfig(sides.candidate, ContextFor(device, properties));
      Override(candidate, measurement);
      config = ConfigOfTwo(config, candidate);
    }
    RequireDevice(config, device.Name());
  }
  Apply(measurement.device, config);
  config.peaks = false;  // a verdict needs none
  if (!measurement.output_root.empty()) config.output_root = measurement.output_root;
  if (config.output_root.empty()) {
    config.output_root = DefaultRunDirectory(config.experiments.back().model, properties.platform);
  }
  if (MakePlan(config).pairs.empty()) {
    throw Error(ExitCode::kBadInput, "has no pair of experiments to check")
        .InFile(sides.baseline)
        .Remedy("give it a second experiment, or compare_pairs (docs/reference/config.md)");
  }
  return config;
}

}  // namespace etprof
