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

// "" and all prefixes of at least half of the paths.
std::vector<std::string> CommonPrefixes(const Paths& paths) {
  std::size_t all = 0;
  std::map<std::string, std::size_t> below;
  for (const auto& [path, count] : paths) {
    all += count;
    for (std::size_t dot = path.find('.'); !path.empty(); dot = path.find('.', dot + 1)) {
      below[path.substr(0, dot)] += count;
      if (dot == std::string::npos) break;
    }
  }
  std::vector<std::string> prefixes = {""};
  for (const auto& [prefix, count] : below) {
    if (2 * count >= all) prefixes.push_back(prefix);
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
  const auto count = [](const std::vector<std::string>& paths) {
    Paths counted;
    for (const std::string& path : paths) ++counted[path];
    return counted;
  };
  const Paths a = count(baseline), b = count(candidate);
  ModulePrefixes best;
  std::size_t most_equal = 0;
  for (const std::string& prefix_a : CommonPrefixes(a)) {
    const Paths stripped_a = StripPrefix(a, prefix_a);
    for (const std::string& prefix_b : CommonPrefixes(b)) {
      std::size_t num_equal = 0;
      for (const auto& [path, times] : StripPrefix(b, prefix_b)) {
        if (const auto found = stripped_a.find(path); found != stripped_a.end())
          num_equal += std::min(times, found->second);
      }
      const bool shorter = prefix_a.size() + prefix_b.size() < best.baseline.size() + best.candidate.size();
      if (num_equal < most_equal || (num_equal == most_equal && !(shorter && most_equal > 0))) continue;
      if (num_equal == 0) continue;
      most_equal = num_equal;
      best = {prefix_a, prefix_b};
    }
  }
  return best;
}

}  // namespace etprof
