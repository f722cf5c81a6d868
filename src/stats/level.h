#pragma once

#include <cstddef>
#include <span>

namespace etprof::stats {

// The index of the first steady-state run in `runs` (finite latencies in the order they were run). The runs
// before it are warm-up: an opening that is slower than the rest. 0 if there is no warm-up, or for fewer than
// four runs. The index is at most half of the series, so a series that still falls in its middle gives about
// half.
//
// The level and the noise are those of the second half (median and MAD; the noise also from the steps between
// neighbors, and at least 0.1% of the level). The change point is the maximum of the cumulative sum of the
// opening runs' distances from the level, minus 1 sd per run (Page, "Continuous Inspection Schemes",
// Biometrika 41, 1954). A run counts for at most 4 sd, so a single outlier is no change point.
//
// An opening that is faster than the rest is no warm-up: it is the speed of the device before it throttles.
// The warm-up is then searched in that opening alone, as if the series ended where it got slower.
std::size_t FirstSteadyRun(std::span<const double> runs);

}  // namespace etprof::stats
