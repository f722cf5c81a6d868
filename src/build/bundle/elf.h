#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace etprof {

// Collects the roots and all libraries they need, directly or indirectly: file name to path. `list_needed`
// returns the names of the libraries that a file needs. `find_library` returns the path of a library, or
// throws Error if there is no such library.
std::map<std::string, std::filesystem::path> CollectLibraries(
    const std::vector<std::filesystem::path>& roots,
    const std::function<std::vector<std::string>(const std::filesystem::path&)>& list_needed,
    const std::function<std::filesystem::path(const std::string&)>& find_library);

}  // namespace etprof
