#include <algorithm>
#include <utility>

#include "report/ladder/ladder.h"
#include "report/report.h"

namespace etprof {
namespace {

LevelSpeedupRow MakeLevelSpeedupRow(const LadderRow& row, std::size_t level,
                                    const std::vector<int>& threads) {
  LevelSpeedupRow new_row;
  new_row.name = row.name;
  for (const std::vector<LadderCell>& levels : row.cells)
    new_row.speedups.push_back(levels[level].over_level_below);
  const auto has_verdict = [](const std::optional<TimeComparison>& time_comparison, auto... verdicts) {
    return time_comparison && ((time_comparison->verdict == verdicts) || ...);
  };
  std::size_t from = new_row.speedups.size();
  while (from > 0 && has_verdict(new_row.speedups[from - 1], stats::Verdict::kSame, stats::Verdict::kSlower))
    --from;
  new_row.never_faster = from == 0;
  const bool was_faster = std::any_of(
      new_row.speedups.begin(), new_row.speedups.begin() + static_cast<std::ptrdiff_t>(from),
      [&](const auto& time_comparison) { return has_verdict(time_comparison, stats::Verdict::kFaster); });
  if (was_faster && from < new_row.speedups.size()) new_row.stops_at_threads = threads[from];
  return new_row;
}

void AddLevelSpeedups(const Ladder& ladder, std::vector<LevelSpeedups>& all_speedups) {
  for (std::size_t level = 1; level < ladder.levels.size(); ++level) {
    LevelSpeedups level_speedups;
    level_speedups.latency = MakeLevelSpeedupRow(ladder.latency, level, ladder.threads);
    if (std::ranges::count_if(level_speedups.latency.speedups,
                              [](const auto& time_comparison) { return time_comparison.has_value(); }) < 2)
      continue;
    level_speedups.baseline = ladder.levels[ladder.Below(level)].name;
    level_speedups.candidate = ladder.levels[level].name;
    level_speedups.threads = ladder.threads;
    level_speedups.interleaved = ladder.interleaved;
    for (const LadderRow& row : ladder.operators) {
      LevelSpeedupRow speedup_row = MakeLevelSpeedupRow(row, level, ladder.threads);
      if (std::ranges::any_of(speedup_row.speedups,
                              [](const auto& time_comparison) { return time_comparison.has_value(); }))
        level_speedups.operators.push_back(std::move(speedup_row));
    }
    all_speedups.push_back(std::move(level_speedups));
  }
}

}  // namespace

bool LevelSpeedups::HasStoppingRow() const {
  return latency.stops_at_threads || std::ranges::any_of(operators, [](const LevelSpeedupRow& row) {
           return row.stops_at_threads.has_value();
         });
}

std::vector<LevelSpeedups> FindLevelSpeedups(const Report& report) {
  std::vector<LevelSpeedups> all_speedups;
  if (report.emulated) return all_speedups;
  if (report.ladder) {
    AddLevelSpeedups(*report.ladder, all_speedups);
  } else {
    for (const Ladder& ladder : FindLaddersWithin(report)) AddLevelSpeedups(ladder, all_speedups);
  }
  return all_speedups;
}

}  // namespace etprof
