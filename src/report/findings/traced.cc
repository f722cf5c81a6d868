#include "report/findings/traced.h"

#include <cmath>
#include <utility>

namespace etprof {
namespace {

// The fastest runs were disturbed least, so the difference between the fastest traced and untraced runs is
// the cost of tracing.
finding::TracingCause FindTracingCause(const ReportExperiment& experiment, const TracedGap& gap) {
  using Cause = finding::TracingCause::Kind;
  const double difference = gap.traced - gap.untraced;
  if (difference < 0) return {.kind = Cause::kDisturbedUntraced};
  if (!experiment.traced.min || !experiment.latency.min || !experiment.profile) return {};
  const double fastest_difference = *experiment.traced.min - *experiment.latency.min;
  finding::TracingCause cause{Cause::kTracer, *experiment.traced.min, 0,
                              experiment.profile->operators.size()};
  cause.ns_per_event = fastest_difference / static_cast<double>(cause.events);
  // An event reads a clock twice and writes a record; the limit includes slow cores.
  constexpr double kMaxNsPerEvent = 10'000;  // ns
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
  const auto before = QuotientIfDefined(comparison.baseline_total, comparison.baseline_runs);
  const auto after = QuotientIfDefined(comparison.candidate_total, comparison.candidate_runs);
  if (!headline || !before || !after || *before <= 0 || *after <= 0) return std::nullopt;
  const double ratio = *before / *after;
  const bool within =
      ratio >= headline->low() / (1 + kMaxTracedGap) && ratio <= headline->high() * (1 + kMaxTracedGap);
  return within ? std::nullopt : std::optional(ratio);
}

std::optional<Finding> FindTracingDiscrepancy(const ReportExperiment& experiment) {
  const auto gap = FindTracedGap(experiment);
  if (!gap || !TracedTimesDisagree(experiment)) return std::nullopt;
  return Finding{finding::TracingDiscrepancy{*gap, FindTracingCause(experiment, *gap)},
                 std::fabs(gap->traced - gap->untraced)};
}

std::optional<Finding> FindTracedSpeedupDiscrepancy(const Comparison& comparison,
                                                    const ReportExperiment& baseline,
                                                    const ReportExperiment& candidate) {
  const auto ratio = TracedSpeedupDiscrepancy(comparison);
  const auto before = baseline.MeanExecute();
  const auto after = candidate.MeanExecute();
  if (!ratio || !before || !after) return std::nullopt;
  finding::TracedSpeedupDiscrepancy discrepancy{*ratio, *before, *after,
                                                {},     {},      TracedTimesDisagree(candidate)};
  const auto gap_before = FindTracedGap(baseline);
  const auto gap_after = FindTracedGap(candidate);
  if (gap_before && gap_after) {
    discrepancy.baseline = {*gap_before, FindTracingCause(baseline, *gap_before)};
    discrepancy.candidate = {*gap_after, FindTracingCause(candidate, *gap_after)};
  }
  return Finding{std::move(discrepancy), std::fabs(*after - *before / comparison.latency.estimate->ratio())};
}

}  // namespace etprof
