#include <algorithm>
#include <utility>

#include "report/ladder/ladder.h"
#include "report/report.h"

namespace etprof {
namespace {

PayoffRow MakePayoffRow(const LadderRow& row, std::size_t level, const std::vector<int>& threads) {
  PayoffRow new_row{row.name, {}, {}, false};
  for (const std::vector<LadderCell>& levels : row.cells)
    new_row.speedups.push_back(levels[level].over_below);
  const auto is = [](const std::optional<TimeComparison>& quantity, auto... verdicts) {
    return quantity && ((quantity->verdict == verdicts) || ...);
  };
  std::size_t from = new_row.speedups.size();
  while (from > 0 && is(new_row.speedups[from - 1], stats::Verdict::kSame, stats::Verdict::kSlower)) --from;
  new_row.never = from == 0;
  const bool was_faster =
      std::any_of(new_row.speedups.begin(), new_row.speedups.begin() + static_cast<std::ptrdiff_t>(from),
                  [&](const auto& quantity) { return is(quantity, stats::Verdict::kFaster); });
  if (was_faster && from < new_row.speedups.size()) new_row.stops = threads[from];
  return new_row;
}

void AddPayoffs(const Ladder& ladder, std::vector<Payoff>& payoffs) {
  for (std::size_t level = 1; level < ladder.levels.size(); ++level) {
    Payoff payoff;
    payoff.latency = MakePayoffRow(ladder.latency, level, ladder.threads);
    if (std::ranges::count_if(payoff.latency.speedups,
                              [](const auto& quantity) { return quantity.has_value(); }) < 2)
      continue;
    payoff.baseline = ladder.levels[ladder.Below(level)].name;
    payoff.candidate = ladder.levels[level].name;
    payoff.threads = ladder.threads;
    payoff.interleaved = ladder.interleaved;
    for (const LadderRow& row : ladder.operators) {
      PayoffRow payoff_row = MakePayoffRow(row, level, ladder.threads);
      if (std::ranges::any_of(payoff_row.speedups, [](const auto& quantity) { return quantity.has_value(); }))
        payoff.operators.push_back(std::move(payoff_row));
    }
    payoffs.push_back(std::move(payoff));
  }
}

}  // namespace

bool Payoff::Stops() const {
  return latency.stops ||
         std::ranges::any_of(operators, [](const PayoffRow& row) { return row.stops.has_value(); });
}

std::vector<Payoff> FindPayoffs(const Report& report) {
  std::vector<Payoff> payoffs;
  if (report.emulated) return payoffs;
  if (report.ladder) {
    AddPayoffs(*report.ladder, payoffs);
  } else {
    for (const Ladder& ladder : FindLaddersWithin(report)) AddPayoffs(ladder, payoffs);
  }
  return payoffs;
}

}  // namespace etprof
