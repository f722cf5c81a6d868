#include "render/speedup_words.h"

#include <fmt/format.h>

namespace etprof {
namespace {

// Two decimals always, so that the product of the printed factors is the printed speedup.
std::string FactorTimes(double factor) { return fmt::format("{:.{}f}x", factor, factor < 99.5 ? 2 : 0); }

std::string Percent(double share) { return fmt::format("{:.{}f}%", share * 100, share < 0.0995 ? 1 : 0); }

}  // namespace

std::string FactorsText(const ReportComparison& pair) {
  if (!pair.factors) return "";
  const SpeedupFactors& factors = *pair.factors;
  // Of the slower variant: there they matter most.
  const bool slower = pair.comparison.latency.verdict == stats::Verdict::kSlower;
  const double share = slower ? factors.share_of_candidate : factors.share_of_baseline;
  constexpr double kSame = 0.005;
  const char* const use = factors.use() > 1 + kSame   ? "better use"
                          : factors.use() < 1 - kSame ? "worse use"
                                                      : "the same use";
  return fmt::format(
      "Of {} in {} compute-bound operator{} ({} of {}), {} is peak performance ({}) and {} is {} of it ({} "
      "to {} "
      "of peak).",
      FactorTimes(factors.ratio.ratio()), factors.operators, factors.operators == 1 ? "" : "s",
      Percent(share), slower ? pair.comparison.candidate_label : pair.comparison.baseline_label,
      FactorTimes(factors.peak()), factors.dtype, FactorTimes(factors.use()), use,
      Percent(factors.baseline_of_peak), Percent(factors.candidate_of_peak));
}

}  // namespace etprof
