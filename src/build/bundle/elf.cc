#include "build/bundle/elf.h"

namespace etprof {

std::map<std::string, std::filesystem::path> CollectLibraries(
    const std::vector<std::filesystem::path>& roots,
    const std::function<std::vector<std::string>(const std::filesystem::path&)>& needs,
    const std::function<std::filesystem::path(const std::string&)>& find) {
  std::map<std::string, std::filesystem::path> found;
  std::vector<std::filesystem::path> unread = roots;
  for (const std::filesystem::path& root : roots) found[root.filename().string()] = root;
  while (!unread.empty()) {
    const std::filesystem::path file = unread.back();
    unread.pop_back();
    for (const std::string& name : needs(file)) {
      if (found.contains(name)) continue;
      found[name] = find(name);
      unread.push_back(found[name]);
    }
  }
  return found;
}

}  // namespace etprof
