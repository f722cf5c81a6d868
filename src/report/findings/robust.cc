#include "report/findings/robust.h"

namespace etprof {

RobustLatency DescribeRobustly(const std::vector<double>& latencies) {
  RobustLatency robust;
  robust.all = stats::Describe(latencies);
  robust.fences = stats::TukeyFences(latencies);
  if (latencies.empty()) return robust;
  std::vector<double> sorted = latencies;
  stats::Sort(sorted);
  robust.p75 = stats::Quantile(sorted, 0.75);
  std::vector<double> inside;
  for (const double latency : latencies)
    (robust.fences.Contains(latency) ? inside : robust.outliers).push_back(latency);
  robust.inside = stats::Describe(std::move(inside));
  return robust;
}

LatencySeries LatencySeriesOf(const Report& report, const ReportExperiment& experiment) {
  LatencySeries series;
  if (experiment.latency.n == 0) return series;
  if (!experiment.latency_from_trace) {
    for (const Nanoseconds latency : report.run.experiments[experiment.index].DescribedLatencies()) {
      series.run.push_back(series.ns.size());
      series.ns.push_back(static_cast<double>(latency));
    }
    return series;
  }
  const Profile& profile = *experiment.profile;
  for (const std::size_t run : profile.DescribedRuns()) {
    series.run.push_back(run);
    series.ns.push_back(static_cast<double>(profile.runs[run].total));
  }
  return series;
}

}  // namespace etprof
