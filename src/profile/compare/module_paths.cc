#include "profile/compare/module_paths.h"

#include <algorithm>
#include <map>

namespace etprof {
namespace {

bool IsBelow(std::string_view path, std::string_view prefix) {
  return prefix.empty() || path == prefix ||
         (path.starts_with(prefix) && path.size() > prefix.size() && path[prefix.size()] == '.');
}

using Paths = std::map<std::string, std::size_t>;  // number of occurrences of each path

// The prefixes that at least half of the paths share, including "".
std::vector<std::string> CommonPrefixes(const Paths& paths) {
  std::size_t total = 0;
  std::map<std::string, std::size_t> below;
  for (const auto& [path, count] : paths) {
    total += count;
    for (std::size_t dot = path.find('.'); !path.empty(); dot = path.find('.', dot + 1)) {
      below[path.substr(0, dot)] += count;
      if (dot == std::string::npos) break;
    }
  }
  std::vector<std::string> prefixes = {""};
  for (const auto& [prefix, count] : below) {
    if (2 * count >= total) prefixes.push_back(prefix);
  }
  std::ranges::stable_sort(prefixes, {}, &std::string::size);
  return prefixes;
}

Paths StripPrefix(const Paths& paths, const std::string& prefix) {
  Paths stripped;
  for (const auto& [path, count] : paths) stripped[WithoutPrefix(path, prefix)] += count;
  return stripped;
}

}  // namespace

std::string WithoutPrefix(const std::string& path, const std::string& prefix) {
  if (prefix.empty() || !IsBelow(path, prefix)) return path;
  return path.size() == prefix.size() ? "" : path.substr(prefix.size() + 1);
}

ModulePrefixes FindWrapperPrefixes(const std::vector<std::string>& baseline,
                                   const std::vector<std::string>& candidate) {
  const auto count_paths = [](const std::vector<std::string>& paths) {
    Paths counts;
    for (const std::string& path : paths) ++counts[path];
    return counts;
  };
  const Paths a = count_paths(baseline), b = count_paths(candidate);
  ModulePrefixes best;
  std::size_t max_equal = 0;
  for (const std::string& prefix_a : CommonPrefixes(a)) {
    const Paths stripped_a = StripPrefix(a, prefix_a);
    for (const std::string& prefix_b : CommonPrefixes(b)) {
      std::size_t num_equal = 0;
      for (const auto& [path, times] : StripPrefix(b, prefix_b)) {
        if (const auto found = stripped_a.find(path); found != stripped_a.end())
          num_equal += std::min(times, found->second);
      }
      const bool is_shorter =
          prefix_a.size() + prefix_b.size() < best.baseline.size() + best.candidate.size();
      if (num_equal == 0 || num_equal < max_equal || (num_equal == max_equal && !is_shorter)) continue;
      max_equal = num_equal;
      best = {prefix_a, prefix_b};
    }
  }
  return best;
}

}  // namespace etprof
