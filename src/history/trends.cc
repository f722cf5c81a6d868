#include "history/trends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/parallel.h"
#include "stats/change_point.h"
#include "stats/ratio/multiple.h"
#include "stats/ratio/student_t.h"

namespace etprof {
namespace {

// ln of the largest possible ratio of two times, 2^63 - 1 ns and 1 ns. Larger values were not measured.
constexpr double kMaxLogRatio = 43.7;

TrendValue MakeTrendValue(const std::vector<double>& logs) {
  const stats::InterquartileMean mean = stats::ComputeInterquartileMean(logs);
  const TrendValue value{std::exp(mean.log), std::nullopt, std::nullopt};
  if (!mean.standard_error || mean.degrees_of_freedom < 1) return value;
  const double half_width = *mean.standard_error * stats::CriticalValue(0.95, mean.degrees_of_freedom);
  const double low = std::exp(mean.log - half_width), high = std::exp(mean.log + half_width);
  if (low == 0 || !std::isfinite(high)) return value;  // the interval would be unbounded
  return {value.mean, low, high};
}

std::vector<double> LatencyLogs(const TrendPoint& point) {
  std::vector<double> logs;
  for (const HistoryLaunch& launch : point.launches) {
    if (launch.latency && *launch.latency > 0) logs.push_back(std::log(static_cast<double>(*launch.latency)));
  }
  return logs;
}

std::vector<double> RelativeLogs(const TrendPoint& point) {
  std::vector<double> logs;
  for (const HistoryLaunch& launch : point.launches) {
    if (launch.log_relative && std::abs(*launch.log_relative) <= kMaxLogRatio)
      logs.push_back(*launch.log_relative);
  }
  return logs;
}

TrendRun MakeTrendRun(const TrendPoint& point) {
  TrendRun run;
  const std::vector<double> latency = LatencyLogs(point), relative = RelativeLogs(point);
  if (!latency.empty()) run.latency = MakeTrendValue(latency);
  if (!relative.empty()) run.relative = MakeTrendValue(relative);
  run.launches = static_cast<std::int64_t>(latency.size());
  for (const HistoryLaunch& launch : point.launches) {
    run.clean_runs += launch.clean_runs;
    run.runs += launch.runs;
  }
  return run;
}

// The differences between two runs of a series, except for the device.
std::string DescribeDifferences(const TrendPoint& before, const TrendPoint& after) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& name, const std::string& a, const std::string& b) {
    if (a != b && !a.empty() && !b.empty()) parts.push_back(name);
  };
  add("the model's file", before.model_sha256, after.model_sha256);
  add("the runner", before.runner_sha256, after.runner_sha256);
  add(fmt::format("ExecuTorch {} -> {}", before.executorch_version, after.executorch_version),
      before.executorch_version, after.executorch_version);
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Returns ln of the value of each launch; empty: the run has no such value.
using PointLogs = std::function<std::vector<double>(const TrendPoint&)>;

std::vector<double> SelfLogs(const SelfTime& self, const TrendPoint& point, bool relative) {
  std::vector<double> logs;
  const auto reference = [&](std::size_t launch) {
    return launch < point.reference_traced.size() ? point.reference_traced[launch] : 0;
  };
  for (std::size_t i = 0; i < self.by_launch.size(); ++i) {
    if (self.by_launch[i] <= 0 || (relative && reference(i) <= 0)) continue;
    logs.push_back(std::log(static_cast<double>(self.by_launch[i])) -
                   (relative ? std::log(static_cast<double>(reference(i))) : 0));
  }
  // If the times of the launches are not known, use the mean.
  if (!logs.empty() || !self.mean || *self.mean <= 0) return logs;
  const double log = std::log(relative ? *self.mean / point.reference_mean.value_or(0) : *self.mean);
  return std::abs(log) <= kMaxLogRatio ? std::vector{log} : logs;
}

// The runs of a series that are tested for changes.
struct TestedRuns {
  std::vector<stats::RunLaunches> runs;
  std::vector<std::size_t> point_of_run;  // index into TrendData::points
  bool relative = false;
};

// Selects the runs with the most frequent reference if there are enough of them, else all runs with a time.
TestedRuns SelectRuns(const std::vector<TrendPoint>& points, const PointLogs& relative,
                      const PointLogs& absolute) {
  TestedRuns tested;
  std::map<std::string, std::size_t> references;
  std::size_t all = 0;
  for (const TrendPoint& point : points) {
    if (!point.reference.empty() && !relative(point).empty()) ++references[point.reference];
    all += absolute(point).empty() ? 0U : 1U;
  }
  const auto most_frequent =
      std::ranges::max_element(references, {}, &decltype(references)::value_type::second);
  tested.relative =
      most_frequent != references.end() && most_frequent->second >= std::min(all, stats::kMinSeriesRuns);
  std::string commit;
  std::int64_t group = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<double> logs;
    if (!tested.relative) {
      logs = absolute(points[i]);
    } else if (points[i].reference == most_frequent->first) {
      logs = relative(points[i]);
    }
    if (logs.empty()) continue;
    if (points[i].commit != commit) ++group;
    commit = points[i].commit;
    tested.runs.push_back({std::move(logs), group});
    tested.point_of_run.push_back(i);
  }
  return tested;
}

