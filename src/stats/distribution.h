#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/json/describe.h"

namespace etprof::stats {

// With fewer values these quantiles are among the largest values, so they are not shown.
inline constexpr std::int64_t kMinValuesForP90 = 10, kMinValuesForP99 = 100;

// The distribution of a set of values. All members have the unit of the values, except `cv` (a plain ratio),
// `n` and `outliers` (counts). Undefined members are absent: all of them for no values, `sd` and `cv` for one
// value, `cv` for a mean of 0.
struct Distribution {
  std::int64_t n = 0;
  std::optional<double> mean;
  std::optional<double> sd;
  std::optional<double> cv;
  std::optional<double> min, max;
  std::optional<double> p50, p90, p95, p99;  // see Quantile
  std::optional<double> mad;
  std::optional<double> trimmed_mean_5;   // mean without the floor(0.05 n) lowest and highest values
  std::optional<double> trimmed_mean_10;  // the same with 0.10 n; as scipy.stats.trim_mean
  std::int64_t outliers = 0;

  // Describes times in nanoseconds, which are written as milliseconds.
  static constexpr const char* kSchemaName = "distribution";
  static void Describe(auto& v) {
    using D = Distribution;
    v("n", &D::n, {.meaning = "number of values"});
    v("mean", &D::mean, kMs.WithMeaning("arithmetic mean, ms; null: there are no values"));
    v("sd", &D::sd, kMs.WithMeaning("standard deviation with n - 1, ms; null: fewer than two values"));
    v("cv", &D::cv, {.meaning = "`sd` over the mean's magnitude; null: not defined, or a mean of 0"});
    v("min", &D::min, kMs.WithMeaning("smallest value, ms"));
    v("max", &D::max, kMs.WithMeaning("largest value, ms"));
    v("p50", &D::p50, kMs.WithMeaning("median, ms"));
    v("p90", &D::p90, kMs.WithMeaning("90th percentile by linear interpolation, ms"));
    v("p95", &D::p95, kMs.WithMeaning("95th percentile, ms"));
    v("p99", &D::p99, kMs.WithMeaning("99th percentile, ms"));
    v("mad", &D::mad,
      kMs.WithMeaning(
          "median of the distances from the median, ms, not scaled to a normal's standard deviation"));
    v("trimmed_mean_5", &D::trimmed_mean_5,
      kMs.WithMeaning("mean without the lowest and the highest 5% of the values, ms"));
    v("trimmed_mean_10", &D::trimmed_mean_10,
      kMs.WithMeaning("mean without the lowest and the highest 10% of the values, ms"));
    v("outliers", &D::outliers,
      {.meaning = "values more than 1.5 interquartile ranges beyond the quartiles (Tukey's fences)"});
  }
};

// Computes the distribution of `values`, in any order. Values that are not finite are left out and not
// counted in `n`. Deviations from a middle value and then from the mean are summed, with compensation
// (Neumaier 1974), so that times of 1e9 ns that differ in the last digit keep their variance.
Distribution Summarize(std::vector<double> values);
// Computes the distribution of finite values in ascending order; `are_integers` is the result of Sort.
Distribution SummarizeSorted(std::span<const double> sorted, bool are_integers);

// Sorts values in ascending order; no value may be NaN. A long trace has thousands of values per operator,
// for which std::sort takes twice as long, and seven times as long for integers below 2^32, which are sorted
// by counting. Returns whether the values were sorted by counting: many integers below 2^32.
bool Sort(std::vector<double>& values);

// The q-quantile (0 <= q <= 1) of ascending values by linear interpolation between order statistics: type 7
// of Hyndman & Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996), which is
// numpy's default. Throws std::invalid_argument for no values and for a q outside [0, 1].
double Quantile(std::span<const double> sorted, double q);

// The median of finite `values`, in any order; absent for no values.
std::optional<double> Median(std::span<const double> values);

// The factor from the median absolute deviation of normal values to their standard deviation.
inline constexpr double kNormalSdPerMad = 1.4826;

// The interval [q1 - 1.5 IQR, q3 + 1.5 IQR], where q1 and q3 are type-7 quartiles (Tukey, Exploratory Data
// Analysis, 1977). A value on a fence is inside.
struct Fences {
  double low;
  double high;
  bool Contains(double value) const { return value >= low && value <= high; }
};

// The fences of finite `values`, in any order. For fewer than four values they are -infinity and infinity.
Fences TukeyFences(std::span<const double> values);
Fences TukeyFencesSorted(std::span<const double> sorted);  // the same for ascending values

}  // namespace etprof::stats
