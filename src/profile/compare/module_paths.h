#pragma once

#include <string>
#include <vector>

namespace etprof {

// The prefixes that wrappers add to module paths: "module" of "module.features.0" ("" for no wrapper).
struct ModulePrefixes {
  std::string baseline, candidate;
};

// Finds the prefixes without which the largest number of paths is equal in both lists; of several, the
// shortest. Each prefix begins at least half of the paths of its list. Repeated paths count repeatedly.
ModulePrefixes FindWrapperPrefixes(const std::vector<std::string>& baseline,
                                   const std::vector<std::string>& candidate);

// "features.0" for "module.features.0"; a path that does not begin with the prefix is returned unchanged.
std::string WithoutPrefix(const std::string& path, const std::string& prefix);

}  // namespace etprof
