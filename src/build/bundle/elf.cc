#include "build/bundle/elf.h"

namespace etprof {

std::map<std::string, std::filesystem::path> CollectLibraries(
    const std::vector<std::filesystem::path>& roots,
    const std::function<std::vector<std::string>(const std::filesystem::path&)>& list_needed,
    const std::function<std::filesystem::path(const std::string&)>& find_library) {
  std::map<std::string, std::filesystem::path> libraries;
  std::vector<std::filesystem::path> pending = roots;
  for (const std::filesystem::path& root : roots) libraries[root.filename().string()] = root;
  while (!pending.empty()) {
    const std::filesystem::path file = pending.back();
    pending.pop_back();
    for (const std::string& name : list_needed(file)) {
      if (libraries.contains(name)) continue;
      libraries[name] = find_library(name);
      pending.push_back(libraries[name]);
    }
  }
  return libraries;
}

}  // namespace etprof
