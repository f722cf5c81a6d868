#include "stats/level.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/distribution.h"

namespace etprof::stats {
namespace {

constexpr double kMinHalfShift = 1.0;    // half of the smallest shift that is detected, in sd
constexpr double kMaxExcess = 4.0;       // limit for the distance of a single run, in sd
constexpr double kMinEvidence = 2.5;     // a series without warm-up rarely reaches this
constexpr double kRelativeFloor = 1e-3;  // share of the level; a smaller distance is never a shift

struct ChangePoint {
  std::size_t index = 0;
  double evidence = 0;
};

// The maximum of the cumulative sum of the opening runs' distances from the level, above it (`sign` 1) or
// below it (`sign` -1).
ChangePoint FindShift(std::span<const double> opening, double level, double sd, double sign) {
  ChangePoint best;
  double sum = 0;
  for (std::size_t i = 0; i < opening.size(); ++i) {
    sum += std::clamp(sign * (opening[i] - level) / sd, -kMaxExcess, kMaxExcess) - kMinHalfShift;
    if (sum > best.evidence) best = {i + 1, sum};
  }
  return best.evidence >= kMinEvidence ? best : ChangePoint{};
}

}  // namespace

std::size_t FirstSteadyRun(std::span<const double> runs) {
  if (runs.size() < 4) return 0;
  const std::span<const double> opening = runs.first(runs.size() / 2);
  const std::span<const double> settled = runs.subspan(runs.size() / 2);

  const double level = *Median(settled);
  std::vector<double> distances;
  for (const double run : settled) distances.push_back(std::fabs(run - level));
  std::vector<double> steps;
  for (std::size_t i = 1; i < runs.size(); ++i) steps.push_back(std::fabs(runs[i] - runs[i - 1]));
  const double sd =
      std::max({kNormalSdPerMad * *Median(distances), kNormalSdPerMad * *Median(steps) / std::sqrt(2.0),
                kRelativeFloor * std::fabs(level)});
  if (sd == 0) return 0;

  const ChangePoint above = FindShift(opening, level, sd, 1);
  const ChangePoint below = FindShift(opening, level, sd, -1);
  if (above.evidence >= below.evidence) return above.index;
  // The rest is slower, so the opening is the steady state, and a warm-up can only be within it.
  return FirstSteadyRun(runs.first(below.index));
}

}  // namespace etprof::stats
