#include "report/ladder/payoff.h"

#include <algorithm>
#include <utility>

#include "report/ladder/ladder.h"
#include "report/report.h"

namespace etprof {
namespace {

PayoffRow PayoffOf(const LadderRow& row, std::size_t level, const std::vector<int>& threads) {
  PayoffRow made{row.name, {}, {}, false};
  for (const std::vector<LadderCell>& levels : row.cells) made.gain.push_back(levels[level].over_below);
  const auto is = [](const std::optional<Quantity>& quantity, auto... verdicts) {
    return quantity && ((quantity->verdict == verdicts) || ...);
  };
  std::size_t from = made.gain.size();
  while (from > 0 && is(made.gain[from - 1], stats::Verdict::kSame, stats::Verdict::kSlower)) --from;
  made.never = from == 0;
  const bool paid = std::any_of(made.gain.begin(), made.gain.begin() + static_cast<std::ptrdiff_t>(from),
                                [&](const auto& gain) { return is(gain, stats::Verdict::kFaster); });
  if (paid && from < made.gain.size()) made.stops = threads[from];
  return made;
}

void AddPayoffs(const Ladder& ladder, std::vector<Payoff>& payoffs) {
  for (std::size_t level = 1; level < ladder.levels.size(); ++level) {
    Payoff payoff;
    payoff.latency = PayoffOf(ladder.latency, level, ladder.threads);
    if (std::ranges::count_if(payoff.latency.gain, [](const auto& gain) { return gain.has_value(); }) < 2)
      continue;
    payoff.baseline = ladder.levels[ladder.Below(level)].name;
    payoff.candidate = ladder.levels[level].name;
    payoff.threads = ladder.threads;
    payoff.interleaved = ladder.interleaved;
    for (const LadderRow& row : ladder.operators) {
      PayoffRow of = PayoffOf(row, level, ladder.threads);
      if (std::ranges::any_of(of.gain, [](const auto& gain) { return gain.has_value(); }))
        payoff.operators.push_back(std::move(of));
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
    for (const Ladder& ladder : LaddersWithin(report)) AddPayoffs(ladder, payoffs);
  }
  return payoffs;
}

}  // namespace etprof
