#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "measure/store/run_data.h"
#include "protocol/messages.h"

namespace etprof {

// The reason why a launch failed.
class WorkerFailure : public std::runtime_error {
 public:
  enum class Kind {
    kVersion,  // the worker has another protocol version
    // The worker reported an error (no such operator, unknown ISA feature), which a retry would repeat.
    kRefused,
    kDied,
    kHung,
    kInvalidReply,
    kLost,         // the connection to the device broke; the worker may be fine
    kInterrupted,  // the user wants to stop, and the worker did not finish within the grace time
  };
  WorkerFailure(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// An experiment from the schedule's point of view: it starts fresh processes, which run bursts. All members
// except for IsWholeProcess and Abandon throw WorkerFailure.
class Participant {
 public:
  virtual ~Participant() = default;

  // True if every burst runs in a separate process (a third-party runner), so that a launch has only one
  // burst.
  virtual bool IsWholeProcess() const = 0;

  // Starts a process and loads the model. Fills load, rss_after_load.
  virtual void Begin(Launch& launch) = 0;
  // Runs the launch's first run and more runs until the latency is stable. Fills first_run, warmup,
  // traced_runs. May be called again to continue. Does nothing for a participant with IsWholeProcess. Returns
  // the time of all these runs by the device's clock, including the time between them; absent: not known.
  virtual std::optional<Nanoseconds> WarmUp(Launch& launch, int min_runs, int max_runs) = 0;
  // Runs a burst. Appends it to launch.bursts, and its traced runs to launch.traced_runs.
  virtual void RunBurst(Launch& launch, int round, int order, const protocol::BurstRequest& request) = 0;
  // Fetches outputs (with `want_outputs`), memory, and ETDump, then ends the process. Fills peak_rss and
  // etdump_part; clears traced_runs if there is no ETDump.
  virtual void End(Launch& launch, bool want_outputs) = 0;
  // Kills the process, if there is one.
  virtual void Abandon() = 0;

  // Sets the seconds after which a request counts as hung, unless the configured timeout is shorter
  // (infinite: that timeout), and the seconds that the time limit leaves (infinite: there is no limit).
  void SetTimeout(double seconds, double seconds_left) {
    request_timeout_seconds_ = seconds;
    seconds_left_ = seconds_left;
  }

 protected:
  double RequestTimeout(double timeout_seconds) const {
    return std::min(timeout_seconds, request_timeout_seconds_);
  }
  // The seconds after which a process that ends by itself counts as hung, even if it writes output. If its
  // duration is not known, the time limit and `timeout_seconds` must be over.
  double ProcessTimeout(double timeout_seconds) const {
    return std::isinf(request_timeout_seconds_) ? std::max(seconds_left_, timeout_seconds)
                                                : request_timeout_seconds_;
  }

 private:
  double request_timeout_seconds_ = std::numeric_limits<double>::infinity();
  double seconds_left_ = std::numeric_limits<double>::infinity();
};

}  // namespace etprof
