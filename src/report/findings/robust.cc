#include "report/findings/robust.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace etprof {

RobustLatency SummarizeWithoutOutliers(const std::vector<double>& latencies) {
  RobustLatency robust;
  std::vector<double> sorted = latencies;
  const bool are_integers = stats::Sort(sorted);
  robust.all = stats::SummarizeSorted(sorted, are_integers);
  robust.fences = stats::TukeyFencesSorted(sorted);
  if (latencies.empty()) return robust;
  robust.p75 = stats::Quantile(sorted, 0.75);
  const auto is_outlier = [&](double latency) { return !robust.fences.Contains(latency); };
  std::ranges::copy_if(latencies, std::back_inserter(robust.outliers), is_outlier);
  std::erase_if(sorted, is_outlier);
  robust.within_fences = stats::SummarizeSorted(sorted, are_integers);
  return robust;
}

LatencySeries CollectLatencySeries(const Report& report, const ReportExperiment& experiment) {
  LatencySeries series;
  if (experiment.latency.n == 0) return series;
  if (!experiment.latency_from_trace) {
    for (const Nanoseconds latency : report.run.experiments[experiment.index].CleanOrAllLatencies()) {
      series.run_indices.push_back(series.ns.size());
      series.ns.push_back(static_cast<double>(latency));
    }
    return series;
  }
  const Profile& profile = *experiment.profile;
  for (const std::size_t run : profile.SteadyOrCommonRuns()) {
    series.run_indices.push_back(run);
    series.ns.push_back(static_cast<double>(profile.runs[run].total));
  }
  return series;
}

std::vector<LatencyPlot> FindLatencyPlots(const Report& report) {
  // Sets of experiments that are compared; each experiment has the index of the first one in its set.
  std::vector<std::size_t> sets(report.experiments.size());
  std::iota(sets.begin(), sets.end(), std::size_t{0});
  const auto join = [&](std::size_t a, std::size_t b) {
    const std::pair<std::size_t, std::size_t> firsts = std::minmax(sets[a], sets[b]);
    std::ranges::replace(sets, firsts.second, firsts.first);
  };
  for (const ReportComparison& pair : report.comparisons) join(pair.baseline, pair.candidate);
  if (report.ladder) std::ranges::fill(sets, std::size_t{0});
  for (const Matrix& matrix : report.matrices) {
    for (const std::size_t candidate : matrix.candidates) join(matrix.baseline, candidate);
  }
  std::vector<LatencyPlot> plots;
  for (std::size_t first = 0; first < report.experiments.size(); ++first) {
    LatencyPlot plot;
    std::vector<std::vector<double>> runs;
    for (std::size_t i = first; i < report.experiments.size(); ++i) {
      if (sets[i] != first || report.experiments[i].latency.n == 0) continue;
      plot.experiments.push_back(i);
      runs.push_back(CollectLatencySeries(report, report.experiments[i]).ns);
    }
    if (plot.experiments.empty()) continue;
    plot.histogram = stats::MakeSharedHistogram(runs);
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace etprof
