// Calibrates StopRule::interim_confidence by simulating the coverage of a measurement's interval under the
// stop rule. Columns: the nominal confidence; the requested precision, in standard deviations of a launch
// effect; then the coverage and the mean number of launches, for intervals at the nominal confidence and at
// the calibrated one. The last lines have the worst and the best coverage over all precisions. The argument
// is the number of measurements per line.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "stats/ratio/launches.h"
#include "stats/ratio/stop_rule.h"

namespace {

namespace stats = etprof::stats;

constexpr double kLaunchSd = 0.01;

struct Outcome {
  double coverage = 0;
  double mean_launches = 0;
};

Outcome Simulate(const stats::StopRule& rule, double precision, int measurements) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> effect(0, kLaunchSd);
  Outcome outcome;
  for (int i = 0; i < measurements; ++i) {
    std::vector<double> effects;
    std::optional<stats::RatioEstimate> estimate;
    for (;;) {
      const auto launches = static_cast<int>(effects.size());
      const stats::StopDecision decision = stats::DecideStop(rule, launches, estimate, precision, 0,
                                                             std::numeric_limits<double>::infinity(), 1);
      if (decision.stop) break;
      while (static_cast<int>(effects.size()) < decision.next_launches) effects.push_back(effect(random));
      estimate = stats::EstimateRatio(effects, rule.interim_confidence);
    }
    outcome.coverage += estimate->log_low <= 0 && 0 <= estimate->log_high;
    outcome.mean_launches += static_cast<double>(effects.size());
  }
  outcome.coverage /= measurements;
  outcome.mean_launches /= measurements;
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const int measurements = std::max(100, argc > 1 ? std::atoi(argv[1]) : 20000);
  for (const double confidence : {0.90, 0.95, 0.99}) {
    const stats::StopRule calibrated = stats::MakeStopRule(confidence);
    stats::StopRule plain = calibrated;
    plain.interim_confidence = confidence;
    std::array<double, 2> worst{1, 1};
    std::array<double, 2> best{0, 0};
    fmt::print("confidence  precision      plain  launches    at {:.4f}  launches\n",
               calibrated.interim_confidence);
    for (double precision = 0.15; precision < 1.6; precision *= 1.1) {
      const std::array<Outcome, 2> outcomes{
          Simulate(plain, std::expm1(precision * kLaunchSd), measurements),
          Simulate(calibrated, std::expm1(precision * kLaunchSd), measurements)};
      for (std::size_t i = 0; i < outcomes.size(); ++i) {
        worst[i] = std::min(worst[i], outcomes[i].coverage);
        best[i] = std::max(best[i], outcomes[i].coverage);
      }
      fmt::print("      {:.2f}   {:8.3f}   {:6.2f} %  {:8.1f}   {:9.2f} %  {:8.1f}\n", confidence, precision,
                 100 * outcomes[0].coverage, outcomes[0].mean_launches, 100 * outcomes[1].coverage,
                 outcomes[1].mean_launches);
    }
    fmt::print("worst, best           {:6.2f}, {:.2f} %     {:9.2f}, {:.2f} %\n\n", 100 * worst[0],
               100 * best[0], 100 * worst[1], 100 * best[1]);
  }
}
