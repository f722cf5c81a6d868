#pragma once

namespace etprof::stats {

// P(|T| >= |t|) for Student's t with `degrees_of_freedom` > 0 (infinity: the normal distribution). Uses
// Boost.Math.
double TwoSidedP(double t, double degrees_of_freedom);

// The c with P(|T| <= c) = confidence: the factor from a standard error to the half-width of an interval.
// Infinity for a confidence of 1. Throws std::invalid_argument for a confidence outside (0, 1].
double CriticalValue(double confidence, double degrees_of_freedom);

}  // namespace etprof::stats
