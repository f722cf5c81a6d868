// The runs of a project over time, column by column, for python/etprof/history.py.
#include "commands/gate/history.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "native.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace etprof {
namespace {

nb::list AddRuns(const AddToHistoryOptions& options) {
  const HistoryAdditions additions = [&] {
    const nb::gil_scoped_release gil_released;
    return AddToHistory(options);
  }();
  using AddOutcome = HistoryFile::AddOutcome;
  nb::list runs;
  for (const HistoryAdditions::Run& run : additions.runs) {
    nb::dict entry;
    entry["run"] = Text(run.path);
    entry["commit"] = Text(additions.commit);
    entry["result"] = run.added == AddOutcome::kNew        ? "added"
                      : run.added == AddOutcome::kReplaced ? "replaced"
                                                           : "already there";
    nb::list omissions;
    for (const std::string& clause : run.omitted_experiments) omissions.append(Text(clause));
    entry["left_out"] = omissions;
    runs.append(entry);
  }
  return runs;
}

HistoryReport ReadWithoutGil(const HistoryOptions& options) {
  const nb::gil_scoped_release gil_released;
  return ReadHistory(options);
}

// Collects the columns that Row::Describe lists, each as a tuple of name, kind, and values.
// python/etprof/history.py makes the arrays. The kind "name" is for texts that repeat, "text" for other
// texts.
template <typename Row>
struct Columns {
  const std::vector<Row>& rows;
  nb::list result = {};

  void operator()(const std::string& name, const char* kind, auto get_value) {
    nb::list values;
    for (const Row& row : rows) values.append(get_value(row));
    result.append(nb::make_tuple(name, kind, values));
  }
};

template <typename Row>
nb::list MakeColumns(const std::vector<Row>& rows) {
  Columns<Row> columns{rows};
  Row::Describe(columns);
  return columns.result;
}

template <typename Row>
void DescribeSeries(auto& v) {
  using R = const Row&;
  v("series", "name", [](R row) { return Text(GetName(row.trend.data.key)); });
  v("model", "name", [](R row) { return Text(row.trend.data.key.model); });
  v("method", "name", [](R row) { return Text(row.trend.data.key.method); });
  v("experiment", "name", [](R row) { return Text(row.trend.data.key.experiment); });
  v("threads", "int32", [](R row) { return row.trend.data.key.threads; });
  v("settings", "name", [](R row) { return Text(row.trend.data.key.settings); });
  v("device", "name", [](R row) { return Text(row.trend.data.key.device); });
}

// A run of a series, with its trend.
struct TrendRow {
  const Trend& trend;
  const TrendPoint& point;
  const TrendRun& run;

  static void Describe(auto& v) {
    using R = const TrendRow&;
    // Three columns of an estimate with its interval: name "latency", unit "_ns".
    const auto estimate = [&](const std::string& name, const std::string& unit, auto get) {
      using Number = std::optional<double>;
      v(name + unit, "float64", [get](R row) { return get(row) ? Number(get(row)->mean) : Number(); });
      v(name + "_low" + unit, "float64", [get](R row) { return get(row) ? get(row)->low : Number(); });
      v(name + "_high" + unit, "float64", [get](R row) { return get(row) ? get(row)->high : Number(); });
    };
    DescribeSeries<TrendRow>(v);
    v("commit", "text", [](R row) { return Text(row.point.commit); });
    v("time", "time", [](R row) { return row.point.time; });
    v("measured_at", "time", [](R row) { return row.point.measured_at; });
    v("model_sha256", "name", [](R row) { return Text(row.point.model_sha256); });
    v("runner_sha256", "name", [](R row) { return Text(row.point.runner_sha256); });
    v("executorch_version", "name", [](R row) { return Text(row.point.executorch_version); });
    v("reference", "name", [](R row) { return Text(row.point.reference); });
    estimate("latency", "_ns", [](R row) { return row.run.latency; });
    estimate("relative", "", [](R row) { return row.run.relative; });
    v("self_ns", "float64", [](R row) { return row.point.self.mean; });
    v("launches", "int64", [](R row) { return row.run.launches; });
    v("clean_runs", "int64", [](R row) { return row.run.clean_runs; });
    v("runs", "int64", [](R row) { return row.run.runs; });
    v("rounds", "int64", [](R row) { return row.point.conditions.rounds; });
    v("hot_rounds", "int64", [](R row) { return row.point.conditions.hot_rounds; });
    v("capped_rounds", "int64", [](R row) { return row.point.conditions.capped_rounds; });
    v("repeated_bursts", "int64", [](R row) { return row.point.conditions.repeated_bursts; });
    v("celsius", "float64", [](R row) { return row.point.conditions.celsius; });
    v("load", "float64", [](R row) { return row.point.conditions.load; });
    v("frequency_khz", "int64", [](R row) { return row.point.conditions.frequency_khz; });
  }
};

// A change of a series' latency, or of an operator's self time.
struct ChangeRow {
  const Trend& trend;
  const OperatorTrend* op;  // null: a change of the latency
  const TrendChange& change;

