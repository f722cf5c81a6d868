#pragma once

#include <random>
#include <span>
#include <vector>

#include "noise/recording.h"

namespace etprof::bench {

// What a way of measuring says of a candidate that is `effect` slower than the baseline (0.02: takes 2 %
// longer), counted over many measurements. A claim is false when its direction is not there: "faster" of a
// slower candidate, and either of one that is as fast.
struct Claims {
  double effect = 0;
  int measurements = 0;
  int faster = 0, slower = 0, same = 0;
  int inconclusive = 0;  // never of a way that has no interval
  // Ratios that lie on the side of 1 where the truth does not; off 1 at all for no effect.
  int wrong_side = 0;
  std::vector<double> errors;  // |log(ratio measured / true ratio)|, ascending; one a measurement

  int false_claims() const { return effect == 0 ? faster + slower : faster; }
  // The relative error of the ratio that a share q of the measurements does not exceed. 0.02 is 2 %. Throws
  // std::invalid_argument without any measurement.
  double ErrorQuantile(double q) const;
};

struct Alternating : Claims {
  int covered = 0;        // the interval contains the true ratio
  double seconds = 0;     // mean of a measurement
  double half_width = 0;  // mean, relative
};

// etprof's settings: relative half-width to reach, margin of "same", time allowed.
struct Settings {
  double margin = 0.01;
  double precision = 0.005;
  double max_seconds = 60;
};

// etprof's way: its stop rule, its interval, its verdict. Launches are drawn from the recording with
// replacement; each keeps its bursts and their order. Which side is which is drawn too, since the recording
// is of one thing against itself. The recording has at least one launch.
Alternating Alternate(const Recording& recording, double effect, int measurements, const Settings& settings,
                      std::mt19937_64& random);

// The way of the kit that etprof replaces: one process of A, then one of B, the median of each. Every such
// measurement that the recording holds is made: each process of a launch with each of the next launch, so
// four for each two neighbors. Gives log(A / B), which is 0 but for noise; none where a process has no
// burst.
std::vector<double> OneAfterTheOther(const Recording& recording);

// What a reader concludes from such a ratio, who has no interval: a difference beyond `log_threshold` (on the
// log scale) is a claim, one within it is "same". `log_ratios` are those of OneAfterTheOther; the effect is
// put into them here.
Claims ReadWithoutInterval(std::span<const double> log_ratios, double effect, double log_threshold);

// The least threshold of ReadWithoutInterval with which at most `share` of the measurements of no effect
// claim one. `log_ratios` are not empty; 0 <= share < 1.
double ThresholdForFalseClaims(std::span<const double> log_ratios, double share);

}  // namespace etprof::bench
