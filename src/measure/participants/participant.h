#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "measure/store/run_data.h"
#include "protocol/messages.h"

namespace etprof {

// Why a launch could not go on.
class WorkerFailure : public std::runtime_error {
 public:
  enum class Kind {
    kVersion,  // a worker of another protocol version
    kRefused,  // it said what is wrong (no such operator, unknown ISA feature): trying again changes nothing
    kDied,
    kHung,
    kGarbage,      // it answered what is no answer
    kLost,         // the connection to the device broke: nothing is wrong with the worker
    kInterrupted,  // the user wants to stop, and the worker did not finish within the grace time
  };
  WorkerFailure(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// One experiment as the schedule sees it: something of which a fresh process can be started, which then runs
// bursts. All members but WholeProcess and Abandon throw WorkerFailure.
class Participant {
 public:
  virtual ~Participant() = default;

  // Every burst is a process of its own (a foreign runner), so no two of a launch can share one.
  virtual bool WholeProcess() const = 0;

  // Starts a process and loads the model. Fills load, rss_after_load.
  virtual void Begin(Launch& launch) = 0;
  // The launch's first run and what follows until the latency is level. Fills first_run, warmup, traced_runs.
  // May be called again to go on. A participant with WholeProcess does nothing here. Returns how long all
  // these runs took by the device's clock, with what passes between them; absent: not known.
  virtual std::optional<Nanoseconds> WarmUp(Launch& launch, int min_runs, int max_runs) = 0;
  // Appends to bursts and traced_runs.
  virtual void RunBurst(Launch& launch, int round, int order, const protocol::BurstRequest& request) = 0;
  // Outputs (when asked for), memory and ETDump are fetched, the process ends. Fills peak_rss and
  // etdump_part; without an ETDump traced_runs is emptied.
  virtual void End(Launch& launch, bool want_outputs) = 0;
  // Kills the process, if there is one.
  virtual void Abandon() = 0;

  // A request may take so many seconds before it counts as hung, if the configured timeout is not shorter.
  // The default is that timeout alone.
  void SetPatience(double seconds) { patience_seconds_ = seconds; }

 protected:
  double Patience(double timeout_seconds) const { return std::min(timeout_seconds, patience_seconds_); }

 private:
  double patience_seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace etprof
