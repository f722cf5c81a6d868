#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etprof::stats {

// Finds where a series of runs changed its level. A run consists of launches, and each launch has one value:
// the logarithm of a time, or of a ratio of two times. Runs of the same program differ by more than the
// spread of their launches explains, so the run is the unit of every test here.

struct RunLaunches {
  std::vector<double> logs;  // finite; at least one value
  // a group is a commit: its runs are consecutive, and no change lies between them
  std::int64_t group = 0;
};

struct ChangePointOptions {
  double level = 0.05;       // chance of a false change anywhere in the series
  double confidence = 0.95;  // confidence level of the intervals of place and size
  int permutations = 999;
  std::uint64_t seed = 1;
  bool test_drift = true;  // a split must also pass DriftPValue
  // The p-value of the first split, if it is already known (ChangePValues); absent: it is tested.
  std::optional<double> p_value{};
};

struct LevelChange {
  std::size_t first_run = 0;             // the first run of the new level
  std::size_t earliest = 0, latest = 0;  // interval of `first_run`, both ends included
  double log_size = 0;                   // new level - old level
  double log_low = 0, log_high = 0;
  double p_value = 1;  // p-value of the split that found this change
};

// The interquartile mean of launches (a 25% trimmed mean), which is robust to outliers; for fewer than four
// launches the plain mean. The standard error is the winsorized standard error with `degrees_of_freedom`
// (Tukey & McLaughlin, Sankhya A 25, 1963); absent for a single launch.
struct InterquartileMean {
  double log = 0;
  std::optional<double> standard_error;
  double degrees_of_freedom = 0;
};
// Throws std::invalid_argument if `logs` is empty.
InterquartileMean ComputeInterquartileMean(std::span<const double> logs);

// The value of a run: the interquartile mean of its launches.
struct RunValue {
  double log = 0;
  double weight = 1;  // weight in the mean of several runs; 1 on average
};

struct ChangePoints {
  std::vector<LevelChange> changes;  // by `first_run`

  std::vector<RunValue> runs;
  double p_value = 1;  // p-value of the first split, for the hypothesis of no change at all
  // The standard deviation of runs around their level (log scale), and the part of it that the spread of
  // their launches does not explain. Absent for too few runs; `between_sd` is also absent if all runs have a
  // single launch.
  std::optional<double> run_sd, between_sd;
  // The number of runs after the last change, and the critical value for splitting them, as a t statistic.
  std::size_t last_runs = 0;
  std::optional<double> critical_t;
};

// In a shorter series no change can be significant, because it has too few orders for a permutation test.
inline constexpr std::size_t kMinSeriesRuns = 8;

// Splits the series where the levels before and after differ most (the largest reduction of the weighted sum
// of squares; at least two runs on either side), if a permutation test says that runs in another order would
// rarely differ as much. Both parts are then split in the same way (binary segmentation: Scott & Knott,
// Biometrics 30, 1974; the test: Antoch & Huskova, "Permutation Tests in Change Point Analysis", Statistics &
// Probability Letters 53, 2001). The only assumption is that runs of the same level are exchangeable,
// whatever their distribution. Machines drift, so runs often are not exchangeable. Therefore a split counts
// only if a series that drifts as much would have such a split in less than 1.5% of cases (DriftPValue in
// drift.h). Each half of a split is tested at half of its level, so that the chance of a false change
// anywhere is at most `level`, whatever true changes there are.
//
// The interval of a place contains all places that a test does not reject. For each place, the test simulates
// a step there with permuted residuals and compares how much better the best split is than that place (the
// bootstrap of residuals: Antoch, Huskova & Veraverbeke, "Change-Point Problem and Bootstrap", Journal of
// Nonparametric Statistics 5, 1995; inverted, as Dumbgen, Annals of Statistics 19, 1991). The interval of the
// size is the union of Student's intervals for all places in that interval.
//
// Weights are those of a random-effects model: 1 / (variance between runs + variance of the launches / their
// number). The same seed gives the same result on every platform. Throws std::invalid_argument for a run
// without launches or a level outside (0, 1).
ChangePoints FindChangePoints(std::span<const RunLaunches> runs, const ChangePointOptions& options = {});

// The p-values of "no change at all" for many series, each as exact as Benjamini and Hochberg's procedure at
// the false discovery rate `rate` needs (stats/ratio/multiple.h). Permutations are drawn for all series until
// each series has 20 that differ as much as its runs, or is rejected by the procedure with a margin (after
// Sandve, Ferkingstad & Nygard, "Sequential Monte Carlo Multiple Testing", Bioinformatics 27, 2011). Throws
// as FindChangePoints.
std::vector<double> ChangePValues(std::span<const std::vector<RunLaunches>> series, double rate,
                                  const ChangePointOptions& options = {});

// The number of runs at a new level until a change of `log_size` after the last change is detected with a
// probability of 90%, at most `max_runs`. Absent if more are needed, or if there are too few runs to know.
std::optional<std::size_t> RunsToDetect(const ChangePoints& change_points, double log_size, double level,
                                        std::size_t max_runs = 1000);

}  // namespace etprof::stats
