#include "stats/ratio/launches.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>

#include "stats/compensated_sum.h"
#include "stats/distribution.h"
#include "stats/ratio/student_t.h"

namespace etprof::stats {
namespace {

bool IsValidTime(double value) { return std::isfinite(value) && value > 0; }

// The logarithms of baseline / candidate and of the geometric mean of the two, for the rounds that count.
struct RoundLogs {
  std::vector<double> effects, middles;
};

RoundLogs GetRoundLogs(const LaunchBursts& launch) {
  if (launch.baseline.size() != launch.candidate.size()) {
    throw std::invalid_argument("a launch has as many rounds of the baseline as of the candidate");
  }
  RoundLogs rounds;
  for (std::size_t round = 0; round < launch.baseline.size(); ++round) {
    const double baseline = launch.baseline[round];
    const double candidate = launch.candidate[round];
    if (!IsValidTime(baseline) || !IsValidTime(candidate)) continue;
    rounds.effects.push_back(std::log(baseline / candidate));
    rounds.middles.push_back((std::log(baseline) + std::log(candidate)) / 2);
  }
  return rounds;
}

}  // namespace

std::optional<double> LaunchEffect(const LaunchBursts& launch) {
  return Median(GetRoundLogs(launch).effects);
}

std::optional<RatioEstimate> EstimateRatio(std::span<const double> launch_effects, double confidence) {
  std::vector<double> effects;
  std::ranges::copy_if(launch_effects, std::back_inserter(effects),
                       [](double x) { return std::isfinite(x); });
  if (effects.size() < 2) return std::nullopt;

  RatioEstimate estimate;
  const auto launches = static_cast<double>(effects.size());
  estimate.launches = static_cast<int>(effects.size());
  estimate.log_ratio = CompensatedMean(effects);
  estimate.standard_error =
      std::sqrt(SquaredDeviations(effects, estimate.log_ratio) / (launches - 1) / launches);
  estimate.degrees_of_freedom = launches - 1;
  return AddInterval(estimate, confidence);
}

std::optional<RatioEstimate> EstimateRatio(std::span<const LaunchBursts> launches, double confidence) {
  std::vector<double> effects, middles;
  std::size_t rounds = 0;
  for (const LaunchBursts& launch : launches) {
    const RoundLogs round_logs = GetRoundLogs(launch);
    rounds += round_logs.effects.size();
    if (round_logs.effects.empty()) continue;
    effects.push_back(*Median(round_logs.effects));
    middles.push_back(*Median(round_logs.middles));
  }
  std::optional<RatioEstimate> estimate = EstimateRatio(effects, confidence);
  if (!estimate) return estimate;
  estimate->rounds = static_cast<int>(rounds);
  estimate->log_middle = CompensatedMean(middles);
  return estimate;
}

RatioEstimate AddInterval(RatioEstimate estimate, double confidence) {
  if (estimate.log_ratio != 0 || estimate.standard_error != 0)
    estimate.p_value = TwoSidedP(estimate.log_ratio / estimate.standard_error, estimate.degrees_of_freedom);
  return WithConfidence(estimate, confidence);
}

RatioEstimate WithConfidence(const RatioEstimate& estimate, double confidence) {
  RatioEstimate result = estimate;
  const double critical_value = CriticalValue(confidence, estimate.degrees_of_freedom);
  // Without any spread the interval is a point at every confidence below 1 (0 times infinity is undefined).
  const double half_width =
      estimate.systematic_error +
      (estimate.standard_error == 0 && confidence < 1 ? 0 : critical_value * estimate.standard_error);
  result.log_low = estimate.log_ratio - half_width;
  result.log_high = estimate.log_ratio + half_width;
  if (!estimate.resolved) {
    result.log_low = std::min(result.log_low, 0.0);
    result.log_high = std::max(result.log_high, 0.0);
  }
  result.confidence = confidence;
  return result;
}

RatioEstimate MarkUnresolved(const RatioEstimate& estimate) {
  RatioEstimate result = estimate;
  result.resolved = false;
  if (result.p_value) result.p_value = 1;  // an absent p-value (no difference and no spread) counts as 1
  return WithConfidence(result, estimate.confidence);
}

RatioEstimate WithSystematicError(const RatioEstimate& estimate, double error) {
  RatioEstimate result = estimate;
  result.systematic_error = error;
  const double beyond = std::abs(estimate.log_ratio) - error;
  if (result.p_value && estimate.resolved) {
    result.p_value =
        beyond > 0 ? TwoSidedP(beyond / estimate.standard_error, estimate.degrees_of_freedom) : 1;
  }
  return WithConfidence(result, estimate.confidence);
}

}  // namespace etprof::stats
