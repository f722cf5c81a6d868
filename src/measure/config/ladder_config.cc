#include "measure/config/ladder_config.h"

#include <algorithm>

#include "measure/config/release.h"

namespace etprof {

Config MakeLadderConfig(const ExperimentConfig& base_experiment, const std::vector<isa::Level>& levels) {
  Config config;
  config.pairs_given = true;
  for (const isa::Level& level : levels) {
    ExperimentConfig experiment = base_experiment;
    experiment.name = level.name;
    experiment.label = level.name;
    experiment.isa = level.mask;
    config.experiments.push_back(std::move(experiment));
  }
  const auto compare = [&](std::size_t baseline, std::size_t candidate, int threads) {
    config.pairs.push_back({{levels[baseline].name, threads, ""}, {levels[candidate].name, threads, ""}, ""});
  };
  for (const int threads : base_experiment.threads) {
    for (std::size_t level = 1; level < levels.size(); ++level) compare(level - 1, level, threads);
    if (levels.size() > 2) compare(0, levels.size() - 1, threads);
  }
  return config;
}

Config MakeVersionsConfig(const ExperimentConfig& base_experiment, const std::vector<std::string>& versions,
                          const std::vector<ReleaseProgram>& programs) {
  Config config;
  config.pairs_given = true;
  std::vector<std::string> names;
  std::ranges::transform(versions, std::back_inserter(names), ReleaseName);
  const auto add_experiment = [&](std::size_t release, std::size_t exporter) {
    ExperimentConfig experiment = base_experiment;
    experiment.name = "executorch_" + names[release];
    experiment.label = "ExecuTorch " + names[release];
    experiment.executorch = versions[release];
    if (!programs.empty()) experiment.model = programs[exporter].path;
    if (exporter != release) {
      experiment.name += "_export_" + names[exporter];
      experiment.label += ", exported by " + names[exporter];
    }
    config.experiments.push_back(experiment);
    return experiment.name;
  };
  const auto compare = [&](const std::string& baseline, const std::string& candidate) {
    for (const int threads : base_experiment.threads)
      config.pairs.push_back({{baseline, threads, ""}, {candidate, threads, ""}, ""});
  };
  std::string previous_name = add_experiment(0, 0);
  for (std::size_t i = 1; i < versions.size(); ++i) {
    const std::string name = add_experiment(i, i);
    compare(previous_name, name);
    previous_name = name;
    if (programs.empty() || programs[i - 1].sha256 == programs[i].sha256) continue;
    compare(add_experiment(i - 1, i), name);
    compare(add_experiment(i, i - 1), name);
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
