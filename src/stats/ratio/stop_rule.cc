#include "stats/ratio/stop_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "stats/ratio/launches.h"

namespace etprof::stats {

StopRule MakeStopRule(double confidence) {
  if (!(confidence >= 0.5 && confidence <= 0.999)) {
    throw std::invalid_argument("the stop rule is calibrated for confidences from 0.5 to 0.999");
  }
  const double error = 1 - confidence;
  const double error_share = 1 + 0.2 * std::log10(error);
  return {.interim_launches = {10, 14, 20, 28, 40, 56, 80, 112, 160},
          .confidence = confidence,
          .interim_confidence = 1 - error_share * error};
}

StopDecision DecideStop(const StopRule& rule, int launches, const std::optional<RatioEstimate>& estimate,
                        double precision, double seconds_used, double max_seconds,
                        double seconds_per_launch) {
  const auto next = std::upper_bound(rule.interim_launches.begin(), rule.interim_launches.end(), launches);
  const bool is_interim_analysis =
      std::binary_search(rule.interim_launches.begin(), rule.interim_launches.end(), launches);
  if (is_interim_analysis && estimate && estimate->half_width() <= precision) {
    return {
        true,
        fmt::format("half-width {:.3g}% is within {:.3g}%", 100 * estimate->half_width(), 100 * precision),
        launches};
  }
  if (next == rule.interim_launches.end()) {
    return {true, fmt::format("{} launches are the most that are measured", rule.interim_launches.back()),
            launches};
  }
  if (seconds_per_launch <= 0) return {.next_launches = launches + 1};

  const double seconds_left = std::max(0.0, max_seconds - seconds_used);
  const double affordable = launches + std::floor(seconds_left / seconds_per_launch);
  if (affordable >= *next) return {.next_launches = *next};
  if (launches >= rule.interim_launches.front() || (launches >= kMinLaunches && affordable <= launches)) {
    return {true, fmt::format("{} launches would take longer than {:.3g} s", *next, max_seconds), launches};
  }
  return {.next_launches = std::max(kMinLaunches, static_cast<int>(affordable))};
}

}  // namespace etprof::stats
