#pragma once

#include <cmath>

namespace etprof::stats {

// A sum that also accumulates the rounding errors of its additions (Neumaier, "Rundungsfehleranalyse einiger
// Verfahren zur Summation endlicher Summen", ZAMM 54, 1974).
class CompensatedSum {
 public:
  void Add(double value) {
    const double next = sum_ + value;
    error_ += std::fabs(sum_) >= std::fabs(value) ? (sum_ - next) + value : (value - next) + sum_;
    sum_ = next;
  }
  double Value() const { return sum_ + error_; }

 private:
  double sum_ = 0;
  double error_ = 0;
};

// The mean of one or more values, computed from offsets to the first value, because sums of small numbers are
// more exact.
template <typename Values>
double CompensatedMean(const Values& values) {
  CompensatedSum deviations;
  for (const double value : values) deviations.Add(value - values[0]);
  return values[0] + deviations.Value() / static_cast<double>(values.size());
}

// sum((x - center)^2).
template <typename Values>
double SquaredDeviations(const Values& values, double center) {
  CompensatedSum squares;
  for (const double value : values) squares.Add((value - center) * (value - center));
  return squares.Value();
}

}  // namespace etprof::stats
