// The runs of a project over time, row by row, for python/etprof/history.py.
#include "history.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "text.h"
#include "workflow/history.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace etprof {
namespace {

nb::list AddRuns(const AddToHistoryOptions& options) {
  const AddedToHistory added = [&] {
    const nb::gil_scoped_release others_go_on;
    return AddToHistory(options);
  }();
  using Added = HistoryFile::Added;
  nb::list runs;
  for (const AddedToHistory::Run& run : added.runs) {
    nb::dict one;
    one["run"] = Text(run.path);
    one["commit"] = Text(added.commit);
    one["result"] = run.added == Added::kNew        ? "added"
                    : run.added == Added::kReplaced ? "replaced"
                                                    : "already there";
    nb::list left_out;
    for (const std::string& clause : run.left_out) left_out.append(Text(clause));
    one["left_out"] = left_out;
    runs.append(one);
  }
  return runs;
}

HistoryReport Read(const HistoryOptions& options) {
  const nb::gil_scoped_release others_go_on;
  return ReadHistory(options);
}

void PutSeries(const Trend& trend, nb::dict& row) {
  const SeriesKey& key = trend.data.key;
  row["series"] = Text(NameOf(key));
  row["model"] = Text(key.model);
  row["method"] = Text(key.method);
  row["experiment"] = Text(key.experiment);
  row["threads"] = key.threads;
  row["settings"] = Text(key.settings);
  row["device"] = Text(key.device);
}

// An estimate with its interval, by the names of its three columns.
void PutValue(const std::optional<TrendValue>& value, const char* middle, const char* low, const char* high,
              nb::dict& row) {
  row[middle] = value ? nb::cast(value->middle) : nb::none();
  row[low] = value ? nb::cast(value->low) : nb::none();
  row[high] = value ? nb::cast(value->high) : nb::none();
}

nb::list TrendRows(const HistoryOptions& options) {
  const HistoryReport history = Read(options);
  nb::list rows;
  for (const Trend& trend : history.trends) {
    for (std::size_t i = 0; i < trend.runs.size(); ++i) {
      const TrendPoint& point = trend.data.points[i];
      const TrendRun& run = trend.runs[i];
      nb::dict row;
      PutSeries(trend, row);
      row["commit"] = Text(point.commit);
      row["time"] = point.time;
      row["measured_at"] = point.measured_at;
      row["model_sha256"] = Text(point.model_sha256);
      row["runner_sha256"] = Text(point.runner_sha256);
      row["executorch_version"] = Text(point.executorch_version);
      row["reference"] = Text(point.reference);
      PutValue(run.latency, "latency_ns", "latency_low_ns", "latency_high_ns", row);
      PutValue(run.relative, "relative", "relative_low", "relative_high", row);
      row["self_ns"] = point.self.mean;
      row["launches"] = run.launches;
      row["clean_runs"] = run.clean_runs;
      row["runs"] = run.runs;
      const HistoryConditions& conditions = point.conditions;
      row["rounds"] = conditions.rounds;
      row["hot_rounds"] = conditions.hot_rounds;
      row["capped_rounds"] = conditions.capped_rounds;
      row["repeated_bursts"] = conditions.repeated_bursts;
      row["celsius"] = conditions.celsius;
      row["load"] = conditions.load;
      row["frequency_khz"] = conditions.frequency_khz;
      rows.append(row);
    }
  }
  return rows;
}

nb::list ChangeRows(const HistoryOptions& options) {
  const HistoryReport history = Read(options);
  nb::list rows;
  const auto add = [&](const Trend& trend, const OperatorTrend* op, bool relative, const TrendChange& change) {
    const auto commit = [&](std::size_t run) { return Text(trend.data.points[run].commit); };
    nb::dict row;
    PutSeries(trend, row);
    row["operator"] = op != nullptr ? Text(op->name) : nb::none();
    row["key"] = op != nullptr ? Text(op->key) : nb::none();
    row["share"] = op != nullptr ? nb::cast(op->share) : nb::none();
    row["commit"] = commit(change.at);
    row["after"] = commit(change.before);
    row["not_after"] = commit(change.after);
    row["change"] = change.growth;
    row["change_low"] = change.low;
    row["change_high"] = change.high;
    row["p_value"] = change.p_value;
    row["relative"] = relative;
    row["cause"] = Text(NameOf(change.cause));
    row["differs"] = Text(change.differs);
    row["counts"] = change.counts;
    rows.append(row);
  };
  for (const Trend& trend : history.trends) {
    for (const TrendChange& change : trend.changes) add(trend, nullptr, trend.relative, change);
    for (const OperatorTrend& op : trend.operators) {
      for (const TrendChange& change : op.changes) add(trend, &op, op.relative, change);
    }
  }
  return rows;
}

HistoryFilter FilterOf(const std::string& model, const std::string& device, const std::string& experiment,
                       const std::string& operator_name, std::size_t last) {
  return {model, device, experiment, operator_name, false, last};
}

}  // namespace

void BindHistory(nb::module_& module) {
  module.def("history_add", [](const std::string& file, const std::vector<std::string>& runs,
                               const std::string& commit, const std::string& time, const std::string& reference) {
    return AddRuns({file, runs, commit, time, reference});
  }, "file"_a, "runs"_a, "commit"_a, "time"_a, "reference"_a);
  module.def("history_trends", [](const std::string& file, const std::string& model, const std::string& device,
                                  const std::string& experiment, const std::string& operator_name, std::size_t last) {
    return TrendRows({file, FilterOf(model, device, experiment, operator_name, last), {}});
  }, "file"_a, "model"_a, "device"_a, "experiment"_a, "operator"_a, "last"_a);
  module.def("history_changes", [](const std::string& file, const std::string& model, const std::string& device,
                                   const std::string& experiment, const std::string& operator_name, std::size_t last,
                                   const std::string& since) {
    HistoryFilter filter = FilterOf(model, device, experiment, operator_name, last);
    filter.operators = operator_name.empty();
    TrendOptions trends;
    trends.since = since;
    return ChangeRows({file, filter, trends});
  }, "file"_a, "model"_a, "device"_a, "experiment"_a, "operator"_a, "last"_a, "since"_a);
}

}  // namespace etprof
