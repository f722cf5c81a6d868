#include "stats/ratio/multiple.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "core/views.h"

namespace etprof::stats {

std::vector<double> BenjaminiHochberg(std::span<const double> p_values) {
  for (const double p : p_values) {
    if (!(p >= 0 && p <= 1)) throw std::invalid_argument("a p-value lies in [0, 1]");
  }
  std::vector<std::size_t> ascending(p_values.size());
  std::iota(ascending.begin(), ascending.end(), std::size_t{0});
  std::ranges::sort(ascending, [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double smallest = 1;
  for (std::size_t rank = p_values.size(); rank > 0; --rank) {
    const std::size_t index = ascending[rank - 1];
    smallest = std::min(smallest,
                        p_values[index] * static_cast<double>(p_values.size()) / static_cast<double>(rank));
    adjusted[index] = smallest;
  }
  return adjusted;
}

double FalseCoverageConfidence(std::size_t selected, std::size_t total, double q) {
  if (total == 0) return 1 - q;
  return 1 - static_cast<double>(std::max<std::size_t>(selected, 1)) * q / static_cast<double>(total);
}

JointRejection RejectJointly(std::span<const double> p_values, double q) {
  JointRejection rejection{BenjaminiHochberg(p_values), 0};
  const auto rejected = std::ranges::count_if(rejection.adjusted, [&](double p) { return p <= q; });
  rejection.confidence = FalseCoverageConfidence(static_cast<std::size_t>(rejected), p_values.size(), q);
  return rejection;
}

std::vector<OperatorVerdict> DecideVerdicts(std::span<const RatioEstimate> estimates, double q,
                                            double margin) {
  const auto [adjusted, confidence] = RejectJointly(
      MapEach(estimates, [](const RatioEstimate& estimate) { return estimate.p_value.value_or(1); }), q);
  std::vector<OperatorVerdict> verdicts;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    OperatorVerdict verdict;
    verdict.estimate = WithConfidence(estimates[i], confidence);
    verdict.adjusted_p = adjusted[i];
    verdict.significant = verdict.estimate.log_low > 0 || verdict.estimate.log_high < 0;
    verdict.verdict = DecideVerdict(verdict.estimate.log_low, verdict.estimate.log_high, margin);
    verdicts.push_back(verdict);
  }
  return verdicts;
}

void UpdateVerdicts(std::span<const JointComparison> comparisons, double q, double margin) {
  std::vector<RatioEstimate> estimates;
  for (const JointComparison& comparison : comparisons) {
    if (comparison.estimate) estimates.push_back(*comparison.estimate);
  }
  const std::vector<OperatorVerdict> verdicts = DecideVerdicts(estimates, q, margin);
  auto next = verdicts.begin();
  for (const JointComparison& comparison : comparisons) {
    if (!comparison.estimate) continue;
    comparison.estimate = next->estimate;
    comparison.verdict = next++->verdict;
  }
}

}  // namespace etprof::stats
