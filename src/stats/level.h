#pragma once

#include <cstddef>
#include <span>

namespace etprof::stats {

// The index of the first run of the steady state of `runs` (finite latencies in the order they were run):
// what comes before it is warm-up, an opening that is slower than what follows. 0 when none is to be seen, or
// for fewer than four runs; never above half of the series, so a series that still falls in its middle gives
// about that half.
//
// The level and the noise are taken from the second half (median and MAD; the noise also from the steps
// between neighbors, and at least 0.1 % of the level). The change point is the maximum of the cumulative sum
// of the opening runs' distance from the level, less 1 sd a run (Page, "Continuous Inspection Schemes",
// Biometrika 41, 1954); a run counts for at most 4 sd, so one outlier amid level runs is none.
//
// An opening that is faster than what follows is no warm-up: it is what the device does before it throttles,
// and stays. The warm-up is then looked for in that opening alone, as if the series ended where it got
// slower.
std::size_t FirstLevelRun(std::span<const double> runs);

}  // namespace etprof::stats
