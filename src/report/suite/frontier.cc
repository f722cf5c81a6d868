#include "report/suite/frontier.h"

#include <algorithm>
#include <compare>
#include <map>

#include "core/views.h"
#include "measure/config/variant.h"
#include "stats/ratio/multiple.h"
#include "stats/ratio/unpaired.h"

namespace etprof {
namespace {

// SQNR values that differ by at most this count as equal, as in the export's check
// (python/etprof/exporting/check.py).
constexpr double kSqnrMarginDb = 1;
constexpr double kFrontierConfidence = 0.95;

struct FrontierPoint {
  const SuiteCellReport* cell;
  SuiteSetting* setting;
};

// A comparison of two points. Ratios are first / second, so `kFaster` means that the second point is better.
struct PointPair {
  std::size_t first = 0, second = 0;
  std::optional<stats::RatioEstimate> latency, memory;
  stats::Verdict latency_verdict = stats::Verdict::kInconclusive,
                 memory_verdict = stats::Verdict::kInconclusive;
};

PointPair ComparePoints(const std::vector<FrontierPoint>& points, std::size_t first, std::size_t second) {
  PointPair pair{first, second, {}, {}};
  const FrontierPoint &a = points[first], &b = points[second];
  if (a.cell != b.cell) {
    pair.latency = stats::EstimateLaunchesWithDrift(a.setting->launch_medians, b.setting->launch_medians,
                                                    kFrontierConfidence, stats::kDriftBetweenMeasurements);
    pair.memory = stats::EstimateUnpairedLaunches(a.setting->launch_peak_memory,
                                                  b.setting->launch_peak_memory, kFrontierConfidence);
    return pair;
  }
  const auto get_index = [&](const FrontierPoint& point) {
    return static_cast<std::size_t>(point.setting - a.cell->settings.data());
  };
  for (const SettingPair& known : a.cell->setting_pairs) {
    if (known.first != get_index(a) || known.second != get_index(b)) continue;
    pair.latency = known.latency.EstimateUnlessEmulated();
    pair.memory = known.memory;
  }
  return pair;
}

// The order of two points in one property: greater if the second is better, unordered if undecided.
using Ordering = std::partial_ordering;

Ordering ToOrdering(stats::Verdict verdict) {
  switch (verdict) {
    case stats::Verdict::kSame:
      return Ordering::equivalent;
    case stats::Verdict::kFaster:
      return Ordering::greater;
    case stats::Verdict::kSlower:
      return Ordering::less;
    default:
      return Ordering::unordered;
  }
}

Ordering CompareSqnr(const SuiteSetting& first, const SuiteSetting& second) {
  if (!first.program_sha256.empty() && first.program_sha256 == second.program_sha256)
    return Ordering::equivalent;
  std::size_t shared = 0, better = 0, worse = 0;
  for (const auto& [inputs, db] : first.sqnr) {
    const auto other = second.sqnr.find(inputs);
    if (other == second.sqnr.end()) continue;
    ++shared;
    if (other->second > db + kSqnrMarginDb) ++better;
    if (db > other->second + kSqnrMarginDb) ++worse;
  }
  if (shared == 0) return Ordering::unordered;
  if (better == shared) return Ordering::greater;
  if (worse == shared) return Ordering::less;
  return better + worse == 0 ? Ordering::equivalent : Ordering::unordered;
}

bool Dominates(const std::vector<Ordering>& orderings) {
  return std::ranges::all_of(orderings, [](Ordering ordering) { return ordering >= 0; }) &&
         std::ranges::any_of(orderings, [](Ordering ordering) { return ordering > 0; });
}

// Sets the frontier status of all points of one model on one device.
void SetFrontierStatus(const std::vector<FrontierPoint>& points, const std::vector<PointPair>& pairs) {
  const std::size_t count = points.size();
  // dominated_by[i][j]: point j dominates point i.
  std::vector<std::vector<bool>> dominated_by(count, std::vector<bool>(count));
  for (const PointPair& pair : pairs) {
    const std::vector<Ordering> orderings = {
        ToOrdering(pair.latency_verdict), ToOrdering(pair.memory_verdict),
        CompareSqnr(*points[pair.first].setting, *points[pair.second].setting)};
    dominated_by[pair.first][pair.second] = Dominates(orderings);
    dominated_by[pair.second][pair.first] =
        Dominates(MapEach(orderings, [](Ordering ordering) { return 0 <=> ordering; }));
  }
  // "As good" has a tolerance, so points may dominate each other in a cycle. All points of a cycle stay.
  std::vector<std::vector<bool>> reaches = dominated_by;
  for (std::size_t via = 0; via < count; ++via) {
    for (std::size_t from = 0; from < count; ++from) {
      for (std::size_t to = 0; to < count && reaches[from][via]; ++to)
        reaches[from][to] = reaches[from][to] || reaches[via][to];
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    SuiteSetting& setting = *points[i].setting;
    setting.frontier_status = FrontierStatus::kFrontier;
    const SuiteSetting* fastest = nullptr;
    for (std::size_t by = 0; by < count; ++by) {
      if (!dominated_by[i][by] || reaches[by][i]) continue;
      if (fastest != nullptr && *fastest->latency_ns <= *points[by].setting->latency_ns) continue;
      fastest = points[by].setting;
      setting.frontier_status = FrontierStatus::kDominated;
      setting.dominated_by = SuiteSettingName(points[by].cell->dtype, *fastest);
    }
  }
}

}  // namespace

void FindFrontier(SuiteReport& suite, double false_discovery_rate, double margin) {
  struct PointGroup {
    std::vector<FrontierPoint> points;
    std::vector<PointPair> pairs;
  };
  std::map<std::pair<std::string, std::string>, PointGroup> groups;  // keyed by model and device
  for (SuiteCellReport& cell : suite.cells) {
    for (SuiteSetting& setting : cell.settings) {
      if (setting.frontier_status != FrontierStatus::kExcluded && setting.latency_ns && !cell.emulated)
        groups[{cell.model, cell.device}].points.push_back({&cell, &setting});
    }
  }
  std::vector<stats::JointComparison> claims;
  for (auto& [name, group] : groups) {
    for (std::size_t i = 0; i < group.points.size(); ++i) {
      for (std::size_t j = i + 1; j < group.points.size(); ++j)
        group.pairs.push_back(ComparePoints(group.points, i, j));
    }
    for (PointPair& pair : group.pairs) {
      if (pair.latency) claims.push_back({pair.latency, pair.latency_verdict});
      if (pair.memory) claims.push_back({pair.memory, pair.memory_verdict});
    }
  }
  stats::UpdateVerdicts(claims, false_discovery_rate, margin);
  for (const auto& [name, group] : groups) SetFrontierStatus(group.points, group.pairs);
}

std::vector<SuiteCell> PlanConfirmations(const SuiteConfig& suite, const std::vector<SuiteCell>& cells,
                                         const SuiteReport& report) {
  std::vector<SuiteCell> planned;
  for (const SuiteCell& cell : cells) {
    const std::string& model = suite.models[cell.model].name;
    const auto same_group = [&](const SuiteCell& other) {
      return other.model == cell.model && other.device == cell.device;
    };
    if (std::ranges::any_of(planned, same_group)) continue;
    const auto baseline = std::ranges::find_if(report.cells, [&](const SuiteCellReport& cell_report) {
      return cell_report.model == model && cell_report.device == cell.device &&
             cell_report.dtype == cell.dtype;
    });
    if (baseline == report.cells.end() || baseline->settings.empty()) continue;
    std::vector<const SuiteSetting*> candidates;
    for (const SuiteCellReport& cell_report : report.cells) {
      if (cell_report.model != model || cell_report.device != cell.device) continue;
      for (const SuiteSetting& setting : cell_report.settings) {
        if (setting.frontier_status == FrontierStatus::kFrontier && &setting != baseline->settings.data())
          candidates.push_back(&setting);
      }
    }
    std::ranges::stable_sort(candidates, {},
                             [](const SuiteSetting* setting) { return *setting->latency_ns; });
    if (candidates.size() > kMaxConfirmedSettings) candidates.resize(kMaxConfirmedSettings);
    if (candidates.empty()) continue;
    SuiteCell confirmation = cell;
    confirmation.is_confirmation = true;
    confirmation.folder = suite.output_root / "confirmed" / model / cell.folder.filename();
    confirmation.variants.clear();
    for (const SuiteSetting* const setting : candidates) {
      std::string variant = setting->variant;
      const bool names_model = !variant.empty() && ParseVariant(variant).model;
      if (setting->program != baseline->settings[0].program && !names_model)
        variant += (variant.empty() ? "model=" : ",model=") + setting->program.string();
      confirmation.variants.push_back(variant);
    }
    planned.push_back(std::move(confirmation));
  }
  return planned;
}

void DecideConfirmations(SuiteReport& suite, double false_discovery_rate, double margin) {
  std::vector<stats::JointComparison> claims;
  for (SuiteConfirmation& confirmation : suite.confirmations) {
    for (SettingPair& pair : confirmation.cell.setting_pairs) {
      if (pair.latency.EstimateUnlessEmulated())
        claims.push_back({pair.latency.estimate, pair.latency.verdict});
    }
  }
  stats::UpdateVerdicts(claims, false_discovery_rate, margin);
  for (SuiteConfirmation& confirmation : suite.confirmations) {
    SuiteCellReport& cell = confirmation.cell;
    const auto compare = [&](std::size_t first, std::size_t second) {
      const auto found = std::ranges::find_if(cell.setting_pairs, [&](const SettingPair& pair) {
        return pair.first == std::min(first, second) && pair.second == std::max(first, second);
      });
      const Ordering ordering =
          found == cell.setting_pairs.end() ? Ordering::unordered : ToOrdering(found->latency.verdict);
      return first < second ? ordering : 0 <=> ordering;
    };
    for (const SettingPair& pair : cell.setting_pairs) {
      if (pair.first == 0 && pair.second <= cell.pairs.size())
        cell.pairs[pair.second - 1].latency = pair.latency;
    }
    std::size_t fastest = 0;
    for (std::size_t i = 1; i < cell.settings.size(); ++i) {
      const auto &best = cell.settings[fastest].latency_ns, &latency = cell.settings[i].latency_ns;
      if (latency && (!best || *latency < *best)) fastest = i;
    }
    if (fastest == 0 || !(compare(0, fastest) > 0)) continue;
    confirmation.fastest = cell.settings[fastest].label;
    for (std::size_t i = 0; i < cell.settings.size(); ++i) {
      if (i != fastest && cell.settings[i].latency_ns && !(compare(fastest, i) < 0))
        confirmation.tied.push_back(cell.settings[i].label);
    }
  }
}

}  // namespace etprof
