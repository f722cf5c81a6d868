#include <numeric>

#include "report/report.h"

namespace etprof {
namespace {

// The runs that the headline is of, ns.
std::vector<double> HeadlineRuns(const Report& report, const ReportExperiment& experiment) {
  if (!experiment.latency_from_trace) {
    const std::vector<Nanoseconds> recorded = report.run.experiments[experiment.index].DescribedLatencies();
    return {recorded.begin(), recorded.end()};
  }
  const Profile& profile = *experiment.profile;
  std::vector<double> totals;
  for (const std::size_t run : profile.DescribedRuns())
    totals.push_back(static_cast<double>(profile.runs[run].total));
  return totals;
}

// Experiments that belong together, each named by the first one of its set.
class Sets {
 public:
  explicit Sets(std::size_t count) : first_(count) {
    std::iota(first_.begin(), first_.end(), std::size_t{0});
  }
  std::size_t Of(std::size_t experiment) const { return first_[experiment]; }
  void Join(std::size_t a, std::size_t b) {
    const std::size_t kept = std::min(Of(a), Of(b));
    const std::size_t gone = std::max(Of(a), Of(b));
    for (std::size_t& first : first_) {
      if (first == gone) first = kept;
    }
  }

 private:
  std::vector<std::size_t> first_;
};

}  // namespace

std::vector<LatencyPlot> FindLatencyPlots(const Report& report) {
  Sets sets(report.experiments.size());
  for (const ReportComparison& pair : report.comparisons) sets.Join(pair.baseline, pair.candidate);
  if (report.ladder) {
    for (std::size_t i = 1; i < report.experiments.size(); ++i) sets.Join(0, i);
  }
  for (const Matrix& matrix : report.matrices) {
    for (const std::size_t candidate : matrix.candidates) sets.Join(matrix.baseline, candidate);
  }
  std::vector<LatencyPlot> plots;
  for (std::size_t first = 0; first < report.experiments.size(); ++first) {
    LatencyPlot plot;
    std::vector<std::vector<double>> runs;
    for (std::size_t i = first; i < report.experiments.size(); ++i) {
      if (sets.Of(i) != first || report.experiments[i].latency.n == 0) continue;
      plot.experiments.push_back(i);
      runs.push_back(HeadlineRuns(report, report.experiments[i]));
    }
    if (plot.experiments.empty()) continue;
    plot.histogram = stats::MakeSharedHistogram(runs);
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace etprof
