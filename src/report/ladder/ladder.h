#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "core/views.h"
#include "profile/compare/comparison.h"

namespace etprof {

struct Report;

// One model at each level of the ISA ladder, with each requested number of threads (docs/guides/isa.md). All
// times are in nanoseconds.

struct LadderLevel {
  std::string name;
  std::string isa;
  std::vector<std::string> added_features;
  std::string error;  // why it was not measured; empty: measured

  static void Describe(auto& v) {
    v("name", &LadderLevel::name, {.meaning = "the experiment's: \"avx2\""});
    v("isa", &LadderLevel::isa, {.meaning = "the mask"});
    v("adds", &LadderLevel::added_features,
      {.meaning = "features that the level below does not show; of the lowest: all"});
    v("error", &LadderLevel::error, {.meaning = "why it was not measured; null: it was", .or_null = true});
  }
};

// A level with a number of threads: indices into Ladder::levels and Ladder::threads.
struct LadderSetting {
  std::size_t level = 0, threads = 0;
  auto operator<=>(const LadderSetting&) const = default;
};

// The time of a row at one setting, and its comparisons with other settings, which are their baselines.
struct LadderCell {
  std::string level;  // name of the level
  int threads = 1;
  std::optional<double> ns = {};  // absent: the row has no time there, or it was not measured
  // Comparisons with the next lower level (Ladder::Below) and with the lowest measured level, at the same
  // number of threads. If the next lower level was not measured with this number of threads, no other level
  // replaces it: the effect of a level refers to the same level at all numbers of threads.
  std::optional<TimeComparison> over_level_below = {}, over_lowest_level = {};
  std::optional<TimeComparison> over_fewest_threads = {};  // at the same level
  // Ratio of `over_fewest_threads` / ratio of the numbers of threads; 1 is perfect.
  std::optional<double> efficiency = {};
  // For operators: the name and the key at this setting; absent: the operator is not executed there.
  std::optional<std::string> op_name = {}, op_key = {};

  static void Describe(auto& v) {
    using C = LadderCell;
    const auto over = [&](const char* key, std::optional<TimeComparison> C::*member,
                          std::string_view meaning) {
      v(key, [member](const C& cell) { return MakeOptionalView<RatioAndVerdict>(cell.*member); },
        {.meaning = meaning});
    };
    v("level", &C::level, {.meaning = "of the ISA"});
    v("threads", &C::threads, {.meaning = "of the runner's thread pool", .min = 1});
    v("ms", &C::ns,
      kMs.WithMeaning("median of the latency, else mean self time; null: not there, or not measured"));
    v("name", &C::op_name, {.meaning = "of the operator at this setting"});
    v("key", &C::op_key, {.meaning = "of the operator at this setting"});
    over("over_below", &C::over_level_below,
         "against the next lower level that was measured, at the same threads; null: not at these");
    over("over_lowest", &C::over_lowest_level,
         "against the lowest level that was measured, at the same threads");
    over("over_fewest_threads", &C::over_fewest_threads, "against the fewest threads at the same level");
    v("efficiency", &C::efficiency, {.meaning = "that speedup over the ratio of the threads; 1 is perfect"});
  }
};
struct LadderRow {
  std::string name;                            // for operators: the name at the highest level that has it
  std::vector<std::vector<LadderCell>> cells;  // [threads][level]

  const LadderCell& At(const LadderSetting& setting) const { return cells[setting.threads][setting.level]; }
  LadderCell& At(const LadderSetting& setting) { return cells[setting.threads][setting.level]; }
  std::vector<LadderCell> AllCells() const;

  static constexpr const char* kSchemaName = "ladder_row";
  static void Describe(auto& v) {
    v("name", &LadderRow::name,
      {.meaning =
           "median latency, a group, a category, or an operator as the highest level that has it calls it"});
    v("cells", &LadderRow::AllCells, {.meaning = "every level at every number of threads"});
  }
};

// A level that is faster at some numbers of threads and slower at others.
struct ThreadDependentLevel {
  enum class RowKind { kLatency, kGroup, kOperator };
  RowKind row_kind = RowKind::kLatency;
  // Names of the row and of the level.
  std::string name, level;
  // The row's cells with the verdicts kFaster and kSlower.
  std::vector<LadderCell> faster_cells, slower_cells;
  double impact_ns = 0;  // ns; the row's largest time at this level

