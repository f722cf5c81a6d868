#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stats/ratio/launches.h"

namespace etprof {

// What a measurement says of itself while it runs. It draws nothing: the terminal belongs to cli/.
struct ProgressUpdate {
  struct Estimate {
    std::string baseline, candidate;  // labels; of a single experiment only `candidate`
    std::optional<double> median_ns;  // of a single experiment
    std::optional<stats::RatioEstimate>
        estimate;  // absent before two launches; of a single experiment its half-width only
  };
  std::string what;             // what goes on, instead of the launch and round of a schedule; empty: those
  int launch = 0;               // the running one, counted from 1
  int launches = 0;             // when the stop rule looks next, or how many there will be
  bool launches_given = false;  // `launches` is how many there will be
  int round = 0;                // the running one, counted from 1; 0: starting and warming up
  int rounds = 0;
  double seconds = 0, max_seconds = 0;  // `max_seconds` 0: it takes as long as it takes
  bool launch_finished = false;
  std::optional<double> clean_share;  // of the runs, 0 to 1: those that nothing disturbed; absent: not known
  std::vector<Estimate> estimates;
};

class Progress {
 public:
  virtual ~Progress() = default;
  virtual void Update(const ProgressUpdate& update) = 0;
  virtual void Message(const std::string& text) = 0;  // one line: a retry, a failed experiment
  virtual void Waiting(const std::string& text) = 0;  // what it waits for, every second until it goes on
};

}  // namespace etprof
