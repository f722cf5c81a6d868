// Simulates the decisions of `etprof check` with the interim analyses of the stop rule. Launch effects are
// normal with a standard deviation of 2 %, and the limit is 2 %. The first table calibrates kInterimShare
// (profile/compare/gate.h): the probability that a claim exactly at its limit is falsely decided in one
// direction at any of the nine interim analyses, relative to the level of each analysis. The second table
// measures until all claims are decided, and has the false decisions if all claims are at the limit. The
// third table has the decisions on one claim, and the number of launches, by the claim's true growth. The
// argument is the number of measurements of the first table; the other tables use a twentieth.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "profile/compare/gate.h"
#include "stats/ratio/stop_rule.h"
#include "stats/ratio/student_t.h"

namespace {

using etprof::GateClaim;
using etprof::GateDecision;
using etprof::GateVerdict;

constexpr double kLimit = 0.02, kLaunchSd = 0.02, kConfidence = 0.95;

void PrintLevels(int measurements) {
  constexpr std::array<double, 8> kLevels = {0.05, 0.02, 0.01, 0.0075, 0.005, 0.002, 0.001, 0.0005};
  std::array<int, kLevels.size()> decided{};
  const std::vector<int> interim_launches = etprof::stats::MakeStopRule().interim_launches;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int i = 0; i < measurements; ++i) {
    double sum = 0, sum_of_squares = 0, n = 0, smallest_p = 1;
    for (const int analysis_launches : interim_launches) {
      for (; n < analysis_launches; ++n) {
        const double x = normal(random);
        sum += x;
        sum_of_squares += x * x;
      }
      const double t = sum / n / std::sqrt((sum_of_squares - sum * sum / n) / (n - 1) / n);
      if (t > 0) smallest_p = std::min(smallest_p, etprof::stats::TwoSidedP(t, n - 1) / 2);
    }
    for (std::size_t level = 0; level < kLevels.size(); ++level)
      decided[level] += smallest_p <= kLevels[level];
  }
  fmt::print("level of each look    ever decided    times the level\n");
  for (std::size_t level = 0; level < kLevels.size(); ++level) {
    const double share = double(decided[level]) / measurements;
    fmt::print("          {:6.2f} %      {:7.3f} %    {:15.2f}\n", 100 * kLevels[level], 100 * share,
               share / kLevels[level]);
  }
}

struct Outcome {
  double any_failed = 0, any_passed = 0;    // fractions of the measurements
  double failed = 0, passed = 0, open = 0;  // fractions of the claims
  double launches = 0;                      // mean number per measurement
};

Outcome Measure(int claims, double growth, int measurements) {
  const std::vector<int> interim_launches = etprof::stats::MakeStopRule().interim_launches;
  std::mt19937_64 random(2);
  std::normal_distribution<double> effect(-std::log1p(growth), kLaunchSd);
  Outcome outcome;
  for (int i = 0; i < measurements; ++i) {
    std::vector<std::vector<double>> effects(static_cast<std::size_t>(claims));
    std::array<int, 3> decisions{};
    for (const int analysis_launches : interim_launches) {
      std::vector<GateClaim> analyzed_claims;
      for (std::vector<double>& claim_effects : effects) {
        while (claim_effects.size() < static_cast<std::size_t>(analysis_launches))
          claim_effects.push_back(effect(random));
        analyzed_claims.push_back({etprof::stats::EstimateRatio(claim_effects, kConfidence), kLimit});
      }
      decisions = {};
      for (const GateVerdict& verdict : etprof::DecideClaims(analyzed_claims, {0.05, etprof::kInterimShare}))
        ++decisions[static_cast<std::size_t>(verdict.decision)];
      if (decisions[static_cast<std::size_t>(GateDecision::kInconclusive)] == 0) break;
    }
    const auto count = [&](GateDecision decision) {
      return double(decisions[static_cast<std::size_t>(decision)]);
    };
    outcome.any_failed += count(GateDecision::kFail) > 0;
    outcome.any_passed += count(GateDecision::kPass) > 0;
    outcome.failed += count(GateDecision::kFail) / claims;
    outcome.passed += count(GateDecision::kPass) / claims;
    outcome.open += count(GateDecision::kInconclusive) / claims;
    outcome.launches += double(effects[0].size());
  }
  for (double* value : {&outcome.any_failed, &outcome.any_passed, &outcome.failed, &outcome.passed,
                        &outcome.open, &outcome.launches})
    *value /= measurements;
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const int measurements = std::max(2000, argc > 1 ? std::atoi(argv[1]) : 200'000);
  PrintLevels(measurements);
  fmt::print("\nclaims, all at the limit    any fails    any passes\n");
  for (const int claims : {1, 4, 20}) {
    const Outcome outcome = Measure(claims, kLimit, measurements / 20 / claims);
    fmt::print("{:6}                      {:7.2f} %     {:7.2f} %\n", claims, 100 * outcome.any_failed,
               100 * outcome.any_passed);
  }
  fmt::print("\ntrue growth      fail      pass      open    launches\n");
  for (const double growth : {-0.02, 0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.07}) {
    const Outcome outcome = Measure(1, growth, measurements / 20);
    fmt::print("{:9.1f} % {:7.1f} % {:7.1f} % {:7.1f} %  {:8.1f}\n", 100 * growth, 100 * outcome.failed,
               100 * outcome.passed, 100 * outcome.open, outcome.launches);
  }
}
