#pragma once

#include <random>
#include <span>
#include <vector>

#include "noise/recording.h"

namespace etprof::bench {

// Counts the verdicts of a measuring method, over many measurements, on a candidate that is `effect` slower
// than the baseline (0.02: takes 2 % longer). A claim is false if its direction is wrong: "faster" for a
// slower candidate, and "faster" or "slower" for an equally fast one.
struct Claims {
  double effect = 0;
  int measurements = 0;
  int faster = 0, slower = 0, same = 0;
  int inconclusive = 0;  // always 0 for a method without an interval
  // Measured ratios on the wrong side of 1; if there is no effect, all ratios other than 1.
  int wrong_side = 0;
  std::vector<double> errors;  // |log(measured ratio / true ratio)| of each measurement, ascending

  int false_claims() const { return effect == 0 ? faster + slower : faster; }
  // The q-quantile of the relative error of the ratio (0.02: 2 %). Throws std::invalid_argument if there are
  // no measurements.
  double ErrorQuantile(double q) const;
};

struct InterleavedClaims : Claims {
  int covered = 0;        // measurements whose interval contains the true ratio
  double seconds = 0;     // mean length of a measurement
  double half_width = 0;  // mean relative half-width of the interval
};

// etprof's settings: `precision` is the relative half-width to reach, `margin` that of the verdict "same".
struct Settings {
  double margin = 0.01;
  double precision = 0.005;
  double max_seconds = 60;
};

// Simulates etprof's method with its stop rule, interval, and verdict. Launches are drawn from the recording
// with replacement; each keeps its bursts and their order. The variant that counts as the baseline is drawn
// too, since both variants of the recording are the same model. The recording must have at least one launch.
InterleavedClaims SimulateInterleaved(const Recording& recording, double effect, int measurements,
                                      const Settings& settings, std::mt19937_64& random);

// Simulates the method of the kit that etprof replaces: one process of A, then one of B, and the ratio of
// their medians. Pairs each process of a launch with each process of the next launch, so two adjacent
// launches give four measurements. Returns log(A / B) of each, which differs from 0 only by noise. Skips
// processes without bursts.
std::vector<double> SequentialLogRatios(const Recording& recording);

// Simulates the conclusions of a reader who has a ratio without an interval: a difference above
// `log_threshold` (on the log scale) is a claim, a smaller one is "same". `log_ratios` come from
// SequentialLogRatios; this function adds the effect.
Claims DecideByThreshold(std::span<const double> log_ratios, double effect, double log_threshold);

// The smallest threshold of DecideByThreshold at which at most `share` of the measurements without an
// effect claim one. `log_ratios` must not be empty; 0 <= share < 1.
double ThresholdForFalseClaims(std::span<const double> log_ratios, double share);

}  // namespace etprof::bench
