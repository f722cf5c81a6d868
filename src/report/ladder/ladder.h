#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "core/json/describe.h"

namespace etprof {

struct Report;

// One model at each level of the ISA ladder, with each requested number of threads (docs/guides/isa.md). All
// times are in nanoseconds.

struct LadderLevel {
  std::string name;
  std::string isa;
  std::vector<std::string> adds;
  std::string error;  // why it was not measured; empty: measured

  static void Describe(auto& v) {
    v("name", &LadderLevel::name, {.meaning = "the experiment's: \"avx2\""});
    v("isa", &LadderLevel::isa, {.meaning = "the mask"});
    v("adds", &LadderLevel::adds,
      {.meaning = "features that the level below does not show; of the lowest: all"});
    v("error", &LadderLevel::error, {.meaning = "why it was not measured; null: it was", .or_null = true});
  }
};

// A level with a number of threads: indices into Ladder::levels and Ladder::threads.
struct LadderSetting {
  std::size_t level = 0, threads = 0;
  auto operator<=>(const LadderSetting&) const = default;
};

// A time at one setting, which is the candidate of the quantities.
struct LadderCell {
  std::optional<double> ns;  // absent: not present, or not measured
  // Compared with Ladder::Below, if that level was measured with this number of threads (so that the effect
  // of a level always refers to the same other level), and with the lowest measured level, both at this
  // number of threads.
  std::optional<Quantity> over_below, over_lowest;
  // Compared with the fewest threads at the same level: the speedup from which the scaling efficiency is
  // computed.
  std::optional<Quantity> over_fewest;
  // For operators: index into the Profile::operators of the setting's experiment; absent: not present.
  std::optional<std::size_t> op;
};
struct LadderRow {
  std::string name;                            // for operators: the name at the highest level that has it
  std::vector<std::vector<LadderCell>> cells;  // [threads][level]

  const LadderCell& At(const LadderSetting& setting) const { return cells[setting.threads][setting.level]; }
  LadderCell& At(const LadderSetting& setting) { return cells[setting.threads][setting.level]; }
};

// A level that is faster at some numbers of threads and slower at others.
struct ThreadDependentLevel {
  enum class Of { kLatency, kGroup, kOperator };
  Of of = Of::kLatency;
  std::size_t row = 0;  // index into Ladder::groups or Ladder::operators
  std::size_t level = 0;
  std::vector<std::size_t> helps, hurts;  // indices into Ladder::threads
  double at_stake = 0;                    // ns; the row's largest time at this level
};

template <>
inline constexpr NamedValue<ThreadDependentLevel::Of> kNames<ThreadDependentLevel::Of>[] = {
    {ThreadDependentLevel::Of::kLatency, "latency"},
    {ThreadDependentLevel::Of::kGroup, "group"},
    {ThreadDependentLevel::Of::kOperator, "operator"}};

// The fastest setting by the paired estimates.
struct LadderBest {
  LadderSetting setting;
  struct Other {
    LadderSetting setting;
    Quantity against;  // baseline: the other setting; kFaster: the best is significantly faster
  };
  // All other settings, the closest first. The false discovery rate is controlled over them.
  std::vector<Other> others;
};

struct Ladder {
  std::vector<LadderLevel> levels;  // the lowest first
  std::vector<int> threads;         // ascending
  std::vector<std::vector<std::optional<std::size_t>>>
      experiments;          // [threads][level], index into Report::experiments; absent: not measured
  bool interleaved = true;  // all were interleaved; else drift cannot be distinguished from an effect
  LadderRow latency;        // medians; all other rows are mean self times
  std::vector<LadderRow> groups, categories;  // groups and categories that take time at any setting
  std::vector<LadderRow> operators;  // matched level by level with MatchOperators; by decreasing time
  std::vector<ThreadDependentLevel>
      thread_dependent_levels;     // latency first, then groups, then operators, each by at_stake
  std::optional<LadderBest> best;  // absent: emulated, or fewer than two settings with times
  double portable_share =
      0;  // share of portable kernels, which no mask affects, in an inference at the highest level, 0 to 1

  const LadderRow& RowOf(const ThreadDependentLevel& swing) const;
  bool Measured(const LadderSetting& setting) const {
    return experiments[setting.threads][setting.level].has_value();
  }
  // The highest level that was measured with the fewest threads.
  std::size_t Highest() const;
  std::size_t Lowest() const;
  // The next level below `level` that was measured with any number of threads; if there is none, the lowest
  // level.
  std::size_t Below(std::size_t level) const;
};

// The ladder of a run whose experiments differ only in the level (and the threads): all of them have a mask,
// and their visible features are nested. Absent for all other runs.
std::optional<Ladder> FindLadder(const Report& report);

// The ladders among the experiments of a run that is not a ladder. Each consists of all experiments that
// differ only in the level and the threads, with at least two numbers of threads. An experiment without a
// mask has all features of the CPU.
std::vector<Ladder> FindLaddersWithin(const Report& report);

// The scaling efficiency of a cell: speedup / ratio of the threads; absent without a speedup.
std::optional<double> EfficiencyAt(const Ladder& ladder, const LadderRow& row, const LadderSetting& setting);

}  // namespace etprof
