#pragma once

#include <optional>
#include <vector>

#include "report/report.h"
#include "stats/distribution.h"

namespace etprof {

// Latency statistics that a few disturbed runs do not move, all in ns.
struct RobustLatency {
  stats::Distribution all;       // of every value
  std::optional<double> p75;     // as stats::Quantile
  stats::Fences fences{0, 0};    // stats::TukeyFences; infinite for fewer than four values
  std::vector<double> outliers;  // values outside the fences, in the order they were measured
  stats::Distribution inside;    // of the values within the fences
};
RobustLatency DescribeRobustly(const std::vector<double>& latencies);

// The runs that ReportExperiment::latency is made of, in the order they ran.
struct LatencySeries {
  std::vector<double> ns;
  // Run by run: its place among the recorded runs, or among the runs of the ETDump where the latency is the
  // traced one.
  std::vector<std::size_t> run;
};
LatencySeries LatencySeriesOf(const Report& report, const ReportExperiment& experiment);

}  // namespace etprof
