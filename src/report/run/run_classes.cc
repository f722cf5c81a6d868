#include "report/run/run_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "core/text/text.h"
#include "core/views.h"
#include "profile/analysis/operators.h"
#include "stats/stability.h"

namespace etprof {
namespace {

constexpr std::size_t kMinRuns = 20;    // times of fewer runs are not compared
constexpr std::size_t kMaxClasses = 4;  // keeps the report short, since it lists every class

// A quantile of times that other processes do not affect, since they lengthen another operator in each run.
constexpr double kUndisturbedQuantile = 0.1;
// If the latency changes by at least this share, one median does not describe all runs.
constexpr double kMinChange = 0.1;
// Enough runs for a median or quantile of one class, and for classes of a tenth of the runs.
constexpr std::size_t kMaxSampledRuns = 2000;

// Takes one run from each of kMaxSampledRuns equal stretches of `runs`, in order, or all runs if there are
// fewer. The offset in a stretch differs, so that a sample of alternating runs contains every kind of run.
std::vector<std::size_t> SampleEvenly(const std::vector<std::size_t>& runs) {
  if (runs.size() <= kMaxSampledRuns) return runs;
  constexpr double kGoldenRatio = 0.6180339887498949;  // its multiples are spread evenly, modulo 1
  const double stretch = static_cast<double>(runs.size()) / kMaxSampledRuns;
  std::vector<std::size_t> sample;
  for (std::size_t i = 0; i < kMaxSampledRuns; ++i) {
    const double offset = std::fmod(static_cast<double>(i) * kGoldenRatio, 1.0);
    sample.push_back(runs[static_cast<std::size_t>((static_cast<double>(i) + offset) * stretch)]);
  }
  return sample;
}

RunClass MakeRunClass(const Profile& profile, std::string name, const std::vector<std::size_t>& runs) {
  RunClass run_class{std::move(name), runs, stats::Summarize(profile.Totals(runs)), {}, {}};
  const stats::Fences fences = stats::TukeyFences(profile.Totals(runs));
  std::ranges::copy_if(runs, std::back_inserter(run_class.common_runs), [&](std::size_t run) {
    return fences.Contains(static_cast<double>(profile.runs[run].total));
  });
  run_class.groups = ByGroup(profile, run_class.common_runs);
  return run_class;
}

std::string RangeText(const std::vector<std::size_t>& runs) {
  return runs.size() == 1 ? fmt::format("run {}", runs[0] + 1)
                          : fmt::format("runs {}-{}", runs.front() + 1, runs.back() + 1);
}

// Classes by the operators that ran, the largest class first.
std::vector<RunClass> ClassifyByOperators(const Profile& profile, const std::vector<std::size_t>& runs) {
  std::map<std::set<std::int32_t>, std::vector<std::size_t>> runs_by_operators;
  std::map<std::uint32_t, std::vector<std::size_t>*> members_by_layout;
  for (const std::size_t run : runs) {
    const std::uint32_t layout = profile.runs[run].layout;
    const auto [entry, is_new] = members_by_layout.try_emplace(layout, nullptr);
    if (is_new)
      entry->second = &runs_by_operators[{profile.layouts[layout].begin(), profile.layouts[layout].end()}];
    entry->second->push_back(run);
  }
  if (runs_by_operators.size() < 2 || runs_by_operators.size() > kMaxClasses) return {};
  std::vector<RunClass> classes;
  for (const auto& [operators, members] : runs_by_operators) {
    const auto count = std::ranges::count_if(operators, [&](std::int32_t op) {
      return IsOperator(profile.operators[static_cast<std::size_t>(op)]);
    });
    std::string name = fmt::format("{} ({})", CountedText(count, "operator"),
                                   members.back() - members.front() + 1 == members.size()
                                       ? RangeText(members)
                                       : CountedText(members.size(), "run"));
    classes.push_back(MakeRunClass(profile, std::move(name), members));
  }
  std::ranges::stable_sort(classes, std::ranges::greater(),
                           [](const RunClass& run_class) { return run_class.runs.size(); });
  return classes;
}

// Classes of consecutive runs. `cuts`: ends of the ranges.
std::vector<RunClass> CutIntoRanges(const Profile& profile, const std::vector<std::size_t>& runs,
                                    const std::vector<std::size_t>& cuts) {
  std::vector<RunClass> classes;
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    const std::vector<std::size_t> stretch(runs.begin() + static_cast<std::ptrdiff_t>(from),
                                           runs.begin() + static_cast<std::ptrdiff_t>(cut));
    classes.push_back(MakeRunClass(profile, RangeText(stretch), stretch));
    from = cut;
  }
  return classes;
}

// The operators' times at `quantile` of the two sets of runs. Empty if one set is empty.
std::vector<finding::OperatorShift> FindShifts(const Profile& profile, const std::vector<std::size_t>& runs,
                                               const std::vector<bool>& second, double quantile) {
  std::vector<std::size_t> before, after;
  for (std::size_t i = 0; i < runs.size(); ++i) (second[i] ? after : before).push_back(runs[i]);
  if (before.empty() || after.empty()) return {};
  before = SampleEvenly(before);
  after = SampleEvenly(after);
  const auto at_quantile = [&](std::size_t op, const std::vector<std::size_t>& set) {
    const std::span<const Nanoseconds> times = profile.Self(op);
    std::vector<double> values = MapEach(
        set, [&](std::size_t run) { return static_cast<double>(std::max<Nanoseconds>(0, times[run])); });
    const auto nth =
        values.begin() + static_cast<std::ptrdiff_t>(quantile * static_cast<double>(values.size()));
    std::ranges::nth_element(values, nth);
    return *nth;
  };
  std::vector<finding::OperatorShift> shifts;
  for (std::size_t op = 0; op < profile.operators.size(); ++op)
    shifts.push_back({op, at_quantile(op, before), at_quantile(op, after)});
  return shifts;
}

// The sums over all operators: before, after.
std::pair<double, double> SumShifts(const std::vector<finding::OperatorShift>& shifts) {
  double before = 0, after = 0;
  for (const finding::OperatorShift& shift : shifts) {
    before += shift.before_ns;
    after += shift.after_ns;
  }
  return {before, after};
}

finding::ConfinedOperators FindConfined(std::vector<finding::OperatorShift> shifts) {
  const auto [before, after] = SumShifts(shifts);
  if (before <= 0 || after == before) return {};
  const double sign = after > before ? 1 : -1;
  std::ranges::stable_sort(shifts, std::ranges::greater(), [sign](const finding::OperatorShift& shift) {
    return sign * (shift.after_ns - shift.before_ns);
  });
  constexpr double kMaxOtherChange = 0.2;    // fraction of the total relative change
  constexpr double kMaxConfinedShare = 0.5;  // fraction of the time before the change
  const double change = std::fabs(after - before) / before;
  double rest_before = before, rest_after = after;
  for (std::size_t count = 0; count < shifts.size(); ++count) {
    rest_before -= shifts[count].before_ns;
    rest_after -= shifts[count].after_ns;
    if (rest_before < (1 - kMaxConfinedShare) * before) return {};
    if (std::fabs(rest_after - rest_before) < kMaxOtherChange * change * rest_before) {
      shifts.resize(count + 1);
      return shifts;
    }
  }
  return {};
}

// Returns whether the times of operators with at least a twentieth of the time changed by very different
// factors, as for inputs of other sizes. A slower machine slows compute-bound and memory-bound operators by
// more similar factors.
bool HaveDifferentFactors(const std::vector<finding::OperatorShift>& shifts) {
  constexpr double kMinOperatorTimeShare = 0.05;
  constexpr double kMinFactorRatio = 2.5;
  const auto [before, after] = SumShifts(shifts);
  double min_factor = INFINITY, max_factor = 0;
  for (const finding::OperatorShift& shift : shifts) {
    if (shift.before_ns < kMinOperatorTimeShare * before && shift.after_ns < kMinOperatorTimeShare * after)
      continue;
    if (shift.before_ns <= 0 || shift.after_ns <= 0) continue;
    min_factor = std::min(min_factor, shift.after_ns / shift.before_ns);
    max_factor = std::max(max_factor, shift.after_ns / shift.before_ns);
  }
  return max_factor > kMinFactorRatio * min_factor;
}

std::vector<RunClass> ClassifyByTime(const Profile& profile, const std::vector<std::size_t>& runs) {
  const std::vector<double> series = profile.Totals(runs);
  const auto is_other_work = [&](const auto& is_second) {
    std::vector<bool> second(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) second[i] = is_second(i);
    const auto count = static_cast<std::size_t>(std::ranges::count(second, true));
    if (std::min(count, runs.size() - count) < runs.size() / 10) return false;
    const std::vector<finding::OperatorShift> shifts =
        FindShifts(profile, runs, second, kUndisturbedQuantile);
    return !FindConfined(shifts).empty() || HaveDifferentFactors(shifts);
  };
  if (const auto step = stats::FindStep(series)) {
    const bool is_large = std::fabs(step->after / step->before - 1) >= kMinChange;
    if (!is_large || !is_other_work([&](std::size_t i) { return i >= step->index; })) return {};
    return CutIntoRanges(profile, runs, {step->index, runs.size()});
  }
  // Use logarithms, so that a disturbed run of many times the usual length does not form its own level.
  const double min_time = *std::ranges::min_element(series);
  const auto logs = MapEach(series, [&](double value) { return 1 + std::log(value / min_time); });
  if (const auto levels = min_time > 0 ? stats::FindTwoLevels(logs) : std::nullopt) {
    const auto is_slow = [&](std::size_t i) { return logs[i] > (levels->low + levels->high) / 2; };
    if (levels->high - levels->low >= std::log1p(kMinChange) && is_other_work(is_slow)) {
      std::vector<std::size_t> fast, slow;
      for (std::size_t i = 0; i < runs.size(); ++i) (is_slow(i) ? slow : fast).push_back(runs[i]);
      const auto make_class = [&](const char* speed, const std::vector<std::size_t>& members) {
        return MakeRunClass(profile, fmt::format("{} ({})", speed, CountedText(members.size(), "run")),
                            members);
      };
      return {make_class("faster", fast), make_class("slower", slow)};
    }
  }
  const auto trend = stats::FindTrend(series);
  if (trend && trend->p_value < kTrendLevel && std::fabs(trend->relative_change) >= kMinChange &&
      is_other_work([&](std::size_t i) { return 2 * i >= runs.size(); })) {
    const std::size_t count = runs.size();
    return CutIntoRanges(profile, runs, {count / 4, count / 2, 3 * count / 4, count});
  }
  return {};
}

}  // namespace

finding::ConfinedOperators FindConfinedOperators(const Profile& profile, const std::vector<std::size_t>& runs,
                                                 const std::vector<bool>& second) {
  return FindConfined(FindShifts(profile, runs, second, 0.5));
}

std::vector<RunClass> FindRunClasses(const Profile& profile) {
  const std::vector<std::size_t> runs = profile.RunsInPhase(Phase::kSteady);
  if (std::vector<RunClass> classes = ClassifyByOperators(profile, runs); !classes.empty()) return classes;
  if (runs.size() < kMinRuns) return {};
  // Most traces have one class, which a sample shows at a fraction of the cost.
  const std::vector<std::size_t> sample = SampleEvenly(runs);
  std::vector<RunClass> classes = ClassifyByTime(profile, sample);
  return classes.empty() || sample.size() == runs.size() ? classes : ClassifyByTime(profile, runs);
}

}  // namespace etprof
