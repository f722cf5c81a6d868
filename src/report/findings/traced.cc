#include "report/findings/traced.h"

#include <cmath>
#include <utility>

namespace etprof {
namespace {

// The fastest runs were disturbed least, so the difference between the fastest traced and untraced runs is
// the cost of tracing.
finding::TracingCause FindTracingCause(const ReportExperiment& experiment, const TracedGap& gap) {
  using Cause = finding::TracingCause::Kind;
  const double difference = gap.traced_ns - gap.untraced_ns;
  if (difference < 0) return {.kind = Cause::kDisturbedUntraced};
  if (!experiment.traced.min || !experiment.latency.min || !experiment.profile) return {};
  const double fastest_difference = *experiment.traced.min - *experiment.latency.min;
  finding::TracingCause cause{Cause::kTracer, *experiment.traced.min, 0,
                              experiment.profile->operators.size()};
  cause.ns_per_event = fastest_difference / static_cast<double>(cause.events);
  // An event reads a clock twice and writes a record; the limit includes slow cores.
  constexpr double kMaxNsPerEvent = 10'000;
  if (fastest_difference < difference / 2) {
    cause.kind = Cause::kDisturbedTraced;
  } else if (fastest_difference > kMaxNsPerEvent * static_cast<double>(cause.events)) {
    cause.kind = Cause::kSlowerMachine;
  }
  return cause;
}

}  // namespace

std::optional<TracedGap> FindTracedGap(const ReportExperiment& experiment) {
  const auto traced = experiment.MeanExecute();
  const auto& untraced = experiment.latency.p50;
  if (experiment.latency_from_trace || !traced || *traced <= 0 || !untraced || *untraced <= 0)
    return std::nullopt;
  return TracedGap{*traced, *untraced};
}

bool TracedTimesDisagree(const ReportExperiment& experiment) {
  const auto gap = FindTracedGap(experiment);
  return gap && std::fabs(gap->relative()) > kMaxTracedGap;
}

bool TracedTimesWereDisturbed(const ReportExperiment& experiment) {
  using Cause = finding::TracingCause::Kind;
  if (!TracedTimesDisagree(experiment)) return false;
  const Cause cause = FindTracingCause(experiment, *FindTracedGap(experiment)).kind;
  return cause == Cause::kDisturbedTraced || cause == Cause::kDisturbedUntraced;
}

std::optional<double> TracedSpeedupDiscrepancy(const Comparison& comparison) {
  const auto& headline = comparison.latency.estimate;
  const auto baseline_mean = QuotientIfDefined(comparison.baseline_total, comparison.baseline_runs);
  const auto candidate_mean = QuotientIfDefined(comparison.candidate_total, comparison.candidate_runs);
  if (!headline || !baseline_mean || !candidate_mean || *baseline_mean <= 0 || *candidate_mean <= 0)
    return std::nullopt;
  const double ratio = *baseline_mean / *candidate_mean;
  const bool is_within_interval =
      ratio >= headline->low() / (1 + kMaxTracedGap) && ratio <= headline->high() * (1 + kMaxTracedGap);
  return is_within_interval ? std::nullopt : std::optional(ratio);
}

std::optional<Finding> FindTracingDiscrepancy(const ReportExperiment& experiment) {
  if (!TracedTimesDisagree(experiment)) return std::nullopt;
  const TracedGap gap = *FindTracedGap(experiment);
  return Finding{finding::TracingDiscrepancy{gap, FindTracingCause(experiment, gap)},
                 std::fabs(gap.traced_ns - gap.untraced_ns)};
}

std::optional<Finding> FindTracedSpeedupDiscrepancy(const Comparison& comparison,
                                                    const ReportExperiment& baseline,
                                                    const ReportExperiment& candidate) {
  const auto ratio = TracedSpeedupDiscrepancy(comparison);
  const auto baseline_mean = baseline.MeanExecute();
  const auto candidate_mean = candidate.MeanExecute();
  if (!ratio || !baseline_mean || !candidate_mean) return std::nullopt;
  finding::TracedSpeedupDiscrepancy discrepancy{
      *ratio, *baseline_mean, *candidate_mean, {}, {}, TracedTimesDisagree(candidate)};
  const auto baseline_gap = FindTracedGap(baseline);
  const auto candidate_gap = FindTracedGap(candidate);
  if (baseline_gap && candidate_gap) {
    discrepancy.baseline = {*baseline_gap, FindTracingCause(baseline, *baseline_gap)};
    discrepancy.candidate = {*candidate_gap, FindTracingCause(candidate, *candidate_gap)};
  }
  return Finding{std::move(discrepancy),
                 std::fabs(*candidate_mean - *baseline_mean / comparison.latency.estimate->ratio())};
}

}  // namespace etprof
