#pragma once

#include <cstddef>
#include <optional>

#include "device/properties.h"
#include "measure/config/config.h"

namespace etprof {

// What a measurement will take, as far as it is known before the first run.
struct Forecast {
  enum class Kind {
    kStopRule,        // launches until the precision is reached or the time is over
    kLaunches,        // a given number of launches, however long they take
    kLaunchesInTime,  // the same, but no more of them than fit into a given time
    kSustained,       // one launch of each experiment, one experiment after the other
    kNothingTimed,    // kernel-log runs only
  };
  struct Range {
    int least = 0, most = 0;

    static constexpr const char* kSchemaName = "range";
    static void Describe(auto& v) {
      v("at_least", &Range::least, {.meaning = "how many"});
      v("at_most", &Range::most, {.meaning = "how many; as at_least where it is known"});
    }
  };
  Kind kind = Kind::kNothingTimed;
  std::size_t timed = 0;   // experiments, each with one number of threads, that are measured for time
  std::size_t traced = 0;  // the same of kernel-log ones: one process each
  Range launches;          // of each that is timed
  std::optional<int> usual_launches;  // kStopRule: what it takes at least unless time is too short for that
  Range rounds;              // of a launch; 0 where sustained. An executor_runner has one, as long as seven
  double max_seconds = 0;    // the limit; 0: there is none
  double burst_seconds = 0;  // of all timed ones together, one burst each: of models with quick runs
  // Seconds from the first launch to the end of the last one. `least` is what bursts alone take of models
  // whose runs take some milliseconds at most. `most` is where the last launch that fits ends: launches are
  // begun only where they fit, as the launches before tell, but two are made however long they take.
  double least_seconds = 0;
  std::optional<double> most_seconds;  // absent: no bound
  std::size_t roofs = 0;               // measurements of the machine's peaks, which follow
  double roof_seconds = 0;             // what they take of max_seconds
};

inline constexpr double kSecondsOfRoofs = 2;  // of one measurement of the machine's peaks, about

// The time that is allowed for a measurement unless its launches are given: max_seconds, or a minute for each
// pair.
double AllowedSeconds(const Config& config, std::size_t pairs);

// Roofs are those of experiments that are not emulated; whether a runner can measure them is known later.
Forecast MakeForecast(const Config& config, const Plan& plan, const DeviceProperties& properties);

}  // namespace etprof
