#include "analysis/statistics.h"

#include <functional>
#include <map>

#include "core/parallel.h"

namespace etprof {
namespace {

SpanStatistics DescribeOperator(const Profile& profile, std::size_t op,
                                const std::vector<std::size_t>& common,
                                const std::vector<std::size_t>& described) {
  SpanStatistics result;
  const auto self = profile.Self(op);
  const auto duration = profile.Duration(op);
  for (const std::size_t run : common) {
    if (self[run] == Profile::kAbsent) continue;
    ++result.runs;
    result.total_self += self[run];
    result.total_duration += duration[run];
  }
  std::vector<double> values;
  values.reserve(described.size());
  for (const std::size_t run : described) {
    if (self[run] != Profile::kAbsent) values.push_back(static_cast<double>(self[run]));
  }
  result.self = stats::Describe(values);
  return result;
}

// The self time of `operators` together, run by run.
stats::Distribution DescribeTogether(const Profile& profile, const std::vector<std::size_t>& operators,
                                     const std::vector<std::size_t>& described) {
  if (operators.empty()) return {};
  std::vector<Nanoseconds> sums(profile.runs.size(), 0);
  for (const std::size_t op : operators) {
    const auto self = profile.Self(op);
    for (std::size_t run = 0; run < sums.size(); ++run) sums[run] += std::max<Nanoseconds>(0, self[run]);
  }
  std::vector<double> values;
  values.reserve(described.size());
  for (const std::size_t run : described) values.push_back(static_cast<double>(sums[run]));
  return stats::Describe(values);
}

}  // namespace

void DescribeProfile(Profile& profile, std::size_t threads) {
  const std::vector<std::size_t> common = profile.CommonSet();
  const std::vector<std::size_t> described = profile.DescribedRuns();
  const std::size_t operators = profile.operators.size();
  std::map<std::string, std::vector<std::size_t>> by_category;
  std::vector<std::vector<std::size_t>> by_group(std::size(kAllGroups));
  for (std::size_t op = 0; op < operators; ++op) {
    const Category& category = profile.operators[op].category;
    by_category[std::string(category.name)].push_back(op);
    by_group[static_cast<std::size_t>(category.group)].push_back(op);
  }
  profile.statistics.resize(operators);
  profile.groups.resize(by_group.size());
  profile.categories.clear();
  for (const auto& [name, unused] : by_category) profile.categories.emplace_back(name, stats::Distribution{});

  std::vector<std::function<void()>> work;
  for (std::size_t op = 0; op < operators; ++op) {
    work.emplace_back([&, op] { profile.statistics[op] = DescribeOperator(profile, op, common, described); });
  }
  for (std::size_t group = 0; group < by_group.size(); ++group) {
    work.emplace_back(
        [&, group] { profile.groups[group] = DescribeTogether(profile, by_group[group], described); });
  }
  for (auto& [name, distribution] : profile.categories) {
    work.emplace_back([&, name = &name, distribution = &distribution] {
      *distribution = DescribeTogether(profile, by_category.at(*name), described);
    });
  }
  work.emplace_back([&] {
    std::vector<double> totals;
    for (const std::size_t run : described) totals.push_back(static_cast<double>(profile.runs[run].total));
    profile.whole = stats::Describe(totals);
  });
  // A short trace is done before a thread has started.
  constexpr std::size_t kCellsWorthAThread = 100'000;
  ParallelFor(work.size(), profile.self.size() < kCellsWorthAThread ? 1 : threads,
              [&](std::size_t i) { work[i](); });
}

}  // namespace etprof
