#pragma once

#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/views.h"
#include "history/trends.h"

namespace etprof {

// JSON views of `etprof history check --json`, with commits instead of indices.

struct TrendChangeJson {
  const Trend& trend;
  const TrendChange& of;

  const std::string& Commit(std::size_t run) const { return trend.data.points[run].commit; }

  static constexpr const char* kSchemaName = "trend_change";
  static void Describe(auto& v) {
    using J = const TrendChangeJson&;
    v("commit", [](J json) -> const auto& { return json.Commit(json.of.at); },
      {.meaning = "with which the new level most likely begins"});
    v("after", [](J json) -> const auto& { return json.Commit(json.of.before); },
      {.meaning = "the last that certainly has the old level"});
    v("not_after", [](J json) -> const auto& { return json.Commit(json.of.after); },
      {.meaning = "the first that certainly has the new level"});
    v("growth", &TrendChange::growth, {.meaning = "new / old - 1"});
    v("growth_low", &TrendChange::low, {.meaning = "of its interval at 95%"});
    v("growth_high", &TrendChange::high, {.meaning = "of its interval at 95%"});
    v("p_value", &TrendChange::p_value, {.meaning = "against chance", .least = 0, .most = 1});
    v("cause", &TrendChange::cause, {.meaning = "as the reference and the device tell"});
    v("differs", &TrendChange::differs,
      {.meaning = "what else differs: \"kernel 6.1 -> 6.6\"; null: nothing known", .or_null = true});
    v("accepted", &TrendChange::accepted, {.meaning = "why it is accepted (may be empty); null: it is not"});
    v("counts", &TrendChange::counts,
      {.meaning = "for the result: of the code, not too small, and not accepted"});
  }
};

struct OperatorTrendJson {
  const Trend& trend;
  const OperatorTrend& of;

  static constexpr const char* kSchemaName = "operator_trend";
  static void Describe(auto& v) {
    v("name", &OperatorTrend::name, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("key", &OperatorTrend::key, {.meaning = "as `key` of an operator in analysis_summary.json"});
    v("share", &OperatorTrend::share, {.meaning = "of all self time, the mean over the measurements"});
    v("changes",
      [](const OperatorTrendJson& json) { return MakeViews<TrendChangeJson>(json.of.changes, json.trend); },
      {.meaning = "of its self time"});
  }
};

struct TrendJson {
  const Trend& of;

  static constexpr const char* kSchemaName = "trend";
  static void Describe(auto& v) {
    using J = const TrendJson&;
    const auto key = [](auto member) {
      return [member](J json) -> const auto& { return json.of.data.key.*member; };
    };
    v("name", [](J json) { return GetName(json.of.data.key); }, {.meaning = "unique among the series"});
    v("model", key(&SeriesKey::model),
      {.meaning = "what its suite calls it, or its file's name without .pte"});
    v("method", key(&SeriesKey::method), {.meaning = "that ran"});
    v("experiment", key(&SeriesKey::experiment), {.meaning = "its name in the configuration"});
    v("threads", key(&SeriesKey::threads), {.meaning = "of the runner", .least = 1});
    v("settings", key(&SeriesKey::settings), {.meaning = "\"isa=-avx2 cpus=0-1\"; empty: none"});
    v("device", key(&SeriesKey::device), {.meaning = "its name"});
    v("result", &Trend::decision, {.meaning = "of its latency"});
    v("is_reference", &Trend::is_reference,
      {.meaning = "others are relative to it: its changes are the machine's, and decide nothing"});
    v("relative", &Trend::relative, {.meaning = "changes are of the ratio to the reference"});
    v("measurements", [](J json) { return static_cast<std::int64_t>(json.of.runs.size()); },
      {.meaning = "that were judged", .least = 0});
    v("newest_commit",
      [](J json) { return json.of.data.points.empty() ? std::string() : json.of.data.points.back().commit; },
      {.meaning = "of the last measurement", .or_null = true});
    v("newest_ns",
      [](J json) {
        return json.of.runs.empty() || !json.of.runs.back().latency
                   ? std::optional<double>()
                   : std::optional(json.of.runs.back().latency->middle);
      },
      {.meaning = "latency of the last measurement; null: not known"});
    v("noise", &Trend::run_sd,
      {.meaning = "standard deviation of measurements of one level, relative; null: not known"});
    v("more_measurements",
      [](J json) {
        return json.of.more_runs ? std::optional(static_cast<std::int64_t>(*json.of.more_runs))
                                 : std::optional<std::int64_t>();
      },
      {.meaning = "that it needs to show a change of `smallest`; null: none, or no number is enough"});
    v("changes", [](J json) { return MakeViews<TrendChangeJson>(json.of.changes, json.of); },
      {.meaning = "of its level, by place"});
    v("operators", [](J json) { return MakeViews<OperatorTrendJson>(json.of.operators, json.of); },
      {.meaning = "whose self time changed"});
  }
};

struct HistoryCheckJson {
  const HistoryReport& of;

  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("result", &HistoryReport::decision,
      {.meaning = "of all series: `fail`: one became slower; `inconclusive`: one cannot show it"});
    v("level", [](const HistoryCheckJson& json) { return json.of.level; },
      {.meaning = "chance of a false change in any of the series", .least = 0, .most = 1});
    v("smallest", [](const HistoryCheckJson& json) { return json.of.smallest; },
      {.meaning = "change that fails, relative"});
    v("since", [](const HistoryCheckJson& json) -> const auto& { return json.of.since; },
      {.meaning = "changes after this commit count; null: all", .or_null = true});
    v("series", [](const HistoryCheckJson& json) { return MakeViews<TrendJson>(json.of.trends); },
      {.meaning = "what is measured again with every commit"});
    v("notes", &HistoryReport::notes, {.meaning = "what the reader has to know to trust this"});
  }
};

}  // namespace etprof
