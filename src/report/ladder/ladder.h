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

// One model at every level of the ISA ladder, at every number of threads that was asked for
// (docs/guides/isa.md). All times are nanoseconds.

struct LadderLevel {
  std::string name;
  std::string isa;
  std::vector<std::string> adds;
  std::string error;  // why it was not measured; empty: it was

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

// One time at one setting. A Quantity's candidate is this setting.
struct LadderCell {
  std::optional<double> ns;  // absent: not there, or not measured
  // At the same number of threads, against Ladder::Below, where that was measured with so many (what a level
  // gains is over one other, whatever the threads), and against the lowest level that was.
  std::optional<Quantity> over_below, over_lowest;
  // Against the fewest threads at the same level: the speedup that the scaling efficiency is made of.
  std::optional<Quantity> over_fewest;
  // Of an operator that is there: index into the Profile::operators of the setting's experiment.
  std::optional<std::size_t> op;
};
struct LadderRow {
  std::string name;                            // of an operator: as the highest level that has it calls it
  std::vector<std::vector<LadderCell>> cells;  // [threads][level]

  const LadderCell& At(const LadderSetting& setting) const { return cells[setting.threads][setting.level]; }
  LadderCell& At(const LadderSetting& setting) { return cells[setting.threads][setting.level]; }
};

// A level that pays at some numbers of threads and costs at others.
struct LadderSwing {
  enum class Of { kLatency, kGroup, kOperator };
  Of of = Of::kLatency;
  std::size_t row = 0;  // index into Ladder::groups or Ladder::operators
  std::size_t level = 0;
  std::vector<std::size_t> helps, hurts;  // indices into Ladder::threads
  double at_stake = 0;                    // ns: the row's largest time at this level
};

template <>
inline constexpr NamedValue<LadderSwing::Of> kNames<LadderSwing::Of>[] = {
    {LadderSwing::Of::kLatency, "latency"},
    {LadderSwing::Of::kGroup, "group"},
    {LadderSwing::Of::kOperator, "operator"}};

// The fastest setting, by the paired estimates.
struct LadderBest {
  LadderSetting setting;
  struct Other {
    LadderSetting setting;
    Quantity against;  // baseline: the other one; kFaster: the best is significantly faster
  };
  // All others, the nearest first. Judged together, with false discovery controlled over them.
  std::vector<Other> others;
};

struct Ladder {
  std::vector<LadderLevel> levels;  // the lowest first
  std::vector<int> threads;         // rising
  std::vector<std::vector<std::optional<std::size_t>>>
      experiments;          // [threads][level], index into Report::experiments; absent: not measured
  bool interleaved = true;  // all of them: else drift between levels cannot be told from an effect
  LadderRow latency;        // medians; all other rows are mean self times
  std::vector<LadderRow> groups, categories;  // those that take time anywhere
  std::vector<LadderRow> operators;           // chained level by level by MatchOperators; by falling time
  std::vector<LadderSwing> swings;  // of the latency, then of groups and of operators by what is at stake
  std::optional<LadderBest> best;   // absent: emulated, or not two settings with times
  double portable_share = 0;  // of an inference at the highest level: kernels that no mask reaches, 0 to 1

  const LadderRow& RowOf(const LadderSwing& swing) const;
  bool Measured(const LadderSetting& setting) const {
    return experiments[setting.threads][setting.level].has_value();
  }
  // The highest level that was measured at the fewest threads.
  std::size_t Highest() const;
  std::size_t Lowest() const;
  // The next level below `level` that was measured with any number of threads; the lowest where there is
  // none.
  std::size_t Below(std::size_t level) const;
};

// The ladder of a run whose experiments differ in nothing but the level (and the threads): all of them say
// their mask, and what the masks leave visible is nested. Absent for every other run.
std::optional<Ladder> FindLadder(const Report& report);

// Those among the experiments of a run that need not be one: each of all experiments that differ in nothing
// but the level and the threads, at two numbers of threads or more. An experiment without a mask is the CPU
// as it is.
std::vector<Ladder> LaddersWithin(const Report& report);

// Speed-up over the ratio of the threads at a cell; absent where there is none.
std::optional<double> EfficiencyAt(const Ladder& ladder, const LadderRow& row, const LadderSetting& setting);

}  // namespace etprof
