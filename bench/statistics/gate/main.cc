// What `etprof check` decides under the stop rule's looks, by simulation of normal launch effects with a sd
// of 2 % and a limit of 2 %. The first table calibrates kLookShare (compare/gate.h): the chance that a claim
// that lies at its limit is decided falsely, in one direction, at one of the nine looks, over the level of
// each look. The second measures until all claims are decided: false decisions where all lie at the limit.
// The third says what becomes of one claim by its true growth, and what that takes. The argument is the
// number of measurements of the first table; the others take a twentieth.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "compare/gate.h"
#include "stats/ratio/stop_rule.h"
#include "stats/ratio/student_t.h"

namespace {

using etprof::GateClaim;
using etprof::GateDecision;
using etprof::GateVerdict;

constexpr double kLimit = 0.02, kSd = 0.02, kConfidence = 0.95;

void PrintLevels(int measurements) {
  constexpr std::array<double, 8> kLevels = {0.05, 0.02, 0.01, 0.0075, 0.005, 0.002, 0.001, 0.0005};
  std::array<int, kLevels.size()> decided{};
  const std::vector<int> looks = etprof::stats::MakeStopRule().looks;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int i = 0; i < measurements; ++i) {
    double sum = 0, squares = 0, n = 0, least = 1;
    for (const int look : looks) {
      for (; n < look; ++n) {
        const double x = normal(random);
        sum += x;
        squares += x * x;
      }
      const double t = sum / n / std::sqrt((squares - sum * sum / n) / (n - 1) / n);
      if (t > 0) least = std::min(least, etprof::stats::TwoSidedP(t, n - 1) / 2);
    }
    for (std::size_t level = 0; level < kLevels.size(); ++level) decided[level] += least <= kLevels[level];
  }
  fmt::print("level of each look    ever decided    times the level\n");
  for (std::size_t level = 0; level < kLevels.size(); ++level) {
    const double share = double(decided[level]) / measurements;
    fmt::print("          {:6.2f} %      {:7.3f} %    {:15.2f}\n", 100 * kLevels[level], 100 * share,
               share / kLevels[level]);
  }
}

struct Outcome {
  double any_failed = 0, any_passed = 0;    // share of measurements
  double failed = 0, passed = 0, open = 0;  // share of claims
  double launches = 0;                      // mean
};

Outcome Measure(int claims, double growth, int measurements) {
  const std::vector<int> looks = etprof::stats::MakeStopRule().looks;
  std::mt19937_64 random(2);
  std::normal_distribution<double> effect(-std::log1p(growth), kSd);
  Outcome outcome;
  for (int i = 0; i < measurements; ++i) {
    std::vector<std::vector<double>> effects(static_cast<std::size_t>(claims));
    std::array<int, 3> decisions{};
    for (const int look : looks) {
      std::vector<GateClaim> judged;
      for (std::vector<double>& of_claim : effects) {
        while (of_claim.size() < static_cast<std::size_t>(look)) of_claim.push_back(effect(random));
        judged.push_back({etprof::stats::EstimateRatio(of_claim, kConfidence), kLimit});
      }
      decisions = {};
      for (const GateVerdict& verdict : etprof::JudgeClaims(judged, {0.05, etprof::kLookShare}))
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
