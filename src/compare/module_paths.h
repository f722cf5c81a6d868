#pragma once

#include <string>
#include <vector>

namespace etprof {

// What wrappers put before the paths of modules, "module" of "module.features.0" ("" for nothing).
struct ModulePrefixes {
  std::string baseline, candidate;
};

// The prefixes without which the most paths of both sides are the same, the shortest ones of several; each
// stands before at least half of its side's paths. Paths may repeat: each counts.
ModulePrefixes CommonModules(const std::vector<std::string>& baseline,
                             const std::vector<std::string>& candidate);

// "features.0" of "module.features.0"; what does not begin with the prefix stays.
std::string WithoutPrefix(const std::string& path, const std::string& prefix);

}  // namespace etprof
