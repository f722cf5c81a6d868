#include "bundle/elf.h"

#include <sstream>
#include <string_view>

namespace etprof {

ElfNeeds ParseReadelf(const std::string& text) {
  // "0x... (NEEDED)  Shared library: [libc.so.6]", "[Requesting program interpreter: /lib/ld-linux.so.2]"
  constexpr std::string_view kInterpreter = "[Requesting program interpreter: ";
  ElfNeeds needs;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t close = line.rfind(']');
    if (close == std::string::npos) continue;
    const std::size_t interpreter = line.find(kInterpreter);
    if (interpreter != std::string::npos) {
      const std::size_t start = interpreter + kInterpreter.size();
      if (start < close) needs.interpreter = line.substr(start, close - start);
    } else if (line.find("(NEEDED)") != std::string::npos) {
      const std::size_t open = line.find('[');
      if (open < close) needs.libraries.push_back(line.substr(open + 1, close - open - 1));
    }
  }
  return needs;
}

std::map<std::string, std::filesystem::path> CollectLibraries(
    const std::vector<std::filesystem::path>& roots,
    const std::function<std::vector<std::string>(const std::filesystem::path&)>& needs,
    const std::function<std::filesystem::path(const std::string&)>& find) {
  std::map<std::string, std::filesystem::path> found;
  std::vector<std::filesystem::path> open = roots;
  for (const std::filesystem::path& root : roots) found[root.filename().string()] = root;
  while (!open.empty()) {
    const std::filesystem::path file = open.back();
    open.pop_back();
    for (const std::string& name : needs(file)) {
      if (found.contains(name)) continue;
      found[name] = find(name);
      open.push_back(found[name]);
    }
  }
  return found;
}

}  // namespace etprof
