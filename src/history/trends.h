#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "history/history_file.h"
#include "profile/compare/gate.h"

namespace etprof {

// The mean over the launches of a run (stats::InterquartileMean of the logarithms) with its 95% interval,
// which is absent for a single launch.
struct TrendValue {
  double mean = 0;
  std::optional<double> low, high;
};

// The values of one run of a series.
struct TrendRun {
  std::optional<TrendValue> latency;   // ns
  std::optional<TrendValue> relative;  // latency / latency of the reference
  std::int64_t launches = 0;           // number of launches with a latency
  std::int64_t clean_runs = 0, runs = 0;
};

enum class ChangeCause {
  kCode,     // the reference, measured in the same runs, did not change
  kMachine,  // the reference itself changed, although its program and runner are the same
  kDevice,   // the device or its system is a different one
  kUnknown,  // there is no reference
};
template <>
inline constexpr const char* kNames<ChangeCause>[] = {"code", "machine", "device", "code or machine"};

struct Trend;
const std::string& GetCommit(const Trend& trend, std::size_t run);

// A change of the level of a series. Runs are indices into TrendData::points.
struct TrendChange {
  std::size_t before = 0;                // last run that certainly has the old level
  std::size_t first_run = 0;             // run with which the new level most likely begins
  std::size_t after = 0;                 // first run that certainly has the new level
  double growth = 0, low = 0, high = 0;  // new / old - 1, with its interval
  double p_value = 1;
  ChangeCause cause = ChangeCause::kUnknown;
  std::string differs;  // other differences of `before` and `after`: "kernel 6.1 -> 6.6"; "": none known
  // The reason for accepting the change ("": no reason was given); absent: the change is not accepted. From
  // TrendOptions::since and TrendData::accepted.
  std::optional<std::string> accepted = {};
  bool is_relevant = true;  // may come from the code, is not too small, and is not accepted

  static constexpr const char* kSchemaName = "trend_change";
  static void Describe(auto& v) {
    using C = TrendChange;
    const auto commit = [](std::size_t C::*run) {
      return
          [run](const C& change, const Trend& trend) -> const auto& { return GetCommit(trend, change.*run); };
    };
    v("commit", commit(&C::first_run), {.meaning = "with which the new level most likely begins"});
    v("after", commit(&C::before), {.meaning = "the last that certainly has the old level"});
    v("not_after", commit(&C::after), {.meaning = "the first that certainly has the new level"});
    v("growth", &C::growth, {.meaning = "new / old - 1"});
    v("growth_low", &C::low, {.meaning = "of its interval at 95%"});
    v("growth_high", &C::high, {.meaning = "of its interval at 95%"});
    v("p_value", &C::p_value, {.meaning = "against chance", .min = 0, .max = 1});
    v("cause", &C::cause, {.meaning = "as the reference and the device tell"});
    v("differs", &C::differs,
      {.meaning = "what else differs: \"kernel 6.1 -> 6.6\"; null: nothing known", .or_null = true});
    v("accepted", &C::accepted, {.meaning = "why it is accepted (may be empty); null: it is not"});
    v("counts", &C::is_relevant, {.meaning = "for the result: of the code, not too small, and not accepted"});
  }
};

// An operator whose self time changed.
struct OperatorTrend {
  std::string key, name;
  double share = 0;                  // share of all self time, the mean over the runs
  bool relative = false;             // changes refer to the ratio to the reference's traced inference
  std::vector<TrendChange> changes;  // in order of the runs

  static constexpr const char* kSchemaName = "operator_trend";
  static void Describe(auto& v) {
    v("name", &OperatorTrend::name, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("key", &OperatorTrend::key, {.meaning = "as `key` of an operator in analysis_summary.json"});
    v("share", &OperatorTrend::share, {.meaning = "of all self time, the mean over the measurements"});
    v("changes", &OperatorTrend::changes, {.meaning = "of its self time"});
  }
};

struct Trend {
  TrendData data;
  std::vector<TrendRun> runs;   // indexed like TrendData::points
  bool relative = false;        // changes refer to the ratio to the reference
  bool is_reference = false;    // another series is relative to this one
  std::size_t unused_runs = 0;  // runs of `data` that were not tested, since they lack the time or the ratio
  std::vector<TrendChange> changes;  // in order of the runs
  // Standard deviation of the logarithm between runs, and the part of it that launches do not explain.
  std::optional<double> run_sd, between_sd;
  std::vector<OperatorTrend> operators;  // operators that changed, by decreasing share
  std::size_t tested_operators = 0;
  GateDecision decision = GateDecision::kInconclusive;  // decided by the latency
  // The number of runs at a new level until a change of `min_change` is detected.
  std::optional<std::size_t> runs_to_detect;
  // The number of further runs until such a change can be detected; absent: it can be now, or never.
  std::optional<std::size_t> missing_runs;

