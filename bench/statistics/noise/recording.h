#pragma once

#include <istream>
#include <vector>

#include "stats/ratio/launches.h"

namespace etprof::bench {

// A measurement of a model against itself (bench/statistics/noise.py), in which all differences between the
// two variants (`side` 0 and 1) are noise.
struct Recording {
  std::vector<stats::LaunchBursts> launches;  // in chronological order
  double seconds_per_launch = 0;  // wall time of both processes of a launch, including their start
  double runs_per_process = 0;    // estimated mean: time of the bursts over their medians, with opening runs
};

// Reads lines of launch,round,side,start_ns,end_ns,median_ns after a header and comment lines (#). A burst
// that is missing in the file is NaN. Throws std::runtime_error, which names the line, for a line without six
// numbers or with a side other than 0 and 1.
Recording ReadRecording(std::istream& in);

}  // namespace etprof::bench
