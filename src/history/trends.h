#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/gate.h"
#include "history/history_file.h"

namespace etprof {

// The middle of something over the launches of a run, with its interval at 95 %: absent for a single launch.
struct TrendValue {
  double middle = 0;
  std::optional<double> low, high;
};

// What one run of a series comes to.
struct TrendRun {
  std::optional<TrendValue> latency;   // ns
  std::optional<TrendValue> relative;  // this / the reference
  std::int64_t launches = 0;           // with a latency
  std::int64_t clean_runs = 0, runs = 0;
};

enum class ChangeCause {
  kCode,     // the reference, measured in the same runs, did not change
  kMachine,  // the reference itself changed, although its program and runner are the same
  kDevice,   // the device says that it is another one, or has another system
  kUnknown,  // there is no reference
};
template <>
inline constexpr NamedValue<ChangeCause> kNames<ChangeCause>[] = {{ChangeCause::kCode, "code"},
                                                                  {ChangeCause::kMachine, "machine"},
                                                                  {ChangeCause::kDevice, "device"},
                                                                  {ChangeCause::kUnknown, "code or machine"}};

// One change of a series' level. Runs are indices into TrendData::points.
struct TrendChange {
  std::size_t before = 0;                // the last run that certainly has the old level
  std::size_t at = 0;                    // the run with which the new level most likely begins
  std::size_t after = 0;                 // the first run that certainly has the new one
  double growth = 0, low = 0, high = 0;  // new / old - 1, with its interval
  double p_value = 1;
  ChangeCause cause = ChangeCause::kUnknown;
  std::string
      differs;  // what else differs between `before` and `after`: "kernel 6.1 -> 6.6"; "": nothing known
  // Why it is accepted ("": no reason was given); absent: it is not. As TrendOptions::since and
  // TrendData::accepted say.
  std::optional<std::string> accepted = {};
  bool counts = true;  // for the check: of the code, not too small, and not accepted
};

// An operator of which the self time changed.
struct OperatorTrend {
  std::string key, name;
  double share = 0;                  // of all self time, the mean over the runs
  bool relative = false;             // changes are of the ratio to the reference's traced inference
  std::vector<TrendChange> changes;  // by place
};

struct Trend {
  TrendData data;
  std::vector<TrendRun> runs;        // by TrendData::points
  bool relative = false;             // changes are of the ratio to the reference
  bool of_reference = false;         // another series is relative to this one
  std::size_t unused_runs = 0;       // of `data`, which have no value of that kind
  std::vector<TrendChange> changes;  // by place
  std::optional<double> run_sd,
      between_sd;                        // relative: from run to run, and what launches do not explain of it
  std::vector<OperatorTrend> operators;  // those that changed, the largest part of an inference first
  std::size_t judged_operators = 0;
  GateDecision decision = GateDecision::kInconclusive;  // by the latency
  std::optional<std::size_t> shows_after;  // runs of a new level until a change of `smallest` shows
  std::optional<std::size_t> more_runs;    // until the series can show such a change; absent: it can, or no
                                           // number of runs is enough
};

struct TrendOptions {
  double level = 0.05;     // of a false change in any of the series, or of their operators
  double smallest = 0.01;  // change that fails, relative; smaller ones are shown
  std::string since;       // changes after this commit count; "": all
};

struct HistoryReport : TrendOptions {
  std::vector<Trend> trends;
  std::string operator_name;  // whose self times they are; "": latencies
  GateDecision decision = GateDecision::kInconclusive;
  std::vector<std::string> notes;
};

// Of the level, what the series share; the rest is the operators', which are many and less certain.
inline constexpr double kPartOfSeries = 0.8;

// What runs show, and when they changed (stats/change_point.h). A series whose runs have a reference is
// judged by its ratio to that, so that what the machine does cancels out; the reference's own series shows
// that. Operators are judged together over all series (Benjamini & Hochberg, stats/ratio/multiple.h), by self
// times relative to the reference's traced inference of the same launch; those of the reference's own series
// are not judged. The chance of a false change of a latency or operator is at most `level` where runs differ
// by chance alone; of a series that drifts it is at most 5 % each. Throws Error (kUsage) where no series has
// the commit `since`.
HistoryReport FindTrends(std::vector<TrendData> data, const std::string& operator_name,
                         const TrendOptions& options = {});

}  // namespace etprof
