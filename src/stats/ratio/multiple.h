#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stats/ratio/launches.h"
#include "stats/ratio/verdict.h"

namespace etprof::stats {

// Adjusted p-values, in the given order: min over j >= rank i of p_(j) m / j, at most 1. Rejecting those that
// are at most q controls the false discovery rate at q (Benjamini & Hochberg, "Controlling the False
// Discovery Rate", JRSS B 57, 1995); the same as scipy.stats.false_discovery_control. Throws
// std::invalid_argument for a p outside [0, 1].
std::vector<double> BenjaminiHochberg(std::span<const double> p_values);

// The confidence for the intervals of `selected` out of `total` parameters, with which the expected share of
// intervals that miss their parameter is at most q: 1 - selected q / total (Benjamini & Yekutieli, "False
// Discovery Rate-Adjusted Multiple Confidence Intervals for Selected Parameters", JASA 100, 2005). If nothing
// is selected it is 1 - q / total, the confidence for one selected parameter.
double FalseCoverageConfidence(std::size_t selected, std::size_t total, double q);

// The result of Benjamini-Hochberg at q over many p-values.
struct JointRejection {
  std::vector<double> adjusted;  // BenjaminiHochberg of the p-values; q or less: rejected
  double confidence = 0;         // FalseCoverageConfidence of the intervals
};
JointRejection RejectJointly(std::span<const double> p_values, double q);

struct OperatorVerdict {
  RatioEstimate estimate;    // with the adjusted interval and its confidence
  double adjusted_p = 1;     // Benjamini-Hochberg over all joint comparisons
  bool significant = false;  // the adjusted interval excludes a ratio of 1
  Verdict verdict = Verdict::kInconclusive;
};

// Decides the verdicts of many comparisons (the operators of two profiles) together, in the given order.
//
// Let R be the number of p-values that Benjamini-Hochberg rejects at q out of m. All intervals, also of
// comparisons that are not rejected, have the confidence 1 - max(R, 1) q / m, and each verdict is
// DecideVerdict of its interval. Interval and verdict then always agree with the test: a rejected comparison
// has p <= p_(R) <= R q / m, so its interval excludes 1; any other has p > (R + 1) q / m (R being the largest
// rank that passes), so its interval contains 1. "same" obeys the same rule: the set S of all definite
// verdicts (same, faster, slower) contains all rejected comparisons and so has at least R members, and
// Benjamini and Yekutieli require intervals at 1 - |S| q / m for them; the intervals here are no narrower. An
// estimate without a p-value (no difference and no spread at all) counts as p = 1.
std::vector<OperatorVerdict> DecideVerdicts(std::span<const RatioEstimate> estimates, double q,
                                            double margin);

// A comparison that is decided together with others, in place. A comparison without an estimate does not
// count and keeps its verdict.
struct JointComparison {
  std::optional<RatioEstimate>& estimate;
  Verdict& verdict;
};
void UpdateVerdicts(std::span<const JointComparison> comparisons, double q, double margin);

}  // namespace etprof::stats
