#include "report/ladder/ladder.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "isa/ladder.h"
#include "report/report.h"
#include "report/run/pair.h"
#include "stats/ratio/multiple.h"

namespace etprof {
namespace {

using FeatureSet = isa::FeatureSet;

// The features that a mask left visible, as reported by the worker or, if it could not start, computed from
// the mask.
std::optional<FeatureSet> VisibleFeatures(const ExperimentData& data, const FeatureSet& detected) {
  if (data.isa_state) return FeatureSet(data.isa_state->enabled.begin(), data.isa_state->enabled.end());
  if (detected.empty()) return std::nullopt;
  try {
    return isa::ParseMask(isa::DetectArchitecture(detected), detected, data.isa).enabled;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The settings that all experiments of a ladder share.
auto SharedSettings(const ExperimentData& data) {
  return std::tuple(data.model_sha256, data.model, data.runner_sha256, data.runner, data.cpus, data.period,
                    data.mode);
}

struct LevelExperiments {
  FeatureSet visible;
  std::vector<std::size_t> experiments;
};

using LevelList = std::vector<std::pair<std::string, LevelExperiments>>;

// The experiments in `candidates` by level, the lowest first; empty: they do not form a ladder.
LevelList FindLevels(const Report& report, const std::vector<std::size_t>& candidates) {
  if (report.run.schedule.sustained_seconds > 0 || candidates.empty()) return {};
  FeatureSet detected;
  for (const std::size_t i : candidates) {
    if (const auto& state = report.DataAt(i).isa_state)
      detected.insert(state->detected.begin(), state->detected.end());
  }
  std::map<std::string, LevelExperiments> by_name;
  for (const std::size_t i : candidates) {
    const ExperimentData& data = report.DataAt(i);
    if (data.third_party_runner || data.trace_enabled ||
        SharedSettings(data) != SharedSettings(report.DataAt(candidates.front())))
      return {};
    const auto visible = VisibleFeatures(data, detected);
    if (!visible) return {};
    LevelExperiments& level_experiments = by_name[data.name];
    if (!level_experiments.experiments.empty() && level_experiments.visible != *visible) return {};
    level_experiments.visible = *visible;
    for (const std::size_t other : level_experiments.experiments) {
      if (report.DataAt(other).threads == data.threads) return {};
    }
    level_experiments.experiments.push_back(i);
  }
  LevelList levels(by_name.begin(), by_name.end());
  std::ranges::stable_sort(
      levels, {}, [](const auto& level_experiments) { return level_experiments.second.visible.size(); });
  for (std::size_t i = 1; i < levels.size(); ++i) {
    const FeatureSet& below = levels[i - 1].second.visible;
    const FeatureSet& visible = levels[i].second.visible;
    if (visible.size() == below.size() ||
        !std::includes(visible.begin(), visible.end(), below.begin(), below.end()))
      return {};
  }
  if (levels.size() < 2) return {};
  return levels;
}

class LadderBuilder {
 public:
  LadderBuilder(const Report& report, const LevelList& levels) : report_(report) {
    std::set<int> threads;
    for (const auto& [name, level_experiments] : levels) {
      for (const std::size_t i : level_experiments.experiments)
        threads.insert(report.experiments[i].threads.value());
    }
    ladder_.threads.assign(threads.begin(), threads.end());
    const FeatureSet* below = nullptr;
    for (const auto& [name, level_experiments] : levels) {
      LadderLevel level;
      level.name = name;
      const ExperimentData& data = report.DataAt(level_experiments.experiments.front());
      level.isa = data.isa;
      for (const std::string& feature : level_experiments.visible) {
        if (below == nullptr || !below->contains(feature)) level.added_features.push_back(feature);
      }
      below = &level_experiments.visible;
      ladder_.levels.push_back(std::move(level));
    }
    ladder_.experiments.assign(ladder_.threads.size(),
                               std::vector<std::optional<std::size_t>>(ladder_.levels.size()));
    for (std::size_t l = 0; l < levels.size(); ++l) {
      for (const std::size_t i : levels[l].second.experiments) {
        const ReportExperiment& experiment = report.experiments[i];
        const auto t = static_cast<std::size_t>(std::ranges::find(ladder_.threads, experiment.threads) -
                                                ladder_.threads.begin());
        if (experiment.latency.n > 0) {
          ladder_.experiments[t][l] = i;
        } else if (ladder_.levels[l].error.empty()) {
          const std::string& error = report.DataAt(i).error;
          ladder_.levels[l].error = error.empty() ? "it has no times" : error;
        }
      }
    }
  }

  std::optional<Ladder> Build() {
    bool measured = false;
    ForEachSetting([&](const LadderSetting&) { measured = true; });
    if (!measured) return std::nullopt;
    MakeRows();
    std::map<std::size_t, LadderSetting> lowest, below;  // keyed by number of threads
    std::map<std::size_t, LadderSetting> fewest;         // keyed by level
    ForEachSetting([&](const LadderSetting& setting) {
      if (const auto found = below.find(setting.threads); found != below.end()) {
        const bool is_next = found->second.level == ladder_.Below(setting.level);
        if (is_next) CompareSettings(found->second, setting, &LadderCell::over_level_below);
        if (is_next && found->second == lowest[setting.threads])
          ForEachRow(
              [&](LadderRow& row) { row.At(setting).over_lowest_level = row.At(setting).over_level_below; });
        else
          CompareSettings(lowest[setting.threads], setting, &LadderCell::over_lowest_level);
      }
      if (const auto found = fewest.find(setting.level); found != fewest.end()) {
        CompareSettings(found->second, setting, &LadderCell::over_fewest_threads);
        const int from = ladder_.threads[found->second.threads], to = ladder_.threads[setting.threads];
        ForEachRow([&](LadderRow& row) {
          LadderCell& cell = row.At(setting);
          if (cell.over_fewest_threads)
            cell.efficiency = ScalingEfficiency(*cell.over_fewest_threads, from, to);
        });
      }
      below[setting.threads] = setting;
      lowest.try_emplace(setting.threads, setting);
      fewest.try_emplace(setting.level, setting);
    });
    FinishRows();
    FindThreadDependentLevels();
    FindBestSetting();
    SetPortableShare();
    return std::move(ladder_);
  }

 private:
  const ReportExperiment& ExperimentAt(const LadderSetting& setting) const {
    return report_.experiments[*ladder_.experiments[setting.threads][setting.level]];
  }

  ExperimentPair MakePair(const LadderSetting& from, const LadderSetting& to) const {
    return {report_.run, ExperimentAt(from), ExperimentAt(to)};
  }

  template <typename Visit>
  void ForEachRow(const Visit& visit) {
    visit(ladder_.latency);
    for (auto* rows : {&ladder_.groups, &ladder_.categories, &ladder_.operators}) {
      for (LadderRow& row : *rows) visit(row);
    }
  }
  template <typename Visit>
  void ForEachSetting(const Visit& visit) const {
    for (std::size_t t = 0; t < ladder_.threads.size(); ++t) {
      for (std::size_t l = 0; l < ladder_.levels.size(); ++l) {
        if (ladder_.IsMeasured({l, t})) visit(LadderSetting{l, t});
      }
    }
  }

  LadderRow EmptyRow(const std::string& name) const {
    LadderRow row{name, {}};
    for (const int threads : ladder_.threads) {
      std::vector<LadderCell>& cells = row.cells.emplace_back();
      for (const LadderLevel& level : ladder_.levels) cells.push_back({level.name, threads});
    }
    return row;
  }

  LadderRow& FindOrAddRow(const std::string& name, std::vector<LadderRow>& rows) const {
    const auto row = std::ranges::find(rows, name, &LadderRow::name);
    return row == rows.end() ? rows.emplace_back(EmptyRow(name)) : *row;
  }

  void MakeRows() {
    ladder_.latency = EmptyRow("Median latency");
    ForEachSetting([&](const LadderSetting& setting) {
      const ReportExperiment& experiment = ExperimentAt(setting);
      ladder_.latency.At(setting).ns = experiment.latency.p50;
      const auto add = [&](const Breakdown& breakdown, std::vector<LadderRow>& rows) {
        const std::size_t count = breakdown.runs > 0 ? breakdown.rows.size() - 1 : 0;  // without "Clipped"
        for (std::size_t i = 0; i < count; ++i)
          FindOrAddRow(breakdown.rows[i].name, rows).At(setting).ns = breakdown.rows[i].Mean(breakdown);
      };
      add(experiment.groups, ladder_.groups);
      add(experiment.categories, ladder_.categories);
    });
    MatchLevels();
  }

  // Matches the operators of each level with those of the next measured level below; unmatched operators
  // start a new row. Higher numbers of threads are matched with the fewest threads at the same level.
  void MatchLevels() {
    std::optional<LadderSetting> below;
    std::map<std::size_t, LadderSetting> first_of_level;
    ForEachSetting([&](const LadderSetting& setting) {
      if (!ExperimentAt(setting).profile) return;
      std::optional<LadderSetting> from = below;
      if (const auto first = first_of_level.find(setting.level); first != first_of_level.end())
        from = first->second;
      first_of_level.try_emplace(setting.level, setting);
      MatchLevel(setting, from);
      below = setting;
    });
  }

  void MatchLevel(const LadderSetting& setting, const std::optional<LadderSetting>& from) {
    const Profile& profile = *ExperimentAt(setting).profile;
    std::vector<std::size_t>& rows = operator_rows_[setting];
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    rows.assign(profile.operators.size(), kNone);
    if (from) {
      const std::vector<std::size_t>& earlier = operator_rows_.at(*from);
      for (const NodePair& pair : MatchOperators(*ExperimentAt(*from).profile, profile)) {
        if (pair.baseline && pair.candidate) rows[*pair.candidate] = earlier[*pair.baseline];
      }
    }
    for (std::size_t op = 0; op < rows.size(); ++op) {
      if (rows[op] == kNone) {
        rows[op] = ladder_.operators.size();
        ladder_.operators.push_back(EmptyRow(""));
      }
      LadderCell& cell = ladder_.operators[rows[op]].At(setting);
      cell.op_name = profile.operators[op].name;
      cell.op_key = KeyText(profile.operators[op].key);
    }
    const ReportExperiment& experiment = ExperimentAt(setting);
    for (const OperatorRow& row : experiment.operators)
      ladder_.operators[rows[row.op]].At(setting).ns = row.mean_self_ns;
  }

  // The pairs of operators in the same row; absent if a setting has no trace.
  std::optional<std::vector<NodePair>> MatchesBetween(const LadderSetting& from,
                                                      const LadderSetting& to) const {
    const auto a = operator_rows_.find(from);
    const auto b = operator_rows_.find(to);
    if (a == operator_rows_.end() || b == operator_rows_.end()) return std::nullopt;
    std::map<std::size_t, NodePair> by_row;
    for (std::size_t op = 0; op < a->second.size(); ++op) by_row[a->second[op]].baseline = op;
    for (std::size_t op = 0; op < b->second.size(); ++op) by_row[b->second[op]].candidate = op;
    return MapValues(by_row);
  }

  void CompareSettings(const LadderSetting& from, const LadderSetting& to,
                       std::optional<TimeComparison> LadderCell::*member) {
    const auto matches = MatchesBetween(from, to);
    const Comparison comparison =
        CompareExperiments(MakePair(from, to), "", "", matches ? &*matches : nullptr);
    ladder_.interleaved = ladder_.interleaved && comparison.pairing == Pairing::kLaunches;
    ladder_.latency.At(to).*member = comparison.latency;
    const auto place = [&](const std::vector<DeltaRow>& deltas, std::vector<LadderRow>& rows) {
      for (const DeltaRow& delta : deltas) {
        for (LadderRow& row : rows) {
          if (row.name == delta.name && row.At(from).ns && row.At(to).ns)
            row.At(to).*member = delta.time_comparison;
        }
      }
    };
    place(comparison.groups, ladder_.groups);
    place(comparison.categories, ladder_.categories);
    if (!matches) return;
    const std::vector<std::size_t>& rows = operator_rows_.at(to);
    for (const OperatorMatch& match : comparison.operators) {
      if (match.baseline && match.candidate)
        ladder_.operators[rows[*match.candidate]].At(to).*member = match.time_comparison;
    }
  }

  static double LargestTime(const LadderRow& row) {
    double largest = 0;
    for (const auto& levels : row.cells) {
      for (const LadderCell& cell : levels) largest = std::max(largest, cell.ns.value_or(0));
    }
    return largest;
  }

  // Names the operators, drops the framework's spans and rows without time, and sorts the rows.
  void FinishRows() {
    for (LadderRow& row : ladder_.operators) {
      ForEachSetting([&](const LadderSetting& setting) {
        if (const auto& name = row.At(setting).op_name; name && (setting.threads == 0 || row.name.empty()))
          row.name = *name;
      });
    }
    std::erase_if(ladder_.operators, [&](const LadderRow& row) {
      bool computes = false;
      ForEachSetting(
          [&](const LadderSetting& setting) { computes = computes || row.At(setting).ns.has_value(); });
      return !computes;
    });
    for (auto* rows : {&ladder_.groups, &ladder_.categories})
      std::erase_if(*rows, [](const LadderRow& row) { return LargestTime(row) == 0; });
    std::ranges::stable_sort(ladder_.operators, std::ranges::greater(), LargestTime);
  }

  void FindThreadDependentLevels() {
    const auto find_in = [&](const std::vector<LadderRow>& rows, ThreadDependentLevel::RowKind row_kind) {
      std::vector<ThreadDependentLevel> found;
      for (const LadderRow& row : rows) {
        for (std::size_t l = 0; l < ladder_.levels.size(); ++l) {
          ThreadDependentLevel thread_dependent{row_kind, row.name, ladder_.levels[l].name, {}, {}};
          for (const std::vector<LadderCell>& levels : row.cells) {
            const LadderCell& cell = levels[l];
            if (!cell.over_level_below) continue;
            if (cell.over_level_below->verdict == stats::Verdict::kFaster)
              thread_dependent.faster_cells.push_back(cell);
            if (cell.over_level_below->verdict == stats::Verdict::kSlower)
              thread_dependent.slower_cells.push_back(cell);
            thread_dependent.impact_ns = std::max(thread_dependent.impact_ns, cell.ns.value_or(0));
          }
          if (!thread_dependent.faster_cells.empty() && !thread_dependent.slower_cells.empty())
            found.push_back(std::move(thread_dependent));
        }
      }
      if (row_kind != ThreadDependentLevel::RowKind::kLatency)
        std::ranges::stable_sort(found, std::ranges::greater(), &ThreadDependentLevel::impact_ns);
      std::ranges::move(found, std::back_inserter(ladder_.thread_dependent_levels));
    };
    find_in({ladder_.latency}, ThreadDependentLevel::RowKind::kLatency);
    find_in(ladder_.groups, ThreadDependentLevel::RowKind::kGroup);
    find_in(ladder_.operators, ThreadDependentLevel::RowKind::kOperator);
  }

  // The latency of the baseline over that of the candidate, from the paired estimate if there is one.
  double LatencyRatio(const LadderSetting& from, const LadderSetting& to) const {
    if (from == to) return 1;
    return SpeedupRatio(CompareLatencies(MakePair(from, to)).latency).value_or(0);
  }

  void FindBestSetting() {
    std::vector<LadderSetting> settings;
    ForEachSetting([&](const LadderSetting& setting) { settings.push_back(setting); });
    if (settings.size() < 2 || report_.emulated) return;
    LadderBest best;
    double best_ratio = 0;
    for (const LadderSetting& setting : settings) {
      const double ratio = LatencyRatio(settings.front(), setting);
      if (ratio <= best_ratio) continue;
      best_ratio = ratio;
      best.setting = {setting, ladder_.latency.At(setting)};
    }
    std::vector<stats::JointComparison> comparisons;
    best.others.reserve(settings.size());  // `comparisons` points into this vector
    for (const LadderSetting& other : settings) {
      if (other == best.setting) continue;
      TimeComparison& best_comparison =
          best.others
              .emplace_back(LadderBest::OtherSetting{{other, ladder_.latency.At(other)},
                                                     CompareLatencies(MakePair(other, best.setting)).latency})
              .best_comparison;
      comparisons.push_back({best_comparison.estimate, best_comparison.verdict});
    }
    // A contended setting has no ratio, but may be the fastest.
    const auto median = [](const MeasuredSetting& setting) { return setting.latency.ns.value_or(0); };
    const bool none = std::ranges::none_of(comparisons, [](const stats::JointComparison& comparison) {
      return comparison.estimate.has_value();
    });
    if (std::ranges::any_of(best.others, [&](const LadderBest::OtherSetting& other) {
          return other.best_comparison.verdict == stats::Verdict::kContended &&
                 (none || median(other.setting) <= median(best.setting));
        })) {
      return;
    }
    // The compared times also chose the best setting, so adjust all comparisons together, at the level of the
    // stop rule's interim analyses.
    stats::UpdateVerdicts(comparisons, 1 - report_.run.schedule.IntervalConfidence(),
                          MakeCompareOptions(report_.run).margin);
    std::ranges::stable_sort(best.others, {}, [](const LadderBest::OtherSetting& other) {
      return SpeedupRatio(other.best_comparison).value_or(1e300);
    });
    ladder_.best = std::move(best);
  }

  void SetPortableShare() {
    const std::size_t highest = ladder_.Highest();
    if (!ladder_.IsMeasured({highest, 0})) return;
    const ReportExperiment& experiment = ExperimentAt({highest, 0});
    for (const OperatorRow& row : experiment.operators) {
      if (experiment.profile->operators[row.op].portable) ladder_.portable_share += row.share;
    }
  }

  const Report& report_;
  Ladder ladder_;
  // Keyed by operator of the setting's profile.
  std::map<LadderSetting, std::vector<std::size_t>> operator_rows_;
};

// Absent if the experiments do not form a ladder.
std::optional<Ladder> MakeLadder(const Report& report, const std::vector<std::size_t>& members) {
  const LevelList levels = FindLevels(report, members);
  return levels.empty() ? std::nullopt : LadderBuilder(report, levels).Build();
}

}  // namespace

std::size_t Ladder::Highest() const {
  for (std::size_t l = levels.size(); l-- > 0;) {
    if (IsMeasured({l, 0})) return l;
  }
  return levels.size() - 1;
}

std::size_t Ladder::Lowest() const {
  for (std::size_t l = 0; l < levels.size(); ++l) {
    if (IsMeasured({l, 0})) return l;
  }
  return 0;
}

std::size_t Ladder::Below(std::size_t level) const {
  while (level-- > 0) {
    for (std::size_t t = 0; t < threads.size(); ++t)
      if (IsMeasured({level, t})) return level;
  }
  return 0;
}

std::vector<LadderCell> LadderRow::AllCells() const {
  std::vector<LadderCell> all;
  for (const auto& levels : cells) all.insert(all.end(), levels.begin(), levels.end());
  return all;
}

std::optional<Ladder> FindLadder(const Report& report) {
  std::vector<std::size_t> all(report.experiments.size());
  std::iota(all.begin(), all.end(), 0);
  for (const ReportExperiment& experiment : report.experiments) {
    if (experiment.Data(report).isa.empty()) return std::nullopt;
  }
  return MakeLadder(report, all);
}

std::vector<Ladder> FindLaddersWithin(const Report& report) {
  using Shared = decltype(SharedSettings(std::declval<const ExperimentData&>()));
  std::map<Shared, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const ExperimentData& data = report.DataAt(i);
    if (data.isa_state && !data.third_party_runner && !data.trace_enabled)
      groups[SharedSettings(data)].push_back(i);
  }
  std::vector<Ladder> ladders;
  for (const auto& [shared, group] : groups) {
    std::set<int> threads;
    for (const std::size_t i : group) threads.insert(report.experiments[i].threads.value());
    auto ladder = threads.size() < 2 ? std::nullopt : MakeLadder(report, group);
    if (ladder) ladders.push_back(*std::move(ladder));
  }
  return ladders;
}

}  // namespace etprof
