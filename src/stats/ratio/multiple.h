#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stats/ratio/launches.h"
#include "stats/ratio/verdict.h"

namespace etprof::stats {

// Adjusted p-values, in the order given: min over j >= rank i of p_(j) m / j, at most 1. Rejecting those that
// are at most q holds the false discovery rate at q (Benjamini & Hochberg, "Controlling the False Discovery
// Rate", JRSS B 57, 1995); the same as scipy.stats.false_discovery_control. Throws std::invalid_argument for
// a p outside [0, 1].
std::vector<double> BenjaminiHochberg(std::span<const double> p_values);

// The confidence at which intervals of the `selected` out of `total` parameters are to be shown, so that the
// expected share of them that miss their parameter is at most q: 1 - selected q / total (Benjamini &
// Yekutieli, "False Discovery Rate-Adjusted Multiple Confidence Intervals for Selected Parameters", JASA 100,
// 2005). With nothing selected it is 1 - q / total, the level that one more would have needed.
double FalseCoverageConfidence(std::size_t selected, std::size_t total, double q);

struct OperatorVerdict {
  RatioEstimate estimate;    // with the adjusted interval, whose confidence it carries
  double adjusted_p = 1;     // Benjamini-Hochberg over all that were judged together
  bool significant = false;  // the adjusted interval excludes a ratio of 1
  Verdict verdict = Verdict::kInconclusive;
};

// Judges many comparisons (the operators of two profiles) together, in the order given.
//
// Let R be the number of p-values that Benjamini-Hochberg rejects at q out of m. All intervals, also of what
// was not rejected, are shown at confidence 1 - max(R, 1) q / m, and each verdict is Judge of its interval.
// Interval and verdict then agree with the test without exception: what was rejected has p <= p_(R) <= R q /
// m, so its interval excludes 1; what was not has p > (R + 1) q / m (R being the largest rank that passes),
// so its interval contains 1. "same" is held to the same standard: of the set S of all definite verdicts
// (same, faster, slower), which holds all that was rejected and so has at least R members, Benjamini and
// Yekutieli ask for intervals at 1 - |S| q / m; those here are no narrower. An estimate without a p-value (no
// difference and no spread at all) counts as p = 1.
std::vector<OperatorVerdict> JudgeMany(std::span<const RatioEstimate> estimates, double q, double margin);

// What is judged together with others, in its place. What has no estimate counts for nothing and keeps its
// verdict.
struct Judged {
  std::optional<RatioEstimate>& estimate;
  Verdict& verdict;
};
void JudgeTogether(std::span<const Judged> judged, double q, double margin);

}  // namespace etprof::stats