  static void Describe(auto& v) {
    using R = const ChangeRow&;
    const auto commit = [](R row, std::size_t run) { return Text(row.trend.data.points[run].commit); };
    DescribeSeries<ChangeRow>(v);
    v("operator", "text", [](R row) { return row.op != nullptr ? Text(row.op->name) : nb::none(); });
    v("key", "text", [](R row) { return row.op != nullptr ? Text(row.op->key) : nb::none(); });
    v("share", "float64",
      [](R row) { return row.op != nullptr ? std::optional(row.op->share) : std::nullopt; });
    v("commit", "text", [commit](R row) { return commit(row, row.change.first_run); });
    v("after", "text", [commit](R row) { return commit(row, row.change.before); });
    v("not_after", "text", [commit](R row) { return commit(row, row.change.after); });
    v("change", "float64", [](R row) { return row.change.growth; });
    v("change_low", "float64", [](R row) { return row.change.low; });
    v("change_high", "float64", [](R row) { return row.change.high; });
    v("p_value", "float64", [](R row) { return row.change.p_value; });
    v("relative", "bool", [](R row) { return row.op != nullptr ? row.op->relative : row.trend.relative; });
    v("cause", "name", [](R row) { return Text(GetName(row.change.cause)); });
    v("differs", "text", [](R row) { return Text(row.change.differs); });
    v("counts", "bool", [](R row) { return row.change.is_relevant; });
  }
};

nb::list ReadTrendColumns(const HistoryOptions& options) {
  const HistoryReport history = ReadWithoutGil(options);
  std::vector<TrendRow> rows;
  for (const Trend& trend : history.trends) {
    for (std::size_t i = 0; i < trend.runs.size(); ++i)
      rows.push_back({trend, trend.data.points[i], trend.runs[i]});
  }
  return MakeColumns(rows);
}

nb::list ReadChangeColumns(const HistoryOptions& options) {
  const HistoryReport history = ReadWithoutGil(options);
  std::vector<ChangeRow> rows;
  for (const Trend& trend : history.trends) {
    for (const TrendChange& change : trend.changes) rows.push_back({trend, nullptr, change});
    for (const OperatorTrend& op : trend.operators) {
      for (const TrendChange& change : op.changes) rows.push_back({trend, &op, change});
    }
  }
  return MakeColumns(rows);
}

HistoryFilter MakeFilter(const std::string& model, const std::string& device, const std::string& experiment,
                         const std::string& operator_name, std::size_t last) {
  return {model, device, experiment, operator_name, false, last};
}

}  // namespace

void BindHistory(nb::module_& module) {
  module.def(
      "history_add",
      [](const std::string& file, const std::vector<std::string>& runs, const std::string& commit,
         const std::string& time, const std::string& reference, const std::string& device_name) {
        return AddRuns({{file, commit, reference, device_name}, runs, time});
      },
      "file"_a, "runs"_a, "commit"_a, "time"_a, "reference"_a, "device_name"_a);
  module.def(
      "history_trends",
      [](const std::string& file, const std::string& model, const std::string& device,
         const std::string& experiment, const std::string& operator_name, std::size_t last) {
        return ReadTrendColumns({file, MakeFilter(model, device, experiment, operator_name, last), {}});
      },
      "file"_a, "model"_a, "device"_a, "experiment"_a, "operator"_a, "last"_a);
  module.def(
      "history_changes",
      [](const std::string& file, const std::string& model, const std::string& device,
         const std::string& experiment, const std::string& operator_name, std::size_t last,
         const std::string& since) {
        HistoryFilter filter = MakeFilter(model, device, experiment, operator_name, last);
        filter.with_operators = operator_name.empty();
        TrendOptions trends;
        trends.since = since;
        return ReadChangeColumns({file, filter, trends});
      },
      "file"_a, "model"_a, "device"_a, "experiment"_a, "operator"_a, "last"_a, "since"_a);
}

}  // namespace etprof
