#include "report/findings/contention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "report/findings/insight_words.h"

namespace etprof {
namespace {

// Reading the clocks takes part of a microsecond, which processor time holds and wall time does not.
constexpr double kLeastDisagreement = 0.02;

}  // namespace

std::string CleanCount(std::int64_t clean, std::int64_t all) {
  return fmt::format("{} of {} run{}", FormatCount(clean), FormatCount(all), all == 1 ? "" : "s");
}

std::string CleanText(const Comparison& comparison) {
  return fmt::format("{} of {} and {} of {} had a processor whenever they wanted one",
                     CleanCount(comparison.baseline_clean.clean, comparison.baseline_clean.all),
                     comparison.baseline_label,
                     CleanCount(comparison.candidate_clean.clean, comparison.candidate_clean.all),
                     comparison.candidate_label);
}

std::optional<NoiseFinding> FindContended(const Report& report, const ReportComparison& pair) {
  const Comparison& comparison = pair.comparison;
  if (comparison.latency.verdict != stats::Verdict::kContended) return std::nullopt;
  const auto all = [&](std::size_t index) {
    const ReportExperiment& experiment = report.experiments[index];
    return fmt::format("{}: median of all runs {}, p99 {}", experiment.label,
                       Ms(experiment.latency_of_all.p50.value_or(0)),
                       Ms(experiment.latency_of_all.p99.value_or(0)));
  };
  const bool more_threads = report.experiments[pair.candidate].threads > 1;
  const auto& load = report.run.other_load_during;
  const std::string users = load ? LoadUsersText(*load) : "";
  return NoiseFinding{
      report.experiments[pair.candidate].latency_of_all.p50.value_or(0),
      fmt::format("Contended: {}{}. No speedup is reported. Stop the other processes{}, or allow more time "
                  "(--max-seconds).",
                  CleanText(comparison), users.empty() ? "" : "; " + users,
                  more_threads ? ", use fewer threads" : ""),
      {all(pair.baseline), all(pair.candidate)},
      "a run is clean if its threads waited for a processor for at most 1% of its time; an interval takes "
      "clean "
      "runs of both variants in at least 6 launches"};
}

std::optional<NoiseFinding> FindCpuTime(const Report& report, const ReportComparison& pair) {
  const ReportExperiment& baseline = report.experiments[pair.baseline];
  const ReportExperiment& candidate = report.experiments[pair.candidate];
  const auto& estimate = pair.comparison.latency.estimate;
  if (!estimate || !baseline.cpu_time || !candidate.cpu_time || *candidate.cpu_time <= 0 ||
      baseline.threads != candidate.threads)
    return std::nullopt;
  const double ratio = *baseline.cpu_time / *candidate.cpu_time;
  const double margin = std::max(estimate->half_width(), kLeastDisagreement);
  if (std::fabs(std::log(ratio) - estimate->log_ratio) <= std::log1p(margin)) return std::nullopt;
  return NoiseFinding{
      std::fabs(*candidate.cpu_time - candidate.latency.p50.value_or(*candidate.cpu_time)),
      fmt::format(
          "Wall time and CPU time disagree: {:.2f}x in wall time [{:.2f}, {:.2f}], {:.2f}x in CPU time. "
          "Likely cause: one variant waits (for memory, I/O, or another processor), or its threads spin.",
          estimate->ratio(), estimate->low(), estimate->high(), ratio),
      {fmt::format("{}: CPU time of a run {}", baseline.label, Ms(*baseline.cpu_time)),
       fmt::format("{}: CPU time of a run {}", candidate.label, Ms(*candidate.cpu_time))},
      "medians over the clean runs of the processor time of all threads; reported where its ratio lies "
      "outside of "
      "the interval of the wall time's by more than the interval's half-width, and by 2%"};
}

}  // namespace etprof
