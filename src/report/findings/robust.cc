#include "report/findings/robust.h"

#include <algorithm>
#include <iterator>

namespace etprof {

RobustLatency DescribeWithoutOutliers(const std::vector<double>& latencies) {
  RobustLatency robust;
  std::vector<double> sorted = latencies;
  const bool whole = stats::Sort(sorted);
  robust.all = stats::DescribeSorted(sorted, whole);
  robust.fences = stats::TukeyFencesSorted(sorted);
  if (latencies.empty()) return robust;
  robust.p75 = stats::Quantile(sorted, 0.75);
  const auto is_outlier = [&](double latency) { return !robust.fences.Contains(latency); };
  std::ranges::copy_if(latencies, std::back_inserter(robust.outliers), is_outlier);
  std::erase_if(sorted, is_outlier);
  robust.inside = stats::DescribeSorted(sorted, whole);
  return robust;
}

LatencySeries CollectLatencySeries(const Report& report, const ReportExperiment& experiment) {
  LatencySeries series;
  if (experiment.latency.n == 0) return series;
  if (!experiment.latency_from_trace) {
    for (const Nanoseconds latency : report.run.experiments[experiment.index].CleanOrAllLatencies()) {
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
