#pragma once

#include <cstddef>
#include <optional>

#include "device/properties.h"
#include "measure/config/config.h"

namespace etprof {

// The expected cost of a measurement, as far as it is known before the first run.
struct Forecast {
  enum class Kind {
    kStopRule,             // launches until the precision is reached or the time is over
    kLaunches,             // a given number of launches, however long they take
    kTimeLimitedLaunches,  // a given number of launches, but no more than fit into a given time
    kSustained,            // one launch of each experiment, one experiment after the other
    kNothingTimed,         // kernel-log runs only
  };
  struct Range {
    int min = 0, max = 0;

    static constexpr const char* kSchemaName = "range";
    static void Describe(auto& v) {
      v("at_least", &Range::min, {.meaning = "how many"});
      v("at_most", &Range::max, {.meaning = "how many; as at_least where it is known"});
    }
  };
  Kind kind = Kind::kNothingTimed;
  std::size_t timed = 0;                       // number of units that are measured for time
  std::size_t traced = 0;                      // number of kernel-log units, which run one process each
  Range launches;                              // launches of each timed unit
  std::optional<int> first_analysis_launches;  // kStopRule: launches until the first interim analysis
  Range rounds;  // rounds of a launch; 0: sustained. An executor_runner has one round, seven times as long
  double max_seconds = 0;    // time limit; 0: none
  double burst_seconds = 0;  // one burst of each timed unit, for models with short runs
  // Seconds from the first launch to the end of the last one. `lower_bound_seconds` is the time of the bursts
  // alone, for models whose runs take some milliseconds at most. `upper_bound_seconds` is the end of the last
  // launch that fits: a launch only begins if it fits according to earlier launches, except for the first
  // two.
  double lower_bound_seconds = 0;
  std::optional<double> upper_bound_seconds;  // absent: no upper bound
  std::size_t peak_measurements = 0;          // measurements of the machine's peaks after the launches
  double peaks_seconds = 0;                   // part of max_seconds for measuring the peaks
};

inline constexpr double kSecondsPerPair = 60;  // time limit of a pair if none is given
inline constexpr double kSecondsPerPeaks = 2;  // approximate time of one measurement of the machine's peaks

// The time limit if the number of launches is not given: max_seconds, or kSecondsPerPair for each pair.
double AllowedSeconds(const Config& config, std::size_t pairs);

// Counts peaks for all experiments that are not emulated, since it is not known yet whether their runners can
// measure them.
Forecast MakeForecast(const Config& config, const Plan& plan, const DeviceProperties& properties);

}  // namespace etprof
