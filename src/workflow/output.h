#pragma once

#include <filesystem>
#include <functional>
#include <ostream>

namespace etprof {

// What writes a file that a user named. That of cli/ (WriteOutput) has "-" as the standard output.
using Output =
    std::function<void(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write)>;

// For all others there is no standard output: throws Error (kUsage) for "-", else as WriteOutput.
void WriteNamedFile(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);

}  // namespace etprof
