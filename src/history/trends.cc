#include "history/trends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/error.h"
#include "stats/change_point.h"
#include "stats/student_t.h"

namespace etprof {
namespace {

TrendValue ValueOf(const std::vector<double>& logs) {
  const stats::MiddleMean mean = stats::MiddleMeanOf(logs);
  TrendValue value{std::exp(mean.log), std::nullopt, std::nullopt};
  if (!mean.standard_error || mean.degrees_of_freedom < 1) return value;
  const double half = *mean.standard_error == 0
                          ? 0
                          : *mean.standard_error * stats::CriticalValue(0.95, mean.degrees_of_freedom);
  value.low = std::exp(mean.log - half);
  value.high = std::exp(mean.log + half);
  return value;
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
    if (launch.log_relative && std::isfinite(*launch.log_relative)) logs.push_back(*launch.log_relative);
  }
  return logs;
}

TrendRun RunOf(const TrendPoint& point) {
  TrendRun run;
  const std::vector<double> latency = LatencyLogs(point), relative = RelativeLogs(point);
  if (!latency.empty()) run.latency = ValueOf(latency);
  if (!relative.empty()) run.relative = ValueOf(relative);
  run.launches = static_cast<std::int64_t>(latency.size());
  for (const HistoryLaunch& launch : point.launches) {
    run.clean_runs += launch.clean_runs;
    run.runs += launch.runs;
  }
  return run;
}

// In what two runs of a series differ beside the code. `device`: in what the device says of itself.
std::string DifferencesOf(const TrendPoint& before, const TrendPoint& after, bool device) {
  if (device) return DifferencesOf(before.machine, after.machine);
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::string& a, const std::string& b) {
    if (a != b && !a.empty() && !b.empty()) parts.emplace_back(name);
  };
  add("the model's file", before.model_sha256, after.model_sha256);
  add("the runner", before.runner_sha256, after.runner_sha256);
  if (before.executorch_version != after.executorch_version && !before.executorch_version.empty() &&
      !after.executorch_version.empty()) {
    parts.push_back(fmt::format("ExecuTorch {} -> {}", before.executorch_version, after.executorch_version));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

class Analysis {
 public:
  Analysis(Trend& trend, const HistoryReport& report, double level, bool of_operators)
      : trend_(trend),
        points_(trend.data.points),
        report_(report),
        level_(level),
        of_operators_(of_operators) {}

  void Run() {
    Collect();
    stats::ChangePointOptions options;
    options.level = level_;
    const stats::ChangePoints found = stats::FindChangePoints(runs_, options);
    trend_.run_sd = found.run_sd;
    trend_.between_sd = found.between_sd;
    for (const stats::LevelChange& change : found.changes) Add(change);
    Decide(found);
  }

 private:
  // The runs that are judged: those relative to one reference where enough are, else all times.
  void Collect() {
    std::map<std::string, std::size_t> references;
    for (std::size_t i = 0; i < points_.size() && !of_operators_; ++i) {
      if (trend_.runs[i].relative) ++references[points_[i].reference];
    }
    std::string reference;
    for (const auto& [name, count] : references) {
      if (count > (reference.empty() ? 0 : references[reference])) reference = name;
    }
    trend_.relative =
        !reference.empty() && references[reference] >= std::min(points_.size(), stats::kLeastRunsOfSeries);
    std::string commit;
    std::int64_t group = 0;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      std::vector<double> logs;
      if (of_operators_) {
        if (points_[i].operator_self && *points_[i].operator_self > 0)
          logs = {std::log(*points_[i].operator_self)};
      } else if (trend_.relative) {
        if (points_[i].reference == reference) logs = RelativeLogs(points_[i]);
      } else {
        logs = LatencyLogs(points_[i]);
      }
      if (logs.empty()) {
        ++trend_.unused_runs;
        continue;
      }
      if (points_[i].commit != commit) ++group;
      commit = points_[i].commit;
      runs_.push_back({std::move(logs), group});
      of_run_.push_back(i);
    }
  }

  void Add(const stats::LevelChange& found) {
    TrendChange change;
    change.before = of_run_[found.earliest - 1];
    change.at = of_run_[found.at];
    change.after = of_run_[found.latest];
    change.growth = std::expm1(found.log_size);
    change.low = std::expm1(found.log_low);
    change.high = std::expm1(found.log_high);
    change.p_value = found.p_value;
    const TrendPoint& before = points_[change.before];
    const TrendPoint& after = points_[change.after];
    const std::string device = DifferencesOf(before, after, true), code = DifferencesOf(before, after, false);
    change.differs = fmt::format("{}{}{}", device, device.empty() || code.empty() ? "" : ", ", code);
    const bool same_reference = before.reference_model_sha256 == after.reference_model_sha256 &&
                                before.reference_runner_sha256 == after.reference_runner_sha256;
    if (trend_.relative && !same_reference)
      change.differs += std::string(change.differs.empty() ? "" : ", ") + "the reference's model or runner";
    if (!device.empty()) {
      change.cause = ChangeCause::kDevice;
    } else if (trend_.relative && same_reference) {
      change.cause = ChangeCause::kCode;
    } else if (trend_.of_reference && code.empty()) {
      change.cause = ChangeCause::kMachine;
    }
    change.counts = (change.cause == ChangeCause::kCode || change.cause == ChangeCause::kUnknown) &&
                    IsAfter(report_.since, change);
    trend_.changes.push_back(std::move(change));
  }

  bool IsAfter(const std::string& since, const TrendChange& change) const {
    if (since.empty()) return true;
    for (std::size_t i = change.at; i < points_.size(); ++i) {
      if (points_[i].commit.starts_with(since)) return false;
    }
    return true;
  }

  void Decide(const stats::ChangePoints& found) {
    const double smallest = std::log1p(report_.smallest);
    trend_.shows_after = stats::RunsToShow(found, smallest, level_);
    const bool can_show = runs_.size() >= stats::kLeastRunsOfSeries && trend_.shows_after &&
                          *trend_.shows_after <= std::max(found.last_runs, std::size_t{2});
    if (!can_show) {
      // As if more runs like these followed.
      stats::ChangePoints longer = found;
      const std::size_t least =
          runs_.size() < stats::kLeastRunsOfSeries ? stats::kLeastRunsOfSeries - runs_.size() : 1;
      for (std::size_t more = least; more <= 1000 && !trend_.more_runs; ++more) {
        longer.last_runs = found.last_runs + more;
        const auto shows = stats::RunsToShow(longer, smallest, level_, longer.last_runs);
        if (shows || !found.run_sd) trend_.more_runs = more;
      }
    }
    const bool slower = std::ranges::any_of(
        trend_.changes, [](const TrendChange& change) { return change.counts && change.low > 0; });
    trend_.decision = slower     ? GateDecision::kFail
                      : can_show ? GateDecision::kPass
                                 : GateDecision::kInconclusive;
  }

  Trend& trend_;
  const std::vector<TrendPoint>& points_;
  const HistoryReport& report_;
  const double level_;
  const bool of_operators_;
  std::vector<stats::RunLaunches> runs_;
  std::vector<std::size_t> of_run_;  // index into points_
};

bool IsReferenceOf(const SeriesKey& key, const TrendData& other) {
  return other.key.device == key.device && std::ranges::any_of(other.points, [&](const TrendPoint& point) {
           return point.reference == key.experiment;
         });
}

}  // namespace

