#include <algorithm>
#include <numeric>

#include "report/findings/robust.h"

namespace etprof {
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
