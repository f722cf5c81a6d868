#pragma once

#include <cmath>
#include <random>

#include "stats/ratio/launches.h"

namespace etprof::stats {

// A simulated paired measurement with a known true ratio, for tests and benchmarks. Each launch and each
// burst adds its own random effect to the log ratio.
struct SimulatedLaunches {
  double true_log_ratio = 0;
  double launch_sd = 0;  // sd of the log ratio between launches
  double round_sd = 0;   // sd of the log ratio between rounds within a launch
  int rounds = 7;
  double share_disturbed = 0;  // share of bursts that another process makes 20% slower
  std::mt19937_64 random{1};

  LaunchBursts Next() {
    std::normal_distribution<double> normal;
    std::bernoulli_distribution disturbed(share_disturbed);
    const double effect = true_log_ratio + launch_sd * normal(random);
    const double burst_sd = round_sd / std::sqrt(2.0);
    LaunchBursts launch;
    for (int round = 0; round < rounds; ++round) {
      // Both variants share the machine's drift within a round.
      const double slow_wave = 0.1 * normal(random);
      const double baseline =
          slow_wave + effect + burst_sd * normal(random) + (disturbed(random) ? 0.2 : 0.0);
      const double candidate = slow_wave + burst_sd * normal(random) + (disturbed(random) ? 0.2 : 0.0);
      launch.baseline.push_back(4e6 * std::exp(baseline));
      launch.candidate.push_back(4e6 * std::exp(candidate));
    }
    return launch;
  }
};

inline bool Covers(const RatioEstimate& estimate, double true_log_ratio) {
  return estimate.log_low <= true_log_ratio && true_log_ratio <= estimate.log_high;
}

}  // namespace etprof::stats
