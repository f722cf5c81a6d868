#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stats/ratio/launches.h"

namespace etprof::stats {

// When a measurement has enough launches. It adds launches, never only rounds, since only launches average
// out what each process adds of its own; and it looks at the interval at a few fixed numbers of launches
// only.
struct StopRule {
  std::vector<int> looks;      // numbers of launches at which to look, ascending
  double confidence = 0;       // what the final interval covers at least, however the measurement stopped
  double look_confidence = 0;  // at which the interval is computed at every look, the last included
};

// Looks at 10, 14, 20, 28, 40, 56, 80, 112 and 160 launches: fixed beforehand, each about 1.4 times the last,
// so that no measurement runs much longer than it must. Stopping where the interval happens to be narrow
// favors samples whose spread came out too small, so that an interval at `confidence` would cover less
// (group sequential sampling of fixed width; Chow & Robbins, "On the Asymptotic Theory of Fixed-Width
// Sequential Confidence Intervals", Annals of Mathematical Statistics 36, 1965). The level of the looks is
// calibrated for these looks by simulation of normal launch effects:
//
//   look_confidence = 1 - (1 + 0.2 log10(1 - confidence)) (1 - confidence)        0.95 -> 0.963
//
// Coverage of the final interval at `confidence` 0.95, over all precisions: 95.1 to 96.4 %, where plain 95 %
// at each look gives 93.3 % at worst; bench/statistics/stop_rule prints the table. Throws
// std::invalid_argument for a confidence outside [0.5, 0.999].
StopRule MakeStopRule(double confidence = 0.95);

enum class StopCause {
  kNone,       // go on
  kPrecision,  // the half-width is within what was asked for
  kTime,       // the next look would take longer than allowed
  kLastLook,   // the last look was taken
};

struct Decision {
  bool stop = false;
  StopCause cause = StopCause::kNone;
  std::string reason;  // one clause for people, e.g. "half-width 0.42 % is within 0.5 %"
  int next_look = 0;   // launches to have, in total, at the next call; when stopping: the launches there are
};

// What to do with `launches` launches of each side finished. `estimate` is theirs at rule.look_confidence,
// absent when there is none yet. `precision` is the relative half-width asked for (0.005 for +-0.5 %). Times
// are in seconds of wall clock: used so far, allowed in all, and expected of one more launch of all sides
// together (0 or less: not known yet, one launch will be asked for to find out).
//
// Before the first look time may be too short for it: next_look is then what fits, but at least 2, for an
// interval needs two. That interval is Student's t like any other; fewer than looks.front() launches deserve
// a warning in the report. From the first look on, the measurement stops where the next look does not fit as
// a whole.
Decision Decide(const StopRule& rule, int launches, const std::optional<RatioEstimate>& estimate,
                double precision, double seconds_used, double max_seconds, double seconds_per_launch);

}  // namespace etprof::stats
