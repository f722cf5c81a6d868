#pragma once

#include <istream>
#include <vector>

#include "stats/ratio/launches.h"

namespace etprof::bench {

// A model measured against itself (bench/statistics/noise.py): whatever its sides differ in is noise.
struct Recording {
  std::vector<stats::LaunchBursts> launches;  // in the order of time
  double seconds_per_launch = 0;              // wall clock of both processes of a launch, starting included
  double runs_per_process = 0;  // mean, about: time of the bursts over their medians, opening runs included
};

// Lines of launch,round,side,start_ns,end_ns,median_ns after a header and comment lines (#). A burst that is
// not in the file is NaN. Throws std::runtime_error that names the line where it has not six numbers, or a
// side other than 0 and 1.
Recording ReadRecording(std::istream& in);

}  // namespace etprof::bench
