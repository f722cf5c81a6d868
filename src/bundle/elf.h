#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace etprof {

// What an ELF program or library asks the loader for.
struct ElfNeeds {
  std::vector<std::string> libraries;  // DT_NEEDED, in order
  std::string interpreter;             // the loader's path (PT_INTERP); empty: none
};

// From the text of `readelf --wide -d -l` (GNU's or LLVM's, in the C locale).
ElfNeeds ParseReadelf(const std::string& text);

// Everything that `roots` need, to the end: file name -> path. `needs` reads one file, `find` gives the path
// of a library by its name and throws Error where it is nowhere. The roots themselves are in it.
std::map<std::string, std::filesystem::path> CollectLibraries(
    const std::vector<std::filesystem::path>& roots,
    const std::function<std::vector<std::string>(const std::filesystem::path&)>& needs,
    const std::function<std::filesystem::path(const std::string&)>& find);

}  // namespace etprof
