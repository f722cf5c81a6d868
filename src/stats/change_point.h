#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etprof::stats {

// When a series of runs changed its level. A run is measured by launches, each of which has one value: the
// logarithm of a time, or of its ratio to another's. Launches of a run differ, and so do runs of the same
// thing by more than their launches explain: the run is the unit of every test here.

struct RunLaunches {
  std::vector<double> logs;  // finite; at least one
  // Runs of one group (a commit) follow each other, and no change lies between them.
  std::int64_t group = 0;
};

struct ChangePointOptions {
  double level = 0.05;       // of a false change anywhere in the series
  double confidence = 0.95;  // of the intervals of place and size
  int permutations = 999;
  std::uint64_t seed = 1;
  bool beside_drift = true;  // a split has to pass DriftPValue, too
  // Of the first split, where it is known (PValuesOfChanges); absent: tested.
  std::optional<double> p_value{};
};

struct LevelChange {
  std::size_t at = 0;                    // the first run of the new level
  std::size_t earliest = 0, latest = 0;  // the interval of `at`, both included
  double log_size = 0;                   // new level - old level
  double log_low = 0, log_high = 0;
  double p_value = 1;  // of the split that found it
};

// The mean of the middle half of launches, which outlying launches cannot swamp (the interquartile mean, a
// trimmed mean of 25 %), of fewer than four the plain mean. Its standard error is the winsorized one with
// `degrees_of_freedom` (Tukey & McLaughlin, Sankhya A 25, 1963); absent for a single launch.
struct MiddleMean {
  double log = 0;
  std::optional<double> standard_error;
  double degrees_of_freedom = 0;
};
// Throws std::invalid_argument for none.
MiddleMean MiddleMeanOf(std::span<const double> logs);

// A run's own value: MiddleMeanOf its launches.
struct RunValue {
  double log = 0;
  double weight = 1;  // in the level of several runs; 1 on average
};

struct ChangePoints {
  std::vector<LevelChange> changes;  // by `at`
  std::vector<RunValue> runs;
  double p_value = 1;  // of the first split: of no change at all
  // How far a run lies from its level (standard deviation, log scale), and what is left of that without the
  // variance of its launches' mean. Absent: too few runs; of single launches nobody knows the latter.
  std::optional<double> run_sd, between_sd;
  // Of the last stretch without a change: its runs, and the critical value of the split statistic as a t.
  std::size_t last_runs = 0;
  std::optional<double> critical_t;
};

// Fewer runs than these show no change: of fewer orders than one in 20 could be told from any other.
inline constexpr std::size_t kLeastRunsOfSeries = 8;

// Splits the series where the levels before and after differ most (the largest reduction of the weighted sum
// of squares; at least two runs on either side), if a permutation test says that runs in another order would
// rarely differ as much, and goes on in both parts (binary segmentation: Scott & Knott, Biometrics 30, 1974;
// the test: Antoch & Huskova, "Permutation Tests in Change Point Analysis", Statistics & Probability Letters
// 53, 2001). It assumes of runs of the same level only that they are exchangeable: no distribution, no
// spread. Machines drift, so that runs often are not: a split counts only if a series that drifts as much
// would have one in less than 1.5 % of cases (DriftPValue in drift.h). Each half of a split has half of its
// level, so that the chance of a false change anywhere is at most `level`, whatever true ones there are.
//
// The interval of a place holds every place that a test does not refuse: had the step been there, with what
// the runs are off their levels in another order, the best split would rarely be as much better than that
// place as the one that was found (the bootstrap of residuals: Antoch, Huskova & Veraverbeke, "Change-Point
// Problem and Bootstrap", Journal of Nonparametric Statistics 5, 1995; inverted, as Dumbgen, Annals of
// Statistics 19, 1991). That of the size is Student's over the runs on both sides, for every place in that
// interval.
//
// Weights are those of a random-effects model: 1 / (variance between runs + variance of the launches / their
// number). The same seed gives the same result on every platform. Throws std::invalid_argument for a run
// without launches or a level outside (0, 1).
ChangePoints FindChangePoints(std::span<const RunLaunches> runs, const ChangePointOptions& options = {});

// The p-values of "no change at all" of many series, each as exact as Benjamini and Hochberg's procedure at
// the false discovery rate `rate` needs (stats/ratio/multiple.h): orders are drawn for all series until each
// has 20 that differ as much as its runs, or is taken by the procedure with a margin (after Sandve,
// Ferkingstad & Nygard, "Sequential Monte Carlo Multiple Testing", Bioinformatics 27, 2011). Throws as
// FindChangePoints.
std::vector<double> PValuesOfChanges(std::span<const std::vector<RunLaunches>> series, double rate,
                                     const ChangePointOptions& options = {});

// How many runs of a new level it takes until a change of `log_size` after the last stretch shows with a
// chance of 90 %, at most `most`; absent: more, or nobody knows (too few runs).
std::optional<std::size_t> RunsToShow(const ChangePoints& found, double log_size, double level,
                                      std::size_t most = 1000);

}  // namespace etprof::stats
