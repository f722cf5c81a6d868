#include "stats/level.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/distribution.h"

namespace etprof::stats {
namespace {

constexpr double kSmallestShift = 1.0;   // half the shift to be found, in sd
constexpr double kLargestExcess = 4.0;   // a run counts for no more than this, in sd
constexpr double kLeastEvidence = 2.5;   // what no warm-up hardly reaches
constexpr double kRelativeFloor = 1e-3;  // of the level: less than that is level, however still the clock

struct ChangePoint {
  std::size_t index = 0;
  double evidence = 0;
};

// The maximum of the cumulative sum of how far the opening runs lie from the level, on the side of `sign`.
ChangePoint Strongest(std::span<const double> opening, double level, double sd, double sign) {
  ChangePoint best;
  double sum = 0;
  for (std::size_t i = 0; i < opening.size(); ++i) {
    sum += std::clamp(sign * (opening[i] - level) / sd, -kLargestExcess, kLargestExcess) - kSmallestShift;
    if (sum > best.evidence) best = {i + 1, sum};
  }
  return best.evidence >= kLeastEvidence ? best : ChangePoint{};
}

}  // namespace

std::size_t FirstLevelRun(std::span<const double> runs) {
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

  const ChangePoint above = Strongest(opening, level, sd, 1);
  const ChangePoint below = Strongest(opening, level, sd, -1);
  if (above.evidence >= below.evidence) return above.index;
  // What follows is slower: the settled state is the opening, and any warm-up lies within it.
  return FirstLevelRun(runs.first(below.index));
}

}  // namespace etprof::stats
