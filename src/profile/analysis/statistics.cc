#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "core/parallel.h"
#include "profile/analysis/profile.h"

namespace etprof {
namespace {

// Returns a flag for each run of the profile: 1 for the runs in `runs`, else 0.
std::vector<std::uint8_t> MarkRuns(const Profile& profile, const std::vector<std::size_t>& runs) {
  std::vector<std::uint8_t> marks(profile.runs.size());
  for (const std::size_t run : runs) marks[run] = 1;
  return marks;
}

SpanStatistics SummarizeOperator(const Profile& profile, std::size_t op,
                                 const std::vector<std::uint8_t>& common,
                                 const std::vector<std::uint8_t>& selected) {
  SpanStatistics result;
  const auto self = profile.Self(op);
  const auto duration = profile.Duration(op);
  std::vector<double> values(self.size());
  std::size_t count = 0;
  for (std::size_t run = 0; run < self.size(); ++run) {
    if (self[run] == Profile::kAbsent) continue;
    result.runs += common[run];
    result.total_self += common[run] * self[run];
    result.total_duration += common[run] * duration[run];
    values[count] = static_cast<double>(self[run]);
    count += selected[run];
  }
  values.resize(count);
  result.self = stats::Summarize(std::move(values));
  return result;
}

// The operators of one category and group, and the sum of their self times by run. Both categories and groups
// consist of such parts.
struct CategoryPart {
  std::vector<std::size_t> operators;
  std::vector<Nanoseconds> sums;
};
using CategoryParts = std::map<std::pair<std::string_view, OperatorGroup>, CategoryPart>;

void SumByRun(const Profile& profile, CategoryPart& part) {
  part.sums.resize(profile.runs.size(), 0);
  for (const std::size_t op : part.operators) {
    const auto self = profile.Self(op);
    for (std::size_t run = 0; run < part.sums.size(); ++run)
      part.sums[run] += std::max<Nanoseconds>(0, self[run]);
  }
}

// The distribution of the total self time of the parts with `is_included(key)`; empty if no part is included.
template <typename IsIncluded>
stats::Distribution SummarizeParts(const CategoryParts& parts, const std::vector<std::size_t>& selected,
                                   const IsIncluded& is_included) {
  std::vector<Nanoseconds> sums(selected.size(), 0);
  bool has_parts = false;
  for (const auto& [key, part] : parts) {
    if (!is_included(key)) continue;
    has_parts = true;
    for (std::size_t i = 0; i < selected.size(); ++i) sums[i] += part.sums[selected[i]];
  }
  return has_parts ? stats::Summarize({sums.begin(), sums.end()}) : stats::Distribution{};
}

}  // namespace

void ComputeStatistics(Profile& profile, std::size_t threads) {
  const std::vector<std::size_t> selected = profile.SteadyOrCommonRuns();
  const std::size_t operators = profile.operators.size();
  CategoryParts parts;
  for (std::size_t op = 0; op < operators; ++op) {
    const Category& category = profile.operators[op].category;
    parts[{category.name, category.group}].operators.push_back(op);
  }
  profile.statistics.resize(operators);
  profile.groups.resize(std::size(kAllOperatorGroups));
  profile.categories.clear();
  for (const auto& [key, unused] : parts) {
    const std::string name(key.first);
    if (profile.categories.empty() || profile.categories.back().first != name)
      profile.categories.emplace_back(name, stats::Distribution{});
  }

  // A short trace takes less time than the start of a thread.
  constexpr std::size_t kMinCellsForThreads = 100'000;
  const auto run_in_parallel = [&](const std::vector<std::function<void()>>& work) {
    ParallelFor(work.size(), profile.self.size() < kMinCellsForThreads ? 1 : threads,
                [&](std::size_t i) { work[i](); });
  };
  std::vector<std::function<void()>> work;
  for (auto& [key, part] : parts) work.emplace_back([&, part = &part] { SumByRun(profile, *part); });
  const std::vector<std::uint8_t> is_common = MarkRuns(profile, profile.CommonSet());
  const std::vector<std::uint8_t> is_selected = MarkRuns(profile, selected);
  for (std::size_t op = 0; op < operators; ++op)
    work.emplace_back(
        [&, op] { profile.statistics[op] = SummarizeOperator(profile, op, is_common, is_selected); });
  work.emplace_back([&] { profile.execute_time = stats::Summarize(profile.Totals(selected)); });
  run_in_parallel(work);
  work.clear();
  for (std::size_t group = 0; group < profile.groups.size(); ++group) {
    work.emplace_back([&, group] {
      profile.groups[group] = SummarizeParts(
          parts, selected, [&](const auto& key) { return key.second == kAllOperatorGroups[group]; });
    });
  }
  for (auto& [name, distribution] : profile.categories) {
    work.emplace_back([&, name = &name, distribution = &distribution] {
      *distribution = SummarizeParts(parts, selected, [&](const auto& key) { return key.first == *name; });
    });
  }
  run_in_parallel(work);
}

}  // namespace etprof
