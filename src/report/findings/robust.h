#pragma once

#include <optional>
#include <vector>

#include "report/report.h"
#include "stats/distribution.h"

namespace etprof {

// Latency statistics that a few disturbed runs do not affect, all in ns.
struct RobustLatency {
  stats::Distribution all;  // all values
  std::optional<double> p75;
  stats::Fences fences{0, 0};         // stats::TukeyFences; infinite for fewer than four values
  std::vector<double> outliers;       // values outside the fences, in the order they were measured
  stats::Distribution within_fences;  // values within the fences
};
RobustLatency SummarizeWithoutOutliers(const std::vector<double>& latencies);

// The runs from which ReportExperiment::latency is computed, in execution order.
struct LatencySeries {
  std::vector<double> ns;
  // The index of each run among the recorded runs, or among the runs of the ETDump if the latency is from the
  // trace.
  std::vector<std::size_t> run_indices;
};
LatencySeries CollectLatencySeries(const Report& report, const ReportExperiment& experiment);

}  // namespace etprof
