#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stats/ratio/launches.h"

namespace etprof {

// The progress of a running measurement. Displaying it is up to commands/.
struct ProgressUpdate {
  struct Estimate {
    std::string baseline, candidate;  // labels; for a single experiment only `candidate`
    std::optional<double> median_ns;  // only for a single experiment
    // Absent before two launches. For a single experiment only its half-width is meaningful.
    std::optional<stats::RatioEstimate> estimate;
  };
  std::string activity;         // current activity outside of launches; empty: a launch is running
  int launch = 0;               // current launch, counted from 1
  int launches = 0;             // launches at the next interim analysis, or as configured
  bool launches_given = false;  // `launches` was configured
  int round = 0;                // current round, counted from 1; 0: starting and warming up
  int rounds = 0;
  double seconds = 0, max_seconds = 0;  // `max_seconds` 0: no limit
  bool launch_finished = false;
  std::optional<double> clean_share;  // share of clean runs, 0 to 1; absent: not known
  std::vector<Estimate> estimates;
};

class Progress {
 public:
  virtual ~Progress() = default;
  virtual void Update(const ProgressUpdate& update) = 0;
  virtual void Message(const std::string& text) = 0;  // one line: a retry, a failed experiment
  // The reason for waiting; called every second until the measurement continues.
  virtual void Waiting(const std::string& text) = 0;
};

}  // namespace etprof
