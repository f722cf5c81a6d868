#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenPayoffRows = 5, kScreenStops = 3;

// True if the ladder's list of levels that depend on the number of threads contains the row.
bool IsInLadderList(const Report& report, const Payoff& payoff, const PayoffRow& row) {
  if (!report.ladder) return false;
  return std::ranges::any_of(report.ladder->thread_dependent_levels, [&](const ThreadDependentLevel& listed) {
    return listed.level == payoff.candidate && listed.name == row.name;
  });
}

// Inference and operators that a level no longer speeds up with more threads, except those that the ladder's
// list already contains.
List MakeStopsList(const Report& report, const Payoff& payoff) {
  List list{"No longer pays off with more threads", {}, kScreenStops, false, Level::kBrief};
  const auto add = [&](const PayoffRow& row, const std::string& what) {
    if (!row.stops || IsInLadderList(report, payoff, row)) return;
    std::vector<std::string> gains;
    for (std::size_t t = 0; t < row.speedups.size(); ++t) {
      gains.push_back(fmt::format("{} {}", CountedText(payoff.threads[t], "thread"),
                                  row.speedups[t] ? SpeedupOrDash(*row.speedups[t]) : kUndefined));
    }
    list.items.emplace_back(fmt::format("{} no longer speeds up {} from {} on: {}", payoff.candidate, what,
                                        CountedText(*row.stops, "thread"), fmt::join(gains, ", ")));
  };
  add(payoff.latency, "inference");
  for (const PayoffRow& row : payoff.operators) add(row, row.name);
  return list;
}

Table MakePayoffTable(const Payoff& payoff) {
  Table table{.id = "isa_threads", .columns = {Names("name", "")}};
  for (std::size_t t = 0; t < payoff.threads.size(); ++t) {
    const std::string id = fmt::format("threads_{}", payoff.threads[t]);
    table.AddColumns(Right(id, CountedText(payoff.threads[t], "thread")),
                     Left(id, "CI").WithDropPriority(static_cast<int>(payoff.threads.size() - t)));
  }
  table.AddColumns(Left("no_longer_from", "no longer").NeverDropped());
  const auto add = [&](const PayoffRow& payoff_row, Level level) {
    Row& row = table.AddRow(payoff_row.name);
    row.level = level;
    for (const std::optional<TimeComparison>& speedup : payoff_row.speedups)
      row.Add(OptionalCell<Speedup>(speedup), OptionalCell<Interval>(speedup));
    row.Add(payoff_row.stops   ? "from " + CountedText(*payoff_row.stops, "thread")
            : payoff_row.never ? "at any number"
                               : "");
  };
  add(payoff.latency, Level::kBrief);
  // Rows that stop paying off come first, since they are the question; the others follow by time.
  for (const bool stops : {true, false}) {
    for (const PayoffRow& row : payoff.operators) {
      if (row.stops.has_value() == stops)
        add(row, table.rows.size() < kScreenPayoffRows ? Level::kDefault : Level::kPage);
    }
  }
  return table;
}

Section MakePayoffSection(const Report& report, const Payoff& payoff) {
  List stops = MakeStopsList(report, payoff);
  // For more than two levels, the ladder's own tables and list have the other speedups.
  const bool shown_by_ladder = report.ladder && report.ladder->levels.size() > 2 && stops.items.empty();
  Section section{fmt::format("{} compared with {} by threads", payoff.candidate, payoff.baseline),
                  shown_by_ladder  ? Level::kPage
                  : payoff.Stops() ? Level::kBrief
                                   : Level::kDefault};
  if (!payoff.interleaved) section.AddText(kNotInterleaved);
  section.AddUnlessEmpty(std::move(stops));
  section.parts.emplace_back(MakePayoffTable(payoff));
  section.AddText(
      "Speedup at each number of threads. No longer: the first number of threads from which on the "
      "verdict is same or slower, where fewer threads were faster. " +
          UndefinedText(report),
      Level::kPage);
  return section;
}

}  // namespace

std::vector<Section> MakePayoffSections(const Report& report) {
  std::vector<Section> sections;
  for (const Payoff& payoff : report.payoffs) {
    if (report.ladder && report.ladder->levels.size() > 2 && !payoff.Stops()) continue;
    sections.push_back(MakePayoffSection(report, payoff));
  }
  return sections;
}

}  // namespace etprof::show
