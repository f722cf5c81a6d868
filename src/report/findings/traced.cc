#include "report/findings/traced.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "report/findings/insight_words.h"

namespace etprof {
namespace {

// "12% more".
std::string Change(const TracedGap& gap) {
  return fmt::format("{} {}", Percent(std::fabs(gap.relative())), gap.relative() < 0 ? "less" : "more");
}

// What probably sets them apart, and what helps. The fastest runs were disturbed least: what is between those
// is the tracer's own cost.
std::string LikelyCause(const ReportExperiment& experiment, const TracedGap& gap) {
  const double apart = gap.traced - gap.untraced;
  if (apart < 0) return "Likely cause: disturbed untraced runs. Measure again on an idle machine.";
  if (!experiment.traced.min || !experiment.latency.min || !experiment.profile) return "";
  const double of_fastest = *experiment.traced.min - *experiment.latency.min;
  if (of_fastest < apart / 2) {
    return fmt::format(
        "Likely cause: disturbed traced runs (the fastest takes {}). Measure again on an idle machine or "
        "with "
        "more traced runs (--runs).",
        TimesWithin(gap.traced).Text(*experiment.traced.min));
  }
  // A clock is read twice and a record written, on slow cores, too.
  constexpr double kMostOfAnEvent = 10'000;  // ns
  const std::size_t events = experiment.profile->operators.size();
  if (of_fastest > kMostOfAnEvent * static_cast<double>(events)) {
    return fmt::format(
        "Likely cause: a slower machine during traced runs (even the fastest takes {}). Measure again on an "
        "idle machine.",
        TimesWithin(gap.traced).Text(*experiment.traced.min));
  }
  return fmt::format("Likely cause: tracing overhead, about {} for each of {} events.",
                     FormatDuration(of_fastest / static_cast<double>(events)), events);
}

}  // namespace

std::optional<TracedGap> TracedGapOf(const ReportExperiment& experiment) {
  const auto traced = experiment.MeanExecute();
  const auto& untraced = experiment.latency.p50;
  if (experiment.latency_from_trace || !traced || *traced <= 0 || !untraced || *untraced <= 0)
    return std::nullopt;
  return TracedGap{*traced, *untraced};
}

bool TracedDisagree(const ReportExperiment& experiment) {
  const auto gap = TracedGapOf(experiment);
  return gap && std::fabs(gap->relative()) > kTracedApart;
}

std::optional<double> TracedRatioApart(const Comparison& comparison) {
  const auto& headline = comparison.latency.estimate;
  if (!headline || comparison.baseline_runs == 0 || comparison.candidate_runs == 0 ||
      comparison.baseline_total <= 0 || comparison.candidate_total <= 0)
    return std::nullopt;
  const double before =
      static_cast<double>(comparison.baseline_total) / static_cast<double>(comparison.baseline_runs);
  const double after =
      static_cast<double>(comparison.candidate_total) / static_cast<double>(comparison.candidate_runs);
  const double ratio = before / after;
  const bool within =
      ratio >= headline->low() / (1 + kTracedApart) && ratio <= headline->high() * (1 + kTracedApart);
  return within ? std::nullopt : std::optional(ratio);
}

std::optional<TracedFinding> FindTracedApart(const ReportExperiment& experiment) {
  const auto gap = TracedGapOf(experiment);
  if (!gap || !TracedDisagree(experiment)) return std::nullopt;
  const TimesWithin times(gap->traced);
  TracedFinding finding;
  finding.at_stake = std::fabs(gap->traced - gap->untraced);
  finding.text = fmt::format(
      "Traced runs take {} (mean), {} than the untraced median of {}. Operator times are from traced runs, "
      "so "
      "no upper bounds are reported. {}",
      times.Text(gap->traced), Change(*gap), times.Text(gap->untraced), LikelyCause(experiment, *gap));
  finding.evidence = {
      fmt::format("traced: fastest {}, mean {}", times.Text(experiment.traced.min.value_or(gap->traced)),
                  times.Text(gap->traced)),
      fmt::format("untraced: fastest {}, median {}",
                  times.Text(experiment.latency.min.value_or(gap->untraced)), times.Text(gap->untraced))};
  finding.formula = fmt::format(
      "mean Method::execute of the traced runs / median of the untraced ones, reported beyond {}; tracing "
      "overhead is the likely cause where the fastest runs are apart by at least half as much, and by at "
      "most "
      "10 µs per event",
      Percent(kTracedApart));
  return finding;
}

std::optional<TracedFinding> FindTracedRatioApart(const Comparison& comparison,
                                                  const ReportExperiment& baseline,
                                                  const ReportExperiment& candidate) {
  const auto ratio = TracedRatioApart(comparison);
  const auto before = baseline.MeanExecute();
  const auto after = candidate.MeanExecute();
  if (!ratio || !before || !after) return std::nullopt;
  const stats::RatioEstimate& headline = *comparison.latency.estimate;
  const TimesWithin times(std::max(*before, *after));
  TracedFinding finding;
  finding.at_stake = std::fabs(*after - *before / headline.ratio());
  finding.text = fmt::format(
      "Operator and group times of {} and {} add up to {:.2f}x ({} to {}), not to the measured speedup of "
      "{:.2f}x.",
      comparison.baseline_label, comparison.candidate_label, *ratio, times.Text(*before), times.Text(*after),
      headline.ratio());
  if (comparison.latency_from_trace)
    finding.text += " The measured speedup is of medians, the sums are of means, which slow runs raise.";
  const auto gap_before = TracedGapOf(baseline);
  const auto gap_after = TracedGapOf(candidate);
  if (gap_before && gap_after) {
    const bool before_is_worse = std::fabs(gap_before->relative()) > std::fabs(gap_after->relative());
    finding.text += fmt::format(
        " Traced runs take {} time than untraced ones in {} and {} in {}. {}", Change(*gap_before),
        comparison.baseline_label, Change(*gap_after), comparison.candidate_label,
        before_is_worse ? LikelyCause(baseline, *gap_before) : LikelyCause(candidate, *gap_after));
    for (const auto& [side, gap] : {std::pair{&baseline, *gap_before}, std::pair{&candidate, *gap_after}}) {
      finding.evidence.push_back(fmt::format("{}: mean of traced runs {}, median of untraced runs {}. {}",
                                             side->label, times.Text(gap.traced), times.Text(gap.untraced),
                                             LikelyCause(*side, gap)));
    }
  }
  finding.text += " Use the measured speedup: those of groups and operators are distorted.";
  if (TracedDisagree(candidate))
    finding.text += fmt::format(" No upper bounds are reported for {}.", comparison.candidate_label);
  finding.formula = fmt::format(
      "mean Method::execute of the baseline's traced runs / of the candidate's, reported where it lies "
      "outside "
      "of the speedup's interval widened by {}; at stake: the candidate's traced mean - (the baseline's / "
      "speedup)",
      Percent(kTracedApart));
  return finding;
}

}  // namespace etprof
