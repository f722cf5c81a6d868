#include "measure/config/ladder_config.h"

#include <algorithm>

namespace etprof {

Config MakeLadderConfig(const ExperimentConfig& as_given, const std::vector<isa::Level>& levels) {
  Config config;
  config.pairs_given = true;
  for (const isa::Level& level : levels) {
    ExperimentConfig experiment = as_given;
    experiment.name = level.name;
    experiment.label = level.name;
    experiment.isa = level.mask;
    config.experiments.push_back(std::move(experiment));
  }
  const auto compare = [&](std::size_t baseline, std::size_t candidate, int threads) {
    config.pairs.push_back({{levels[baseline].name, threads, ""}, {levels[candidate].name, threads, ""}, ""});
  };
  for (const int threads : as_given.threads) {
    for (std::size_t level = 1; level < levels.size(); ++level) compare(level - 1, level, threads);
    if (levels.size() > 2) compare(0, levels.size() - 1, threads);
  }
  return config;
}

Config MakeVersionsConfig(const ExperimentConfig& as_given, const std::vector<std::string>& versions) {
  Config config;
  config.pairs_given = true;
  for (const std::string& version : versions) {
    ExperimentConfig experiment = as_given;
    experiment.name = "executorch_" + version;
    experiment.label = "ExecuTorch " + version;
    experiment.executorch = version;
    for (std::size_t i = 0; !config.experiments.empty() && i < as_given.threads.size(); ++i) {
      const int threads = as_given.threads[i];
      config.pairs.push_back(
          {{config.experiments.back().name, threads, ""}, {experiment.name, threads, ""}, ""});
    }
    config.experiments.push_back(std::move(experiment));
  }
  return config;
}

double DefaultLadderSeconds(const Config& config) {
  constexpr double kSecondsPerSetting = 15;
  std::size_t settings = 0;
  for (const ExperimentConfig& experiment : config.experiments) settings += experiment.threads.size();
  return std::max(60.0, kSecondsPerSetting * static_cast<double>(settings));
}

}  // namespace etprof
