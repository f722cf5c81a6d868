#include "compare/module_paths.h"

#include <algorithm>
#include <map>

namespace etprof {
namespace {

bool IsBelow(std::string_view path, std::string_view prefix) {
  return prefix.empty() || path == prefix ||
         (path.starts_with(prefix) && path.size() > prefix.size() && path[prefix.size()] == '.');
}

using Paths = std::map<std::string, std::size_t>;  // how often each occurs

// "", and what at least half of the paths begin with.
std::vector<std::string> PrefixesOf(const Paths& paths) {
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

Paths Stripped(const Paths& paths, const std::string& prefix) {
  Paths stripped;
  for (const auto& [path, count] : paths) stripped[WithoutPrefix(path, prefix)] += count;
  return stripped;
}

}  // namespace

std::string WithoutPrefix(const std::string& path, const std::string& prefix) {
  if (prefix.empty() || !IsBelow(path, prefix)) return path;
  return path.size() == prefix.size() ? "" : path.substr(prefix.size() + 1);
}

ModulePrefixes CommonModules(const std::vector<std::string>& baseline,
                             const std::vector<std::string>& candidate) {
  const auto count = [](const std::vector<std::string>& paths) {
    Paths counted;
    for (const std::string& path : paths) ++counted[path];
    return counted;
  };
  const Paths a = count(baseline), b = count(candidate);
  ModulePrefixes best;
  std::size_t most = 0;
  for (const std::string& of_a : PrefixesOf(a)) {
    const Paths left = Stripped(a, of_a);
    for (const std::string& of_b : PrefixesOf(b)) {
      std::size_t same = 0;
      for (const auto& [path, times] : Stripped(b, of_b)) {
        if (const auto found = left.find(path); found != left.end()) same += std::min(times, found->second);
      }
      const bool shorter = of_a.size() + of_b.size() < best.baseline.size() + best.candidate.size();
      if (same < most || (same == most && !(shorter && most > 0))) continue;
      if (same == 0) continue;
      most = same;
      best = {of_a, of_b};
    }
  }
  return best;
}

}  // namespace etprof