  static void Describe(auto& v) {
    using L = ThreadDependentLevel;
    v("of", &L::row_kind, {.meaning = "what the row is"});
    v("name", &L::name, {.meaning = "of the row"});
    v("level", &L::level, {.meaning = "of the ISA"});
    v("helps_at_threads", [](const L& found) { return MapEach(found.faster_cells, &LadderCell::threads); },
      {.meaning = "numbers of threads at which the level is faster than the one below"});
    v("hurts_at_threads", [](const L& found) { return MapEach(found.slower_cells, &LadderCell::threads); },
      {.meaning = "numbers of threads at which the level is slower than the one below"});
  }
};

template <>
inline constexpr const char* kNames<ThreadDependentLevel::RowKind>[] = {"latency", "group", "operator"};

// A setting with its latency.
struct MeasuredSetting : LadderSetting {
  LadderCell latency;

  static void Describe(auto& v) {
    using S = MeasuredSetting;
    v("level", [](const S& setting) { return setting.latency.level; }, {.meaning = "of the ISA"});
    v("threads", [](const S& setting) { return setting.latency.threads; },
      {.meaning = "of the runner's thread pool", .min = 1});
    v("median_ms", [](const S& setting) { return setting.latency.ns; }, kMs.WithMeaning("of the latency"));
  }
};

// The fastest setting by the paired estimates.
struct LadderBest {
  MeasuredSetting setting;
  struct OtherSetting {
    MeasuredSetting setting;
    TimeComparison best_comparison;  // baseline: the other setting; kFaster: the best is significantly faster

    static void Describe(auto& v) {
      v.Flat(&OtherSetting::setting);
      v("best_over_it", [](const OtherSetting& other) { return RatioAndVerdict{other.best_comparison}; },
        {.meaning = "how much faster the best setting is"});
    }
  };
  // All other settings, the closest first. The false discovery rate is controlled over them.
  std::vector<OtherSetting> others;

  static void Describe(auto& v) {
    v.Flat(&LadderBest::setting);
    v("others", &LadderBest::others, {.meaning = "every other setting, the nearest first; judged together"});
  }
};

struct Ladder {
  std::vector<LadderLevel> levels;  // the lowest first
  std::vector<int> threads;         // ascending
  // [threads][level], index into Report::experiments; absent: not measured.
  std::vector<std::vector<std::optional<std::size_t>>> experiments;
  bool interleaved = true;  // all were interleaved; else drift cannot be distinguished from an effect
  LadderRow latency;        // medians; all other rows are mean self times
  std::vector<LadderRow> groups, categories;  // groups and categories that take time at any setting
  std::vector<LadderRow> operators;  // matched level by level with MatchOperators; by decreasing time
  // Latency first, then groups, then operators, each by impact_ns.
  std::vector<ThreadDependentLevel> thread_dependent_levels;
  std::optional<LadderBest> best;  // absent: emulated, or fewer than two settings with times
  // Share of kernels that no mask affects in an inference at the highest level, 0 to 1.
  double portable_share = 0;

  bool IsMeasured(const LadderSetting& setting) const {
    return experiments[setting.threads][setting.level].has_value();
  }
  // The highest level that was measured with the fewest threads.
  std::size_t Highest() const;
  std::size_t Lowest() const;
  // The next level below `level` that was measured with any number of threads; if there is none, the lowest
  // level.
  std::size_t Below(std::size_t level) const;