HistoryReport FindTrends(std::vector<TrendData> data, const std::string& operator_name,
                         const TrendOptions& options) {
  HistoryReport report;
  report.operator_name = operator_name;
  report.level = options.level;
  report.smallest = options.smallest;
  report.since = options.since;
  bool knows_since = options.since.empty();
  for (TrendData& one : data) {
    Trend trend;
    for (const TrendPoint& point : one.points) {
      trend.runs.push_back(RunOf(point));
      knows_since = knows_since || point.commit.starts_with(options.since);
    }
    trend.data = std::move(one);
    report.trends.push_back(std::move(trend));
  }
  if (!knows_since) {
    throw Error(ExitCode::kUsage,
                fmt::format("no measurement of commit `{}` is among those shown", options.since))
        .Remedy("give a commit of the history, and more with `--last N`");
  }
  for (Trend& trend : report.trends) {
    trend.of_reference = std::ranges::any_of(
        report.trends, [&](const Trend& other) { return IsReferenceOf(trend.data.key, other.data); });
  }
  // Each of the series has an equal part of the level (Bonferroni).
  const double level = options.level / static_cast<double>(std::max<std::size_t>(report.trends.size(), 1));
  bool fails = false, passes = !report.trends.empty(), without = false;
  for (Trend& trend : report.trends) {
    Analysis(trend, report, level, !operator_name.empty()).Run();
    if (trend.of_reference) continue;
    fails = fails || trend.decision == GateDecision::kFail;
    passes = passes && trend.decision == GateDecision::kPass;
    without = without || !trend.relative;
  }
  report.decision = fails ? GateDecision::kFail : passes ? GateDecision::kPass : GateDecision::kInconclusive;
  if (without && !report.trends.empty()) {
    report.notes.emplace_back(
        operator_name.empty()
            ? "Without a reference, a change of the machine cannot be told from one of the code: measure a "
              "model "
              "that does not change in every measurement, and name its experiment with `--reference` when "
              "adding."
            : "Self times have no reference: a change of the machine cannot be told from one of the code.");
  }
  return report;
}

}  // namespace etprof