  static constexpr const char* kSchemaName = "trend";
  static void Describe(auto& v) {
    using T = Trend;
    const auto key = [](auto member) {
      return [member](const T& trend) -> const auto& { return trend.data.key.*member; };
    };
    v("name", [](const T& trend) { return GetName(trend.data.key); }, {.meaning = "unique among the series"});
    v("model", key(&SeriesKey::model),
      {.meaning = "what its suite calls it, or its file's name without .pte"});
    v("method", key(&SeriesKey::method), {.meaning = "that ran"});
    v("experiment", key(&SeriesKey::experiment), {.meaning = "its name in the configuration"});
    v("threads", key(&SeriesKey::threads), {.meaning = "of the runner", .min = 1});
    v("settings", key(&SeriesKey::settings), {.meaning = "\"isa=-avx2 cpus=0-1\"; empty: none"});
    v("device", key(&SeriesKey::device), {.meaning = "its name"});
    v("result", &T::decision, {.meaning = "of its latency"});
    v("is_reference", &T::is_reference,
      {.meaning = "others are relative to it: its changes are the machine's, and decide nothing"});
    v("relative", &T::relative, {.meaning = "changes are of the ratio to the reference"});
    v("measurements", [](const T& trend) { return trend.runs.size(); }, {.meaning = "that were judged"});
    v("newest_commit",
      [](const T& trend) {
        return trend.data.points.empty() ? std::string() : trend.data.points.back().commit;
      },
      {.meaning = "of the last measurement", .or_null = true});
    v("newest_ns",
      [](const T& trend) {
        return trend.runs.empty() || !trend.runs.back().latency
                   ? std::nullopt
                   : std::optional(trend.runs.back().latency->mean);
      },
      {.meaning = "latency of the last measurement; null: not known"});
    v("noise", &T::run_sd,
      {.meaning = "standard deviation of measurements of one level, relative; null: not known"});
    v("more_measurements", &T::missing_runs,
      {.meaning = "that it needs to show a change of `smallest`; null: none, or no number is enough"});
    v("changes", &T::changes, {.meaning = "of its level, by place"});
    v("operators", &T::operators, {.meaning = "whose self time changed"});
  }
};

struct TrendOptions {
  double level = 0.05;       // probability of any false change in the series or their operators
  double min_change = 0.01;  // smallest relative change that fails; smaller changes are only shown
  std::string since;         // changes after this commit count; "": all
};

struct HistoryReport : TrendOptions {
  std::vector<Trend> trends;
  std::string operator_name;  // trends are of this operator's self times; "": of latencies
  GateDecision decision = GateDecision::kInconclusive;
  std::vector<std::string> notes;

  static void Describe(auto& v) {
    using R = HistoryReport;
    DescribeSchemaVersion(v);
    v("result", &R::decision,
      {.meaning = "of all series: `fail`: one became slower; `inconclusive`: one cannot show it"});
    v("level", &R::level, {.meaning = "chance of a false change in any of the series", .min = 0, .max = 1});
    v("smallest", &R::min_change, {.meaning = "change that fails, relative"});
    v("since", &R::since, {.meaning = "changes after this commit count; null: all", .or_null = true});
    v("series", &R::trends, {.meaning = "what is measured again with every commit"});
    v("notes", &R::notes, {.meaning = "what the reader has to know to trust this"});
  }
};

// The fraction of the level that the series share. The operators share the rest, since they are many and less
// certain.
inline constexpr double kLatencyLevelShare = 0.8;

// Finds changes in the series (stats/change_point.h). If the runs of a series have a reference, the ratio to
// the reference is tested, so that effects of the machine cancel; these show in the reference's own series.
// Operators are tested together over all series (Benjamini & Hochberg, stats/ratio/multiple.h), by self times
// relative to the reference's traced inference of the same launch; those of the reference's own series are
// not tested. The chance of a false change of a latency or operator is at most `level` if runs differ by
// chance alone; for a series that drifts it is at most 5 % each. Throws Error (kUsage) if no series has the
// commit `since`.
HistoryReport FindTrends(std::vector<TrendData> data, const std::string& operator_name,
                         const TrendOptions& options = {});

}  // namespace etprof
