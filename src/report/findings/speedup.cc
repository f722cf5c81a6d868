#include "report/findings/speedup.h"

#include <algorithm>
#include <map>

#include "measure/store/peaks.h"
#include "report/findings/traced.h"
#include "report/run/pair.h"

namespace etprof {
namespace {

// Peaks are the best of many tries. If the median is below this fraction of the peak, the machine was busy.
constexpr double kMinMedianPeakShare = 0.9;
// The least share of MACs in one data type; otherwise the data types are mixed.
constexpr double kMinDominantTypeShare = 0.95;
constexpr double kMinTimeShare = 0.5;  // least share of the slower variant's time

bool IsDecided(stats::Verdict verdict) {
  return verdict == stats::Verdict::kFaster || verdict == stats::Verdict::kSlower;
}

// The highest compute peak of the data type; absent if the tries varied too much.
std::optional<double> SteadyPeak(const PeaksEntry& entry, const std::string& dtype) {
  const protocol::ComputePeak* best = nullptr;
  for (const protocol::ComputePeak& peak : entry.peaks.compute) {
    if (peak.dtype == dtype && (best == nullptr || peak.macs.best > best->macs.best)) best = &peak;
  }
  if (best == nullptr || best->macs.best <= 0 || best->macs.median < kMinMedianPeakShare * best->macs.best)
    return std::nullopt;
  return best->macs.best;
}

// Peaks that both variants may use were measured for both. If they differ, the machine's state differed.
bool IsSameMachine(const PeaksEntry& a, const PeaksEntry& b) {
  if (a.peaks.threads != b.peaks.threads || a.peaks.cpus != b.peaks.cpus) return false;
  for (const protocol::ComputePeak& peak_a : a.peaks.compute) {
    for (const protocol::ComputePeak& peak_b : b.peaks.compute) {
      if (peak_a.level != peak_b.level || peak_a.dtype != peak_b.dtype ||
          peak_a.instruction != peak_b.instruction)
        continue;
      if (PeaksDiffer(peak_a.macs.best, peak_b.macs.best)) return false;
    }
  }
  return true;
}

// The data type of nearly all MACs. Absent: mixed, no MACs, or a type without a peak (fp16 without fp16
// instructions).
std::optional<std::string> FindDominantDataType(const Roofline& roofline) {
  std::map<std::string, std::int64_t> macs;
  std::int64_t all = 0;
  for (const RooflineRow& row : roofline.rows) {
    all += row.macs;
    if (row.dtype == row.ceiling_dtype) macs[row.dtype] += row.macs;
  }
  for (const auto& [dtype, type_macs] : macs) {
    if (all > 0 && static_cast<double>(type_macs) >= kMinDominantTypeShare * static_cast<double>(all))
      return dtype;
  }
  return std::nullopt;
}

// The rows, by operator, that the compute peak of the data type limits.
std::map<std::size_t, const RooflineRow*> FindComputeBoundRows(const Roofline& roofline,
                                                               const std::string& dtype) {
  std::map<std::size_t, const RooflineRow*> rows;
  for (const RooflineRow& row : roofline.rows) {
    if (row.macs > 0 && row.bound == RooflineRow::Bound::kCompute && row.ceiling_dtype == dtype)
      rows[row.op] = &row;
  }
  return rows;
}

}  // namespace

std::optional<SpeedupFactors> FactorSpeedup(const ExperimentPair& variants, const Comparison& comparison) {
  const ReportExperiment &baseline = variants.baseline, &candidate = variants.candidate;
  const std::optional<Peaks>& peaks = variants.run.peaks;
  const stats::Verdict verdict = comparison.latency.verdict;
  if (!IsDecided(verdict) || !peaks || !baseline.roofline || !candidate.roofline ||
      baseline.threads != candidate.threads || comparison.baseline_total <= 0 ||
      comparison.candidate_total <= 0 || TracedSpeedupDiscrepancy(comparison))
    return std::nullopt;
  const PeaksEntry* before = FindPeaks(*peaks, baseline.label);
  const PeaksEntry* after = FindPeaks(*peaks, candidate.label);
  if (before == nullptr || after == nullptr || before == after || !IsSameMachine(*before, *after))
    return std::nullopt;
  const auto dtype = FindDominantDataType(*baseline.roofline);
  if (!dtype || dtype != FindDominantDataType(*candidate.roofline)) return std::nullopt;
  const auto baseline_peak = SteadyPeak(*before, *dtype);
  const auto candidate_peak = SteadyPeak(*after, *dtype);
  if (!baseline_peak || !candidate_peak) return std::nullopt;

  SpeedupFactors factors;
  factors.dtype = *dtype;
  factors.baseline_peak = *baseline_peak;
  factors.candidate_peak = *candidate_peak;

  OperatorSet set;
  const auto bound_before = FindComputeBoundRows(*baseline.roofline, *dtype);
  const auto bound_after = FindComputeBoundRows(*candidate.roofline, *dtype);
  for (const OperatorMatch& match : comparison.operators) {
    if (!match.baseline || !match.candidate) continue;
    const auto a = bound_before.find(*match.baseline);
    const auto b = bound_after.find(*match.candidate);
    if (a == bound_before.end() || b == bound_after.end() || a->second->macs != b->second->macs) continue;
    set.baseline.push_back(*match.baseline);
    set.candidate.push_back(*match.candidate);
    ++factors.operators;
    factors.macs += a->second->macs;
  }
  if (set.baseline.empty()) return std::nullopt;
  const std::vector<DeltaRow> rows = CompareExperimentSets(variants, {set});
  if (rows.empty()) return std::nullopt;
  const DeltaRow& row = rows.front();
  factors.baseline_time_share = *QuotientIfDefined(row.baseline_total, comparison.baseline_total);
  factors.candidate_time_share = *QuotientIfDefined(row.candidate_total, comparison.candidate_total);
  const double share =
      verdict == stats::Verdict::kSlower ? factors.candidate_time_share : factors.baseline_time_share;
  if (row.time_comparison.verdict != verdict || !row.time_comparison.estimate || share < kMinTimeShare)
    return std::nullopt;
  factors.ratio = *row.time_comparison.estimate;
  const auto baseline_ns = factors.ratio.baseline();
  const auto candidate_ns = factors.ratio.candidate();
  if (!baseline_ns || !candidate_ns) return std::nullopt;
  const auto share_of_peak = [&](double ns, double peak) {
    return static_cast<double>(factors.macs) / ns * 1e9 / peak;
  };
  factors.baseline_share_of_peak = share_of_peak(*baseline_ns, factors.baseline_peak);
  factors.candidate_share_of_peak = share_of_peak(*candidate_ns, factors.candidate_peak);
  if (std::max(factors.baseline_share_of_peak, factors.candidate_share_of_peak) > 1 + kPeakTolerance)
    return std::nullopt;
  return factors;
}

}  // namespace etprof
