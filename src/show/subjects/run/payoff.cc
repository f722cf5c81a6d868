#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenPayoffRows = 5, kScreenStops = 3;

class PayoffSection {
 public:
  PayoffSection(const Report& report, const Payoff& payoff) : report_(report), payoff_(payoff) {}

  Section Make() const {
    List stops = MakeStopsList();
    // For more than two levels, the ladder's own tables and list have the other speedups.
    const bool shown_by_ladder = report_.ladder && report_.ladder->levels.size() > 2 && stops.items.empty();
    Section section{fmt::format("{} compared with {} by threads", payoff_.candidate, payoff_.baseline),
                    shown_by_ladder   ? Level::kPage
                    : payoff_.Stops() ? Level::kBrief
                                      : Level::kUsual};
    if (!payoff_.interleaved) section.AddText(kNotInterleaved);
    section.AddUnlessEmpty(std::move(stops));
    section.parts.emplace_back(MakeSpeedupsTable());
    section.AddText(
        "Speedup at each number of threads. No longer: the first number of threads from which on the "
        "verdict is same or slower, where fewer threads were faster. " +
            UndefinedText(report_),
        Level::kPage);
    return section;
  }

 private:
  // The stops that the ladder's own list of swings does not contain.
  List MakeStopsList() const {
    List list{"No longer pays off with more threads", {}, kScreenStops, false, Level::kBrief};
    const auto add = [&](const PayoffRow& row, const std::string& what) {
      if (!row.stops || IsListedAsSwing(row)) return;
      std::vector<std::string> gains;
      for (std::size_t t = 0; t < row.speedups.size(); ++t) {
        gains.push_back(fmt::format("{} {}", CountedText(payoff_.threads[t], "thread"),
                                    row.speedups[t] ? SpeedupOrDash(*row.speedups[t]) : kUndefined));
      }
      list.items.emplace_back(fmt::format("{} no longer speeds up {} from {} on: {}", payoff_.candidate, what,
                                          CountedText(*row.stops, "thread"), fmt::join(gains, ", ")));
    };
    add(payoff_.latency, "inference");
    for (const PayoffRow& row : payoff_.operators) add(row, row.name);
    return list;
  }

  bool IsListedAsSwing(const PayoffRow& row) const {
    if (!report_.ladder) return false;
    return std::ranges::any_of(report_.ladder->thread_dependent_levels,
                               [&](const ThreadDependentLevel& swing) {
                                 return swing.level == payoff_.candidate && swing.name == row.name;
                               });
  }

  Table MakeSpeedupsTable() const {
    Table table{.id = "isa_threads", .columns = {Names("name", "")}};
    for (std::size_t t = 0; t < payoff_.threads.size(); ++t) {
      const std::string id = fmt::format("threads_{}", payoff_.threads[t]);
      table.columns.push_back(Right(id, CountedText(payoff_.threads[t], "thread")));
      table.columns.push_back({id, "CI", false, static_cast<int>(payoff_.threads.size() - t)});
    }
    table.columns.push_back(Left("no_longer_from", "no longer").Decides());
    const auto add = [&](const PayoffRow& of, Level level) {
      Row row{of.name};
      for (const std::optional<Quantity>& speedups : of.speedups) {
        row.cells.push_back(OptionalCell<Speedup>(speedups));
        row.cells.push_back(OptionalCell<Interval>(speedups));
      }
      row.cells.push_back(of.stops   ? Cell("from " + CountedText(*of.stops, "thread"))
                          : of.never ? Cell("at any number")
                                     : Cell(""));
      row.level = level;
      table.rows.push_back(std::move(row));
    };
    add(payoff_.latency, Level::kBrief);
    // Rows that stop paying off come first, since they are the question; the others follow by time.
    for (const bool stops : {true, false}) {
      for (const PayoffRow& row : payoff_.operators) {
        if (row.stops.has_value() == stops)
          add(row, table.rows.size() < kScreenPayoffRows ? Level::kUsual : Level::kPage);
      }
    }
    return table;
  }

  const Report& report_;
  const Payoff& payoff_;
};

}  // namespace

std::vector<Section> MakePayoffSections(const Report& report) {
  std::vector<Section> sections;
  for (const Payoff& payoff : report.payoffs) {
    if (report.ladder && report.ladder->levels.size() > 2 && !payoff.Stops()) continue;
    sections.push_back(PayoffSection(report, payoff).Make());
  }
  return sections;
}

}  // namespace etprof::show
