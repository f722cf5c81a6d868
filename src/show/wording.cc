#include "show/wording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string_view>

#include "core/json/describe.h"
#include "core/units.h"
#include "core/views.h"
#include "report/findings/traced.h"
#include "stats/summary_rounding.h"

namespace etprof {
namespace {

// "−14%", "+3.2%", "0%".
std::string SignedPercentText(double relative) {
  const double percent = std::fabs(relative * 100);
  if (percent < 0.05) return "0%";
  return fmt::format("{}{:.{}f}%", relative < 0 ? "−" : "+", percent, percent < 9.95 ? 1 : 0);
}

bool Differs(stats::Verdict verdict) {
  return verdict == stats::Verdict::kFaster || verdict == stats::Verdict::kSlower;
}

// A bound of a ratio outside of these limits carries no information.
constexpr double kMinBound = 0.005, kMaxBound = 10'000;

// Prints enough digits to show the width; empty if a bound carries no information.
std::string IntervalOrEmpty(double low, double high) {
  if (!(low >= kMinBound && high <= kMaxBound)) return "";
  const double width = high - low;
  int decimals = 2;
  if (width < 0.02) decimals = 3;
  if (low >= 10) decimals = 1;
  return fmt::format("[{:.{}f}, {:.{}f}]", low, decimals, high, decimals);
}

double UnitsPerNs(const TimeScale& scale) {
  double factor = 1 / scale.unit_ns;
  for (int i = 0; i < scale.decimals; ++i) factor *= 10;
  return factor;
}

}  // namespace

std::string TimeScale::Number(double ns) const {
  return FormatUnits(std::llround(ns * UnitsPerNs(*this)), ns);
}
std::string TimeScale::FormatUnits(std::int64_t units) const {
  double value = static_cast<double>(units);
  for (int i = 0; i < decimals; ++i) value /= 10;
  return fmt::format("{}{:.{}f}", value < 0 ? "−" : "", std::fabs(value), decimals);
}
std::string TimeScale::FormatUnits(std::int64_t units, double ns) const {
  return units != 0 || ns == 0 ? FormatUnits(units) : (ns < 0 ? ">−" : "<") + FormatUnits(1);
}
std::string TimeScale::Text(double ns) const { return Number(ns) + ' ' + unit; }

TimeScale ScaleFor(double smallest, double largest) {
  TimeScale scale;
  if (smallest < 1e6) {
    scale.unit_ns = 1e3;
    scale.unit = "µs";
  }
  if (largest / scale.unit_ns < 10) scale.decimals = 3;
  if (largest / scale.unit_ns >= 100) scale.decimals = 1;
  if (largest / scale.unit_ns >= 10'000) scale.decimals = 0;
  return scale;
}

std::vector<std::int64_t> RoundToUnits(const std::vector<std::vector<double>>& groups_ns,
                                       const TimeScale& scale) {
  std::vector<std::int64_t> result;
  double remainder = 0;  // exact sum of the parts so far minus the sum of the rounded parts
  for (const std::vector<double>& group : groups_ns) {
    std::vector<double> units = MapEach(group, [&](double ns) { return ns * UnitsPerNs(scale); });
    if (units.empty()) continue;
    units.front() += remainder;
    remainder = std::reduce(units.begin(), units.end());
    for (const std::int64_t rounded : stats::LargestRemainder(units)) {
      remainder -= static_cast<double>(rounded);
      result.push_back(rounded);
    }
  }
  return result;
}

double MeanPerRun(Nanoseconds total, std::int64_t runs) {
  return runs > 0 ? static_cast<double>(total) / static_cast<double>(runs) : 0;
}

std::string PercentText(double share) {
  const double percent = share * 100;
  if (!std::isfinite(percent)) return kUndefined;
  if (percent > 0 && percent < 0.05) return "<0.1%";
  if (percent < 0 && percent > -0.05) return ">−0.1%";
  if (percent >= 99.5 && percent < 100) return ">99%";
  const double size = std::fabs(percent);
  return fmt::format("{}{:.{}f}%", percent < 0 ? "−" : "", size, size >= 9.95 || size == 0 ? 0 : 1);
}

std::string RatioText(double ratio) {
  if (!std::isfinite(ratio)) return kUndefined;
  if (ratio >= 99.5) return fmt::format("{:.0f}x", ratio);
  if (ratio > 0 && ratio < 0.0995) return fmt::format("{:.2g}x", ratio);
  constexpr double kMinPrintedDifference = 5e-6;  // smaller differences from 1 are not printed
  int decimals = 2;
  while (std::fabs(ratio - 1) >= kMinPrintedDifference &&
         std::fabs(ratio - 1) < 0.5 * std::pow(10, -decimals))
    ++decimals;
  return fmt::format("{:.{}f}x", ratio, decimals);
}

std::string RelativeText(double relative) {
  const double percent = relative * 100;
  if (!std::isfinite(percent)) return kUndefined;
  if (percent >= 9.95) return fmt::format("{:.0f}%", percent);
  if (percent >= 0.995) return fmt::format("{:.1f}%", percent);
  return fmt::format("{:.2f}%", percent);
}

std::string RatioPhrase(double ratio, const char* comparative) {
  const std::string times = RatioText(ratio);
  return times == "1.00x" ? fmt::format("{} by less than 0.001%", comparative) : times + ' ' + comparative;
}

constexpr std::string_view kNoInterval = ", too few independent runs for an interval";

VerdictTexts MakeVerdictTexts(const TimeComparison& time_comparison) {
  if (time_comparison.verdict == stats::Verdict::kEmulated)
    return {"emulated CPU: timings not meaningful", ""};
  if (time_comparison.verdict == stats::Verdict::kContended) return {"contended: too few clean runs", ""};
  if (time_comparison.too_short) return {"too short for a clock of whole microseconds", ""};
  if (!time_comparison.estimate) {
    const double baseline = time_comparison.baseline_ns.value_or(0);
    const double candidate = time_comparison.candidate_ns.value_or(0);
    if (baseline > 0 && candidate > 0) return {RatioText(baseline / candidate).append(kNoInterval), ""};
    return {kUndefined, ""};
  }
  const stats::RatioEstimate& estimate = *time_comparison.estimate;
  const std::string interval = IntervalOrEmpty(estimate.low(), estimate.high());
  if (time_comparison.verdict == stats::Verdict::kFaster)
    return {RatioPhrase(estimate.ratio(), "faster"), interval};
  if (time_comparison.verdict == stats::Verdict::kSlower)
    return {RatioPhrase(1 / estimate.ratio(), "slower"),
            IntervalOrEmpty(1 / estimate.high(), 1 / estimate.low())};
  if (time_comparison.verdict == stats::Verdict::kSame) return {"same", interval};
  return {"inconclusive, " + RatioText(estimate.ratio()), interval};
}

std::string VerdictWithBaseline(const TimeComparison& time_comparison, const std::string& baseline) {
  std::string verdict = MakeVerdictTexts(time_comparison).verdict;
  if (Differs(time_comparison.verdict)) return verdict + " than " + baseline;
  if (time_comparison.verdict == stats::Verdict::kSame) return verdict + " as " + baseline;
  if (time_comparison.verdict != stats::Verdict::kInconclusive || verdict == kUndefined) return verdict;
  // The baseline's name goes after the ratio.
  const std::size_t suffix_size = verdict.ends_with(kNoInterval) ? kNoInterval.size() : 0;
  verdict.insert(verdict.size() - suffix_size, " compared with " + baseline);
  return verdict;
}

std::string UndefinedText(const Report& report) {
  std::set<std::string_view> reasons;
  for (const ReportComparison& pair : report.comparisons) {
    const stats::Verdict verdict = pair.comparison.latency.verdict;
    if (verdict == stats::Verdict::kContended) continue;
    const bool emulated = verdict == stats::Verdict::kEmulated;
    reasons.insert(GetName(emulated ? verdict : stats::Verdict::kInconclusive));
  }
  return reasons.empty() ? "" : fmt::format("{}: {}.", kUndefined, fmt::join(reasons, " or "));
}

std::string AddUndefinedText(std::string paragraph, const Report& report) {
  const std::string undefined = UndefinedText(report);
  return undefined.empty() ? paragraph : paragraph + " " + undefined;
}

std::string SpeedupOrDash(const TimeComparison& time_comparison) {
  if (time_comparison.verdict == stats::Verdict::kContended)
    return std::string(GetName(time_comparison.verdict));
  if (time_comparison.verdict == stats::Verdict::kSame) return "same";
  if (!Differs(time_comparison.verdict) || !time_comparison.estimate) return kUndefined;
  return RatioText(time_comparison.estimate->ratio());
}

std::string IntervalText(const TimeComparison& time_comparison) {
  if (time_comparison.verdict == stats::Verdict::kEmulated || !time_comparison.estimate) return kUndefined;
  const std::string interval =
      IntervalOrEmpty(time_comparison.estimate->low(), time_comparison.estimate->high());
  return interval.empty() ? kUndefined : interval;
}

show::Cell MakeBoundsCell(const std::optional<LatencyInterval>& interval) {
  const bool is_known = interval && interval->high <= kMaxIntervalFactor * interval->low;
  return is_known ? show::Cell(show::TimeBounds{interval->low, interval->high}) : show::Cell();
}

std::string PaceText(const ReportExperiment& experiment) {
  const std::string pace = fmt::format("a run every {}", FormatExactDuration(experiment.period));
  if (experiment.late_runs == 0)
    return fmt::format("{}, none of {} took longer", pace, experiment.latency_of_all.n);
  const double share = static_cast<double>(experiment.late_runs) /
                       static_cast<double>(std::max<std::int64_t>(1, experiment.latency_of_all.n));
  return fmt::format("{}, {} of {} took longer ({})", pace, experiment.late_runs, experiment.latency_of_all.n,
                     PercentText(share));
}

std::string CostChangeText(const StartupCost& cost) {
  if (!cost.estimate) return "";
  if (cost.verdict == stats::Verdict::kSame) return "same";
  return Differs(cost.verdict) ? SignedPercentText(1 / cost.estimate->ratio() - 1) : "";
}

constexpr double kMaxShownChange = 100;  // bounds of a change beyond this limit carry no information

std::string CostIntervalText(const StartupCost& cost) {
  if (!cost.estimate || cost.verdict == stats::Verdict::kEmulated) return "";
  // The change is candidate over baseline and the estimate baseline over candidate, so the ends are swapped.
  const double low = 1 / cost.estimate->high() - 1;
  const double high = 1 / cost.estimate->low() - 1;
  if (!(low > -1 && high < kMaxShownChange)) return "";
  return fmt::format("[{}, {}]", SignedPercentText(low), SignedPercentText(high));
}

std::string SampleText(const Comparison& comparison, bool interleaved) {
  if (comparison.pairing != Pairing::kLaunches || comparison.launches == 0) return "";
  const std::string launches =
      fmt::format("{} {}launches", comparison.launches, interleaved ? "interleaved " : "");
  const int rounds_per_launch = comparison.rounds / comparison.launches;
  if (rounds_per_launch * comparison.launches != comparison.rounds)
    return fmt::format("{}, {} rounds", launches, comparison.rounds);
  return fmt::format("{} x {}", launches, CountedText(rounds_per_launch, "round"));
}

std::string NonDefaultMethod(const Report& report) {
  if (report.from_bare_etdumps) return "";
  if (report.run.method != "forward") return report.run.method;
  const auto info = nlohmann::json::parse(report.run.model_info, nullptr, /*allow_exceptions=*/false);
  const bool several = info.is_object() && info.contains("methods") && info["methods"].size() > 1;
  return several ? report.run.method : "";
}

std::string ModelText(const Report& report) {
  // "mobilenet_v3_small_xnnpack_fp32" already contains the backend and the data type, so remove them.
  std::string text = report.common_model_prefix.empty() ? report.model_id : report.common_model_prefix;
  const std::string suffix = "_" + report.backend + "_" + report.dtype;
  if (!report.backend.empty() && text.ends_with(suffix)) text.resize(text.size() - suffix.size());
  if (!report.common_model_prefix.empty()) text.resize(text.find_last_not_of("_-.") + 1);
  return text;
}

std::string HeaderText(const Report& report) { return HeaderText(report, report.title); }

std::string HeaderText(const Report& report, const std::string& title) {
  std::string text = title.empty() ? ModelText(report) : title;
  const auto add = [&](const std::string& part) {
    if (part.empty()) return;
    text += (text.empty() ? "" : " · ") + part;
  };
  if (const std::string method = NonDefaultMethod(report); !method.empty()) add("method " + method);
  add(report.backend.empty() ? report.dtype
                             : report.backend + (report.dtype.empty() ? "" : " " + report.dtype));
  if (!report.experiments.empty()) {
    const std::optional<int> threads = report.experiments.front().threads;
    const bool same_threads = std::ranges::all_of(
        report.experiments,
        [&](const ReportExperiment& experiment) { return experiment.threads == threads; });
    if (threads && same_threads) add(CountedText(*threads, "thread"));
  }
  add(MachineText(report.run));
  if (report.run.power_mode) add("power mode " + report.run.power_mode->name);
  if (text.empty()) text = report.comparisons.empty() ? "Traces" : "Comparison";
  return text;
}

TailQuantile HighestQuantile(const stats::Distribution& distribution) {
  if (distribution.n >= stats::kMinValuesForP99) return {"p99", distribution.p99};
  return {"max", distribution.max};
}

std::string TracerRowName(const ReportExperiment& experiment) {
  return experiment.latency_from_trace || TracedTimesWereDisturbed(experiment) ? "Mean to median"
                                                                               : kTracingOverhead;
}

constexpr NamedValue<KleidiaiUsage::Kernels> kMatrixKernels[] = {
    {KleidiaiUsage::Kernels::kSme, "KleidiAI, SME or SME2"},
    {KleidiaiUsage::Kernels::kKleidiai, "KleidiAI"},
    {KleidiaiUsage::Kernels::kXnnpack, "XNNPACK's own"},
    {KleidiaiUsage::Kernels::kPortable, "portable"},
    {KleidiaiUsage::Kernels::kUnknown, "not known"}};

std::string MatrixKernelsText(KleidiaiUsage::Kernels kernels) { return FindName(kMatrixKernels, kernels); }

}  // namespace etprof
