#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace etprof {

// Collects the roots and all libraries they need, directly or indirectly: file name to path. `needs` returns
// the names of the libraries that a file needs; `find` returns the path of a library, or throws Error if
// there is none.
std::map<std::string, std::filesystem::path> CollectLibraries(
    const std::vector<std::filesystem::path>& roots,
    const std::function<std::vector<std::string>(const std::filesystem::path&)>& needs,
    const std::function<std::filesystem::path(const std::string&)>& find);

}  // namespace etprof
