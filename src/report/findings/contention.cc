#include "report/findings/contention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"

namespace etprof {
namespace {

// Reading the clocks takes part of a microsecond, which processor time holds and wall time does not.
constexpr double kLeastDisagreement = 0.02;

// "1,204 of 1,960 runs".
std::string CleanCount(std::int64_t clean, std::int64_t all) {
  return fmt::format("{} of {}", FormatCount(clean), CountedText(all, "run"));
}

}  // namespace

std::string CleanText(const Comparison& comparison) {
  return fmt::format("{} of {} and {} of {} had a processor whenever they wanted one",
                     CleanCount(comparison.baseline_clean.clean, comparison.baseline_clean.all),
                     comparison.baseline_label,
                     CleanCount(comparison.candidate_clean.clean, comparison.candidate_clean.all),
                     comparison.candidate_label);
}

std::optional<Insight> FindContended(const Report& report, const ReportComparison& pair) {
  if (pair.comparison.latency.verdict != stats::Verdict::kContended) return std::nullopt;
  return Insight{finding::Contended(), report.experiments[pair.candidate].latency_of_all.p50.value_or(0)};
}

std::optional<Insight> FindCpuTime(const Report& report, const ReportComparison& pair) {
  const ReportExperiment& baseline = report.experiments[pair.baseline];
  const ReportExperiment& candidate = report.experiments[pair.candidate];
  const auto& estimate = pair.comparison.latency.estimate;
  if (!estimate || !baseline.cpu_time || !candidate.cpu_time || *candidate.cpu_time <= 0 ||
      baseline.threads != candidate.threads)
    return std::nullopt;
  const double ratio = *baseline.cpu_time / *candidate.cpu_time;
  const double margin = std::max(estimate->half_width(), kLeastDisagreement);
  if (std::fabs(std::log(ratio) - estimate->log_ratio) <= std::log1p(margin)) return std::nullopt;
  return Insight{finding::CpuTimeApart{*baseline.cpu_time, *candidate.cpu_time},
                 std::fabs(*candidate.cpu_time - candidate.latency.p50.value_or(*candidate.cpu_time))};
}

}  // namespace etprof
