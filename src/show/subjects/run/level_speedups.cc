#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenLevelSpeedupRows = 5, kScreenStoppedRows = 3;

// True if the ladder's list of levels that depend on the number of threads contains the row.
bool IsInLadderList(const Report& report, const LevelSpeedups& level_speedups, const LevelSpeedupRow& row) {
  if (!report.ladder) return false;
  return std::ranges::any_of(report.ladder->thread_dependent_levels, [&](const ThreadDependentLevel& listed) {
    return listed.level == level_speedups.candidate && listed.name == row.name;
  });
}

// Inference and operators that a level no longer speeds up with more threads, except those that the ladder's
// list already contains.
List MakeStoppedRowsList(const Report& report, const LevelSpeedups& level_speedups) {
  List list{.title = "No longer pays off with more threads",
            .screen_items = kScreenStoppedRows,
            .visibility = Visibility::kBrief};
  const auto add = [&](const LevelSpeedupRow& row, const std::string& row_name) {
    if (!row.stops_at_threads || IsInLadderList(report, level_speedups, row)) return;
    std::vector<std::string> speedup_texts;
    for (std::size_t t = 0; t < row.speedups.size(); ++t) {
      speedup_texts.push_back(fmt::format("{} {}", CountedText(level_speedups.threads[t], "thread"),
                                          row.speedups[t] ? SpeedupOrDash(*row.speedups[t]) : kUndefined));
    }
    list.items.emplace_back(fmt::format("{} no longer speeds up {} from {} on: {}", level_speedups.candidate,
                                        row_name, CountedText(*row.stops_at_threads, "thread"),
                                        fmt::join(speedup_texts, ", ")));
  };
  add(level_speedups.latency, "inference");
  for (const LevelSpeedupRow& row : level_speedups.operators) add(row, row.name);
  return list;
}

Table MakeLevelSpeedupsTable(const LevelSpeedups& level_speedups) {
  Table table{.id = "isa_threads", .columns = {NameColumn("name", "")}};
  for (std::size_t t = 0; t < level_speedups.threads.size(); ++t) {
    const std::string id = fmt::format("threads_{}", level_speedups.threads[t]);
    table.AddColumns(Right(id, CountedText(level_speedups.threads[t], "thread")),
                     Left(id, "CI").WithDropPriority(static_cast<int>(level_speedups.threads.size() - t)));
  }
  table.AddColumns(Left("no_longer_from", "no longer").NeverDropped());
  const auto add = [&](const LevelSpeedupRow& speedup_row, Visibility visibility) {
    Row& row = table.AddRow(speedup_row.name);
    row.visibility = visibility;
    for (const std::optional<TimeComparison>& speedup : speedup_row.speedups)
      row.Add(OptionalCell<Speedup>(speedup), OptionalCell<Interval>(speedup));
    row.Add(speedup_row.stops_at_threads ? "from " + CountedText(*speedup_row.stops_at_threads, "thread")
            : speedup_row.never_faster   ? "at any number"
                                         : "");
  };
  add(level_speedups.latency, Visibility::kBrief);

  // Rows in which the level stops helping come first; the other rows follow by time.
  for (const bool stops : {true, false}) {
    for (const LevelSpeedupRow& row : level_speedups.operators) {
      if (row.stops_at_threads.has_value() == stops)
        add(row, table.rows.size() < kScreenLevelSpeedupRows ? Visibility::kDefault : Visibility::kPage);
    }
  }
  return table;
}

Section MakeLevelSpeedupsSection(const Report& report, const LevelSpeedups& level_speedups) {
  List stops = MakeStoppedRowsList(report, level_speedups);
  // For more than two levels, the ladder's own tables and list have the other speedups.
  const bool shown_by_ladder = report.ladder && report.ladder->levels.size() > 2 && stops.items.empty();
  Section section{
      fmt::format("{} compared with {} by threads", level_speedups.candidate, level_speedups.baseline),
      shown_by_ladder                   ? Visibility::kPage
      : level_speedups.HasStoppingRow() ? Visibility::kBrief
                                        : Visibility::kDefault};
  if (!level_speedups.interleaved) section.AddText(kNotInterleaved);
  section.AddUnlessEmpty(std::move(stops));
  section.parts.emplace_back(MakeLevelSpeedupsTable(level_speedups));
  section.AddText(
      AddUndefinedText("Speedup at each number of threads. No longer: the first number of threads from which "
                       "on the verdict is same or slower, where fewer threads were faster.",
                       report),
      Visibility::kPage);
  return section;
}

}  // namespace

std::vector<Section> MakeLevelSpeedupsSections(const Report& report) {
  std::vector<Section> sections;
  for (const LevelSpeedups& level_speedups : report.level_speedups) {
    if (report.ladder && report.ladder->levels.size() > 2 && !level_speedups.HasStoppingRow()) continue;
    sections.push_back(MakeLevelSpeedupsSection(report, level_speedups));
  }
  return sections;
}

}  // namespace etprof::show