  static constexpr const char* kSchemaName = "ladder";
  static void Describe(auto& v) {
    using L = Ladder;
    v("levels", &L::levels, {.meaning = "of the ISA, the lowest first", .non_empty = true});
    v("threads", &L::threads, {.meaning = "that were measured, rising", .min = 1, .non_empty = true});
    v("interleaved", &L::interleaved, {.meaning = "false: drift cannot be told from an effect"});
    v("latency", &L::latency, {.meaning = "medians"});
    v("groups", &L::groups, {.meaning = "mean self times of groups that take time anywhere"});
    v("categories", &L::categories, {.meaning = "mean self times of categories that take time anywhere"});
    v("operators", &L::operators, {.meaning = "mean self times, by falling time"});
    v("best", &L::best, {.meaning = "the fastest setting; null: emulated, or not two settings with times"});
    v("swings", &L::thread_dependent_levels,
      {.meaning = "levels that help at some numbers of threads and hurt at others"});
    v("portable_share", &L::portable_share,
      {.meaning = "of an inference at the highest level: kernels that no mask reaches",
       .min = 0,
       .or_null = true});
  }
};

// The ladder of a run whose experiments differ only in the level (and the threads): all of them have a mask,
// and their visible features are nested. Absent for all other runs.
std::optional<Ladder> FindLadder(const Report& report);

// The ladders among the experiments of a run that is not a ladder. Each consists of all experiments that
// differ only in the level and the threads, with at least two numbers of threads. An experiment without a
// mask has all features of the CPU.
std::vector<Ladder> FindLaddersWithin(const Report& report);

// A time without and with a level of the ISA, at each number of threads.
struct LevelSpeedupRow {
  std::string name;
  // Indexed by number of threads; absent: not in both variants.
  std::vector<std::optional<TimeComparison>> speedups;
  // From this number of threads on, the level is the same or slower, after it was faster at a smaller number.
  // Absent if a verdict from there on is missing, inconclusive, or contended.
  std::optional<int> stops_at_threads;
  bool never_faster = false;  // the same or slower at each number of threads

  static constexpr const char* kSchemaName = "isa_threads_row";
  static void Describe(auto& v) {
    v("name", &LevelSpeedupRow::name, {.meaning = "median latency, or an operator"});
    v("gain",
      [](const LevelSpeedupRow& row) {
        return MapEach(row.speedups,
                       [](const auto& speedup) { return MakeOptionalView<RatioAndVerdict>(speedup); });
      },
      {.meaning = "by number of threads; null: not in both variants"});
    v("no_longer_from_threads", &LevelSpeedupRow::stops_at_threads,
      {.meaning = "from here on the verdict is same or slower, after it was faster", .min = 1});
    v("never", &LevelSpeedupRow::never_faster, {.meaning = "same or slower at each number of threads"});
  }
};

// The speedup of an ISA level over the level below, by the number of threads.
struct LevelSpeedups {
  std::string baseline, candidate;  // names of the levels
  std::vector<int> threads;         // ascending
  bool interleaved = true;          // all were interleaved; else drift cannot be distinguished from an effect
  LevelSpeedupRow latency;
  std::vector<LevelSpeedupRow> operators;

  bool HasStoppingRow() const;  // whether any row has `stops_at_threads`

  static constexpr const char* kSchemaName = "isa_threads";
  static void Describe(auto& v) {
    v("baseline", &LevelSpeedups::baseline, {.meaning = "name of the level below"});
    v("candidate", &LevelSpeedups::candidate, {.meaning = "name of the level"});
    v("threads", &LevelSpeedups::threads,
      {.meaning = "numbers of threads, rising", .min = 1, .non_empty = true});
    v("interleaved", &LevelSpeedups::interleaved, {.meaning = "false: drift cannot be told from an effect"});
    v("latency", &LevelSpeedups::latency, {.meaning = "of medians"});
    v("operators", &LevelSpeedups::operators, {.meaning = "that both sides have somewhere, by falling time"});
  }
};

// Finds the level speedups of the report's ladder or, without a ladder, of all experiments that differ only
// in the ISA and the number of threads: of the levels that were measured with at least two numbers of
// threads. Empty if the CPU was emulated.
std::vector<LevelSpeedups> FindLevelSpeedups(const Report& report);

}  // namespace etprof