TestedRuns SelectOperatorRuns(const TrendData& data, const OperatorTimes& op) {
  const auto make_logs = [&](bool relative) {
    return [&, relative](const TrendPoint& point) {
      const auto at = static_cast<std::size_t>(&point - data.points.data());
      return SelfLogs(op.times[at], point, relative);
    };
  };
  return SelectRuns(data.points, make_logs(true), make_logs(false));
}

// Returns TrendChange::accepted, with the newest reason. A change that begins at or before a commit is
// accepted with it.
std::optional<std::string> AcceptanceReason(const TrendChange& change, const TrendData& data,
                                            const std::string& since) {
  std::optional<std::string> reason;
  const auto points = std::span(data.points).subspan(change.first_run);
  const auto is_since = [&](const std::string& commit) { return commit.starts_with(since); };
  if (!since.empty() && std::ranges::any_of(points, is_since, &TrendPoint::commit)) reason = "";
  for (const Acceptance& acceptance : data.accepted) {
    if (std::ranges::find(points, acceptance.commit, &TrendPoint::commit) != points.end())
      reason = acceptance.reason;
  }
  return reason;
}

TrendChange MakeTrendChange(const stats::LevelChange& found, const TestedRuns& tested, const Trend& trend,
                            const TrendOptions& options, bool is_operator) {
  TrendChange change;
  change.before = tested.point_of_run[found.earliest - 1];
  change.first_run = tested.point_of_run[found.first_run];
  change.after = tested.point_of_run[found.latest];
  change.growth = std::expm1(found.log_size);
  change.low = std::expm1(found.log_low);
  change.high = std::expm1(found.log_high);
  change.p_value = found.p_value;
  const std::vector<TrendPoint>& points = trend.data.points;
  const TrendPoint &before = points[change.before], &after = points[change.after];
  const std::string device = DescribeDifferences(before.machine, after.machine);
  const std::string code = DescribeDifferences(before, after);
  std::vector<std::string> differs;
  for (const std::string& text : {device, code}) {
    if (!text.empty()) differs.push_back(text);
  }
  const bool same_reference =
      before.reference_artifact.model_sha256 == after.reference_artifact.model_sha256 &&
      before.reference_artifact.runner_sha256 == after.reference_artifact.runner_sha256;
  if (tested.relative && !same_reference) differs.emplace_back("the reference's model or runner");
  if (is_operator && before.operators_digest != after.operators_digest)
    differs.emplace_back("the model's operators, so this may be another one of the same name");
  change.differs = fmt::format("{}", fmt::join(differs, ", "));
  if (!device.empty()) {
    change.cause = ChangeCause::kDevice;
  } else if (tested.relative && same_reference) {
    change.cause = ChangeCause::kCode;
  } else if (trend.is_reference && code.empty()) {
    change.cause = ChangeCause::kMachine;
  }
  const bool may_be_code = change.cause == ChangeCause::kCode || change.cause == ChangeCause::kUnknown;
  const bool is_large = std::abs(found.log_size) >= std::log1p(options.min_change);
  change.accepted = AcceptanceReason(change, trend.data, options.since);
  change.is_relevant = may_be_code && is_large && !change.accepted;
  return change;
}

void DecideSeries(const stats::ChangePoints& found, std::size_t runs, double min_change, double level,
                  Trend& trend) {
  const double log_min_change = std::log1p(min_change);
  trend.runs_to_detect = stats::RunsToDetect(found, log_min_change, level);
  const bool can_detect = runs >= stats::kMinSeriesRuns && trend.runs_to_detect &&
                          *trend.runs_to_detect <= std::max(found.last_runs, std::size_t{2});
  if (!can_detect) {  // Assume that the next runs are like these.
    stats::ChangePoints extended = found;
    const std::size_t min = runs < stats::kMinSeriesRuns ? stats::kMinSeriesRuns - runs : 1;
    for (std::size_t more = min; more <= 1000 && !trend.missing_runs; ++more) {
      extended.last_runs = found.last_runs + more;
      const auto extended_runs_to_detect =
          stats::RunsToDetect(extended, log_min_change, level, extended.last_runs);
      if (extended_runs_to_detect || !found.run_sd) trend.missing_runs = more;
    }
  }
  const bool slower = std::ranges::any_of(
      trend.changes, [](const TrendChange& change) { return change.is_relevant && change.low > 0; });
  trend.decision = slower       ? GateDecision::kFail
                   : can_detect ? GateDecision::kPass
                                : GateDecision::kInconclusive;
}

