#include "noise/ways.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "stats/distribution.h"
#include "stats/ratio/stop_rule.h"
#include "stats/ratio/verdict.h"

namespace etprof::bench {
namespace {

// Adds a measured ratio to the members of Claims that all methods have: its side and its error.
void CountError(double log_ratio, Claims& claims) {
  const double truth = -std::log1p(claims.effect);
  ++claims.measurements;
  claims.wrong_side += truth == 0 ? log_ratio != 0 : log_ratio > 0;
  claims.errors.push_back(std::fabs(log_ratio - truth));
}

std::optional<double> MedianOfBursts(std::vector<double> bursts) {
  std::erase_if(bursts, [](double ns) { return !std::isfinite(ns); });
  return stats::Median(bursts);
}

}  // namespace

double Claims::ErrorQuantile(double q) const { return std::expm1(stats::Quantile(errors, q)); }

InterleavedClaims SimulateInterleaved(const Recording& recording, double effect, int measurements,
                                      const Settings& settings, std::mt19937_64& random) {
  const stats::StopRule rule = stats::MakeStopRule(0.95);
  const double truth = -std::log1p(effect);
  std::uniform_int_distribution<std::size_t> draw(0, recording.launches.size() - 1);
  InterleavedClaims result;
  result.effect = effect;
  for (int i = 0; i < measurements; ++i) {
    std::vector<stats::LaunchBursts> launches;
    std::optional<stats::RatioEstimate> estimate;
    for (;;) {
      const double seconds_used = static_cast<double>(launches.size()) * recording.seconds_per_launch;
      const stats::StopDecision decision = stats::DecideStop(
          rule, static_cast<int>(launches.size()), estimate, settings.precision, seconds_used,
          settings.max_seconds, launches.empty() ? 0 : recording.seconds_per_launch);
      if (decision.stop) {
        result.seconds += seconds_used / measurements;
        break;
      }
      while (static_cast<int>(launches.size()) < decision.next_launches) {
        stats::LaunchBursts launch = recording.launches[draw(random)];
        if (random() % 2 == 0) std::swap(launch.baseline, launch.candidate);
        for (double& ns : launch.candidate) ns *= 1 + effect;
        launches.push_back(std::move(launch));
      }
      estimate = stats::EstimateRatio(launches, rule.interim_confidence);
    }
    CountError(estimate->log_ratio, result);
    result.covered += estimate->log_low <= truth && truth <= estimate->log_high;
    result.half_width += estimate->half_width() / measurements;
    switch (stats::DecideVerdict(estimate->log_low, estimate->log_high, settings.margin)) {
      case stats::Verdict::kFaster:
        ++result.faster;
        break;
      case stats::Verdict::kSlower:
        ++result.slower;
        break;
      case stats::Verdict::kSame:
        ++result.same;
        break;
      default:
        ++result.inconclusive;
    }
  }
  std::sort(result.errors.begin(), result.errors.end());
  return result;
}

std::vector<double> SequentialLogRatios(const Recording& recording) {
  std::vector<double> log_ratios;
  for (std::size_t next = 1; next < recording.launches.size(); ++next) {
    const stats::LaunchBursts& before = recording.launches[next - 1];
    const stats::LaunchBursts& after = recording.launches[next];
    for (const auto& a_bursts : {before.baseline, before.candidate})
      for (const auto& b_bursts : {after.baseline, after.candidate}) {
        const auto a = MedianOfBursts(a_bursts), b = MedianOfBursts(b_bursts);
        if (a && b) log_ratios.push_back(std::log(*a / *b));
      }
  }
  return log_ratios;
}

Claims DecideByThreshold(std::span<const double> log_ratios, double effect, double log_threshold) {
  Claims claims;
  claims.effect = effect;
  for (const double noise : log_ratios) {
    const double log_ratio = noise - std::log1p(effect);
    CountError(log_ratio, claims);
    if (std::fabs(log_ratio) <= log_threshold)
      ++claims.same;
    else
      ++(log_ratio > 0 ? claims.faster : claims.slower);
  }
  std::sort(claims.errors.begin(), claims.errors.end());
  return claims;
}

double ThresholdForFalseClaims(std::span<const double> log_ratios, double share) {
  std::vector<double> sizes;
  for (const double log_ratio : log_ratios) sizes.push_back(std::fabs(log_ratio));
  std::sort(sizes.begin(), sizes.end());
  const auto above = static_cast<std::size_t>(share * static_cast<double>(sizes.size()));
  return sizes[sizes.size() - 1 - above];
}

}  // namespace etprof::bench
