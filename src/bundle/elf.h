#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace etprof {

// Everything that `roots` need, to the end: file name -> path. `needs` reads one file, `find` gives the path
// of a library by its name and throws Error where it is nowhere. The roots themselves are in it.
std::map<std::string, std::filesystem::path> CollectLibraries(
    const std::vector<std::filesystem::path>& roots,
    const std::function<std::vector<std::string>(const std::filesystem::path&)>& needs,
    const std::function<std::filesystem::path(const std::string&)>& find);

}  // namespace etprof
