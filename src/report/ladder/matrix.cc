#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "report/run/pair.h"

namespace etprof {
namespace {

class MatrixBuilder {
 public:
  MatrixBuilder(const Report& report, bool threads, std::size_t baseline) : report_(report) {
    matrix_.is_thread_sweep = threads;
    matrix_.baseline = baseline;
    const ReportExperiment& experiment = report.experiments[baseline];
    matrix_.latency = {.name = "Median latency", .baseline_ns = experiment.latency.p50};
    if (!experiment.profile) return;
    for (std::size_t i = 0; i + 1 < experiment.groups.rows.size(); ++i)  // without the last row, "Clipped"
      matrix_.groups.push_back({.name = experiment.groups.rows[i].name,
                                .baseline_ns = experiment.groups.rows[i].Mean(experiment.groups)});
    // The rows are in order of decreasing time.
    for (const OperatorRow& row : experiment.operators) {
      row_of_operator_[row.op] = matrix_.operators.size();
      const Operator& op = experiment.profile->operators[row.op];
      matrix_.operators.push_back({op.name, row.op, KeyText(op.key), row.mean_self_ns});
    }
  }

  void Add(std::size_t candidate, const Comparison& comparison) {
    matrix_.candidates.push_back(candidate);
    matrix_.interleaved = matrix_.interleaved && comparison.pairing == Pairing::kLaunches;
    const auto cell = [&](const TimeComparison& time) -> MatrixCell {
      if (!matrix_.is_thread_sweep) return {time, std::nullopt};
      return {time, ScalingEfficiency(time, report_.experiments[matrix_.baseline].threads,
                                      report_.experiments[candidate].threads)};
    };
    // Use the baseline's time of the comparison, which is the time in the runs that are compared.
    const auto set = [&](MatrixRow& row, const TimeComparison& time_comparison) {
      row.cells.back() = cell(time_comparison);
      if (time_comparison.baseline_ns) row.baseline_ns = time_comparison.baseline_ns;
    };
    matrix_.latency.cells.emplace_back();
    set(matrix_.latency, comparison.latency);
    for (MatrixRow& row : matrix_.groups) {
      row.cells.emplace_back();
      for (const DeltaRow& delta : comparison.groups) {
        if (delta.name == row.name) set(row, delta.time_comparison);
      }
    }
    for (MatrixRow& row : matrix_.operators) row.cells.emplace_back();
    for (const OperatorMatch& match : comparison.operators) {
      if (!match.baseline) continue;
      if (const auto row = row_of_operator_.find(*match.baseline); row != row_of_operator_.end())
        set(matrix_.operators[row->second], match.time_comparison);
    }
    matrix_.costs.push_back(CompareStartupCosts(
        {report_.run, report_.experiments[matrix_.baseline], report_.experiments[candidate]},
        comparison.pairing == Pairing::kLaunches));
  }

  Matrix Take() {
    std::erase_if(matrix_.groups, [](const MatrixRow& row) {
      return row.baseline_ns.value_or(0) == 0 &&
             std::ranges::all_of(
                 row.cells, [](const TimeComparison& time) { return time.candidate_ns.value_or(0) == 0; });
    });
    return std::move(matrix_);
  }

 private:
  const Report& report_;
  Matrix matrix_;
  std::map<std::size_t, std::size_t> row_of_operator_;  // from operator of the baseline's profile to row
};

// Groups experiments of the same name, each in order of ascending threads.
std::vector<std::vector<std::size_t>> FindSweeps(const Report& report) {
  std::vector<std::vector<std::size_t>> sweeps;
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const ExperimentData& data = report.DataAt(i);
    if (data.trace_enabled || report.experiments[i].latency.n == 0) continue;
    const auto [known, is_new] = place.try_emplace(data.name, sweeps.size());
    if (is_new) sweeps.emplace_back();
    sweeps[known->second].push_back(i);
  }
  const auto get_threads = [&](std::size_t i) { return report.experiments[i].threads; };
  for (auto& sweep : sweeps) {
    std::ranges::stable_sort(sweep, {}, get_threads);
  }
  // Experiments of the same name with the same or unknown numbers of threads are not a sweep, since they
  // cannot be distinguished.
  std::erase_if(sweeps, [&](const auto& sweep) {
    return sweep.size() < 2 || !get_threads(sweep.front()) ||
           std::ranges::adjacent_find(sweep, std::ranges::equal_to(), get_threads) != sweep.end();
  });
  return sweeps;
}

}  // namespace

std::vector<Matrix> FindMatrices(const Report& report) {
  std::vector<Matrix> matrices;
  std::set<std::pair<std::size_t, std::size_t>> in_sweep;
  for (const std::vector<std::size_t>& sweep : FindSweeps(report)) {
    MatrixBuilder builder(report, true, sweep.front());
    for (std::size_t i = 1; i < sweep.size(); ++i) {
      in_sweep.emplace(sweep.front(), sweep[i]);
      const ReportComparison* const known = FindComparison(report, sweep.front(), sweep[i]);
      builder.Add(sweep[i], known != nullptr
                                ? known->comparison
                                : CompareExperiments({report.run, report.experiments[sweep.front()],
                                                      report.experiments[sweep[i]]}));
    }
    matrices.push_back(builder.Take());
  }
  std::map<std::size_t, std::vector<const ReportComparison*>> by_baseline;
  for (const ReportComparison& pair : report.comparisons) {
    if (!in_sweep.contains({pair.baseline, pair.candidate})) by_baseline[pair.baseline].push_back(&pair);
  }
  for (const auto& [baseline, pairs] : by_baseline) {
    if (pairs.size() < 2) continue;
    MatrixBuilder builder(report, false, baseline);
    for (const ReportComparison* pair : pairs) builder.Add(pair->candidate, pair->comparison);
    matrices.push_back(builder.Take());
  }
  return matrices;
}

std::optional<double> SpeedupRatio(const TimeComparison& time_comparison) {
  if (time_comparison.verdict == stats::Verdict::kEmulated ||
      time_comparison.verdict == stats::Verdict::kContended) {
    return std::nullopt;
  }
  if (time_comparison.estimate) return time_comparison.estimate->ratio();
  if (!time_comparison.baseline_ns || !time_comparison.candidate_ns || *time_comparison.baseline_ns <= 0 ||
      *time_comparison.candidate_ns <= 0) {
    return std::nullopt;
  }
  return *time_comparison.baseline_ns / *time_comparison.candidate_ns;
}

std::optional<double> ScalingEfficiency(const TimeComparison& time_comparison,
                                        std::optional<int> baseline_threads, std::optional<int> threads) {
  const auto ratio = SpeedupRatio(time_comparison);
  if (!ratio || !baseline_threads || !threads) return std::nullopt;
  return *ratio * static_cast<double>(*baseline_threads) / static_cast<double>(*threads);
}

}  // namespace etprof