// Tests the latency, or the self times of report.operator_name.
void FindSeriesChanges(Trend& trend, const HistoryReport& report, double level) {
  const bool use_self_times = !report.operator_name.empty();
  const auto make_logs = [&](bool relative) -> PointLogs {
    return [=](const TrendPoint& point) {
      return use_self_times ? SelfLogs(point.self, point, relative)
             : relative     ? RelativeLogs(point)
                            : LatencyLogs(point);
    };
  };
  const TestedRuns tested = SelectRuns(trend.data.points, make_logs(true), make_logs(false));
  stats::ChangePointOptions options;
  options.level = level;
  const stats::ChangePoints found = stats::FindChangePoints(tested.runs, options);
  trend.relative = tested.relative;
  trend.unused_runs = trend.data.points.size() - tested.runs.size();
  trend.run_sd = found.run_sd;
  trend.between_sd = found.between_sd;
  for (const stats::LevelChange& change : found.changes)
    trend.changes.push_back(MakeTrendChange(change, tested, trend, report, false));
  DecideSeries(found, tested.runs.size(), report.min_change, level, trend);
}

// Tests the operators of all series together. Benjamini and Hochberg's procedure selects operators by their
// first split.
void FindOperatorChanges(HistoryReport& report, double level) {
  struct TestedOperator {
    Trend* trend = nullptr;
    const OperatorTimes* op = nullptr;
    TestedRuns tested;
    std::vector<TrendChange> changes;
  };
  std::vector<TestedOperator> candidates;
  std::vector<std::vector<stats::RunLaunches>> series;
  for (Trend& trend : report.trends) {
    for (const OperatorTimes& op : trend.data.operators) {
      if (trend.is_reference) continue;
      TestedOperator candidate{&trend, &op, SelectOperatorRuns(trend.data, op), {}};
      if (candidate.tested.runs.size() < stats::kMinSeriesRuns) continue;
      ++trend.tested_operators;
      series.push_back(std::move(candidate.tested.runs));
      candidates.push_back(std::move(candidate));
    }
  }
  const std::vector<double> p_values = stats::ChangePValues(series, level);
  const std::vector<double> adjusted = stats::BenjaminiHochberg(p_values);
  const auto num_rejected = std::ranges::count_if(adjusted, [&](double p_value) { return p_value <= level; });
  ParallelFor(candidates.size(), 0, [&](std::size_t i) {
    if (adjusted[i] > level) return;
    stats::ChangePointOptions options;
    options.level = level * static_cast<double>(num_rejected) / static_cast<double>(candidates.size());
    options.p_value = p_values[i];
    for (const stats::LevelChange& change : stats::FindChangePoints(series[i], options).changes)
      candidates[i].changes.push_back(
          MakeTrendChange(change, candidates[i].tested, *candidates[i].trend, report, true));
  });
  for (TestedOperator& candidate : candidates) {
    if (candidate.changes.empty()) continue;
    candidate.trend->operators.push_back({candidate.op->key, candidate.op->name, candidate.op->share,
                                          candidate.tested.relative, std::move(candidate.changes)});
  }
  for (Trend& trend : report.trends)
    std::ranges::stable_sort(trend.operators, std::greater<>(), &OperatorTrend::share);
}

// Returns whether launches of `series` are relative to the experiment of `key`.
bool IsReference(const SeriesKey& key, const TrendData& series) {
  return series.key.device == key.device && std::ranges::any_of(series.points, [&](const TrendPoint& point) {
           return point.reference == key.experiment;
         });
}

}  // namespace

const std::string& GetCommit(const Trend& trend, std::size_t run) { return trend.data.points[run].commit; }

HistoryReport FindTrends(std::vector<TrendData> data, const std::string& operator_name,
                         const TrendOptions& options) {
  HistoryReport report;
  static_cast<TrendOptions&>(report) = options;
  report.operator_name = operator_name;
  bool has_since = options.since.empty();
  for (TrendData& series : data) {
    Trend trend;
    for (const TrendPoint& point : series.points) {
      trend.runs.push_back(MakeTrendRun(point));
      has_since = has_since || point.commit.starts_with(options.since);
    }
    trend.data = std::move(series);
    report.trends.push_back(std::move(trend));
  }
  if (!has_since) {
    throw Error(ExitCode::kUsage,
                fmt::format("no measurement of commit `{}` is among those shown", options.since))
        .Remedy("give a commit of the history, and more with `--last N`");
  }
  for (Trend& trend : report.trends) {
    trend.is_reference = std::ranges::any_of(
        report.trends, [&](const Trend& other) { return IsReference(trend.data.key, other.data); });
  }
  // Each series gets an equal part of the series' level (Bonferroni).
  const double level = kLatencyLevelShare * options.level /
                       static_cast<double>(std::max<std::size_t>(report.trends.size(), 1));
  bool lacks_reference = false;
  ParallelFor(report.trends.size(), 0,
              [&](std::size_t i) { FindSeriesChanges(report.trends[i], report, level); });
  if (!report.trends.empty()) report.decision = GateDecision::kPass;
  for (const Trend& trend : report.trends) {
    if (trend.is_reference) continue;
    report.decision = CombineDecisions(report.decision, trend.decision);
    lacks_reference = lacks_reference || !trend.relative;
  }
  FindOperatorChanges(report, (1 - kLatencyLevelShare) * options.level);
  if (lacks_reference) {
    report.notes.emplace_back(
        "Without a reference, a change of the machine cannot be told from one of the code: measure a model "
        "that does not change in every measurement, and name its experiment with `--reference` when "
        "adding.");
  }
  return report;
}

}  // namespace etprof
