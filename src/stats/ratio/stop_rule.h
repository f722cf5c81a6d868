#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stats/ratio/launches.h"

namespace etprof::stats {

// Decides when a measurement has enough launches. The rule adds launches instead of rounds, since only
// launches average out the effect of each process, and it evaluates the interval only at a few fixed numbers
// of launches (interim analyses).
struct StopRule {
  std::vector<int> interim_launches;  // numbers of launches at the interim analyses, ascending
  double confidence = 0;          // minimal coverage of the final interval, however the measurement stopped
  double interim_confidence = 0;  // confidence of the interval at every interim analysis, including the last
};

// The rule evaluates the interval after 10, 14, 20, 28, 40, 56, 80, 112 and 160 launches: fixed beforehand,
// each about 1.4 times the previous number, so that no measurement runs much longer than necessary. Stopping
// when the interval happens to be narrow favors samples whose spread came out too small, so an interval at
// `confidence` would cover less (group sequential sampling of fixed width; Chow & Robbins, "On the Asymptotic
// Theory of Fixed-Width Sequential Confidence Intervals", Annals of Mathematical Statistics 36, 1965). The
// confidence of the interim analyses is calibrated by simulation of normal launch effects:
//
//   interim_confidence = 1 - (1 + 0.2 log10(1 - confidence)) (1 - confidence)        0.95 -> 0.963
//
// The coverage of the final interval at `confidence` 0.95, over all precisions, is 95.1 to 96.4%; plain 95%
// at each interim analysis gives 93.3% in the worst case. bench/statistics/stop_rule prints the table. Throws
// std::invalid_argument for a confidence outside [0.5, 0.999].
StopRule MakeStopRule(double confidence = 0.95);

struct StopDecision {
  bool stop = false;
  std::string reason = {};  // why to stop, as a clause: "half-width 0.42% is within 0.5%"; "" to continue
  int next_launches = 0;    // total launches at the next call; if `stop`, the current number
};

// Decides how to continue after `launches` launches of each variant. `estimate` is the result so far at
// rule.interim_confidence, absent if there is no result yet. `precision` is the requested relative half-width
// (0.005 for ±0.5%). Times are in seconds of wall clock: used so far, allowed in total, and expected for one
// more launch of all variants together (0 or less: unknown, so one launch is requested to find out).
//
// If the time does not suffice for the first interim analysis, next_launches is the number that fits, but at
// least 2, which an interval needs. That interval is Student's t like any other, but fewer than
// interim_launches.front() launches deserve a warning in the report. After the first interim analysis the
// measurement stops if not all launches until the next analysis fit.
StopDecision DecideStop(const StopRule& rule, int launches, const std::optional<RatioEstimate>& estimate,
                        double precision, double seconds_used, double max_seconds, double seconds_per_launch);

}  // namespace etprof::stats
